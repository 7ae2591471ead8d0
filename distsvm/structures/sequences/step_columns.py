"""Which input features are on transitions too: Φ(x_t) ⊗ Λ(y_t) ⊗ Λ(y_{t+1})."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from distsvm.data.templates import Templates
from distsvm.errors import ConfigError
from distsvm.wording import message

MOST_WEIGHTS = 1 << 26
_NUMBERS = re.compile(r"(\d+)(?:\.\.(\d+))?")


def _entries(text: str) -> list[str]:
    given = [entry.strip() for entry in re.split(r"[;\n]", text) if entry.strip()]
    if not given:
        raise ConfigError(message("{transition_features} names no features"))
    return given


def columns_by_name(text: str, names: Sequence[str]) -> np.ndarray:
    """Return the columns, in increasing order, of the features that an entry of the text chooses.

    An entry is a template, which chooses its features, or a name, which chooses the feature of
    this name and those that are the name with "=" or ":" and a value behind it.
    """
    whole: set[str] = set()
    for entry in _entries(text):
        try:
            whole.update(Templates.parse(entry).labels)
        except ConfigError:
            whole.add(entry)
    starts = tuple(f"{entry}{sign}" for entry in whole for sign in "=:")
    found = [j for j, name in enumerate(names) if name in whole or name.startswith(starts)]
    return _known(text, np.array(found, np.int64))


def columns_by_number(text: str, n_features: int) -> np.ndarray:
    """Return the columns that the text names, such as "0; 3..7", in increasing order."""
    chosen = np.zeros(n_features, dtype=bool)
    for entry in _entries(text):
        found = _NUMBERS.fullmatch(entry)
        if found is None:
            raise ConfigError(
                message(
                    "{transition_features}: {} is no column or range of columns such as 3..7, and "
                    "the features have only numbers",
                    repr(entry),
                )
            )
        first = int(found[1])
        chosen[first : int(found[2] or first) + 1] = True
    return _known(text, np.flatnonzero(chosen))


def _known(text: str, columns: np.ndarray) -> np.ndarray:
    if not columns.size:
        raise ConfigError(
            message("{transition_features}: the data has no features of {}", repr(text))
        )
    return columns


def check_size(n_columns: int, n_labels: int) -> None:
    """Refuse more weights than MOST_WEIGHTS."""
    if n_columns * n_labels**2 > MOST_WEIGHTS:
        raise ConfigError(
            message(
                "{transition_features}: {} features and {} tags would take {} weights, at most {} "
                "are possible; choose fewer features, or raise {min_count}",
                f"{n_columns:,}", n_labels, f"{n_columns * n_labels**2:,}", f"{MOST_WEIGHTS:,}",
            )
        )  # fmt: skip
