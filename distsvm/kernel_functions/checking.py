"""Checks of the values of kernel functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from distsvm.errors import ConfigError
from distsvm.wording import Setting, message

SYMMETRY = 1e-4
"""|K(a, b) − K(b, a)| is at most this share of the largest |K|."""
NEGATIVE = 1e-4
"""An eigenvalue below −NEGATIVE times the largest is no rounding error."""


def checked_block(values: np.ndarray, shape: tuple[int, int], name: Any) -> np.ndarray:
    """Return a block of values, refused unless it has this shape and is finite."""
    if values.shape != shape:
        raise ConfigError(
            message(
                "{}: the function returned an array of shape {} for {} and {} rows, expected {}",
                Setting("kernel", name),
                values.shape,
                *shape,
                shape,
            )
        )
    # A sum is finite unless a value is not, or the values are so large that they soon are not.
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise ConfigError(
            message(
                "{}: K is {} for row {} of one block and row {} of the other, expected finite "
                "numbers",
                Setting("kernel", name),
                values[row, column],
                row,
                column,
            )
        )
    return values


def check_gram(gram: np.ndarray, name: Any, eigenvalues: np.ndarray | None = None) -> None:
    """Refuse values K(x_i, x_j) of some rows that are not symmetric or positive semidefinite.

    The test is of the rows given, so it finds clear cases only. `eigenvalues` of the symmetric part
    are computed unless given.
    """
    setting = Setting("kernel", name)
    largest = float(np.abs(gram).max(initial=0.0))
    apart = np.abs(gram - gram.T)
    if apart.max(initial=0.0) > SYMMETRY * largest:
        row, column = np.unravel_index(int(apart.argmax()), apart.shape)
        raise ConfigError(
            message(
                "{} is not symmetric: K is {:.6g} for two inputs, and {:.6g} for the same in the "
                "other order",
                setting,
                gram[row, column],
                gram[column, row],
            )
        )
    if eigenvalues is None:
        eigenvalues = np.linalg.eigvalsh((gram + gram.T) / 2)
    least = float(eigenvalues.min(initial=0.0))
    if least < -NEGATIVE * max(float(eigenvalues.max(initial=0.0)), 0.0) or largest == 0.0:
        raise ConfigError(
            message(
                "{} is not positive semidefinite: the values of {} inputs have the eigenvalue "
                "{:.3g}, and {:.3g} as the largest",
                setting,
                len(gram),
                least,
                float(eigenvalues.max(initial=0.0)),
            )
        )
