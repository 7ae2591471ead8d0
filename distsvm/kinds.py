"""Kinds of option values: which fit, and how a shell's text or a TOML value becomes one."""

from __future__ import annotations

import math
import numbers
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from distsvm.wording import Form, Message, Value, message


class Unfit(ValueError):
    """A value is not of the kind; `said`, where given, adds to what the kind expects."""

    def __init__(self, said: Message | None = None) -> None:
        super().__init__(*([] if said is None else [said]))
        self.said = said


class Kind:
    """A kind of values. This one takes every text, and is the base of the others.

    Attributes
    ----------
    expected : Message
        Completes "expected …" in an error.
    toml : tuple of type
        The types of TOML that it takes; empty for all.
    """

    expected: Message = Message("text")
    toml: tuple[type, ...] = (str,)

    def check(self, value: Any) -> Any:
        """Return the value as the option stores it; Unfit if it is not of this kind."""
        return of_type(value, str)

    def parse(self, text: str) -> Any:
        """Return the value of a shell's text, unchecked; Unfit if the text has none."""
        return text

    def read(self, text: str) -> Any:
        """Return the checked value of a shell's text."""
        return self.check(self.parse(text))

    def from_toml(self, found: Any) -> Any:
        """Return the checked value of TOML's value; TypeError if that is of another type."""
        return self.check(of_type(found, *self.toml, error=TypeError) if self.toml else found)

    def to_toml(self, value: Any) -> Any:
        """Return the value as a file has it."""
        return value

    def or_none(self) -> Kind:
        """Return this kind with None, which is "none" in a shell and in a file."""
        return Or(self, None)

    def or_word(self, word: str) -> Kind:
        """Return this kind with one word."""
        return Or(self, word)


class Or(Kind):
    """Another kind, or one value, which is a word in a shell and in a file."""

    def __init__(self, kind: Kind, value: str | None) -> None:
        self.kind, self.value = kind, value
        self.word = "none" if value is None else value
        self.expected = message("{}, or {}", kind.expected, Value(value))

    def check(self, value: Any) -> Any:
        if (value is None or isinstance(value, str)) and value == self.value:
            return value
        return self.kind.check(value)

    def read(self, text: str) -> Any:
        return self.value if text.lower() == self.word else self.kind.read(text)

    def from_toml(self, found: Any) -> Any:
        is_word = isinstance(found, str) and found.lower() == self.word
        return self.value if is_word else self.kind.from_toml(found)

    def to_toml(self, value: Any) -> Any:
        return self.word if value == self.value else self.kind.to_toml(value)


# --- single values -----------------------------------------------------------------------------


class Text(Kind):
    """Text that matches a pattern as a whole."""

    def __init__(self, matching: str, expected: str) -> None:
        self._pattern, self.expected = re.compile(matching), Message(expected)

    def check(self, value: Any) -> str:
        if not self._pattern.fullmatch(of_type(value, str)):
            raise Unfit
        return value


class PathText(Kind):
    """A path, or an object that has one; `local` paths are not URIs."""

    def __init__(self, local: bool = False) -> None:
        self._local = local
        self.expected = Message("a folder on a local disk" if local else "a path")

    def check(self, value: Any) -> str:
        try:
            path = os.fspath(value)
        except TypeError:
            raise Unfit from None
        if not isinstance(path, str) or (self._local and "://" in path):
            raise Unfit
        return path


class Number(Kind):
    """Numbers of a range; `whole` ones only, or all, which become floats."""

    def __init__(
        self,
        above: float | None = None,
        least: float | None = None,
        most: float | None = None,
        *,
        whole: bool = False,
        infinite: bool = False,
    ) -> None:
        self._above, self._least, self._most = above, least, most
        self._whole, self._infinite = whole, infinite
        self.toml = (int,) if whole else (int, float)
        name = "a whole number" if whole else "a number"
        if most is not None:
            ends = f"from {least:g} to {most:g}" if above is None else f"in ({above:g}, {most:g}]"
            self.expected = Message(f"{name} {ends}")
        elif above is not None:
            self.expected = Message(f"{name} > {above:g}")
        else:
            self.expected = Message(name if least is None else f"{name} ≥ {least:g}")

    def check(self, value: Any) -> Any:
        kind = int if self._whole else float
        try:
            known = not isinstance(value, (bool, str, bytes)) and not math.isnan(value)
            if not (known and (math.isfinite(value) or self._infinite)):
                raise Unfit
            number = kind(value)
        except (TypeError, OverflowError):
            raise Unfit from None
        low = self._above is None or number > self._above
        low = low and (self._least is None or number >= self._least)
        if number != value or not (low and (self._most is None or number <= self._most)):
            raise Unfit
        return number

    def parse(self, text: str) -> Any:
        try:
            return int(text) if self._whole else float(text)
        except ValueError:
            raise Unfit from None


class Choice(Kind):
    """One of some values; a function gives those that are only known later."""

    def __init__(self, choices: Sequence[Any] | Callable[[], Sequence[Any]]) -> None:
        self._choices = choices

    @property
    def choices(self) -> Sequence[Any]:
        return self._choices() if callable(self._choices) else self._choices

    @property
    def expected(self) -> Message:  # type: ignore[override]
        return Message(f"one of {', '.join(map(str, self.choices))}")

    @property
    def toml(self) -> tuple[type, ...]:  # type: ignore[override]
        return tuple({type(choice) for choice in self.choices})

    def check(self, value: Any) -> Any:
        if isinstance(value, (str, numbers.Real)) and not isinstance(value, bool):
            for choice in self.choices:
                if value == choice:
                    return choice
        raise Unfit

    def parse(self, text: str) -> Any:
        return {str(choice): choice for choice in self.choices}.get(text, text)


class Truth(Kind):
    """True or False; a flag without a value means True, and --no-FLAG, if `both`, False."""

    expected = Message(Value(True), " or ", Value(False))
    toml = (bool,)
    given: Any = True
    """The option's value where the flag stands."""

    def __init__(self, both: bool = False) -> None:
        self.both = both

    def check(self, value: Any) -> bool:
        return of_type(value, bool)


class Constant(Truth):
    """A flag without a value that gives the option this one."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.given = value

    def check(self, value: Any) -> Any:
        return value


class Count(Number):
    """A whole number: how often a flag stands in the command line."""

    def __init__(self) -> None:
        super().__init__(least=0, whole=True)


class Plain(Kind):
    """A number, a truth value or text; a text that can be a number or a truth value is one."""

    toml = ()

    def check(self, value: Any) -> Any:
        return value

    def parse(self, text: str) -> Any:
        return {"true": True, "false": False}.get(text, plain_label(text))


# --- several values ----------------------------------------------------------------------------


class Listed(Kind):
    """Some values of one kind, with commas between them."""

    def __init__(self, item: Kind, of: str, example: str) -> None:
        self.item = item
        form = Form(f"a list of {of}", f"{example} with commas between them", f"a list of {of}")
        self.expected = Message(form)

    def check(self, value: Any) -> list[Any]:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise Unfit
        return [self.item.check(part) for part in value]

    def parse(self, text: str) -> list[Any]:
        found = [part.strip() for part in text.split(",")]
        if not all(found):
            raise Unfit
        return [self.item.parse(part) for part in found]

    def from_toml(self, found: Any) -> list[Any]:
        return [self.item.from_toml(part) for part in of_type(found, list, error=TypeError)]


class Several(Kind):
    """Some values of one kind, each a word of its own, or each after a flag of its own."""

    def __init__(self, item: Kind, *, repeated: bool = False) -> None:
        self.item, self.repeated = item, repeated
        self.expected = Message("a text or a list of texts")

    def check(self, value: Any) -> list[Any]:
        return [self.item.check(part) for part in value]

    def from_toml(self, found: Any) -> list[Any]:
        listed = found if isinstance(found, list) else [found]
        if not listed:
            raise TypeError
        return [self.item.from_toml(part) for part in listed]


class Table(Kind):
    """A dict; in a shell NAME=VALUE,… with values of one kind."""

    def __init__(self, item: Kind | None = None, of: str = "") -> None:
        self.item = item
        of = f" of {of}" if of else ""
        self.expected = Message(
            Form(f"a dict{of}", "NAME=NUMBER with commas between them", f"a table{of}")
        )

    def check(self, value: Any) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise Unfit
        if self.item is None:
            return dict(value)
        return {name: self.item.check(amount) for name, amount in value.items()}

    def parse(self, text: str) -> dict[Any, Any]:
        item, found = self.item or Kind(), {}
        for part in text.split(","):
            name, equals, amount = part.rpartition("=")
            if not (name.strip() and equals):
                raise Unfit
            found[self.name(name.strip())] = item.parse(amount)
        return found

    def from_toml(self, found: Any) -> dict[Any, Any]:
        pairs = of_type(found, dict, error=TypeError)
        if self.item is None:
            return pairs
        return {self.name(name): self.item.from_toml(item) for name, item in pairs.items()}

    def name(self, text: str) -> Any:
        """Return the key that a written name stands for."""
        return text


def of_type(value: Any, *kinds: type, error: type[Exception] = Unfit) -> Any:
    """Return the value if it is of one of these types, where True is no number."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise error
    return value


def plain_label(text: str) -> Any:
    """Return the number or the text that is written; in double quotes it is always text."""
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


number = Number
text = Kind()
path = PathText()
local_folder = PathText(local=True)
truth = Truth()
share = Number(above=0, most=1)
"""A number in (0, 1]."""
amounts = Table(Number(), "numbers")
"""NAME=NUMBER,… as a dict."""
names = Listed(Text(r"(?s).*\S.*", "text"), "names", "names")
files = Several(PathText())


def whole(least: float | None = None, most: float | None = None) -> Number:
    """Return the kind of whole numbers of this range."""
    return Number(least=least, most=most, whole=True)


def choice(*choices: Any) -> Choice:
    """Return the kind with these choices."""
    return Choice(choices)
