"""The arguments of estimators that make a low-rank map of a kernel function."""

from __future__ import annotations

from dataclasses import dataclass

from distsvm.feature_maps import LowRank
from distsvm.kernel_functions.options import KernelOptions
from distsvm.options import usual


@dataclass(kw_only=True, eq=False, repr=False)
class LowRankArguments:
    """The parameters of a kernel function, and of the basis of its map; see LowRank."""

    gamma: float | str = usual(KernelOptions, "gamma")
    degree: int = usual(KernelOptions, "degree")
    coef0: float = usual(KernelOptions, "coef0")
    basis: int | None = usual(LowRank, "basis")
    basis_choice: str = usual(LowRank, "basis_choice")
    basis_factor: str = usual(LowRank, "basis_factor")
    basis_cutoff: float = usual(LowRank, "basis_cutoff")
    basis_reading: str = usual(LowRank, "basis_reading")
    basis_dtype: str = usual(LowRank, "basis_dtype")
    basis_seed: int = usual(LowRank, "basis_seed")
