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
SCREENED = 0.5
"""While more than this part of the examples have shares of the gap, each is visited; fewer are
first looked for at one w, which threads share."""
BATCH_WORK, BATCH_PARTS = 2e6, 4
"""Products of the examples that are looked at with the same w, and the parts of them: a part
takes some 0.5 ms, and later steps of a batch make few other examples want a step."""


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
        self, form: Form, shrinking: str, share: Callable[..., Iterable[Any]],
        is_late: Callable[[], bool],
    ) -> None:  # fmt: skip
        self.form, self.shrinking, self._share, self._is_late = form, shrinking, share, is_late
        self.level = 1.0
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
        rows = drawn.permutation(all_rows)
        if np.count_nonzero(self._wanting(all_rows, tol)) > SCREENED * rows.size:
            found, late = self._loop(rows, True, Z, todo)
        else:
            found, late = self._screened_loop(rows, Z, todo)
        if self.shrinking == "cooled" and form.duals.violation.max(initial=0.0) < self.level:
            self.level = max(COOLING * self.level, tol)
        return Done(rows.size, n_visits, total.plus(found), late)

    def judge(self, rows: np.ndarray, Z: np.ndarray) -> np.ndarray | None:
        """The hinges of all examples at Z, and their shares of the gap; None if it is late."""

        def judge(some: np.ndarray) -> bool:
            if self._is_late():
                return False
            self.form.judge(some, Z, self._hinge)
            return True

        return self._hinge if all(list(self._share(judge, self.pieces(rows)))) else None

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

    def _wanting(self, rows: np.ndarray, tol: float) -> np.ndarray:
        """Which of the rows have a share of the gap that counts."""
        duals = self.form.duals
        return duals.gap[rows] > tol * duals.total[rows]

    def _loop(
        self, rows: np.ndarray, whole: bool, Z: np.ndarray, todo: Ascent
    ) -> tuple[Visits, bool]:
        total = Visits()
        for some in self.pieces(rows):
            if self._is_late():
                return total, True
            total = total.plus(self.form.visit(some, whole, todo.sigma, todo.tol, Z))
        return total, False

    def _screened_loop(self, rows: np.ndarray, Z: np.ndarray, todo: Ascent) -> tuple[Visits, bool]:
        """Visit those that want a step at the w before their batch: the same for any threads."""
        form, total = self.form, Visits()
        for batch in self.pieces(rows, BATCH_WORK):
            if self._is_late():
                return total, True
            parts = np.array_split(batch, BATCH_PARTS)
            list(self._share(lambda part: form.judge(part, Z, self._hinge), parts))
            wanting = self._wanting(batch, todo.tol)
            form.duals.violation[batch[~wanting]] = 0.0
            total = total.plus(form.visit(batch[wanting], True, todo.sigma, todo.tol, Z))
            total = total.plus(Visits(work=form.work(batch)))
        return total, False
