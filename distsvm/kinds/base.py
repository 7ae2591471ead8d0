"""What every kind of option values has, and a kind with one value more."""

from __future__ import annotations

from typing import Any

from distsvm.wording import Message, Value, message


class Unfit(ValueError):
    """A value is not of the kind; `said`, where given, says more than what the kind expects."""

    def __init__(self, said: Message | None = None) -> None:
        super().__init__(*([] if said is None else [said]))
        self.said = said


class Kind:
    """A kind of values. This one takes every text, and is the base of the others.

    Attributes
    ----------
    expected : Message
        Completes "expected …" in an error.
    """

    expected: Message = Message("text")

    def check(self, value: Any) -> Any:
        """The value as the option keeps it; Unfit if it is none of this kind."""
        return of_type(value, str)

    def parse(self, text: str) -> Any:
        """What a shell's text means; Unfit if it has no meaning. `read` checks it, too."""
        return text

    def read(self, text: str) -> Any:
        """The value that a text of the command line means."""
        return self.check(self.parse(text))

    def from_toml(self, found: Any) -> Any:
        """The value that TOML's value means; TypeError if TOML has another type for it."""
        return self.check(of_type(found, str, error=TypeError))

    def to_toml(self, value: Any) -> Any:
        """What a file must have for the value."""
        return value

    def or_none(self) -> Kind:
        """This kind, or None, which is "none" in a shell and in a file."""
        return Or(self, None)

    def or_word(self, word: str) -> Kind:
        """This kind, or one word."""
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


def of_type(value: Any, *kinds: type, error: type[Exception] = Unfit) -> Any:
    """The value itself if it is of one of these types; True is no number."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise error
    return value
