"""Kinds of several values: lists and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from distsvm.kinds.base import Kind, Unfit, of_type
from distsvm.wording import Form, Message


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
    """Some values of one kind, each a word of its own, or each behind a flag of its own."""

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
        item = self.item or Kind()
        return {self.name(name): item.parse(amount) for name, amount in assignments(text)}

    def from_toml(self, found: Any) -> dict[Any, Any]:
        pairs = of_type(found, dict, error=TypeError)
        if self.item is None:
            return pairs
        return {self.name(name): self.item.from_toml(item) for name, item in pairs.items()}

    def name(self, text: str) -> Any:
        """What a name that is written means."""
        return text


def assignments(text: str) -> list[tuple[str, str]]:
    """The names and values of NAME=VALUE,…; Unfit where one is missing."""
    found = []
    for part in text.split(","):
        name, equals, amount = part.rpartition("=")
        if not (name.strip() and equals):
            raise Unfit
        found.append((name.strip(), amount))
    return found
