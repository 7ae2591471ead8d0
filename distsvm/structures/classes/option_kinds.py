"""The kinds of values that the options of classes take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distsvm.kinds import Kind, Or, Table, number, plain_label
from distsvm.wording import Form, Message


class LossChoice(Kind):
    """ "zero-one", or a cost matrix; a shell and a file name the file of the matrix."""

    expected = Message(
        Form("'zero-one', or an array of shape (k, k)", "zero-one, or a file with a cost matrix")
    )


class ClassWeight(Or):
    """ "balanced", or a weight for each of some labels: LABEL=WEIGHT,… in a shell.

    A label in double quotes is always text.
    """

    def __init__(self) -> None:
        super().__init__(_Weights(number(least=0)), "balanced")
        form = Form(
            "'balanced', a dict of label to weight ≥ 0, or None",
            "balanced, or LABEL=WEIGHT with commas between them and no weight below 0",
            '"balanced", or a table of numbers ≥ 0',
        )
        self.expected = Message(form)


class _Weights(Table):
    def name(self, text: str) -> Any:
        return plain_label(text)

    def to_toml(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {_label_text(label): weight for label, weight in value.items()}


def _label_text(label: Any) -> str:
    """Return the text that plain_label reads as this label."""
    text = str(label)
    return f'"{text}"' if isinstance(label, str) and plain_label(text) != label else text
