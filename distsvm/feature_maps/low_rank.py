"""LowRank: a kernel function on k basis rows as a feature map (OP8 and OP9 of Joachims et al.)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from distsvm import checks
from distsvm.data.features import DenseRows, Rows, SparseRows, frozen
from distsvm.errors import ConfigError, ModelError
from distsvm.feature_maps.base import FeatureMap
from distsvm.feature_maps.choosing import chosen, sample_size
from distsvm.feature_maps.factors import eigen, factor_of_groups
from distsvm.kernel_functions import KernelFunction, check_gram, kernel_function, read_function
from distsvm.kernel_functions.function import BLOCK_ROWS, Right
from distsvm.kernel_functions.sampling import Seen
from distsvm.kinds import choice, number, whole
from distsvm.options import check_fields, declared, option
from distsvm.wording import Setting, message

USUAL_BASIS = 1000


@dataclass(frozen=True, eq=False)
class LowRank(FeatureMap):
    """φ(x) = Pᵀ·(K(x, b_1), …, K(x, b_k)) with PᵀK_bbP = 1, so that ⟨φ(x), φ(x′)⟩ ≈ K(x, x′).

    The features span the functions Σ_j v_j·K(b_j, ·), and ½‖w‖² of a weight vector is ½‖f‖² of its
    function. With all distinct rows as basis, the problem is the one of the kernel function.

    Parameters
    ----------
    function : KernelFunction
    basis, basis_choice, basis_factor, basis_cutoff, basis_reading, basis_dtype, basis_seed :
        What their fields declare.
    bases : Rows or None
        The basis, as the right side of blocks; None before the map is made.
    projection : array of shape (k, n_features), or None
        P.
    labels : array of shape (n_features,), or None
        y′ of the basis pairs that each feature is made of, for the reading "pairs".
    spectrum : tuple of float
        The smallest and the largest eigenvalue kept (of Cholesky's factor: squared pivots), and
        the jitter.
    """

    function: KernelFunction = field(default_factory=lambda: kernel_function("rbf"))
    basis: int | None = option(
        None, kind=whole(least=1), metavar="K",
        usual=f"{USUAL_BASIS}, or all training rows where they are fewer",
        help="basis inputs of the low-rank map, no more than training rows. Memory grows with n·K, "
        "time with n·K²",
    )  # fmt: skip
    basis_choice: str = option(
        "random", kind=choice("random", "k-means", "greedy"), metavar="KIND",
        help="how basis inputs are chosen. random: distinct training rows; k-means: centres of K "
        "clusters of 20·K of them; greedy: of 4·K of them, each the one that those before "
        "approximate worst",
    )  # fmt: skip
    basis_factor: str = option(
        "eigenvalues", kind=choice("eigenvalues", "cholesky"), metavar="KIND",
        help="factor of the basis's matrix of kernel values. eigenvalues: those above "
        "{basis_cutoff} times the largest; cholesky: all, with the least jitter that makes it "
        "positive definite",
    )  # fmt: skip
    basis_cutoff: float = option(
        1e-6, kind=number(least=0, most=1), metavar="X",
        help="eigenvalues up to this share of the largest are left out",
    )  # fmt: skip
    basis_reading: str = option(
        "shared", kind=choice("shared", "pairs"), metavar="KIND",
        help="of several classes. shared: all classes have functions of all basis inputs; pairs: "
        "a basis pair (x′, y′) is for the function of class y′ alone, as in the paper",
    )  # fmt: skip
    basis_dtype: str = option(
        "float32", kind=choice("float32", "float64"), metavar="KIND",
        help="the type of the mapped features",
    )  # fmt: skip
    basis_seed: int = option(
        0, kind=whole(least=0), metavar="N", help="of the choice of the basis",
    )  # fmt: skip
    bases: Rows | None = None
    projection: np.ndarray | None = None
    labels: np.ndarray | None = None
    spectrum: tuple[float, ...] = ()

    name: ClassVar[str] = "low-rank"
    certified_for: ClassVar[str] = "the low-rank problem"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.function.needs_square and self.basis_choice != "random":
            raise ConfigError(
                message(
                    "{} and {}: of precomputed values only random rows can be a basis",
                    Setting("kernel", self.function.name),
                    Setting("basis_choice", self.basis_choice),
                )
            )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_right"}

    @property
    def is_split(self) -> bool:  # type: ignore[override]
        return self.basis_reading == "pairs"

    @property
    def is_prepared(self) -> bool:
        return self.projection is not None

    @property
    def n_columns(self) -> int:
        return self._made()[0].n_columns

    @property
    def n_features(self) -> int:
        return self._most if self.projection is None else self.projection.shape[1]

    @property
    def _most(self) -> int:
        """K, unless there are fewer rows."""
        return USUAL_BASIS if self.basis is None else self.basis

    @property
    def growth(self) -> float:
        bases, projection = self._made()
        own = max(1.0, bases.nbytes / bases.n_rows)
        return projection.itemsize * projection.shape[1] / own

    def sees(
        self, rows: Rows, first: int | None, labels: np.ndarray | None = None, **more: Any
    ) -> Seen:
        limit = sample_size(self.basis_choice, self._most)
        own = labels if self.is_split else None
        return Seen.of(rows, limit, self.basis_seed, first, own, **more)

    def prepared(self, seen: Seen) -> LowRank:
        if self.basis is not None and self.basis > seen.n_rows:
            raise ConfigError(
                message(
                    "{}: the data has {} rows, expected no more basis inputs than rows",
                    Setting("basis", self.basis),
                    seen.n_rows,
                )
            )
        function = self.function.settled(seen)
        basis = chosen(function, seen, self.basis_choice, self._most)
        bases = function.anchors(basis.rows, basis.numbers)
        gram = function.block(basis.rows, bases)
        pair = eigen(gram)
        check_gram(gram, function.name, pair[0])
        cutoff = None if self.basis_factor == "cholesky" else self.basis_cutoff
        factor, labels = factor_of_groups(gram, pair, basis.labels, cutoff)
        return replace(
            self, function=function, bases=bases, labels=labels,
            projection=frozen(factor.projection.astype(self.basis_dtype)),
            spectrum=(factor.smallest, factor.largest, factor.jitter),
        )  # fmt: skip

    def _made(self) -> tuple[Rows, np.ndarray]:
        if self.bases is None or self.projection is None:
            raise ConfigError("the low-rank map is not made yet: its basis comes from the data")
        return self.bases, self.projection

    @cached_property
    def _right(self) -> Right:
        bases, projection = self._made()
        return self.function.right(bases, projection.dtype)

    def transform(self, rows: Rows) -> DenseRows:
        _, projection = self._made()
        out = np.empty((rows.n_rows, projection.shape[1]), projection.dtype)
        for start in range(0, rows.n_rows, BLOCK_ROWS):
            some = slice(start, min(start + BLOCK_ROWS, rows.n_rows))
            values = self.function.of_rows(rows.rows(some.start, some.stop), self._right)
            np.matmul(values, projection, out=out[some])
        return DenseRows(out)

    def facts(self) -> dict[str, Any]:
        bases, projection = self._made()
        smallest, largest, jitter = self.spectrum
        settings = {name: getattr(self, name) for name in declared(type(self))}
        return settings | {
            "kernel": self.function.to_json(), "n_basis": bases.n_rows,
            "rank": projection.shape[1], "smallest_eigenvalue": smallest,
            "largest_eigenvalue": largest, "jitter": jitter,
        }  # fmt: skip

    def in_words(self) -> str:
        found = self.facts()
        kernel = dict(found["kernel"])
        name = kernel.pop("name")
        parameters = ", ".join(
            f"{key} {own:.4g}" if isinstance(own, float) else f"{key} {own}"
            for key, own in kernel.items()
        )
        factor = {
            "eigenvalues": f"eigenvalues {self.spectrum[1]:.3g} to {self.spectrum[0]:.3g}, those "
            f"up to {self.basis_cutoff:.3g} of the largest left out",
            "cholesky": f"Cholesky's factor, jitter {self.spectrum[2]:.3g}",
        }[self.basis_factor]
        return (
            f"low rank: {name}{f' ({parameters})' if parameters else ''} with "
            f"{found['n_basis']} basis inputs ({self.basis_choice}, {self.basis_reading}), "
            f"{found['rank']} features; {factor}"
        )

    # --- files -----------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        settings = {name: getattr(self, name) for name in declared(type(self))}
        data: dict[str, Any] = {
            "name": self.name, "kernel": self.function.to_json(), "settings": settings,
        }  # fmt: skip
        if self.bases is None or self.projection is None:
            return data, {}
        arrays, notes = self.bases.to_arrays()
        arrays = {f"bases.{name}": array for name, array in arrays.items()}
        if self.labels is not None:
            arrays["labels"] = self.labels
        data |= {"bases": notes, "spectrum": list(self.spectrum)}
        return data, arrays | {"projection": self.projection}

    @classmethod
    def from_parts(cls, data: dict[str, Any], arrays: dict[str, np.ndarray]) -> LowRank:
        try:
            if set(data["settings"]) != set(declared(cls)):
                raise ValueError("the low-rank map has other settings than expected")
            plain = cls(read_function(data["kernel"]), **data["settings"])
            if "projection" not in arrays:
                return plain
            own = {name.removeprefix("bases."): array for name, array in arrays.items()}
            bases: Rows
            if "dense" in own:
                bases = DenseRows.from_arrays(own, data["bases"])
                if bases.values.ndim != 2 or bases.values.dtype.kind not in "biuf":
                    raise ValueError("the bases are no rows of numbers")
            else:
                bases = SparseRows.from_arrays(own, data["bases"])
            for value in (spectrum := tuple(data["spectrum"])):
                checks.number("spectrum", value)
            made = replace(
                plain, bases=bases, projection=own["projection"], labels=own.get("labels"),
                spectrum=spectrum,
            )  # fmt: skip
            made._check()
        except (KeyError, TypeError, ConfigError) as error:
            raise ModelError(f"the low-rank map is damaged: {error}") from error
        return made

    def _check(self) -> None:
        """Refuse arrays of a file that `prepared` cannot have made."""
        bases, projection = self._made()
        shape = (bases.n_rows, projection.shape[1] if projection.ndim == 2 else 0)
        checks.array("projection", projection, np.dtype(self.basis_dtype).str[1:], shape)
        if not (0 < shape[1] <= shape[0] and len(self.spectrum) == 3):
            raise ValueError(f"the low-rank map has a projection of shape {shape}")
        if not np.isfinite(projection).all() or not np.isfinite(bases.arrays()[0]).all():
            raise ValueError("the low-rank map has a value that is not finite")
        if self.labels is not None and self.labels.shape != shape[1:]:
            raise ValueError("the labels of the low-rank map do not fit its features")
