"""The state of n-slack between two rounds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from distsvm.risks.plane_set import PlaneSet
from distsvm.solvers.state import State, kept_float, kept_int


@dataclass
class NSlackState(State):
    """The working set, and the progress of the pass over the examples.

    Parameters
    ----------
    cursor : int64 array
        The next example of each host.
    whole, exact : bool
        Whether all oracle calls of the pass were at one w, and whether all were exact.
    total, worst : float
        Violated.total and Violated.worst of the pass so far.
    n_found, n_pending : int
        New planes of the pass so far, and new planes since the last solve.
    n_added : int
        |S| of the paper: new planes since the run began.
    rate : float
        New planes per oracle call in the last round.
    tight : float
        Factor of ε and of the QP's tolerance; smaller after passes without new planes.
    """

    planes: PlaneSet = field(default_factory=lambda: PlaneSet(0))
    cursor: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    whole: bool = kept_int(True)
    exact: bool = kept_int(True)
    n_found: int = kept_int()
    n_pending: int = kept_int()
    n_added: int = kept_int()
    n_calls: int = kept_int()
    n_solves: int = kept_int()
    n_sweeps: int = kept_int()
    total: float = kept_float()
    worst: float = kept_float()
    rate: float = kept_float(1.0)
    tight: float = kept_float(1.0)
    qp_gap: float = kept_float()
    eps: float = kept_float()

    @property
    def n_bytes(self) -> int:
        return self.planes.n_bytes

    def more_arrays(self) -> dict[str, np.ndarray]:
        return self.planes.arrays() | {"cursor": self.cursor}

    def begin_pass(self) -> None:
        """Go back to the first example of every host."""
        self.cursor = np.zeros_like(self.cursor)
        self.whole = self.exact = True
        self.total = self.worst = 0.0
        self.n_found = 0
