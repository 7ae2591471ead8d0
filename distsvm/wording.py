"""Messages that name parameters as data, so that each interface words them for its readers.

A program reads `max_cuts=2`, a person at a shell `--max-cuts 2`, the author of a file
`max-cuts = 2`. The library makes a message once, out of parts; it is also a str, in Python's words.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Formatter
from typing import Any

LONGEST = 200


class Words:
    """Python's words for parameters; other readers have theirs in a subclass."""

    form = "python"

    def name(self, name: str) -> str:
        return name

    def setting(self, name: str, value: Any) -> str:
        return f"{self.name(name)}={self.value(value)}"

    def value(self, value: Any) -> str:
        return value.text if isinstance(value, Shown) else repr(value)


PYTHON = Words()


class Part:
    """A part of a message that depends on its reader."""

    def worded(self, words: Words) -> str:
        """Return the text of this part in these words."""
        raise NotImplementedError


@dataclass(frozen=True)
class Name(Part):
    """A parameter, by the name that it has in Python."""

    name: str

    def worded(self, words: Words) -> str:
        return words.name(self.name)


@dataclass(frozen=True)
class Setting(Part):
    """A parameter with its value."""

    name: str
    value: Any

    def __post_init__(self) -> None:
        # Errors travel between processes: of a value that may not travel, the text does.
        object.__setattr__(self, "value", _plain(self.value))

    def worded(self, words: Words) -> str:
        return words.setting(self.name, self.value)


@dataclass(frozen=True)
class Value(Part):
    """A value that a parameter may have, such as "auto" or None."""

    value: Any

    def worded(self, words: Words) -> str:
        return words.value(self.value)


@dataclass(frozen=True)
class Form(Part):
    """What differs in more than the names of parameters."""

    python: str
    shell: str
    toml: str | None = None

    def worded(self, words: Words) -> str:
        text = getattr(self, words.form)
        return self.shell if text is None else text


@dataclass(frozen=True)
class Shown:
    """The text of a value that messages do not keep."""

    text: str


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, Shown)) or type(value) in (str, int, float):
        return value
    if type(value) is dict and all(type(item) in (str, int, float) for item in value.values()):
        return dict(value)
    text = repr(value)
    return Shown(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")


class Message(str):
    """A message in Python's words that other words can replace."""

    parts: tuple[str | Part, ...]

    def __new__(cls, *parts: str | Part) -> Message:
        """Return the message that joins these parts."""
        made = super().__new__(cls, _joined(parts, PYTHON))
        made.parts = parts
        return made

    def worded(self, words: Words) -> str:
        """Return the message in these words."""
        return _joined(self.parts, words)


def _joined(parts: tuple[str | Part, ...], words: Words) -> str:
    return "".join(part if isinstance(part, str) else part.worded(words) for part in parts)


def message(template: str, *given: Any) -> Message:
    """Return a message from a template: {} takes the next of `given`, {name} names a parameter.

    What is given is a part of a message, a whole message, or anything that has a text.
    """
    parts: list[str | Part] = []
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
                parts.append(found if isinstance(found, Part) else str(found))
    return Message(*parts)


def message_of(error: BaseException) -> Message:
    """Return the message of an error, with its parts where it has some."""
    first = error.args[0] if len(error.args) == 1 else None
    return first if isinstance(first, Message) else Message(str(error))
