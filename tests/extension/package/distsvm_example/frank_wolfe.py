"""Frank–Wolfe on the dual of the 1-slack problem: w is a mean of cuts, and steps to the newest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distsvm.cuts.bounds import Bounds
from distsvm.kinds import choice
from distsvm.options import option
from distsvm.risks.base import CutRisk
from distsvm.solvers.base import Solver
from distsvm.solvers.options import SolverOptions
from distsvm.solvers.round import Column, Round
from distsvm.solvers.state import State, kept_float, kept_int
from distsvm.workers.cut_part import CutPartMaker

# A gap at w below this part of the terms that it is a difference of is rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class FrankWolfeOptions(SolverOptions):
    """The options of the solver."""

    step: str = option(
        "exact", kind=choice("exact", "harmonic"), metavar="KIND",
        help="exact: the step that raises the dual most; harmonic: 2/(t + 1) in round t",
    )  # fmt: skip


@dataclass
class FrankWolfeState(State):
    """w = Σ α·a of cuts that need not be kept, and Σ α·b."""

    linear: float = kept_float()
    n_calls: int = kept_int()


@dataclass(frozen=True)
class FrankWolfe(Solver[CutRisk, FrankWolfeState]):
    """Each round asks for the cut at w, which certifies P(w), and moves w towards C·(its a)."""

    name: ClassVar[str] = "frank-wolfe"
    Options: ClassVar[type[SolverOptions]] = FrankWolfeOptions
    State: ClassVar[type[State]] = FrankWolfeState
    needs: ClassVar[frozenset[str]] = frozenset({"planes"})
    columns: ClassVar[tuple[Column, ...]] = (
        Column("step", "step", "how far w went towards the newest cut, γ in [0, 1]"),
    )

    def part_maker(self) -> CutPartMaker:
        return CutPartMaker(cache_size=0)

    def risk_kind(self) -> type[CutRisk]:
        return CutRisk

    def begin(self, risk: CutRisk, start: np.ndarray | None) -> FrankWolfeState:
        return FrankWolfeState(Bounds(dual=0.0), risk.zero(), start=start)

    def follow(self, risk: CutRisk, earlier: FrankWolfeState, factor: float) -> FrankWolfeState:
        state = FrankWolfeState(earlier.bounds.rescaled(factor), factor * earlier.w,
                                linear=factor * earlier.linear)  # fmt: skip
        self._add_dual(risk, state)
        return state

    def rounds(self, risk: CutRisk, state: FrankWolfeState) -> Iterator[Round]:
        C = self.problem.C
        while True:
            state.number += 1
            is_first = state.number == 1 and state.start is not None
            asked_at = state.start if is_first else state.w
            with state.clock.phase("oracle"):
                answer = risk.fresh(asked_at)
            state.n_calls += answer.n_calls
            state.late, primal = answer.late, None
            with state.clock.phase("cuts"):
                if answer.fresh:
                    primal = 0.5 * risk.point(asked_at).norm2 + C * answer.risk
                    state.bounds.add_primal(primal, asked_at, answer.exact)
                # The corner s of the dual's domain that the cut is, with one α = C in each block.
                w, n_cuts = risk.point(state.w), len(answer.cuts)
                corner = risk.point(risk.weights(answer.cuts, np.full(n_cuts, C)))
                linear = C * sum(cut.b for cut in answer.cuts)
                along = C * sum(w.inner(cut.a) for cut in answer.cuts)
                slope = linear - state.linear - along + w.norm2  # P(w) − D(w), if asked at w
                distance2 = corner.norm2 - 2 * along + w.norm2
                step = self._step(state.number, slope, distance2)
                scale = abs(linear) + abs(state.linear) + w.norm2
                state.n_stalled = state.n_stalled + 1 if slope <= ROUNDING * scale else 0
                state.w = w.mix(corner, step).w
                state.linear += step * (linear - state.linear)
                self._add_dual(risk, state)
            yield self._record(risk, state, primal, answer.risk, step)

    def bound_on_rounds(
        self, n_blocks: int, square_radius: float | None, largest_loss: float
    ) -> int | None:
        """Theorem 2 of Jaggi (2013): the gap is at most 27/4·diameter²/(t + 2) after t rounds."""
        eps = self.problem.target.eps
        if not (square_radius and eps):
            return None
        radius2 = square_radius * (largest_loss**2 if self.problem.rescaling == "slack" else 1.0)
        return math.ceil(27 * self.problem.C * radius2 / eps)

    def _step(self, number: int, slope: float, distance2: float) -> float:
        if self.options.step == "harmonic":
            return 2.0 / (number + 1.0)
        return min(1.0, max(0.0, slope / distance2)) if distance2 > 0 else 0.0

    def _add_dual(self, risk: CutRisk, state: FrankWolfeState) -> None:
        state.bounds.add_dual(state.linear - 0.5 * risk.point(state.w).norm2)

    def _record(
        self, risk: CutRisk, state: FrankWolfeState, primal: float | None, risk_there: float,
        step: float,
    ) -> Round:  # fmt: skip
        bounds = state.bounds
        return Round(
            number=state.number, kind="refreshed" if primal is None else "fresh", primal=primal,
            best_primal=bounds.primal, dual=bounds.dual, gap=bounds.gap,
            risk=None if primal is None else risk_there,
            w_norm=math.sqrt(risk.point(state.w).norm2), n_oracle_calls=state.n_calls,
            n_cache_hits=0, n_planes=0, solver=self.name, own={"step": step},
            seconds=dict(state.clock.seconds),
        )  # fmt: skip
