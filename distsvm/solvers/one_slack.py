"""The 1-slack cutting-plane method (algorithms 3 and 4 of Joachims, Finley and Yu, 2009)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from distsvm.cuts.bounds import Bounds
from distsvm.cuts.cut import Cut
from distsvm.cuts.working_set import WorkingSet
from distsvm.errors import ConfigError
from distsvm.kinds import Text, share, whole
from distsvm.options import option
from distsvm.oracles.task import Task
from distsvm.qp import QP_NAMES, QP_PATTERN, make_qp
from distsvm.qp.base import QPSolution, QPSolver
from distsvm.risks.base import Answer, CutRisk
from distsvm.solvers.base import Place, Problem, Solver
from distsvm.solvers.options import SolverOptions
from distsvm.solvers.round import Column, Round
from distsvm.solvers.state import State, kept_float, kept_int
from distsvm.wording import Setting, Value, message
from distsvm.workers.cut_part import CutPartMaker

# The QP is solved to this part of the round's estimated gap C·violation.
QP_SHARE = 0.1
# A cached cut needs at least this part of the violation of the oracle's last cut.
CACHE_SHARE = 0.1
# Even with stabilisation the oracle is called at the model's own w, if the last cut of all examples
# had a violation below this part of gap/C.
TRUST = 0.1
# A violation below this part of the slack is rounding.
ROUNDING = 1e-13


# Planes of each example in the cache, if scoring them is cheaper than the oracle.
CACHE_SIZE = 10
# The line search needs cuts only for its own direction: this is its default of max_cuts per block.
LINE_SEARCH_CUTS = 50


@dataclass(frozen=True)
class OneSlackOptions(SolverOptions):
    """The options of the one-slack solver."""

    cache_size: int | str = option(
        "auto", kind=whole(least=0).or_word("auto"), metavar="N", unit="planes",
        usual="auto, 10, or 0 for classes, whose oracle costs no more than a cache",
        help="cached planes of each example; 0 for none",
    )  # fmt: skip
    refresh_fraction: float = option(
        1.0, kind=share, metavar="F",
        help="the part of the examples for oracle calls at a time when the caches fail",
    )  # fmt: skip
    stabilise: float = option(
        0.3, kind=share, metavar="MU",
        help="µ: call the oracle at (1 − µ)·w_best + µ·w_model; 1 is the method of the paper",
    )  # fmt: skip
    qp: str = option(
        "native", kind=Text(QP_PATTERN, QP_NAMES), metavar="NAME",
        help="the solver of the small QP: native, cvxpy, cvxpy:SOLVER; or line-search, which takes "
        "one step in its place",
    )  # fmt: skip
    idle_solves: int = option(
        50,
        kind=whole(least=1),
        metavar="N",
        help="drop a cut after this many solves in a row with α = 0",
    )
    max_cuts: int | None = option(
        None, kind=whole(least=3), metavar="N", usual="none, 50 a block for line-search",
        help="above it, the sum Σ α·cut replaces cuts; at least 2·{n_blocks} + 1",
    )  # fmt: skip

    def check_with(self, config: Any) -> None:
        least = 2 * (config.n_blocks or 1) + 1
        if self.max_cuts is not None and self.max_cuts < least:
            raise ConfigError("max_cuts", self.max_cuts, whole(least).expected)
        has_cache = self.cache_size not in ("auto", 0) and config.solver in ("auto", "one-slack")
        if has_cache and config.worker_memory_mb is not None:
            raise ConfigError(
                message(
                    "{worker_memory_mb} and {}: the one-slack solver's cache would take memory of "
                    "its own; expected 0 or {}, or {}",
                    Setting("cache_size", self.cache_size),
                    Value("auto"),
                    Setting("solver", "multi-plane"),
                )
            )

    def check_here(self) -> None:
        make_qp(self.qp)


@dataclass
class OneSlackState(State):
    """The working set, the bounds, and the model's w.

    Parameters
    ----------
    asked_violation, full_violation : float
        Violations of the last cut from the oracle, and of the last cut of all examples.
    sharpness : float
        Factor of the QP's tolerance, which falls after rounds without gain.
    """

    working: WorkingSet = field(default_factory=lambda: WorkingSet(np.zeros(1)))
    n_calls: int = kept_int()
    n_hits: int = kept_int()
    n_planes: int = kept_int()
    asked_violation: float = kept_float()
    sharpness: float = kept_float(1.0)
    full_violation: float = kept_float()

    @property
    def n_bytes(self) -> int:
        return self.working.n_bytes

    def more_arrays(self) -> dict[str, np.ndarray]:
        return self.working.arrays()


@dataclass(frozen=True, eq=False)
class Found:
    """The cuts of a round: their kind, the point of the oracle calls, and their violation.

    Violation is (b − ⟨a, w⟩) − ξ at the model's w, whatever the `point`, over all blocks.
    """

    kind: str
    point: np.ndarray
    answer: Answer
    violation: float
    slack: float


@dataclass(frozen=True)
class OneSlack(Solver[CutRisk, OneSlackState]):
    """One slack for all examples, or one for each block of shards."""

    name: ClassVar[str] = "one-slack"
    Options: ClassVar[type[SolverOptions]] = OneSlackOptions
    State: ClassVar[type[State]] = OneSlackState
    warm_up: ClassVar[tuple[dict[str, Any], ...]] = ({"cache_size": 0}, {"cache_size": 5})
    needs: ClassVar[frozenset[str]] = frozenset({"planes"})
    why_linear: ClassVar[str] = "sums of planes do not bound Σ ξ²"
    why_no_support: ClassVar[str] = (
        "α belongs to cuts there, and a cut is the sum of one plane of every example"
    )
    columns: ClassVar[tuple[Column, ...]] = (
        Column("violation", "", "(b − ⟨a, w⟩) − ξ of the round's cut at the model's w, summed over "
               "blocks"),
        Column("slack", "", "ξ of the model, summed over blocks, before the round's cut"),
        Column("n_cuts", "cuts", "cuts in the working set", support="n_support_cuts"),
        Column("n_support_cuts", "", "those with α > 0"),
        Column("qp_iterations", "", "steps of this round's QP"),
        Column("qp_gap", "", "the gap of this round's QP"),
    )  # fmt: skip

    problem: Problem
    options: OneSlackOptions = OneSlackOptions()

    @classmethod
    def settled(cls, options: OneSlackOptions, task: Task, place: Place) -> OneSlackOptions:
        if options.cache_size == "auto":
            size = 0 if task.enumerates or place.limited else CACHE_SIZE
            options = replace(options, cache_size=size)
        return options

    def part_maker(self) -> CutPartMaker:
        return CutPartMaker(self.cache_size)

    @property
    def cache_size(self) -> int:
        """Cached planes of each example; requires a number in the place of "auto"."""
        return int(self.options.cache_size)

    def risk_kind(self) -> type[CutRisk]:
        return CutRisk

    def begin(self, risk: CutRisk, start: np.ndarray | None) -> OneSlackState:
        limit = np.full(risk.n_blocks, self.problem.C)
        # α = 0 is feasible, with w = 0 and D = 0.
        return OneSlackState(Bounds(dual=0.0), risk.zero(), start=start, working=WorkingSet(limit))

    def restore(self, risk: CutRisk, arrays: Mapping[str, np.ndarray]) -> OneSlackState:
        state = super().restore(risk, arrays)
        state.working = WorkingSet.from_arrays(state.working.limit, dict(arrays), risk.dim)
        if arrays["reals"].size == 2:  # earlier versions had one violation for all rounds
            state.full_violation = state.asked_violation
        return state

    def follow(self, risk: CutRisk, earlier: OneSlackState, factor: float) -> OneSlackState:
        working = earlier.working
        working.rescale(np.full(risk.n_blocks, self.problem.C), factor)
        state = OneSlackState(
            earlier.bounds.rescaled(factor), factor * earlier.w, working=working,
            asked_violation=earlier.asked_violation, full_violation=earlier.full_violation,
        )  # fmt: skip
        self._solve(risk, state, make_qp(self.options.qp), violation=0.0)
        return state

    def rounds(self, risk: CutRisk, state: OneSlackState) -> Iterator[Round]:
        qp = make_qp(self.options.qp)
        while True:
            state.number += 1
            before = state.bounds.primal, state.bounds.dual
            found = self._find(risk, state)
            primal = self._certify(risk, state, found)
            self._add(risk, state, found.answer.cuts)
            solution = self._solve(risk, state, qp, found.violation)
            self._watch(state, found, before)
            yield self._record(risk, state, found, primal, solution)

    def is_forced(self, state: OneSlackState) -> bool:
        is_last = state.number + 1 == self.problem.max_rounds
        may_skip = self.cache_size > 0 or self.options.refresh_fraction < 1
        return is_last and may_skip and state.number > 0

    # --- the steps of a round --------------------------------------------------------------

    def _eps(self, state: OneSlackState) -> float:
        return self.problem.working_eps(state.bounds.dual)

    def _find(self, risk: CutRisk, state: OneSlackState) -> Found:
        """Return violated cuts from the caches if they have any, else from the oracle."""
        slack, eps = state.working.slack(), self._eps(state)
        must_certify = state.number in (1, self.problem.max_rounds)
        model, fraction = risk.point(state.w), self.options.refresh_fraction

        def found(kind: str, point: np.ndarray, answer: Answer) -> Found:
            state.n_calls += answer.n_calls
            state.n_hits += answer.n_hits
            state.n_planes = answer.n_planes
            state.late = answer.late
            values = [cut.b - model.inner(cut.a) for cut in answer.cuts]
            excess = [v - slack[cut.block] for v, cut in zip(values, answer.cuts, strict=True)]
            return Found(kind, point, answer, float(sum(excess)), float(slack.sum()))

        if self.cache_size and not must_certify:
            with state.clock.phase("cache"):
                cached = found("cached", state.w, risk.cached(state.w))
            least = max(CACHE_SHARE * state.asked_violation, eps, ROUNDING * cached.slack)
            if cached.violation > least:
                return cached
        with state.clock.phase("cuts"):
            point = self._point(risk, state)

        def asked(answer: Answer) -> Found:
            return found("fresh" if answer.fresh else "refreshed", point, answer)

        with state.clock.phase("oracle"):
            if fraction >= 1 or must_certify:
                return asked(risk.fresh(point))
            while True:
                some = asked(risk.refresh(point, state.number, fraction))
                if some.answer.fresh or some.answer.late or some.violation > eps:
                    return some

    def _point(self, risk: CutRisk, state: OneSlackState) -> np.ndarray:
        """Return the point of oracle calls: the model's w, or a mixture with the best w so far."""
        if state.number == 1 and state.start is not None:
            return state.start
        if self.options.stabilise == 1 or state.bounds.w is None:
            return state.w
        # If the last cut of all examples has a small violation, use the model's own w. Cuts of a
        # part of the examples always have smaller violations, so they do not count here.
        if state.full_violation <= TRUST * state.bounds.gap / self.problem.C:
            return state.w
        best, model = risk.point(state.bounds.w), risk.point(state.w)
        return best.mix(model, self.options.stabilise).w

    def _certify(self, risk: CutRisk, state: OneSlackState, found: Found) -> float | None:
        """Return P at the point of the oracle calls; None unless the round is fresh."""
        if found.kind != "cached":
            state.asked_violation = max(0.0, found.violation)
        if not found.answer.fresh:
            return None
        state.full_violation = state.asked_violation
        with state.clock.phase("cuts"):
            norm2 = risk.point(found.point).norm2
            primal = 0.5 * norm2 + self.problem.C * found.answer.risk
        state.bounds.add_primal(primal, found.point, found.answer.exact)
        return primal

    def _add(self, risk: CutRisk, state: OneSlackState, cuts: list[Cut]) -> None:
        working = state.working
        with state.clock.phase("cuts"):
            new = [cut for cut in cuts if not risk.is_empty(cut)]
            max_cuts = self._max_cuts(risk)
            if max_cuts is not None:
                working.shrink(max_cuts - len(new), risk.combine)  # the new ones have no α yet
            for cut in new:
                working.add(cut, risk.gram_row(cut, [*working.cuts, cut]))

    def _max_cuts(self, risk: CutRisk) -> int | None:
        options = self.options
        if options.max_cuts is None and options.qp == "line-search":
            return LINE_SEARCH_CUTS * risk.n_blocks
        return options.max_cuts

    def _solve(
        self, risk: CutRisk, state: OneSlackState, qp: QPSolver, violation: float
    ) -> QPSolution:
        """Solve the QP from the last α, as precisely as the round needs; then update w and D."""
        working = state.working
        estimated_gap = self.problem.C * max(violation, self._eps(state))
        if violation <= 0 and math.isfinite(state.bounds.gap):
            estimated_gap = state.bounds.gap
        with state.clock.phase("qp"):
            tol = QP_SHARE * state.sharpness * estimated_gap
            solution = qp.solve(working.problem(), working.alpha, tol)
            working.accept(solution)
        with state.clock.phase("cuts"):
            working.drop_idle(self.options.idle_solves)
            state.w = risk.weights(working.cuts, working.alpha)
            state.bounds.add_dual(working.linear() - 0.5 * risk.point(state.w).norm2)
        return solution

    def _watch(self, state: OneSlackState, found: Found, before: tuple[float, float]) -> None:
        """Count rounds that move no bound, because of rounding or an imprecise QP solution."""
        if found.kind != "fresh":
            return
        if (state.bounds.primal, state.bounds.dual) == before:
            state.n_stalled += 1
            state.sharpness *= 0.1
        else:
            state.n_stalled = 0

    def _record(
        self, risk: CutRisk, state: OneSlackState, found: Found, primal: float | None,
        solution: QPSolution,
    ) -> Round:  # fmt: skip
        bounds = state.bounds
        return Round(
            number=state.number,
            kind=found.kind,
            primal=primal,
            best_primal=bounds.primal,
            dual=bounds.dual,
            gap=bounds.gap,
            risk=found.answer.risk if found.answer.fresh else None,
            w_norm=math.sqrt(risk.point(state.w).norm2),
            n_oracle_calls=state.n_calls,
            n_cache_hits=state.n_hits,
            n_planes=state.n_planes,
            solver=self.name,
            own={
                "violation": found.violation,
                "slack": found.slack,
                "n_cuts": len(state.working),
                "n_support_cuts": state.working.n_support,
                "qp_iterations": solution.n_iter,
                "qp_gap": solution.gap,
            },
            seconds=dict(state.clock.seconds),
        )

    # --- theory ----------------------------------------------------------------------------

    def bound_on_rounds(
        self, n_blocks: int, square_radius: float | None, largest_loss: float
    ) -> int | None:
        """Return the bound of Theorems 5 and 6 of the paper: one slack, the QP, oracle calls at w.

        None elsewhere, and if max ‖ψ‖² is unknown, or eps is not given, 0 or too large.
        """
        problem, options, eps = self.problem, self.options, self.problem.target.eps
        holds = n_blocks == 1 and options.stabilise == 1 and options.qp != "line-search"
        if not (holds and square_radius and eps):
            return None
        size = 4 * square_radius * problem.C
        if problem.rescaling == "slack":
            start, size = 1 / (size * largest_loss), size * largest_loss**2
        else:
            start = largest_loss / size
        n_rounds = 4 * size / eps
        if eps > size or not math.isfinite(n_rounds) or start <= 0:
            return None
        return max(0, math.ceil(math.log2(start))) + math.ceil(n_rounds)
