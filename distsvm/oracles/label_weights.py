"""Weights for labels: "balanced", or a number for each of some of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from distsvm.errors import ConfigError
from distsvm.kinds import Number, Or, Table, plain_label
from distsvm.wording import Form, Message, message


class LabelWeight(Or):
    """ "balanced", or a weight for each of some labels: LABEL=WEIGHT,… in a shell.

    A label in double quotes is always text.
    """

    def __init__(self, weight: Number, least: str) -> None:
        super().__init__(_Weights(weight), "balanced")
        form = Form(
            f"'balanced', a dict of label to weight {least}, or None",
            f"balanced, or LABEL=WEIGHT with commas between them and weights {least}",
            f'"balanced", or a table of numbers {least}',
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


def weights_of_labels(
    name: str, given: Any, labels: np.ndarray, counts: np.ndarray, total: float
) -> np.ndarray:
    """Return the weight of each label: total/(k·count) where `given` is "balanced".

    Parameters
    ----------
    name : str
        Of the option, for errors.
    given : "balanced" or dict
    counts : array of shape (k,)
        How often each label occurs, by weight; a label that does not counts as 1.
    """
    if isinstance(given, str):
        return total / (labels.size * np.where(counts > 0, counts, 1.0))
    weights = np.ones(labels.size)
    for label, weight in given.items():
        place = np.flatnonzero(labels == label)
        if not place.size:
            text = f"{{{name}}} names {{}}, which is not a {name.partition('_')[0]} of the data"
            raise ConfigError(message(text, repr(label)))
        weights[place[0]] = weight
    return weights
