"""The kernel functions with names: linear, polynomial, Gaussian, Laplacian, and precomputed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from distsvm.data.features import Rows, SparseRows
from distsvm.errors import ConfigError, DataError
from distsvm.kernel_functions.function import (
    KernelFunction,
    Matrix,
    Right,
    dense,
    matrix,
    square_norms,
)
from distsvm.kernel_functions.sampling import Seen
from distsvm.kinds import choice, number, whole
from distsvm.options import Option
from distsvm.wording import Message, Setting, message

GAMMA = number(above=0)
GAMMA_WORDS = choice("scale", "auto", "median")
DEGREE = Option(whole(least=1), Message(""), name="degree", default=3)
COEF0 = Option(number(), Message(""), name="coef0", default=0.0)
FEW_ROWS = 1024
"""Rows of the right side at a time, where sparse ones are made dense."""
EXPECTED_GAMMA = "a number > 0, or one of scale, auto, median"


@dataclass(frozen=True)
class Linear(KernelFunction):
    """⟨x, x′⟩."""

    name: ClassVar[str] = "linear"

    def _values(self, A: Rows, right: Right) -> np.ndarray:
        return right.products(A)

    def diagonal(self, A: Rows, numbers: np.ndarray | None = None) -> np.ndarray:
        return square_norms(A)


@dataclass(frozen=True)
class Precomputed(KernelFunction):
    """An input is a row of values K(x, x_j) with all training inputs x_j, in their order."""

    name: ClassVar[str] = "precomputed"
    needs_square: ClassVar[bool] = True

    def settled(self, seen: Seen) -> Precomputed:
        if seen.n_columns != seen.n_rows:
            raise DataError(
                f"kernel='precomputed': the training inputs are {seen.n_rows} rows of "
                f"{seen.n_columns} values, expected a square matrix of values K(x_i, x_j)"
            )
        return self

    def anchors(self, rows: Rows, numbers: np.ndarray) -> SparseRows:
        """Return unit rows: the products with them pick the columns of these training inputs."""
        n = len(numbers)
        return SparseRows(np.ones(n), np.asarray(numbers), np.arange(n + 1), rows.n_columns)

    def _values(self, A: Rows, right: Right) -> np.ndarray:
        assert isinstance(right.rows, SparseRows)
        columns = right.rows.arrays()[1]
        found: Matrix = matrix(A, right.dtype)[:, columns]
        return found.toarray() if sparse.issparse(found) else found

    def diagonal(self, A: Rows, numbers: np.ndarray | None = None) -> np.ndarray:
        found = matrix(A, np.float64)
        if numbers is not None:
            return np.asarray(found[np.arange(A.n_rows), numbers], np.float64).ravel()
        if found.shape[0] != found.shape[1]:
            raise DataError("kernel='precomputed': only the whole square matrix has a diagonal")
        return np.asarray(found.diagonal())


@dataclass(frozen=True)
class WithGamma(KernelFunction):
    """Kernel functions with a width.

    Parameters
    ----------
    gamma : float > 0, or "scale", "auto" or "median"
        Words are settled with the data: see `number_of`.
    """

    gamma: float | str = "scale"

    def __post_init__(self) -> None:
        kind = GAMMA_WORDS if isinstance(self.gamma, str) else GAMMA
        own = Option(kind, Message(""), name="gamma")
        try:
            object.__setattr__(self, "gamma", own.check(self.gamma))
        except ConfigError:
            raise ConfigError("gamma", self.gamma, EXPECTED_GAMMA) from None

    @property
    def width(self) -> float:
        """gamma as a number."""
        if isinstance(self.gamma, str):
            raise ConfigError(
                message("{} is not settled with data yet", Setting("gamma", self.gamma))
            )
        return self.gamma

    def settled(self, seen: Seen) -> WithGamma:
        seen.check_varies(Setting("kernel", self.name))
        if not isinstance(self.gamma, str):
            return self
        value = self.number_of(self.gamma, seen)
        if not (np.isfinite(value) and value > 0):
            raise ConfigError(
                message(
                    "{}: the training rows give {:g}, expected a number > 0; give one yourself",
                    Setting("gamma", self.gamma),
                    value,
                )
            )
        return replace(self, gamma=value)

    def number_of(self, word: str, seen: Seen) -> float:
        """Return gamma: scikit-learn's "scale" 1/(d·Var X) and "auto" 1/d, or "median".

        "median" is 1/(2·m²), where m is the median distance of sampled rows.
        """
        if word == "auto":
            return 1.0 / seen.n_columns
        if word == "scale":
            return 1.0 / (seen.n_columns * seen.variance)
        return 0.5 / seen.median_distance("euclidean") ** 2


@dataclass(frozen=True)
class Gaussian(WithGamma):
    """exp(−γ·‖x − x′‖²)."""

    name: ClassVar[str] = "rbf"

    def right(self, B: Rows, dtype: Any = np.float64) -> Right:
        return super().right(B, dtype).centred()

    def _values(self, A: Rows, right: Right) -> np.ndarray:
        A = right.centre_rows(A)
        values = right.products(A)
        values *= -2
        values += square_norms(A, right.dtype)[:, None]
        values += right.square_norms
        np.maximum(values, 0, out=values)  # rounding may give a distance below 0
        values *= -self.width
        return np.exp(values, out=values)

    def diagonal(self, A: Rows, numbers: np.ndarray | None = None) -> np.ndarray:
        return np.ones(A.n_rows)


@dataclass(frozen=True)
class Laplacian(WithGamma):
    """exp(−γ·Σ_j |x_j − x′_j|)."""

    name: ClassVar[str] = "laplacian"

    def number_of(self, word: str, seen: Seen) -> float:
        """Return gamma: "scale" 1/(d·√Var X), "auto" 1/d, "median" 1/(the median distance)."""
        if word == "scale":
            return 1.0 / (seen.n_columns * np.sqrt(seen.variance))
        if word == "median":
            return 1.0 / seen.median_distance("cityblock")
        return super().number_of(word, seen)

    def _values(self, A: Rows, right: Right) -> np.ndarray:
        from scipy.spatial.distance import cdist  # here, as workers without it stay small

        left = dense(A)
        values = np.empty((A.n_rows, right.n_rows), right.dtype)
        for start in range(0, right.n_rows, FEW_ROWS):
            few = dense(right.rows.rows(start, min(start + FEW_ROWS, right.n_rows)))
            distance = cdist(left, few, "cityblock")
            distance *= -self.width
            values[:, start : start + FEW_ROWS] = np.exp(distance, out=distance)
        return values

    def diagonal(self, A: Rows, numbers: np.ndarray | None = None) -> np.ndarray:
        return np.ones(A.n_rows)


@dataclass(frozen=True)
class Polynomial(WithGamma):
    """(γ·⟨x, x′⟩ + c₀)^degree.

    Parameters
    ----------
    degree : int ≥ 1
    coef0 : float
    """

    name: ClassVar[str] = "poly"
    degree: int = 3
    coef0: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "degree", DEGREE.check(self.degree))
        object.__setattr__(self, "coef0", COEF0.check(self.coef0))

    def _values(self, A: Rows, right: Right) -> np.ndarray:
        values = right.products(A)
        values *= self.width
        values += self.coef0
        return _power(values, self.degree)

    def diagonal(self, A: Rows, numbers: np.ndarray | None = None) -> np.ndarray:
        return (self.width * square_norms(A) + self.coef0) ** self.degree


def _power(values: np.ndarray, degree: int) -> np.ndarray:
    """Return the power by repeated squares, in place: several times faster than **."""
    factor, result = values, None
    while degree:
        if degree & 1:
            result = factor.copy() if result is None else np.multiply(result, factor, out=result)
        degree >>= 1
        if degree:
            factor = np.multiply(factor, factor, out=factor)
    assert result is not None
    return result


FUNCTIONS: dict[str, type[KernelFunction]] = {
    cls.name: cls for cls in (Gaussian, Polynomial, Linear, Laplacian, Precomputed)
}
