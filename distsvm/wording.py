"""Messages that name parameters as data, so that whoever shows one can use its own words.

A program reads `max_cuts=2`, who types a command `--max-cuts 2`, who writes a file `max-cuts = 2`.
The library makes a message once, out of parts; it is also a str, in Python's words.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Formatter
from typing import Any, TypeAlias

LONGEST = 200


@dataclass(frozen=True)
class Name:
    """A parameter, by the name that it has in Python."""

    name: str


@dataclass(frozen=True)
class Setting:
    """A parameter with its value."""

    name: str
    value: Any

    def __post_init__(self) -> None:
        # Errors travel between processes: a value that may not is replaced by its text.
        object.__setattr__(self, "value", _plain(self.value))


@dataclass(frozen=True)
class Value:
    """A value that a parameter may have, such as "auto" or None."""

    value: Any


@dataclass(frozen=True)
class Form:
    """What differs in more than the names of parameters."""

    python: str
    shell: str
    toml: str | None = None


@dataclass(frozen=True)
class Shown:
    """A value of which only the text is kept."""

    text: str


Part: TypeAlias = str | Name | Setting | Value | Form


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, Shown)) or type(value) in (str, int, float):
        return value
    if type(value) is dict and all(type(item) in (str, int, float) for item in value.values()):
        return dict(value)
    text = repr(value)
    return Shown(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")


class Words:
    """Python's words for parameters; other readers have theirs in a subclass."""

    form = "python"

    def name(self, name: str) -> str:
        return name

    def setting(self, name: str, value: Any) -> str:
        return f"{self.name(name)}={self.value(value)}"

    def value(self, value: Any) -> str:
        return value.text if isinstance(value, Shown) else repr(value)

    def of(self, part: Part) -> str:
        """The text of one part of a message."""
        if isinstance(part, Name):
            return self.name(part.name)
        if isinstance(part, Setting):
            return self.setting(part.name, part.value)
        if isinstance(part, Value):
            return self.value(part.value)
        if isinstance(part, Form):
            text = getattr(part, self.form)
            return part.shell if text is None else text
        return part


PYTHON = Words()


class Message(str):
    """A message in Python's words that can be had in others."""

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Message:
        """The message that is these parts, one behind the other."""
        made = super().__new__(cls, "".join(map(PYTHON.of, parts)))
        made.parts = parts
        return made

    def worded(self, words: Words) -> str:
        """The message in these words."""
        return "".join(map(words.of, self.parts))


def message(template: str, *given: Any) -> Message:
    """A message from a template: {} takes the next of `given`, {name} names a parameter.

    What is given is a part of a message, a whole message, or anything that has a text.
    """
    parts: list[Part] = []
    rest = iter(given)
    for literal, field, _, _ in Formatter().parse(template):
        if literal:
            parts.append(literal)
        if field:
            parts.append(Name(field))
        elif field is not None:
            found = next(rest)
            if isinstance(found, Message):
                parts.extend(found.parts)
            else:
                is_part = isinstance(found, (Name, Setting, Value, Form))
                parts.append(found if is_part else str(found))
    return Message(*parts)


def message_of(error: BaseException) -> Message:
    """What an error says, with its parts where it has some."""
    first = error.args[0] if len(error.args) == 1 else None
    return first if isinstance(first, Message) else Message(str(error))
