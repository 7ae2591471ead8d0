"""Options and state of the solver for kernel functions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from distsvm.kinds import choice, truth, whole
from distsvm.messages import Mixture
from distsvm.options import option
from distsvm.risks.kernel_cut import KernelSet
from distsvm.solvers.options import SolverOptions
from distsvm.solvers.state import State, kept_float, kept_int

METHODS = ("auto", "linear-time", "constant-time", "exact")
SAMPLE = {"linear-time": 400, "constant-time": 1000}
"""The draws of a cut, by method."""


@dataclass(frozen=True)
class SampledCutsOptions(SolverOptions):
    """The options of sampled cuts."""

    method: str = option(
        "auto", kind=choice(*METHODS), metavar="NAME",
        usual="auto, exact up to 2,000 examples, then linear-time",
        help="exact: cuts of all examples, O(n²) kernel values a round; linear-time: each round "
        "searches all examples, and the cut is of some that are drawn among those with a loss; "
        "constant-time: a round searches only the examples that are drawn",
    )  # fmt: skip
    sample: int | None = option(
        None, kind=whole(least=1), metavar="R", unit="examples",
        usual="400, constant-time 1,000",
        help="r: the draws of a cut, with replacement and in proportion to the examples' weights",
    )  # fmt: skip
    certify: bool = option(
        False, kind=truth,
        help="constant-time: end with a search of all examples and a true dual value, for an exact "
        "certificate in the place of an estimate",
    )  # fmt: skip
    quiet_samples: int = option(
        4, kind=whole(least=1), metavar="P",
        help="constant-time: end after so many samples in a row that are not violated by eps",
    )  # fmt: skip
    redraws: int = option(
        10, kind=whole(least=0), metavar="N",
        help="linear-time: draw at most N more times until a cut is violated by eps, then take the "
        "cut of all examples",
    )  # fmt: skip
    idle_rounds: int = option(
        20, kind=whole(least=1), metavar="N",
        help="drop a cut after this many rounds in a row with α = 0",
    )  # fmt: skip
    dual_sweeps: int = option(
        3, kind=whole(least=0), metavar="N",
        help="sweeps over the support that raise the true dual value of sampled cuts; each "
        "computes m² kernel values for a support of m inputs",
    )  # fmt: skip


@dataclass
class SampledState(State):
    """The working set, the point of its α, and what was drawn.

    Parameters
    ----------
    n_cuts_made, n_values, n_redraws, n_fallbacks : int
        Since the run began: cuts, kernel values, redraws, and cuts of all examples where none of
        the draws was violated.
    n_quiet : int
        Samples in a row that were not violated.
    over : bool
        Whether the rule of the method has ended the run.
    risk_low, risk_high : float
        95% confidence interval of R(w), where it is an estimate.
    sharpness : float
        Factor of the QP's tolerance.
    """

    working: KernelSet = field(default_factory=lambda: KernelSet(np.zeros(1)))
    n_calls: int = kept_int()
    n_cuts_made: int = kept_int()
    n_values: int = kept_int()
    n_redraws: int = kept_int()
    n_fallbacks: int = kept_int()
    n_quiet: int = kept_int()
    n_candidates: int = kept_int()
    over: bool = kept_int(default=False)
    risk_low: float = kept_float()
    risk_high: float = kept_float()
    sharpness: float = kept_float(1.0)
    bytes_a_cut: int = 0

    @property
    def ended(self) -> bool:
        return self.over

    @property
    def n_bytes(self) -> int:
        return self.w.nbytes + self.working.n_bytes

    @property
    def held_bytes(self) -> int:
        return self.bytes_a_cut * len(self.working)

    @property
    def point(self) -> Mixture:
        """w = Σ α·a for the workers; the next round's."""
        ids = tuple(a.number for a in self.working.vectors())
        return Mixture(self.number, ids, self.working.alpha.copy())

    @property
    def norm2(self) -> float:
        """‖w‖²."""
        return self.working.norm2

    @property
    def all_exact(self) -> bool:
        """Whether every cut with α > 0 is of all examples: then D of the QP is a true dual."""
        support = np.flatnonzero(self.working.alpha)
        vectors = self.working.vectors()
        return all(vectors[k].exact for k in support.tolist())

    def more_arrays(self) -> dict[str, np.ndarray]:
        return self.working.arrays()
