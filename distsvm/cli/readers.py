"""How an option becomes its value: from text, or from what a TOML file says."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Reader:
    """Reads an option's text; a bad one is refused in words.

    Parameters
    ----------
    read : function of the text
        Raises ArgumentTypeError.
    expected : str
        What a file must have for it.
    from_file : function of TOML's value
        Gives the same value as `read` does; raises TypeError for a value of another kind.
    to_file : function of the option's value
        What a file must say for it.
    """

    read: Callable[[str], Any]
    expected: str
    from_file: Callable[[Any], Any]
    to_file: Callable[[Any], Any] = lambda value: value

    def __call__(self, text: str) -> Any:
        return self.read(text)


def or_word(word: str, reader: Reader, value: Any) -> Reader:
    """A reader that takes one word for a value, and leaves all else to another reader."""

    def read(text: str) -> Any:
        return value if text.lower() == word else reader.read(text)

    def from_file(found: Any) -> Any:
        is_word = isinstance(found, str) and found.lower() == word
        return value if is_word else reader.from_file(found)

    def to_file(given: Any) -> Any:
        return word if given == value else reader.to_file(given)

    return Reader(read, f'{reader.expected}, or "{word}"', from_file, to_file)


def between(reader: Reader, least: float, most: float) -> Reader:
    """A reader of numbers that takes only those of a range."""
    expected = f"{reader.expected} from {least:g} to {most:g}"

    def read(text: str) -> Any:
        value = reader.read(text)
        if not least <= value <= most:
            raise ArgumentTypeError(f"expected {expected}, got {text!r}")
        return value

    return replace(reader, read=read, expected=expected)


def of_type(*kinds: type) -> Callable[[Any], Any]:
    """The value itself if it is of one of these types; True is no number."""

    def checked(found: Any) -> Any:
        if not isinstance(found, kinds) or (isinstance(found, bool) and bool not in kinds):
            raise TypeError
        return found

    return checked


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"expected a number, got {text!r}") from None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"expected a whole number, got {text!r}") from None


def _number_of(found: Any) -> float:
    return float(of_type(int, float)(found))


def _list_of(item: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    return lambda found: [item(part) for part in of_type(list)(found)]


def _names(text: str) -> list[str]:
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise ArgumentTypeError(f"expected names with commas between them, got {text!r}")
    return found


def _numbers(text: str) -> list[float]:
    return [_number(part) for part in text.split(",")]


def _amounts(text: str) -> dict[str, float]:
    return {name: _number(amount) for name, amount in _assignments(text)}


def _amounts_of(found: Any) -> dict[str, float]:
    return {name: _number_of(amount) for name, amount in of_type(dict)(found).items()}


def _class_weight(text: str) -> str | dict[Any, float]:
    if text == "balanced":
        return text
    return {_label(name): _number(weight) for name, weight in _assignments(text)}


def _class_weight_of(found: Any) -> str | dict[Any, float]:
    if found == "balanced":
        return found
    return {_label(name): weight for name, weight in _amounts_of(found).items()}


def _settings(text: str) -> dict[str, Any]:
    return {name: _setting(setting) for name, setting in _assignments(text)}


def _setting(text: str) -> Any:
    return {"true": True, "false": False}.get(text, _label(text))


def _assignments(text: str) -> list[tuple[str, str]]:
    found = []
    for part in text.split(","):
        name, equals, amount = part.rpartition("=")
        if not (name.strip() and equals):
            raise ArgumentTypeError(f"expected NAME=NUMBER with commas between them, got {part!r}")
        found.append((name.strip(), amount))
    return found


def _label(text: str) -> Any:
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _label_text(label: Any) -> str:
    """The text that _label reads as this label."""
    text = str(label)
    return f'"{text}"' if isinstance(label, str) and _label(text) != label else text


def _weights_to_file(given: str | dict[Any, float]) -> str | dict[str, float]:
    if isinstance(given, str):
        return given
    return {_label_text(label): weight for label, weight in given.items()}


text = Reader(str, "text", of_type(str))
number = Reader(_number, "a number", _number_of)
whole = Reader(_whole, "a whole number", of_type(int))
names = Reader(_names, "a list of names", _list_of(of_type(str)))
"""Names with commas between them."""
numbers = Reader(_numbers, "a list of numbers", _list_of(_number_of))
"""Numbers with commas between them."""
amounts = Reader(_amounts, "a table of numbers", _amounts_of)
"""NAME=NUMBER,… as a dict."""
class_weight = Reader(
    _class_weight, '"balanced", or a table of numbers', _class_weight_of, _weights_to_file
)
""" "balanced", or LABEL=WEIGHT,… as a dict; a label in double quotes is always text."""
settings = Reader(_settings, "a table of numbers, texts and truth values", of_type(dict))
"""NAME=VALUE,… as a dict; a value is a number, true, false, or text."""
