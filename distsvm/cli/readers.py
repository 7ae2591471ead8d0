"""How the text of an option becomes its value; a bad one is refused in words."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"expected a number, got {text!r}") from None


def whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"expected a whole number, got {text!r}") from None


def or_word(word: str, read: Callable[[str], Any], value: Any) -> Callable[[str], Any]:
    """A reader that takes one word for a value, and leaves all else to another reader."""

    def reader(text: str) -> Any:
        return value if text.lower() == word else read(text)

    return reader


def names(text: str) -> list[str]:
    """Names with commas between them."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise ArgumentTypeError(f"expected names with commas between them, got {text!r}")
    return found


def numbers(text: str) -> list[float]:
    """Numbers with commas between them."""
    return [number(part) for part in text.split(",")]


def amounts(text: str) -> dict[str, float]:
    """NAME=NUMBER,… as a dict."""
    return {name: number(amount) for name, amount in _assignments(text)}


def class_weight(text: str) -> str | dict[Any, float]:
    """ "balanced", or LABEL=WEIGHT,… as a dict; a label in double quotes is always text."""
    if text == "balanced":
        return text
    return {_label(name): number(weight) for name, weight in _assignments(text)}


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
