"""Kinds of single values: texts, paths, numbers, choices and truth values."""

from __future__ import annotations

import math
import numbers
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from distsvm.kinds.base import Kind, Unfit, of_type
from distsvm.wording import Message, Value


class Text(Kind):
    """Text that a pattern may have to match as a whole."""

    def __init__(self, matching: str = "(?s).*", expected: str = "text") -> None:
        self._pattern, self.expected = re.compile(matching), Message(expected)

    def check(self, value: Any) -> str:
        if not self._pattern.fullmatch(of_type(value, str)):
            raise Unfit
        return value


class PathText(Kind):
    """A path, or what has one; `local` paths are no URIs."""

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

    def from_toml(self, found: Any) -> Any:
        kinds = (int,) if self._whole else (int, float)
        return self.check(of_type(found, *kinds, error=TypeError))


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

    def check(self, value: Any) -> Any:
        if isinstance(value, (str, numbers.Real)) and not isinstance(value, bool):
            for choice in self.choices:
                if value == choice:
                    return choice
        raise Unfit

    def parse(self, text: str) -> Any:
        return {str(choice): choice for choice in self.choices}.get(text, text)

    def from_toml(self, found: Any) -> Any:
        types = {type(choice) for choice in self.choices}
        return self.check(of_type(found, *types, error=TypeError))


class Truth(Kind):
    """True or False; a flag without a value means True, and --no-FLAG, if `both`, False."""

    expected = Message(Value(True), " or ", Value(False))
    given: Any = True
    """The option's value where the flag stands."""

    def __init__(self, both: bool = False) -> None:
        self.both = both

    def check(self, value: Any) -> bool:
        return of_type(value, bool)

    def from_toml(self, found: Any) -> bool:
        return of_type(found, bool, error=TypeError)


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
    """A number, a truth value or text; a text is a number or a truth value if it may be one."""

    def check(self, value: Any) -> Any:
        return value

    def parse(self, text: str) -> Any:
        return {"true": True, "false": False}.get(text, plain_label(text))

    def from_toml(self, found: Any) -> Any:
        return found


def plain_label(text: str) -> Any:
    """The number or the text that is written; in double quotes it is always text."""
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text
