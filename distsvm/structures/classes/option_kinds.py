"""The kinds of values that the options of classes take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distsvm.kinds import Kind, Table, number, plain_label
from distsvm.wording import Form, Message


class Losses(Kind):
    """ "zero-one", or a cost matrix, which a shell and a file name the file of."""

    expected = Message(
        Form("'zero-one', or an array of shape (k, k)", "zero-one, or a file with a cost matrix")
    )


class ClassWeight(Kind):
    """ "balanced", or a weight for each of some labels: LABEL=WEIGHT,… in a shell.

    A label in double quotes is always text.
    """

    expected = Message(
        Form(
            "'balanced', a dict of label to weight ≥ 0, or None",
            "balanced, or LABEL=WEIGHT with commas between them and no weight below 0",
            '"balanced", or a table of numbers ≥ 0',
        )
    )

    def __init__(self) -> None:
        self._weights = _Weights(number(least=0))

    def check(self, value: Any) -> str | dict[Any, float]:
        return value if _is_balanced(value) else self._weights.check(value)

    def parse(self, text: str) -> Any:
        return text if _is_balanced(text) else self._weights.parse(text)

    def from_toml(self, found: Any) -> Any:
        return found if _is_balanced(found) else self._weights.from_toml(found)

    def to_toml(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {_label_text(label): weight for label, weight in value.items()}


class _Weights(Table):
    def name(self, text: str) -> Any:
        return plain_label(text)


def _is_balanced(value: Any) -> bool:
    return isinstance(value, str) and value == "balanced"


def _label_text(label: Any) -> str:
    """The text that plain_label reads as this label."""
    text = str(label)
    return f'"{text}"' if isinstance(label, str) and plain_label(text) != label else text
