"""The n-slack method (algorithms 1 and 2): a working set and a slack for each example."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distsvm import checks
from distsvm.cuts.bounds import Bounds
from distsvm.errors import ConfigError
from distsvm.kernels import plane_qp
from distsvm.kinds import choice, number, whole
from distsvm.messages import Violated
from distsvm.options import option
from distsvm.oracles.task import PENALTIES
from distsvm.risks.asking import AskRisk
from distsvm.risks.plane_set import PlaneSet, support_of
from distsvm.solvers.base import Problem, Solver
from distsvm.solvers.hard_margin import check_feasible, longest_of
from distsvm.solvers.n_slack_state import NSlackState
from distsvm.solvers.options import SolverOptions
from distsvm.solvers.plane_bound import most_planes
from distsvm.solvers.round import Column, Round
from distsvm.solvers.state import State
from distsvm.wording import message
from distsvm.workers.ask_part import AskPartMaker
from distsvm.workers.support import SupportTable

# ε is this part of the violation that the target gap allows; the rest is for the QP.
EPS_SHARE = 0.9
# The QP is solved to this part of the gap that the run works towards.
QP_SHARE = 0.05
# Before the first certified gap, the QP is solved to this part of the dual value.
FIRST_QP_SHARE = 1e-3
# With rel_gap alone the run works at first towards this part of its current gap.
GAP_SHARE = 0.1
# Factor of ε and of the QP's tolerance after a pass without new planes that did not end the run.
TIGHTER = 0.5
MAX_SWEEPS = 2000


@dataclass(frozen=True)
class NSlackOptions(SolverOptions):
    """The options of the n-slack solver."""

    batch: int = option(
        100, kind=whole(least=1), metavar="N", unit="planes",
        help="solve the QP after this many new planes, and after each pass over the examples",
    )  # fmt: skip
    ascent: str = option(
        "full", kind=choice("full", "subspace"), metavar="KIND",
        help="full: each QP is over all α; subspace: over those of the examples with new planes, "
        "and over all once a pass finds no new plane",
    )  # fmt: skip
    working_set_mb: float = option(
        4096.0, kind=number(above=0), flag="--working-set", metavar="MB", unit="MiB",
        help="limit of the driver's memory for the working set, which grows with every new plane. "
        "At the limit, planes with α = 0 are dropped; where all have α > 0, the run fails",
    )  # fmt: skip
    idle_planes: int = option(
        50, kind=whole(least=1), metavar="N",
        help="drop a plane after this many solves in a row with α = 0",
    )  # fmt: skip


@dataclass(frozen=True)
class NSlack(Solver[AskRisk, NSlackState]):
    """Each round calls the oracle on the next examples of a pass at one w, and adds new planes."""

    name: ClassVar[str] = "n-slack"
    Options: ClassVar[type[SolverOptions]] = NSlackOptions
    State: ClassVar[type[State]] = NSlackState
    needs: ClassVar[frozenset[str]] = frozenset({"planes"})
    penalties: ClassVar[frozenset[str]] = PENALTIES
    why_no_support: ClassVar[str] = ""
    auto_penalties: ClassVar[frozenset[str]] = PENALTIES
    has_blocks: ClassVar[bool] = False
    in_memory: ClassVar[bool] = True
    warm_up: ClassVar[tuple[dict[str, Any], ...]] = ({}, {"ascent": "subspace"})
    columns: ClassVar[tuple[Column, ...]] = (
        Column("n_planes", "planes", "planes in the working set", support="n_support_planes"),
        Column("n_support_planes", "", "those with α > 0"),
        Column("n_added", "planes added", "new planes since the run began"),
        Column("theorem_18", "planes at most", "Theorem 18's bound of the planes added at this ε, "
               "with a QP after each of them", only_if_any=True),
        Column("n_solves", "", "QPs solved since the run began"),
        Column("qp_sweeps", "", "sweeps over the working set since the run began"),
        Column("qp_gap", "", "the gap of the last QP; for a hard margin relative to its primal"),
        Column("violation", "", "ε: planes that are violated by more are added"),
    )  # fmt: skip

    problem: Problem
    options: NSlackOptions = NSlackOptions()

    def part_maker(self) -> AskPartMaker:
        return AskPartMaker(self.problem.penalty)

    def risk_kind(self) -> type[AskRisk]:
        return AskRisk

    def begin(self, risk: AskRisk, start: np.ndarray | None) -> NSlackState:
        problem = self.problem
        bounds = Bounds(dual=0.0)
        if start is None and problem.largest_loss is not None and not self._is_hard:
            half = 0.5 if problem.penalty == "quadratic" else 1.0
            bounds.add_primal(half * problem.C * problem.largest_loss, risk.zero(), exact=False)
        return NSlackState(
            bounds, risk.zero() if start is None else np.array(start),
            planes=PlaneSet(risk.dim), cursor=np.zeros(risk.n_hosts, np.int64),
        )  # fmt: skip

    def restore(self, risk: AskRisk, arrays: Mapping[str, np.ndarray]) -> NSlackState:
        state = super().restore(risk, arrays)
        state.planes = PlaneSet.from_arrays(dict(arrays), risk.dim, int(risk.first[-1]))
        state.cursor = checks.vector("cursor", arrays["cursor"], "i", risk.n_hosts)
        if (state.cursor < 0).any() or (state.cursor > risk.sizes).any():
            raise ValueError("cursor is outside the examples")
        return state

    def follow(self, risk: AskRisk, earlier: NSlackState, factor: float) -> NSlackState:
        planes = earlier.planes
        planes.alpha = factor * planes.alpha
        state = NSlackState(
            earlier.bounds.rescaled(factor), earlier.w, planes=planes,
            cursor=np.zeros(risk.n_hosts, np.int64),
        )  # fmt: skip
        self._solve(risk, state, everything=True)
        return state

    def rounds(self, risk: AskRisk, state: NSlackState) -> Iterator[Round]:
        while True:
            state.number += 1
            is_last = state.number == self.problem.max_rounds
            if is_last:
                state.begin_pass()
            before = state.bounds.primal, state.bounds.dual
            with state.clock.phase("cuts"):
                slack = self._slack(risk, state)
                state.eps = self._eps(risk, state, slack)
            stop = risk.sizes if is_last else self._stop(risk, state)
            with state.clock.phase("oracle"):
                answers = risk.ask(state.w, state.eps, state.cursor, stop, slack)
            room = sum(map(len, answers)) if is_last else self.options.batch - state.n_pending
            with state.clock.phase("cuts"):
                is_full = self._take(risk, state, answers, stop, room)
                is_over = not state.late and bool((state.cursor >= risk.sizes).all())
                values = self._certify(risk, state) if is_over and state.whole else (None, None)
            if is_over:
                self._end_pass(risk, state, values[0], before)
            elif is_full:
                self._solve(risk, state)
                state.whole = False  # the rest of the pass is at another w
            yield self._record(risk, state, *values)

    def support(self, risk: AskRisk, state: NSlackState) -> SupportTable | None:
        return support_of(state.planes.arrays())

    def is_forced(self, state: NSlackState) -> bool:
        return state.number + 1 == self.problem.max_rounds

    # --- the steps of a round --------------------------------------------------------------

    @property
    def _is_hard(self) -> bool:
        return self.problem.penalty == "hard"

    def _slack(self, risk: AskRisk, state: NSlackState) -> np.ndarray:
        """Return the working set's bound of each example's ξ at w; zeros with a hard margin."""
        n = risk.weight.size
        return np.zeros(n) if self._is_hard else state.planes.slack(state.w, n)

    def _eps(self, risk: AskRisk, state: NSlackState, slack: np.ndarray) -> float:
        """Return the least violation of new planes, such that the target gap can be reached.

        Gaps are at most C·ε, and C·ε·(mean ξ) + C·ε²/2 for the quadratic penalty. With a hard
        margin ε is relative, and the gap about 2·ε of the primal value.
        """
        share = EPS_SHARE * state.tight
        if self._is_hard:
            return 0.5 * share * (self.problem.target.rel_gap or 0.0)
        eps = share * self._working_gap(state) / self.problem.C
        if self.problem.penalty == "linear":
            return eps
        mean = risk.mean(slack)
        return math.sqrt(mean**2 + 2 * eps) - mean

    def _working_gap(self, state: NSlackState) -> float:
        """Return the gap to work towards: the target, or with rel_gap alone a part of the last."""
        wished = self.problem.C * self.problem.working_eps(state.bounds.dual)
        if self.problem.target.eps is not None or math.isinf(state.bounds.gap):
            return wished
        return max(wished, GAP_SHARE * state.bounds.gap)

    def _stop(self, risk: AskRisk, state: NSlackState) -> np.ndarray:
        """Return the end of the round at each host, such that its examples about fill the batch."""
        left = risk.sizes - state.cursor
        if state.rate <= 0:
            return risk.sizes
        wanted = min((self.options.batch - state.n_pending) / state.rate, float(left.sum()))
        n_waiting = max(1, int(np.count_nonzero(left)))
        share = max(1, math.ceil(wanted / n_waiting))
        return state.cursor + np.minimum(left, share)

    def _take(
        self, risk: AskRisk, state: NSlackState, answers: Sequence[Violated], stop: np.ndarray,
        room: int,
    ) -> bool:  # fmt: skip
        """Add the new planes in the order of hosts, and return whether they fill the batch.

        Planes beyond the batch are left out, and a later round searches their examples again.
        """
        planes, cursor, n_new, n_added = state.planes, state.cursor.copy(), 0, 0
        state.late = any(answer.late for answer in answers)
        state.n_calls += sum(answer.n_calls for answer in answers)
        for host, answer in enumerate(answers):
            first = int(risk.first[host])
            pairs = zip((answer.row + first).tolist(), answer.key.tolist(), strict=True)
            new = np.flatnonzero([planes.is_new(*pair) for pair in pairs])
            n_new += new.size
            taken = new[: room - n_added]
            if taken.size < new.size or (n_added == room > 0 and stop[host] > cursor[host]):
                state.whole = False
                if taken.size:
                    cursor[host] = answer.row[taken[-1]] + 1
            else:
                cursor[host] = stop[host]
            planes.add(answer.take(taken), first)
            n_added += taken.size
            state.total += answer.total
            state.worst = max(state.worst, answer.worst)
            state.exact = state.exact and answer.exact
        state.rate = n_new / max(1, sum(answer.n_calls for answer in answers))
        state.cursor = cursor
        state.n_pending += n_added
        state.n_found += n_added
        state.n_added += n_added
        return n_added == room > 0

    def _certify(self, risk: AskRisk, state: NSlackState) -> tuple[float | None, float | None]:
        """Return P and R at w. With a hard margin, return P of the scaled w, or None, and None."""
        half = 0.5 * risk.point(state.w).norm2
        if not self._is_hard:
            mean = state.total / risk.total_weight
            primal = half + self.problem.C * mean
            state.bounds.add_primal(primal, state.w, state.exact)
            return primal, mean
        if state.worst >= 1:
            return None, None
        longer = 1.0 / (1.0 - state.worst)
        primal = longer**2 * half
        state.bounds.add_primal(primal, longer * state.w, state.exact)
        return primal, None

    def _end_pass(
        self, risk: AskRisk, state: NSlackState, primal: float | None, before: tuple[float, float]
    ) -> None:
        """Solve before the next pass; reduce ε after a pass at one w without new planes."""
        if state.whole and not state.n_found:
            state.tight *= TIGHTER
            self._solve(risk, state, everything=True)
        elif state.n_pending:
            self._solve(risk, state)
        if primal is not None:
            same = (state.bounds.primal, state.bounds.dual) == before and not state.n_found
            state.n_stalled = state.n_stalled + 1 if same else 0
        state.begin_pass()

    # --- the QP ----------------------------------------------------------------------------

    def _solve(self, risk: AskRisk, state: NSlackState, everything: bool = False) -> None:
        """Raise the dual over the working set from the last α; then update w and D."""
        planes = state.planes
        if not len(planes):
            return
        with state.clock.phase("qp"):
            order, first, examples = planes.blocks()
            cap, d = self._prices(risk, risk.weight[examples])
            room = np.zeros(planes.ids.size)
            given = (order, first)
            solved = (*planes.p, planes.q, planes.norm, cap, d, self._is_hard)
            planes.alpha = planes.alpha.copy()
            if self.options.ascent == "full" or everything:
                n_sweeps, state.qp_gap = plane_qp.maximise(
                    *given, *solved, longest_of(planes), self._tol(state), MAX_SWEEPS,
                    planes.alpha, room,
                )  # fmt: skip
                state.n_sweeps += n_sweeps
            else:
                plane_qp.sum_of(*planes.p, planes.alpha, room)
                touched = np.unique(planes.example[len(planes) - state.n_pending :])
                rows = np.searchsorted(examples, touched)
                plane_qp.climb_rows(*given, rows, *solved, planes.alpha, room)
            planes.solved()
            state.n_solves += 1
            state.n_pending = 0
        with state.clock.phase("cuts"):
            planes.drop_idle(self.options.idle_planes)
            self._keep_small(planes)
            state.w = planes.sum()
            self._add_dual(risk, state)

    def _prices(self, risk: AskRisk, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the caps of Σ α of examples with these weights, and the factors d of (Σ α)²/2."""
        none = np.zeros(weight.size)
        if self._is_hard:
            return none + np.inf, none
        share = self.problem.C * weight / risk.total_weight
        return (share, none) if self.problem.penalty == "linear" else (none + np.inf, 1.0 / share)

    def _tol(self, state: NSlackState) -> float:
        """Return the tolerance of the QP's gap."""
        share = QP_SHARE * state.tight
        if self._is_hard:
            return share * (self.problem.target.rel_gap or 0.0)
        if math.isinf(state.bounds.gap):
            return FIRST_QP_SHARE * state.tight * state.bounds.dual
        return share * self._working_gap(state)

    def _add_dual(self, risk: AskRisk, state: NSlackState) -> None:
        planes, square = state.planes, risk.point(state.w).norm2
        dual = planes.linear() - 0.5 * square
        if self.problem.penalty == "quadratic":
            _, d = self._prices(risk, risk.weight[np.unique(planes.example)])
            dual -= planes.cost(d)
        state.bounds.add_dual(dual)
        if self._is_hard:
            check_feasible(risk, planes, math.sqrt(square))

    def _keep_small(self, planes: PlaneSet) -> None:
        limit = self.options.working_set_mb * 2**20
        if planes.n_bytes > limit:
            planes.drop_idle(1)
        if planes.n_bytes > limit:
            raise ConfigError(
                message(
                    "{working_set_mb}: {} planes with α > 0 take {} MB, the limit is {} MB; "
                    "expected a higher limit, or another solver",
                    f"{len(planes):,}",
                    f"{planes.n_bytes / 2**20:.3g}",
                    f"{limit / 2**20:.3g}",
                )
            )

    # --- history ---------------------------------------------------------------------------

    def _record(
        self, risk: AskRisk, state: NSlackState, primal: float | None, mean: float | None
    ) -> Round:
        bounds, planes = state.bounds, state.planes
        return Round(
            number=state.number, kind="refreshed" if primal is None else "fresh", primal=primal,
            best_primal=bounds.primal, dual=bounds.dual, gap=bounds.gap, risk=mean,
            w_norm=math.sqrt(risk.point(state.w).norm2), n_oracle_calls=state.n_calls,
            n_cache_hits=0, n_planes=len(planes), solver=self.name,
            own={
                "violation": state.eps,
                "n_support_planes": planes.n_support,
                "n_added": state.n_added,
                "theorem_18": most_planes(self.problem, risk.weight, state.eps),
                "n_solves": state.n_solves,
                "qp_sweeps": state.n_sweeps,
                "qp_gap": state.qp_gap if math.isfinite(state.qp_gap) else 0.0,
            },
            seconds=dict(state.clock.seconds),
        )  # fmt: skip
