"""Which examples a round of the sequential dual method visits, and when its loops end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from distsvm.messages import Ascent
from distsvm.oracles.climber import Visits
from distsvm.structures.classes.sequential_form import Form

PIECE_WORK = 2e7
"""Products of one call of a kernel, after which the time is looked at: some 10 ms."""
DONE_SHARE, MOST_OF_GAP = 0.2, 2.0
"""By gap: loops over the free examples end when they show less than this part of the gap before
them, or after so many times the values of g of a loop over all."""
COOLING, MOST_COOLED = 0.1, 5.0
"""By violation: ε_t falls by this factor, and loops end after so many times those values."""
MOST_VALUES = 1 / 3
"""Free examples of which more than this part of the values of g would be computed are visited
whole: all classes of a feature lie side by side, and a few of them take as long as all."""
LEAST_SHARE, MOST_VISITED, MOST_VISITED_FAR = 0.1, 0.8, 0.4
"""A loop over all visits those whose share of the gap, for their weight, is more than this part of
the mean, once they seem to be no more than such a part of the examples. They are found at one w,
row after row and by all threads, while visits are in random order and by one. The second part is
for weights of more than CACHE bytes, where a look takes as long as a visit."""
CACHE = 2**22
SCREEN_WORK = 2e6
"""Products of the examples that a thread looks at without a pause: some 1 ms."""


class Done(NamedTuple):
    """What loops did: visits of all classes, others, what they brought, whether it is late."""

    n_calls: int
    n_visits: int
    total: Visits
    late: bool


class Loops:
    """The loops of a round: over the free examples, and then one over all.

    A free example has an α that is at no bound; its visit looks only at the classes with α > 0.
    What a loop over all sees before each step is nearly the gap of the α that it began with.

    Parameters
    ----------
    form : Form
    weight : float
        Σ c_i of the examples.
    shrinking : str
        When the loops over the free examples end; see the option.
    share : callable
        Like `map`: threads may share it.
    is_late : callable
        Whether the time is over.

    Attributes
    ----------
    level : float
        ε_t, for "cooled".
    """

    def __init__(
        self, form: Form, weight: float, shrinking: str, share: Callable[..., Iterable[Any]],
        is_late: Callable[[], bool],
    ) -> None:  # fmt: skip
        self.form, self.shrinking, self._share, self._is_late = form, shrinking, share, is_late
        self._weight, self.level = weight, 1.0
        self._hinge = np.zeros(form.oracle.n)
        self._all_values = float(form.k * form.oracle.n)

    def round(self, Z: np.ndarray, todo: Ascent, drawn: np.random.Generator) -> Done:
        """Do a round's loops from the weights Z on, which they change."""
        form, tol, total, n_visits = self.form, todo.tol, Visits(), 0
        all_rows, values = np.arange(form.oracle.n), 0.0
        goal = DONE_SHARE * float(form.duals.gap.sum())
        free = all_rows[:0] if self.shrinking == "none" else form.free(all_rows)
        while free.size and math.isfinite(goal):
            own = form.n_values(free)
            whole = own > MOST_VALUES * form.k * free.size
            values += form.k * free.size if whole else own
            found, late = self._loop(drawn.permutation(free), whole, Z, todo)
            total, n_visits = total.plus(found), n_visits + free.size
            if late:
                return Done(0, n_visits, total, True)
            if self._is_enough(free, values, goal, tol):
                break
            free = form.free(free)
        most = MOST_VISITED if Z.nbytes <= CACHE else MOST_VISITED_FAR
        if self._wanting(tol).size > most * all_rows.size:
            found, late = self._loop(drawn.permutation(all_rows), True, Z, todo)
        else:
            found, late = self._screened_loop(Z, todo, drawn)
        if self.shrinking == "cooled" and form.duals.violation.max(initial=0.0) < self.level:
            self.level = max(COOLING * self.level, tol)
        return Done(0 if late else all_rows.size, n_visits, total.plus(found), late)

    def judge(self, rows: np.ndarray, Z: np.ndarray) -> np.ndarray | None:
        """The hinges of these examples at Z, and their shares of the gap; None if it is late."""

        def judge(some: np.ndarray) -> bool:
            if self._is_late():
                return False
            self.form.judge(some, Z, self._hinge)
            return True

        done = list(self._share(judge, self.pieces(rows, SCREEN_WORK)))
        return self._hinge if all(done) else None

    def pieces(self, rows: np.ndarray, work: float = PIECE_WORK) -> Iterator[np.ndarray]:
        """The rows in pieces of so many products with the weights of all classes."""
        entries, n = float(self.form.entries.starts[-1]), max(1, self.form.oracle.n)
        size = max(1, int(work / max(1.0, entries * self.form.k / n)))
        for start in range(0, rows.size, size):
            yield rows[start : start + size]

    def _is_enough(self, free: np.ndarray, values: float, goal: float, tol: float) -> bool:
        """Whether the loops over the free examples end."""
        duals = self.form.duals
        if self.shrinking == "gap":
            return values > MOST_OF_GAP * self._all_values or float(duals.gap[free].sum()) <= goal
        level = self.level if self.shrinking == "cooled" else tol
        return values > MOST_COOLED * self._all_values or duals.violation[free].max() < level

    def _wanting(self, tol: float) -> np.ndarray:
        """The examples whose shares of the gap count; all before the first loop."""
        duals = self.form.duals
        total = float(duals.total.sum())
        mean = float(duals.gap.sum()) / total if total > 0 else 0.0
        if not math.isfinite(mean):
            return np.arange(duals.gap.size)
        return np.flatnonzero(duals.gap > max(tol, LEAST_SHARE * mean) * duals.total)

    def _loop(
        self, rows: np.ndarray, whole: bool, Z: np.ndarray, todo: Ascent
    ) -> tuple[Visits, bool]:
        total = Visits()
        for some in self.pieces(rows):
            if self._is_late():
                return total, True
            total = total.plus(self.form.visit(some, whole, todo.sigma, todo.tol, Z))
        return total, False

    def _screened_loop(
        self, Z: np.ndarray, todo: Ascent, drawn: np.random.Generator
    ) -> tuple[Visits, bool]:
        """Visit those that want a step at Z; nobody if the gap, which is exact here, is enough."""
        form, duals = self.form, self.form.duals
        all_rows = np.arange(form.oracle.n)
        if self.judge(all_rows, Z) is None:
            return Visits(), True
        looked = Visits(work=form.k * float(form.entries.starts[-1]))
        if float(duals.gap.sum()) <= todo.enough * self._weight:
            return looked, False
        duals.violation[:] = 0.0
        found, late = self._loop(drawn.permutation(self._wanting(todo.tol)), True, Z, todo)
        return looked.plus(found), late
