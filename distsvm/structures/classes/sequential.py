"""The sequential dual method of Keerthi et al. (KDD 2008) over one block of examples of classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from distsvm import checks
from distsvm.messages import Ascended, Ascent, Holding, Planes
from distsvm.oracles.climber import Visits
from distsvm.structures.classes.sequential_form import Lists, form_of
from distsvm.structures.classes.sequential_loops import Done, Loops
from distsvm.vectors import Vector, compact
from distsvm.workers.support import SupportTable

if TYPE_CHECKING:
    from distsvm.structures.classes.oracle import ClassOracle


class SequentialBlock:
    """One block: the α of its examples, and rounds of loops over them.

    Parameters
    ----------
    oracle : ClassOracle
    formulation : str
    weight : float64 array of shape (n,)
        c_i.
    C_share : float
        C / Σc of all examples.
    seed, block : int
        The order of visits depends on both.
    n_apart : int
        Blocks that raise the dual at once.
    team : optional
        Threads whose `map` judges pieces of the examples side by side.
    shrinking : str
        See Loops.
    """

    def __init__(
        self, oracle: ClassOracle, formulation: str, weight: np.ndarray, C_share: float,
        seed: int = 0, block: int = 0, n_apart: int = 1, team: Any = None,
        shrinking: str = "gap",
    ) -> None:  # fmt: skip
        # One block's changes stay where they are: to pack them would take as long as a loop.
        self._packed: Callable[[np.ndarray], Vector] = compact if n_apart > 1 else np.asarray
        self.oracle, self.weight, self.formulation = oracle, weight, formulation
        self.seed, self.block, self.number = seed, block, 0
        self.form = form_of(oracle, formulation, C_share * weight, oracle.slack)
        self._loops = Loops(
            self.form, float(weight.sum()), shrinking, map if team is None else team.map,
            oracle.is_late,
        )  # fmt: skip
        self._before = self.form.lists.copy()

    def round(self, w: np.ndarray, point: np.ndarray | None, todo: Ascent) -> Ascended:
        """Judge all examples at w, or raise the dual from it; see BlockAscent.round."""
        lost = todo.number > 1 and self.number == 0
        self._settle(todo.taken)
        self.number = todo.number
        form = self.form
        self._before = form.lists.copy()
        upper, done = math.inf, Done(0, 0, Visits(), False)
        holding, u = None, np.zeros(w.size)
        if todo.ask == "all":
            holding = self.holding()
            upper, n_calls = self._judge(form.weights(w if point is None else point))
            done = done._replace(n_calls=n_calls, late=n_calls < self.oracle.n)
        else:
            Z = form.weights(w)
            done = self._loops.round(Z, todo, np.random.default_rng(self._seed()))
            u = form.change(Z, w, todo.sigma)
        gap = float(form.duals.gap.sum())
        n_support = int(form.duals.filled.sum())
        return Ascended(
            u=self._packed(u), linear=done.total.linear, gain=done.total.gain, holding=holding,
            upper=upper, exact=True, gap=gap, held_gap=gap, n_calls=done.n_calls,
            n_visits=done.n_visits,
            n_planes=n_support, n_support=n_support, n_refused=0, n_bytes=form.n_bytes,
            work=done.total.work, lost=lost, late=done.late,
        )  # fmt: skip

    def rescale(self, C_share: float, factor: float, taken: float) -> None:
        """Go on at another C, with every α `factor` times what was taken of it."""
        self._settle(taken)
        total = C_share * self.weight * (self.oracle.zero_one if self.oracle.slack else 1.0)
        self.form.rescale(total, factor)
        self._before = self.form.lists.copy()

    def fall_behind(self) -> None:
        """Go on from α of an earlier round than the last: w no longer has them in it."""
        self.number = 0
        self._before = self.form.lists.copy()

    def holding(self) -> Holding:
        """What the block had before the changes of the last round."""
        a, b = self.form.sum(self._before)
        return Holding(self._packed(a), b, self.number)

    def support(self, taken: float) -> SupportTable:
        """The classes with α > 0 if this part of the last round's changes was taken."""
        now, oracle = self.form.lists, self.oracle
        self._settle(taken)
        lists, self.form.lists = self.form.lists, now
        filled = np.arange(lists.output.shape[1]) < lists.filled[:, None]
        row, slot = np.nonzero(filled & (lists.alpha > 0))
        output, alpha = oracle.outputs(lists.output[row, slot]), lists.alpha[row, slot]
        planes = Planes.linear(row, output, oracle.losses(row, output))
        # With slack rescaling these α are those of planes that are not multiplied by their loss.
        unit = oracle.zero_one if oracle.slack else 1.0
        return SupportTable.of(oracle, planes, alpha / unit, self.number)

    def _settle(self, taken: float) -> None:
        if taken < 1:
            self.form.mixed(self._before, taken)

    def _judge(self, Z: np.ndarray) -> tuple[float, int]:
        """Σ c_i·H_i at Z, and the number of those judged; infinite and 0 if it is late."""
        hinge = self._loops.judge(np.arange(self.oracle.n), Z)
        if hinge is None:
            return math.inf, 0
        unit = self.oracle.zero_one if self.oracle.slack else 1.0
        return unit * float(self.weight @ hinge), self.oracle.n

    def _seed(self) -> list[int]:
        return [self.seed, self.block, self.number]

    # --- checkpoints -----------------------------------------------------------------------

    changed = None
    """Planes of no example are written."""

    def state(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Everything that a later run needs to go on with the same bits: α, and no planes."""
        own = {
            "number": np.array(self.number), "gap": self.form.duals.gap,
            "level": np.array(self._loops.level),
        }  # fmt: skip
        for name, lists in (("", self.form.lists), ("before_", self._before)):
            filled = np.arange(lists.output.shape[1]) < lists.filled[:, None]
            own |= {
                f"{name}count": lists.filled, f"{name}output": lists.output[filled],
                f"{name}alpha": lists.alpha[filled],
                f"{name}size": np.array(lists.output.shape[1]),
            }  # fmt: skip
        return own

    def restore(self, named: Iterable[tuple[str, np.ndarray]]) -> bool:
        """Take up what `state` gave."""
        state = dict(named)
        if "gap" not in state or "before_count" not in state:
            return False
        number = int(checks.array("number", state["number"], "i", ()))
        gap = checks.vector("gap", state["gap"], "f8", self.oracle.n)
        lists, before = (self._lists(state, name) for name in ("", "before_"))
        self.number, self._before, self.form.lists = number, before, lists
        self.form.duals.gap[:] = gap
        if "level" in state:  # earlier versions had none
            self._loops.level = float(checks.finite("level", state["level"][None], 1)[0])
        return True

    def _lists(self, state: dict[str, np.ndarray], name: str) -> Lists:
        n, k = self.oracle.n, self.form.k
        size = int(checks.array(f"{name}size", state[f"{name}size"], "i", ()))
        if not self.form.lists.output.shape[1] <= size <= k:
            raise ValueError(f"{name}size is {size}, expected at most {k}")
        count = checks.within(f"{name}count", state[f"{name}count"], 0, size + 1, n)
        n_all = int(count.sum())
        output = checks.within(f"{name}output", state[f"{name}output"], 0, k, n_all)
        alpha = checks.finite(f"{name}alpha", state[f"{name}alpha"], n_all)
        row = np.repeat(np.arange(n), count)
        if np.unique(row * k + output).size < n_all:
            raise ValueError(f"{name}output names a class of an example twice")
        if not self.form.alone and (output == self.oracle.truths(row)).any():
            raise ValueError(f"{name}output names the truth of an example")
        filled = np.arange(size) < count[:, None]
        lists = Lists(np.zeros((n, size), np.int32), np.zeros((n, size)), count.astype(np.int32))
        lists.output[filled], lists.alpha[filled] = output, alpha
        return lists
