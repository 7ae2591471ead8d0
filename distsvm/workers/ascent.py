"""One block of the dual ascent: its planes, their α, and rounds that raise the dual."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from distsvm import checks
from distsvm.data.ragged import joined
from distsvm.messages import Ascended, Ascent, Holding, Planes
from distsvm.oracles.bound import power_of_two
from distsvm.oracles.climber import Climber, Visits
from distsvm.oracles.oracle import Oracle
from distsvm.oracles.search import Separation
from distsvm.team import Team
from distsvm.vectors import Vector
from distsvm.workers.asking import asked
from distsvm.workers.stock import PlaneStock
from distsvm.workers.support import SupportTable
from distsvm.workers.whole_stock import WholeStock

MEGABYTE = 2**20
# Oracle calls at one w before the steps over their planes. A larger number would give threads
# more parallel work, and take more passes (benchmarks/pass_rules.py).
BATCH = 32
# The least work of a thread's share of these calls, in the unit of Oracle.call_work: less work
# would be done before another thread has started.
PART_WORK = 3e5
# The work of a round beside calls and visits, in the unit of Oracle.call_work. Without it small
# blocks would make many passes over planes with almost no gain.
ROUND_WORK = 1e5
# A pass visits only examples whose gap was above this part of the mean.
WORTH = 0.1


class BlockAscent:
    """The dual over all planes in a shard's memory, α_i on a simplex of size c_i·C / Σc.

    Parameters
    ----------
    weight : float64 array of shape (n,)
        c_i.
    C_share : float
        C / Σc of all examples.
    memory_mb : float
        Limit of the memory for planes.
    seed, block : int
        The order of visits depends on both, so blocks have different orders.
    n_apart : int
        The number of blocks that change w at the same time without the others' changes.
    shares : array, optional
        Those of the block's features, if this is a piece of the block; see Oracle.climb_beside.
    team : Team, optional
        The threads that call the oracle.
    """

    def __init__(
        self, oracle: Oracle, weight: np.ndarray, C_share: float, memory_mb: float,
        seed: int = 0, block: int = 0, n_apart: int = 1,
        shares: np.ndarray | None = None, team: Team | None = None,
    ) -> None:  # fmt: skip
        oracle.climb_beside(n_apart, shares)
        self.oracle, self.weight, self._team = oracle, weight, team or Team()
        self.seed, self.block = seed, block
        self.stock = _stock(oracle, C_share * weight, memory_mb * MEGABYTE)
        self.number = 0
        self.share = np.full(oracle.n, np.inf)  # of the gap, when the oracle was last asked
        self._before = np.array(self.stock.held.alpha)

    def round(
        self, w: np.ndarray, point: np.ndarray | None, todo: Ascent, begun: Vector | None = None
    ) -> Ascended:
        """Call the oracle, visit, and return the changes; the next round says which part was taken.

        Parameters
        ----------
        w : Σ α·p of all blocks
        point : the w of calls for all examples, if it is not w
        begun : the change of other pieces of the block in this round
        """
        lost = todo.number > 1 and self.number == 0
        self._settle(todo.taken)
        self.number = todo.number
        if todo.ask != "none":
            self.stock.drop_idle()
        self._before = np.array(self.stock.held.alpha)
        holding = self.holding() if todo.ask == "all" else None
        climber = self.stock.climber(w, todo.sigma)
        if begun is not None:
            climber.begin(begun)
        upper, exact, n_calls, n_visits, total, late = math.inf, True, 0, 0, Visits(), False
        if todo.ask == "all":
            n_calls, upper, exact = self._ask_all(w if point is None else point)
            late = n_calls < self.oracle.n
        elif todo.ask == "some" and not self.stock.asks:
            chosen = self._chosen(todo)
            n_calls, total = self._ask_some(climber, chosen, todo)
            n_visits, late = n_calls, n_calls < chosen.size
        if self._begins_with_all(todo):
            self.share[:] = self.stock.held.gap  # no pass visits examples without planes
        work = ROUND_WORK + n_calls * self.oracle.call_work()
        for number, rows in enumerate(self._passes(todo)):
            late = late or self.oracle.is_late()
            if late:
                break
            found = self.stock.visit(climber, rows, todo.tol)
            total = total.plus(found)
            if self.stock.asks:  # a visit that searched all outputs counts as a call
                n_calls += rows.size
            else:
                n_visits += rows.size
            if number == 0 and self._begins_with_all(todo):
                self.share[:] = self.stock.held.gap
            if found.gain <= todo.least_rate * found.work or self._is_enough(todo):
                break
        stock = self.stock
        along, apart = self._cost_of_change()
        return Ascended(
            u=climber.change() if begun is None else self._change(), linear=total.linear,
            gain=total.gain, holding=holding, upper=upper, exact=exact,
            gap=float(self.share.sum()), held_gap=float(stock.held.gap.sum()),
            n_calls=n_calls, n_visits=n_visits,
            n_planes=stock.n_planes, n_support=stock.n_support, n_refused=stock.n_refused,
            n_bytes=stock.n_bytes, work=work + total.work, lost=lost,
            late=late, cost_along=along, cost_apart=apart,
        )  # fmt: skip

    def rescale(self, C_share: float, factor: float, taken: float) -> None:
        """Continue at another C, with every α multiplied by `factor`."""
        self._settle(taken)
        self.stock.rescale(C_share * self.weight, factor)
        self._before = np.array(self.stock.held.alpha)
        self.share *= factor

    def fall_behind(self) -> None:
        """Mark the α as those of an earlier round, which w does not contain."""
        self.number = 0
        self._before = np.array(self.stock.held.alpha)

    def _settle(self, taken: float) -> None:
        """Keep the part of the last round's changes that was taken."""
        if taken < 1:
            alpha, before = self.stock.held.alpha, self._before
            known = alpha[:, : before.shape[1]]  # the stock may have grown since
            known[:] = before + taken * (known - before)
            alpha[:, before.shape[1] :] *= taken

    def holding(self) -> Holding:
        """The block's values before the changes of the last round."""
        before = self._earlier()
        return Holding(*self.stock.sum(before), self.number, self.stock.cost(before, before))

    def support(self, taken: float) -> SupportTable:
        """The planes with α > 0 if this part of the last round's changes was taken."""
        before = self._earlier()
        alpha = (
            before + taken * (self.stock.held.alpha - before)
            if taken < 1
            else (self.stock.held.alpha)
        )
        return SupportTable.of(self.oracle, *self.stock.support(alpha), self.number)

    def _cost_of_change(self) -> tuple[float, float]:
        """Ascended.cost_along and cost_apart of this round."""
        if self.oracle.penalty == "linear":
            return 0.0, 0.0
        before = self._earlier()
        change = self.stock.held.alpha - before
        return self.stock.cost(before, change), self.stock.cost(change, change)

    def _change(self) -> Vector:
        """Return Σ (change of α)·p of this round, made anew."""
        return self.stock.sum(self.stock.held.alpha - self._earlier())[0]

    def _earlier(self) -> np.ndarray:
        """Return the α before this round, in the stock's present shape."""
        alpha = np.zeros_like(self.stock.held.alpha)
        alpha[:, : self._before.shape[1]] = self._before
        return alpha

    def _ask_all(self, point: np.ndarray) -> tuple[int, float, bool]:
        """Call the oracle on every example at one point; return Σ c_i·H_i and whether it is exact.

        For the quadratic penalty it is Σ c_i·H_i²/2.

        The first number is that of the examples asked; the sum is infinite if not all were.
        """
        n, upper, exact, oracle = 0, 0.0, True, self.oracle
        view, pieces = oracle.view(point), oracle.chunks(np.arange(oracle.n))
        for answer in asked(self._team, oracle, view, pieces, oracle.piece):
            self._insert(answer)
            n += len(answer.planes)
            highest = 0.5 * answer.upper**2 if oracle.penalty == "quadratic" else answer.upper
            upper += float(self.weight[answer.planes.row] @ highest)
            exact &= answer.exact
        return n, upper if n == self.oracle.n else math.inf, exact

    def _chosen(self, todo: Ascent) -> np.ndarray:
        """Return the examples with the largest shares of the gap, in the order of their calls."""
        n = min(self.oracle.n, int(np.ceil(todo.share * self.oracle.n)))
        chosen = np.argsort(-self.share, kind="stable")[:n]
        return np.random.default_rng(self._seed(0)).permutation(chosen)

    def _ask_some(self, climber: Climber, chosen: np.ndarray, todo: Ascent) -> tuple[int, Visits]:
        """Call the oracle on the chosen examples, with steps after each few of them."""
        n, total, oracle = 0, Visits(), self.oracle
        size = min(BATCH, power_of_two(PART_WORK / oracle.call_work()))
        for batch in _pieces(chosen, BATCH):
            # All at one w: steps change the view.
            parts = _pieces(batch, size)
            answers = list(asked(self._team, oracle, climber.view(), parts, size))
            if not answers:
                break
            self._insert(*answers)
            rows = np.concatenate([answer.planes.row for answer in answers])
            n += rows.size
            total = total.plus(self.stock.visit(climber, rows, todo.tol))
            self.share[rows] = self.stock.held.gap[rows]
        return n, total

    def _insert(self, *answers: Separation) -> None:
        planes = _joined([answer.planes for answer in answers])
        value = np.concatenate([answer.value for answer in answers])
        # All but the truth's: an output without loss may be violated all the same.
        worth = np.flatnonzero((planes.loss > 0) | (value > 0))
        self.stock.insert(planes if worth.size == len(planes) else planes.take(worth))

    def _passes(self, todo: Ascent) -> Iterator[np.ndarray]:
        """Yield the examples of each pass in a new order: those with a gap, or all if asked."""
        for number in range(todo.n_passes):
            held, rows = self.stock.held, self.stock.filled_rows()
            if todo.ask == "some":
                rows = rows[(rows + self.number) % todo.n_parts == 0]
            if (number or not self._begins_with_all(todo)) and rows.size:
                rows = rows[held.gap[rows] > WORTH * held.gap[rows].mean()]
            if not rows.size:
                return
            yield np.random.default_rng(self._seed(1 + number)).permutation(rows)

    def _begins_with_all(self, todo: Ascent) -> bool:
        """Return whether the first pass is over all examples, so that all shares are new."""
        return todo.ask == "all" or (todo.ask == "some" and self.stock.asks)

    def _is_enough(self, todo: Ascent) -> bool:
        """Return whether the passes have reduced the gap to the wanted value."""
        return self.stock.asks and self.stock.held.gap.sum() <= todo.enough * self.weight.sum()

    def _seed(self, part: int) -> list[int]:
        return [self.seed, self.block, self.number, part]

    # --- checkpoints -----------------------------------------------------------------------

    @property
    def changed(self) -> np.ndarray | None:
        """As of its stock."""
        return self.stock.changed

    def state(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Return all that a later run needs for the same bits; rows as in the stock."""
        return self.stock.state(rows) | {
            "number": np.array(self.number), "share": self.share, "before": self._earlier(),
        }  # fmt: skip

    def restore(self, named: Iterable[tuple[str, np.ndarray]]) -> bool:
        """Restore the result of `state`; return False if its block had other pieces."""
        state = dict(named)
        if "pieces" in state:
            return False
        number = int(checks.array("number", state["number"], "i", ()))
        share = checks.vector("share", state["share"], "f8", self.oracle.n)
        # Equal in size in the file and in memory, so a small file cannot claim much memory.
        before = checks.array("before", state["before"], "f8", self.stock.room(state))
        self.stock.restore(state)
        # Arrays of a message are read-only.
        self.number, self.share, self._before = number, np.array(share), np.array(before)
        return True


def _stock(oracle: Oracle, total: np.ndarray, max_bytes: float) -> PlaneStock | WholeStock:
    """Return a stock of all outputs where they are few enough, else of the planes found."""
    if WholeStock.bytes_for(oracle) <= max_bytes:
        return WholeStock(oracle, total)
    return PlaneStock(oracle, total, max_bytes)


def _joined(parts: Sequence[Planes]) -> Planes:
    """Return these planes, one after another."""
    if len(parts) == 1:
        return parts[0]
    output = joined([part.output for part in parts])
    row, q, loss = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("row", "q", "loss")
    )
    return Planes(row, output, q, q if all(part.loss is part.q for part in parts) else loss)


def _pieces(rows: np.ndarray, size: int) -> Iterator[np.ndarray]:
    for start in range(0, rows.size, size):
        yield rows[start : start + size]
