"""Cutting planes with kernel functions (Yu and Joachims, KDD 2008): exact or sampled cuts.

A cut of all examples is an expansion of all of them, and one product of two such cuts takes n²
kernel values. A cut of r sampled examples takes n·r, or r² where only they are searched. The QP
over sampled cuts is no relaxation of the problem, so its dual value bounds nothing: it steers the
tolerances here and is shown nowhere. Dual values come from risks.true_dual.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from distsvm.cuts.bounds import Bounds
from distsvm.cuts.cut import Cut
from distsvm.errors import ConfigError
from distsvm.messages import Mixture, Searched
from distsvm.oracles.task import Task
from distsvm.qp.native import NativeQP
from distsvm.risks.kernel import KernelRisk
from distsvm.risks.kernel_cut import KernelSet
from distsvm.solvers.base import Place, Problem, Solver
from distsvm.solvers.options import SolverOptions
from distsvm.solvers.round import Column, Round
from distsvm.solvers.sampled_state import SAMPLE, SampledCutsOptions, SampledState
from distsvm.wording import Setting, message
from distsvm.workers.kernel_part import Draw, KernelPartMaker

EXACT_EXAMPLES = 2000
"""Up to so many examples method="auto" takes cuts of all of them."""
QP_SHARE = 0.1
"""The QP is solved to this part of C times the violation."""
ESTIMATE_SAMPLES = 4
"""An estimate is of so many times r fresh draws."""
CONFIDENCE = 1.959964
"""Standard errors on both sides of a 95% confidence interval."""
FRESH = 1 << 20
"""The number of the redraw that an estimate uses: no other draw of a round has it."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What a round has found: sums over all examples or over draws, divided by their weight.

    `risk` is R(w), or its mean over the draws, and `draws` are those of the cut; None for all.
    `primal` is the best that the round has certified, and `risk` belongs to it.
    """

    found: Searched
    risk: float
    b: float
    violation: float
    draws: Sequence[Draw] | None = None
    scale: float = 0.0
    primal: float | None = None
    late: bool = False


@dataclass(frozen=True)
class SampledCuts(Solver[KernelRisk, SampledState]):
    """One slack, and cuts of all examples, of draws among those with a loss, or of draws alone."""

    name: ClassVar[str] = "sampled-cuts"
    Options: ClassVar[type[SolverOptions]] = SampledCutsOptions
    State: ClassVar[type[SampledState]] = SampledState
    needs: ClassVar[frozenset[str]] = frozenset({"kernel"})
    why_linear: ClassVar[str] = "sums of planes do not bound Σ ξ²"
    keeps_examples: ClassVar[bool] = True
    columns: ClassVar[tuple[Column, ...]] = (
        Column("violation", "", "(b − ⟨a, w⟩) − ξ: of the cut of all examples; constant-time: of "
               "the sample"),
        Column("n_cuts", "cuts", "cuts in the working set", support="n_support_cuts"),
        Column("n_support_cuts", "", "those with α > 0"),
        Column("n_kernel_values", "", "kernel values computed since the run began"),
        Column("n_candidates", "with loss", "examples with a loss in the last search of all",
               only_if_any=True),
        Column("n_redraws", "", "redraws since the run began"),
        Column("n_fallbacks", "", "cuts of all examples, because no draw was violated"),
        Column("n_quiet", "quiet", "samples in a row that were not violated by eps",
               only_if_any=True),
        Column("risk_low", "", "lower end of a 95% confidence interval of R(w), if estimated"),
        Column("risk_high", "", "upper end"),
    )  # fmt: skip

    problem: Problem
    options: SampledCutsOptions = field(default_factory=SampledCutsOptions)

    @classmethod
    def settled(cls, options: SampledCutsOptions, task: Task, place: Place) -> Any:
        method = options.method
        if method == "auto":
            n = getattr(task, "n_examples", 0)
            method = "exact" if n <= EXACT_EXAMPLES else "linear-time"
        sample = options.sample or SAMPLE.get(method)
        return replace(options, method=method, sample=sample)

    @property
    def r(self) -> int:
        """The draws of a cut."""
        return int(self.options.sample or 0)

    def part_maker(self) -> KernelPartMaker:
        return KernelPartMaker(stored=self.options.method != "constant-time")

    def risk_kind(self) -> type[KernelRisk]:
        return KernelRisk

    def begin(self, risk: KernelRisk, start: np.ndarray | None) -> SampledState:
        state = SampledState(Bounds(dual=0.0), risk.zero(), start=start)
        state.working = KernelSet(np.array([self.problem.C]))
        if self.options.method != "constant-time":
            state.bytes_a_cut = 8 * risk.n_atoms * risk.n_codes
        return state

    def restore(self, risk: KernelRisk, arrays: Mapping[str, np.ndarray]) -> SampledState:
        state = super().restore(risk, arrays)
        state.working = KernelSet.restored(
            state.working.limit, arrays, risk.n_examples, risk.n_atoms, risk.n_codes,
            risk.n_explicit,
        )  # fmt: skip
        risk.know(state.working.cuts)
        return state

    def follow(self, risk: KernelRisk, earlier: SampledState, factor: float) -> SampledState:
        state = self.begin(risk, None)
        state.working = earlier.working
        state.working.rescale(np.array([self.problem.C]), factor)
        state.n_cuts_made = earlier.n_cuts_made
        self._solve(risk, state, violation=0.0)
        return state

    def rounds(self, risk: KernelRisk, state: SampledState) -> Iterator[Round]:
        while True:
            state.number += 1
            before = state.bounds.primal, state.bounds.dual
            is_last = state.number == self.problem.max_rounds
            point, n_before = state.point, risk.n_values
            if self.options.method == "constant-time":
                asked, kind = self._ask_sample(risk, state, point, is_last)
            else:
                asked, kind = self._ask_all(risk, state, point, is_last)
            if not (asked.late or state.over):
                self._add(risk, state, point, asked)
                self._solve(risk, state, asked.violation)
                self._watch(state, before)
            state.n_values += risk.n_values - n_before
            yield self._record(risk, state, asked, kind)

    # --- cuts of all examples, and of draws among those with a loss ------------------------

    def _ask_all(
        self, risk: KernelRisk, state: SampledState, point: Mixture, is_last: bool
    ) -> tuple[Asked, str]:
        """Search all examples, which certifies P(w), and choose the planes of the cut."""
        with state.clock.phase("oracle"):
            found, among = risk.search(point)
        state.late = found.late
        if found.late:
            return Asked(found, 0.0, 0.0, 0.0, late=True), "refreshed"
        total, slack = risk.total_weight, float(state.working.slack()[0])
        value = found.value / total
        asked = Asked(found, value, found.q / total, value - slack, scale=1.0 / total)
        state.n_calls += found.n_calls
        state.n_candidates = found.n_candidates
        asked = self._certified(state, asked, state.norm2, value, state.w)
        is_quiet = asked.violation <= self._eps(state)
        if is_last or is_quiet:
            state.over = is_quiet and not state.all_exact
            asked = self._raise_dual(risk, state, point, asked)
        sampled = self.options.method == "linear-time" and self.r < found.n_candidates
        if state.over or not sampled:
            return asked, "fresh"
        with state.clock.phase("oracle"):
            return self._redrawn(risk, state, point, asked, among, slack), "fresh"

    def _redrawn(
        self, risk: KernelRisk, state: SampledState, point: Mixture, asked: Asked,
        among: np.ndarray, slack: float,
    ) -> Asked:  # fmt: skip
        """Draw until the cut is violated by eps; else take that of all examples."""
        scale = float(among.sum()) / (self.r * risk.total_weight)
        for redraw in range(self.options.redraws + 1):
            draws = risk.draws(self.problem.seed, state.number, redraw, self.r, among)
            found = risk.sample(point, draws)
            # b − ⟨a, w⟩ with the b of all examples; ⟨p, w⟩ = q − H.
            value = asked.b - scale * (found.q - found.value)
            if value - slack > self._eps(state):
                return replace(asked, draws=draws, scale=scale)
            state.n_redraws += 1
        state.n_fallbacks += 1
        return asked

    def _certified(
        self, state: SampledState, asked: Asked, norm2: float, value: float, w: np.ndarray
    ) -> Asked:
        """Take P at a w of this norm and risk."""
        primal = 0.5 * norm2 + self.problem.C * value
        state.bounds.add_primal(primal, w, exact=True)
        better = asked.primal is None or primal < asked.primal
        return replace(asked, primal=primal, risk=value) if better else asked

    def _raise_dual(
        self, risk: KernelRisk, state: SampledState, point: Mixture, asked: Asked
    ) -> Asked:
        """Take the dual value of all examples that the support gives, and P at its w.

        The steps that raise the dual know the caps of all examples in the support, which the QP
        over samples does not: their w is the better one.
        """
        if state.all_exact:
            return asked  # the QP's dual value is one already
        with state.clock.phase("cuts"):
            cuts, alpha = state.working.cuts, state.working.alpha
            found = risk.dual(cuts, alpha, self.problem.C, self.options.dual_sweeps)
        if found is None:
            return asked
        state.bounds.add_dual(found.value)
        if not self.options.dual_sweeps:
            return asked
        with state.clock.phase("oracle"):
            searched = risk.search_at(found, state.n_cuts_made, point)
        state.n_cuts_made += 1
        if searched.late:
            return asked
        state.n_calls += searched.n_calls
        mean = searched.value / risk.total_weight
        return self._certified(state, asked, found.norm2, mean, risk.array(found))

    # --- samples alone ---------------------------------------------------------------------

    def _ask_sample(
        self, risk: KernelRisk, state: SampledState, point: Mixture, is_last: bool
    ) -> tuple[Asked, str]:
        """Search r examples; after some samples without a violation, end the run."""
        draws = risk.draws(self.problem.seed, state.number, 0, self.r)
        with state.clock.phase("oracle"):
            found = risk.sample(point, draws)
        state.n_calls += found.n_calls
        slack = float(state.working.slack()[0])
        value = found.value / self.r
        asked = Asked(found, value, found.q / self.r, value - slack, draws, 1.0 / self.r)
        is_quiet = asked.violation <= self._eps(state)
        state.n_quiet = state.n_quiet + 1 if is_quiet else 0
        state.over = state.n_quiet >= self.options.quiet_samples
        if not (state.over or is_last):
            self._estimate(state, found, self.r)
            return asked, "refreshed"
        fresh = risk.draws(self.problem.seed, state.number, FRESH, ESTIMATE_SAMPLES * self.r)
        with state.clock.phase("oracle"):
            more = risk.sample(point, fresh)
        state.n_calls += more.n_calls
        self._estimate(state, more, ESTIMATE_SAMPLES * self.r)
        if not self.options.certify:
            return asked, "refreshed"
        with state.clock.phase("oracle"):
            whole, _ = risk.search(point)
        state.late = whole.late
        if whole.late:
            return replace(asked, late=True), "refreshed"
        state.n_calls += whole.n_calls
        mean = whole.value / risk.total_weight
        asked = self._certified(state, asked, state.norm2, mean, state.w)
        return self._raise_dual(risk, state, point, asked), "fresh"

    def _estimate(self, state: SampledState, found: Searched, n: int) -> None:
        """Take the upper end of the confidence interval of P(w) from draws that w does not know."""
        mean = found.value / n
        error = math.sqrt(max(0.0, found.square / n - mean**2) / max(1, n - 1))
        state.risk_low = max(0.0, mean - CONFIDENCE * error)
        state.risk_high = mean + CONFIDENCE * error
        high = 0.5 * state.norm2 + self.problem.C * state.risk_high
        state.bounds.add_estimate(high, state.w)

    # --- the working set -------------------------------------------------------------------

    def _eps(self, state: SampledState) -> float:
        working = state.working
        return self.problem.working_eps(working.linear() - 0.5 * state.norm2)

    def _add(self, risk: KernelRisk, state: SampledState, point: Mixture, asked: Asked) -> None:
        is_sample = self.options.method == "constant-time"
        if asked.b <= 0 or (is_sample and asked.violation <= self._eps(state)):
            return
        self._keep_small(state)
        with state.clock.phase("cuts"):
            cut = risk.cut(state.n_cuts_made, point, asked.draws, asked.scale, asked.b)
            state.n_cuts_made += 1
            cuts: list[Cut] = [*state.working.cuts, cut]
            row = risk.gram_row(point, asked.draws, asked.scale, cut, cuts)
            state.working.add(cut, row)

    def _keep_small(self, state: SampledState) -> None:
        """Drop cuts with α = 0, and refuse to go on, where their products take too much memory."""
        limit_mb = self.problem.memory_mb
        if limit_mb is None:
            return
        limit = limit_mb * 2**20 * self.problem.n_workers
        if state.held_bytes + state.bytes_a_cut > limit:
            state.working.drop_idle(1)
        needed = state.held_bytes + state.bytes_a_cut
        if needed > limit:
            raise ConfigError(
                message(
                    "{}: the products of all examples with {} cuts take {} MB of each worker; "
                    "expected more memory, more workers, or {}",
                    Setting("worker_memory_mb", limit_mb),
                    len(state.working) + 1,
                    f"{needed / self.problem.n_workers / 2**20:.3g}",
                    Setting("method", "constant-time"),
                )
            )

    def _solve(self, risk: KernelRisk, state: SampledState, violation: float) -> None:
        """Solve the QP from the last α; then update w, and D where the cuts are true."""
        working = state.working
        with state.clock.phase("qp"):
            tol = QP_SHARE * state.sharpness * self.problem.C * max(violation, self._eps(state))
            working.accept(NativeQP().solve(working.problem(), working.alpha, tol))
        with state.clock.phase("cuts"):
            working.drop_idle(self.options.idle_rounds)
            risk.know(working.cuts)
            state.w = risk.weights(working.cuts, working.alpha)
            if state.all_exact:
                state.bounds.add_dual(working.linear() - 0.5 * state.norm2)

    def _watch(self, state: SampledState, before: tuple[float, float]) -> None:
        """Count rounds of exact cuts that move no bound, because of rounding."""
        if self.options.method != "exact":
            return
        if (state.bounds.primal, state.bounds.dual) == before:
            state.n_stalled += 1
            state.sharpness *= 0.1
        else:
            state.n_stalled = 0

    def _record(self, risk: KernelRisk, state: SampledState, asked: Asked, kind: str) -> Round:
        bounds, is_fresh = state.bounds, kind == "fresh"
        return Round(
            number=state.number, kind=kind,
            primal=asked.primal if is_fresh else None,
            best_primal=bounds.primal, dual=bounds.dual, gap=bounds.gap,
            risk=asked.risk if is_fresh else None, w_norm=math.sqrt(state.norm2),
            n_oracle_calls=state.n_calls, n_cache_hits=0, n_planes=0, solver=self.name,
            plane_bytes=state.held_bytes,
            own={
                "violation": asked.violation,
                "n_cuts": len(state.working),
                "n_support_cuts": state.working.n_support,
                "n_kernel_values": state.n_values,
                "n_candidates": state.n_candidates,
                "n_redraws": state.n_redraws,
                "n_fallbacks": state.n_fallbacks,
                "n_quiet": state.n_quiet,
                "risk_low": state.risk_low,
                "risk_high": state.risk_high,
            },
            seconds=dict(state.clock.seconds),
        )  # fmt: skip
