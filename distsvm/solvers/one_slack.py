"""The 1-slack cutting-plane method (algorithms 3 and 4 of Joachims, Finley and Yu, 2009)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from distsvm import checks
from distsvm.cuts.bounds import Bounds, Target
from distsvm.cuts.cut import Cut
from distsvm.cuts.working_set import WorkingSet
from distsvm.errors import ConfigError
from distsvm.kinds import Text, share, whole
from distsvm.options import option, usual
from distsvm.qp import QP_NAMES, QP_PATTERN, make_qp
from distsvm.qp.base import QPSolution, QPSolver
from distsvm.risks.base import Answer, Risk
from distsvm.solvers.base import STALLED_ROUNDS, PhaseClock, Round, SolverOptions
from distsvm.vectors import dot, mix
from distsvm.wording import Setting, Value, message

# The QP's gap is brought to this part of the round's estimated gap C·violation.
QP_SHARE = 0.1
# A cached cut is taken while it is violated by this part of that of the oracle's last cut.
CACHE_SHARE = 0.1
# The model's own w is asked about, stabilised or not, after a cut of all examples whose violation
# was below this part of gap/C.
TRUST = 0.1
# A violation below this part of the slack is rounding.
ROUNDING = 1e-13


@dataclass(frozen=True)
class OneSlackOptions(SolverOptions):
    """The options of the one-slack solver."""

    cache_size: int | str = option(
        "auto", kind=whole(least=0).or_word("auto"), metavar="N", unit="planes",
        usual="auto, 10, or 0 for classes, whose oracle costs no more than a cache",
        help="planes kept for each example; 0 for none",
    )  # fmt: skip
    refresh_fraction: float = option(
        1.0, kind=share, metavar="F",
        help="the part of the examples to ask the oracle about at a time when the caches fail",
    )  # fmt: skip
    stabilise: float = option(
        0.3, kind=share, metavar="MU",
        help="µ: ask the oracle at (1 − µ)·w_best + µ·w_model; 1 is the method of the paper",
    )  # fmt: skip
    qp: str = option(
        "native", kind=Text(QP_PATTERN, QP_NAMES), metavar="NAME",
        help="what solves the small QP: native, cvxpy, cvxpy:SOLVER, or line-search for a step "
        "instead of it",
    )  # fmt: skip
    idle_solves: int = option(
        50, kind=whole(least=1), metavar="N", help="drop a cut whose α was 0 in so many solves"
    )
    max_cuts: int | None = option(
        None, kind=whole(least=3), metavar="N", usual="none, 50 a block for line-search",
        help="above it, cuts are replaced by their sum Σ α·cut; at least 2·{n_blocks} + 1",
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
class OneSlackState:
    """The working set, the bounds, and w of the model they make."""

    working: WorkingSet
    bounds: Bounds
    w: np.ndarray
    start: np.ndarray | None = None
    number: int = 0
    asked_violation: float = 0.0  # of the last cut from the oracle
    full_violation: float = 0.0  # of the last one that asked about all examples
    sharpness: float = 1.0
    n_stalled: int = 0
    late: bool = False
    n_calls: int = 0
    n_hits: int = 0
    n_planes: int = 0
    plane_bytes: int = 0  # beside the caches, whose room is known from the start
    clock: PhaseClock = field(default_factory=PhaseClock)

    @property
    def stalled(self) -> bool:
        return self.n_stalled >= STALLED_ROUNDS

    @property
    def n_bytes(self) -> int:
        return self.working.n_bytes

    def arrays(self) -> dict[str, np.ndarray]:
        return (
            self.working.arrays()
            | self.bounds.arrays()
            | {
                "w": self.w,
                "numbers": np.array(
                    [self.number, self.n_stalled, self.n_calls, self.n_hits, self.n_planes]
                ),
                "reals": np.array([self.asked_violation, self.sharpness, self.full_violation]),
                "start": np.zeros(0) if self.start is None else self.start,
            }
        )


@dataclass(frozen=True, eq=False)
class Found:
    """The cuts of a round: how and where they were found, and how much they are violated.

    Violation is (b − ⟨a, w⟩) − ξ at the model's w, whatever `point` was asked, over all blocks.
    """

    kind: str
    point: np.ndarray
    answer: Answer
    violation: float
    slack: float


@dataclass(frozen=True)
class OneSlack:
    """One slack for all examples, or one a block of shards.

    Parameters
    ----------
    C : float
        The problem's.
    eps, rel_gap : float or None
        The gap to reach, as Target says. It makes the working eps of each round: a cut is worth
        adding when it is violated by more than that.
    rescaling : "margin" or "slack"
        Only the theory's bound asks.
    qp : str
        "native", "cvxpy", "cvxpy:SOLVER", or "line-search" for a step instead of the QP.
    refresh_fraction : float in (0, 1]
        When the caches fail, ask the oracle about this part of the examples at a time, until the
        cut is violated by the working eps or all were asked.
    stabilise : float in (0, 1]
        µ: the oracle is asked at (1 − µ)·w_best + µ·w_model; 1 asks at w_model as the paper does.
    idle_solves : int
        Cuts with α = 0 in so many solves are dropped.
    max_cuts : int or None
        Above it, cuts are replaced by their aggregate.
    max_rounds : int or None
        The last round allowed asks the oracle, so that it certifies.
    """

    C: float
    eps: float | None
    rescaling: str = "margin"
    qp: str = usual(OneSlackOptions, "qp")
    refresh_fraction: float = usual(OneSlackOptions, "refresh_fraction")
    stabilise: float = usual(OneSlackOptions, "stabilise")
    idle_solves: int = usual(OneSlackOptions, "idle_solves")
    max_cuts: int | None = usual(OneSlackOptions, "max_cuts")
    max_rounds: int | None = None
    rel_gap: float | None = None
    name: str = "one-slack"

    options: ClassVar[type[SolverOptions]] = OneSlackOptions

    def begin(self, risk: Risk, start: np.ndarray | None) -> OneSlackState:
        limit = np.full(risk.n_blocks, self.C)
        # α = 0 is feasible, with w = 0 and D = 0.
        return OneSlackState(WorkingSet(limit), Bounds(dual=0.0), np.zeros(risk.dim), start)

    def follow(self, risk: Risk, earlier: OneSlackState, factor: float) -> OneSlackState:
        working = earlier.working
        working.rescale(np.full(risk.n_blocks, self.C), factor)
        state = OneSlackState(
            working, earlier.bounds.rescaled(factor), factor * earlier.w,
            asked_violation=earlier.asked_violation, full_violation=earlier.full_violation,
        )  # fmt: skip
        self._solve(risk, state, make_qp(self.qp), violation=0.0)
        return state

    def rounds(self, risk: Risk, state: OneSlackState) -> Iterator[Round]:
        qp = make_qp(self.qp)
        while True:
            state.number += 1
            before = state.bounds.primal, state.bounds.dual
            found = self._find(risk, state)
            primal = self._certify(state, found)
            self._add(risk, state, found.answer.cuts)
            solution = self._solve(risk, state, qp, found.violation)
            self._watch(state, found, before)
            yield self._record(state, found, primal, solution)

    def is_forced(self, risk: Risk, state: OneSlackState) -> bool:
        is_last = state.number + 1 == self.max_rounds
        may_skip = risk.has_cache or self.refresh_fraction < 1
        return is_last and may_skip and state.number > 0

    # --- the steps of a round --------------------------------------------------------------

    def _eps(self, state: OneSlackState) -> float:
        return Target(self.eps, self.rel_gap).working_eps(self.C, state.bounds.dual)

    def _find(self, risk: Risk, state: OneSlackState) -> Found:
        """A violated cut from the caches if they have one, else from the oracle."""
        slack, eps = state.working.slack(), self._eps(state)
        must_certify = state.number in (1, self.max_rounds)

        def found(kind: str, point: np.ndarray, answer: Answer) -> Found:
            state.n_calls += answer.n_calls
            state.n_hits += answer.n_hits
            state.n_planes = answer.n_planes
            state.late = answer.late
            values = [cut.b - dot(cut.a, state.w) for cut in answer.cuts]
            excess = [v - slack[cut.block] for v, cut in zip(values, answer.cuts, strict=True)]
            return Found(kind, point, answer, float(sum(excess)), float(slack.sum()))

        if risk.has_cache and not must_certify:
            with state.clock.phase("cache"):
                cached = found("cached", state.w, risk.cached(state.w))
            least = max(CACHE_SHARE * state.asked_violation, eps, ROUNDING * cached.slack)
            if cached.violation > least:
                return cached
        with state.clock.phase("cuts"):
            point = self._point(state)

        def asked(answer: Answer) -> Found:
            return found("fresh" if answer.fresh else "refreshed", point, answer)

        with state.clock.phase("oracle"):
            if self.refresh_fraction >= 1 or must_certify:
                return asked(risk.fresh(point))
            while True:
                some = asked(risk.refresh(point, state.number, self.refresh_fraction))
                if some.answer.fresh or some.answer.late or some.violation > eps:
                    return some

    def _point(self, state: OneSlackState) -> np.ndarray:
        """Where to ask the oracle: at the model's w, or drawn towards the best w so far."""
        if state.number == 1 and state.start is not None:
            return state.start
        if self.stabilise == 1 or state.bounds.w is None:
            return state.w
        # The last cut of all examples said little against the model: let it show its own w. A part
        # of the examples is always violated less, and says nothing here.
        if state.full_violation <= TRUST * state.bounds.gap / self.C:
            return state.w
        return mix(state.bounds.w, state.w, self.stabilise)

    def _certify(self, state: OneSlackState, found: Found) -> float | None:
        """P at the point that was asked; only a fresh round may say."""
        if found.kind != "cached":
            state.asked_violation = max(0.0, found.violation)
        if not found.answer.fresh:
            return None
        state.full_violation = state.asked_violation
        with state.clock.phase("cuts"):
            primal = 0.5 * dot(found.point, found.point) + self.C * found.answer.risk
        state.bounds.add_primal(primal, found.point, found.answer.exact)
        return primal

    def _add(self, risk: Risk, state: OneSlackState, cuts: list[Cut]) -> None:
        working = state.working
        with state.clock.phase("cuts"):
            # The truth's cut (0, 0) is in every block without being there.
            new = [cut for cut in cuts if cut.b > 0 or dot(cut.a, cut.a) > 0]
            if self.max_cuts is not None:
                working.shrink(self.max_cuts - len(new), risk.combine)  # the new ones have no α yet
            for cut in new:
                working.add(cut, risk.gram_row(cut, [*working.cuts, cut]))

    def _solve(
        self, risk: Risk, state: OneSlackState, qp: QPSolver, violation: float
    ) -> QPSolution:
        """Solve the QP as precisely as this round deserves, from the last α; then w and D anew."""
        working = state.working
        estimated_gap = self.C * max(violation, self._eps(state))
        if violation <= 0 and math.isfinite(state.bounds.gap):
            estimated_gap = state.bounds.gap
        with state.clock.phase("qp"):
            tol = QP_SHARE * state.sharpness * estimated_gap
            solution = qp.solve(working.problem(), working.alpha, tol)
            working.accept(solution)
        with state.clock.phase("cuts"):
            working.drop_idle(self.idle_solves)
            state.w = risk.weights(working.cuts, working.alpha)
            state.bounds.add_dual(working.linear() - 0.5 * dot(state.w, state.w))
        return solution

    def _watch(self, state: OneSlackState, found: Found, before: tuple[float, float]) -> None:
        """Notice when rounding, or a QP solved too loosely, keeps the bounds where they are."""
        if found.kind != "fresh":
            return
        if (state.bounds.primal, state.bounds.dual) == before:
            state.n_stalled += 1
            state.sharpness *= 0.1
        else:
            state.n_stalled = 0

    def _record(
        self, state: OneSlackState, found: Found, primal: float | None, solution: QPSolution
    ) -> Round:
        bounds = state.bounds
        return Round(
            number=state.number,
            kind=found.kind,
            primal=primal,
            best_primal=bounds.primal,
            dual=bounds.dual,
            gap=bounds.gap,
            risk=found.answer.risk if found.answer.fresh else None,
            violation=found.violation,
            slack=found.slack,
            w_norm=math.sqrt(dot(state.w, state.w)),
            n_cuts=len(state.working),
            n_support_cuts=state.working.n_support,
            n_oracle_calls=state.n_calls,
            n_cache_hits=state.n_hits,
            n_planes=state.n_planes,
            qp_iterations=solution.n_iter,
            qp_gap=solution.gap,
            seconds=dict(state.clock.seconds),
        )

    # --- theory and checkpoints ------------------------------------------------------------

    def bound_on_rounds(
        self, n_blocks: int, square_radius: float | None, largest_loss: float
    ) -> int | None:
        """Theorems 5 and 6 of the paper, where they hold: one slack, the QP, the oracle asked at w.

        None elsewhere, and where max ‖ψ‖² is not known or eps is not given, 0 or too large.
        """
        holds = n_blocks == 1 and self.stabilise == 1 and self.qp != "line-search"
        if not (holds and square_radius and self.eps):
            return None
        size = 4 * square_radius * self.C
        if self.rescaling == "slack":
            start, size = 1 / (size * largest_loss), size * largest_loss**2
        else:
            start = largest_loss / size
        n_rounds = 4 * size / self.eps
        if self.eps > size or not math.isfinite(n_rounds) or start <= 0:
            return None
        return max(0, math.ceil(math.log2(start))) + math.ceil(n_rounds)

    def restore(self, risk: Risk, arrays: dict[str, np.ndarray]) -> OneSlackState:
        state = self.begin(risk, arrays["start"] if arrays["start"].size else None)
        state.working = WorkingSet.from_arrays(state.working.limit, arrays, risk.dim)
        state.bounds = Bounds.from_arrays(arrays)
        state.w = arrays["w"]
        numbers = checks.vector("numbers", arrays["numbers"], "i").tolist()
        state.number, state.n_stalled, state.n_calls, state.n_hits, state.n_planes = numbers
        reals = checks.vector("reals", arrays["reals"], "f8").tolist()
        # Checkpoints of before have two values: violations of partial rounds were not kept apart.
        state.asked_violation, state.sharpness, *full = reals
        (state.full_violation,) = full or [state.asked_violation]
        return state
