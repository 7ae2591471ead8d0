"""The α of all outputs of every example, for tasks that enumerate few outputs."""

from __future__ import annotations

import numpy as np

from distsvm import checks
from distsvm.kernels.climb import Whole
from distsvm.messages import Planes
from distsvm.oracles.climber import Climber, Visits
from distsvm.oracles.oracle import Oracle
from distsvm.vectors import Vector


class WholeStock:
    """A plane for every output, none of them stored: an output's number is its place.

    A visit searches all outputs, as an oracle call does: no plane is added or dropped. The truth's
    own place is empty.

    Parameters
    ----------
    total : float64 array of shape (n,)
        Σ α of each example, the truth's included: c_i·C / Σc.
    """

    n_refused = 0
    asks = True
    """Whether a visit finds the most violated output: then nobody has to ask before it."""

    def __init__(self, oracle: Oracle, total: np.ndarray) -> None:
        assert oracle.n_outputs is not None
        self.oracle = oracle
        n, k = oracle.n, oracle.n_outputs
        self.held = Whole(alpha=np.zeros((n, k)), total=total, gap=np.zeros(n))

    @staticmethod
    def bytes_for(oracle: Oracle) -> float:
        """Return the memory of such a stock; inf where it is not possible."""
        if oracle.n_outputs is None or not oracle.q_is_loss:
            return np.inf
        return 8.0 * oracle.n * (oracle.n_outputs + 2)

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in self.held)

    @property
    def n_planes(self) -> int:
        """Those with α > 0: no other is stored anywhere."""
        return self.n_support

    @property
    def n_support(self) -> int:
        return int(np.count_nonzero(self.held.alpha))

    def support(self, alpha: np.ndarray) -> tuple[Planes, np.ndarray]:
        """Return the planes with α > 0, and their α, for any α of this stock's shape."""
        row, number = np.nonzero(alpha)
        outputs = self.oracle.outputs(number)
        planes = Planes.linear(row, outputs, self.oracle.losses(row, outputs))
        return planes, alpha[row, number]

    def sum(self, alpha: np.ndarray) -> tuple[Vector, float]:
        """Return Σ α·p and Σ α·q, for any α of this stock's shape."""
        planes, share = self.support(alpha)
        total = self.oracle.total(self.oracle.dim)
        total.add(planes, share)
        return total.vector(), float(share @ planes.q)

    def cost(self, alpha: np.ndarray, other: np.ndarray) -> float:
        """Nothing: no such stock for the quadratic penalty."""
        return 0.0

    changed = None
    """Planes of no example are written."""

    def insert(self, planes: Planes) -> None:
        """Have no effect: all planes exist."""

    def drop_idle(self) -> None:
        """Have no effect: no plane is stored."""

    def filled_rows(self) -> np.ndarray:
        """Return the examples that a visit may change."""
        return np.arange(self.oracle.n)

    def climber(self, w: np.ndarray, sigma: float) -> Climber:
        """As Oracle.climber."""
        return self.oracle.climber(w, sigma)

    def visit(self, climber: Climber, rows: np.ndarray, tol: float) -> Visits:
        """Raise the dual over all outputs of each of these examples in turn."""
        return climber.visit_whole(self.held, rows, tol)

    def rescale(self, total: np.ndarray, factor: float) -> None:
        """Change the sums of α: every α is multiplied by `factor`, and the truth has the rest."""
        self.held = self.held._replace(total=total)
        self.held.alpha[:] *= factor
        self.held.gap[:] *= factor

    # --- checkpoints -----------------------------------------------------------------------

    def state(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Return all that a later run needs to continue with the same bits: α, and no planes."""
        row, number = np.nonzero(self.held.alpha)
        return {
            "row": row, "output": number, "alpha": self.held.alpha[row, number],
            "gap": self.held.gap,
        }  # fmt: skip

    def room(self, state: dict[str, np.ndarray]) -> tuple[int, ...]:
        """Return the shape of the α in a state."""
        return self.held.alpha.shape

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore the result of `state`."""
        n, k = self.held.alpha.shape
        row = checks.within("row", state["row"], 0, n)
        output = checks.within("output", state["output"], 0, k, row.size)
        alpha = checks.finite("alpha", state["alpha"], row.size)
        gap = checks.finite("gap", state["gap"], n)
        self.held.alpha[:] = 0.0
        self.held.alpha[row, output] = alpha
        self.held.gap[:] = gap
