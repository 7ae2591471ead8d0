"""Multi-plane dual ascent: the dual over all planes that the workers hold, block by block."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from distsvm import checks
from distsvm.cuts.bounds import Bounds
from distsvm.kinds import number, share
from distsvm.messages import Ascended, Ascent, Holding
from distsvm.options import option
from distsvm.risks.blocks import BlockRisk
from distsvm.risks.points import LinearPoint
from distsvm.solvers.base import Place, Problem, Solver
from distsvm.solvers.frozen import Frozen
from distsvm.solvers.multi_plane_state import MultiPlaneState
from distsvm.solvers.options import SolverOptions
from distsvm.solvers.round import Column, Round
from distsvm.solvers.state import State
from distsvm.workers.ascent_part import AscentPartMaker
from distsvm.workers.part import PartMaker
from distsvm.workers.support import SupportTable

# After this many passes of oracle calls on some examples, the next round calls it on all examples
# and certifies, even if the gap seems far from its target. The float sum of ten times 0.1 is < 1.
FULL_AFTER = 2.0 - 1e-9
# Passes over the held planes within a round, with one block and with several blocks, which need one
# another's changes.
N_PASSES, N_PASSES_APART = 5, 1
# For the same reason several blocks spread one block's oracle calls of a round over N_PARTS rounds.
N_PARTS = 4
# Rounds over held planes end when these show less than this part of the gap at the oracle's calls.
HELD_SHARE = 0.1
# Values of planes count as equal when they differ by less than this part of the working eps.
TOL_SHARE = 0.1
# The weight of w in each update of the averaged w.
AVERAGING = 0.3
# σ′ grows by the factor GROW after changes that had to be scaled down, and shrinks by the factor
# SHRINK after changes whose best step was more than ROOM.
GROW, SHRINK, ROOM = 1.25, 0.9, 1.3
# Work between two copies of planes, for each of their bytes, so that copies stay cheap.
COPY_WORK = 10.0
# The driver's limit for copies of planes.
COPY_BYTES = 2**30
UNCOPIED = (
    "workers get lost, and their planes are too large to be copied to the driver: rebuilt workers "
    "begin with those of the last checkpoint, or with none; if the bounds stand still, write "
    "checkpoints more often"
)
# Certifying rounds without gain that a loss allows, because workers first regain lost planes.
REGAIN_ROUNDS = 50


@dataclass(frozen=True)
class MultiPlaneOptions(SolverOptions):
    """The options of the multi-plane solver."""

    ask_share: float = option(
        0.3, kind=share, metavar="F",
        help="the part of the examples in most rounds with oracle calls: those with the largest "
        "shares of the gap",
    )  # fmt: skip
    plane_memory_mb: float = option(
        4096.0, kind=number(above=0), flag="--plane-memory", metavar="MB", unit="MiB",
        help="limit of the memory for planes of all workers together; with {worker_memory_mb} "
        "only planes of one piece of each block count, and may take as much memory as a piece",
    )  # fmt: skip


@dataclass(frozen=True)
class MultiPlane(Solver[BlockRisk, MultiPlaneState]):
    """Block steps over held planes, and oracle calls on examples with large shares of the gap.

    If the problem has the largest loss, the first rounds are like later ones. Without it the first
    round calls the oracle on all examples at w = 0, which gives a primal value.
    """

    name: ClassVar[str] = "multi-plane"
    Options: ClassVar[type[SolverOptions]] = MultiPlaneOptions
    State: ClassVar[type[State]] = MultiPlaneState
    warm_up: ClassVar[tuple[dict[str, Any], ...]] = ({}, {"n_blocks": 1})
    needs: ClassVar[frozenset[str]] = frozenset({"planes", "steps"})
    penalties: ClassVar[frozenset[str]] = frozenset({"linear", "quadratic"})
    why_linear: ClassVar[str] = "its bounds need a slack"
    why_no_support: ClassVar[str] = ""
    columns: ClassVar[tuple[Column, ...]] = (
        Column("violation", "", "sum of the examples' last computed shares of the gap, over C"),
        Column("n_planes", "planes", "planes that the workers hold", support="n_support_planes"),
        Column("n_support_planes", "", "held planes with α > 0"),
        Column("n_refused_planes", "refused planes", "planes refused since the run began, because "
               "the memory for planes was full", only_if_any=True),
    )  # fmt: skip
    worker_vectors: ClassVar[int] = 8
    hosts_blocks: ClassVar[bool] = True

    problem: Problem
    options: MultiPlaneOptions = MultiPlaneOptions()

    @classmethod
    def default_blocks(cls, place: Place) -> int:
        return 1 if place.one_process else place.n_workers

    def part_maker(self) -> PartMaker:
        return AscentPartMaker(self.problem.penalty)

    def risk_kind(self) -> type[BlockRisk]:
        return BlockRisk

    def begin(self, risk: BlockRisk, start: np.ndarray | None) -> MultiPlaneState:
        problem = self.problem
        risk.hold(problem.C, self.options.plane_memory_mb, problem.seed)
        sigma = 1.0 if problem.weighs_features else max(1.0, 0.5 * risk.n_blocks)
        # α = 0 is feasible, with w = 0 and D = 0.
        bounds = Bounds(dual=0.0)
        if start is None and problem.largest_loss is not None:
            # A bound of every hinge at w = 0, so no oracle calls are needed there.
            half = 0.5 if problem.penalty == "quadratic" else 1.0
            bounds.add_primal(half * problem.C * problem.largest_loss, risk.zero(), exact=False)
        return MultiPlaneState(
            bounds, risk.zero(), start=start, sigma=sigma, ask_average=not problem.enumerates
        )

    def restore(self, risk: BlockRisk, arrays: Mapping[str, np.ndarray]) -> MultiPlaneState:
        state = super().restore(risk, arrays)
        state.frozen = Frozen.from_arrays(dict(arrays))
        state.aside = frozenset(checks.vector("aside", arrays["aside"], "i").tolist())
        return state

    def support(self, risk: BlockRisk, state: MultiPlaneState) -> SupportTable | None:
        if state.frozen is not None:  # a part of w is of planes that are lost
            return None
        tables = risk.support(state.taken_parts(risk.n_blocks))
        if any(table.round != state.serial for table in tables):
            return None
        return SupportTable.joined(tables)

    def follow(self, risk: BlockRisk, earlier: MultiPlaneState, factor: float) -> MultiPlaneState:
        risk.rescale(self.problem.C, factor, earlier.taken_parts(risk.n_blocks))
        if earlier.frozen is not None:
            earlier.frozen.rescale(factor)
        return MultiPlaneState(
            earlier.bounds.rescaled(factor), factor * earlier.w, sigma=earlier.sigma,
            linear=factor * earlier.linear, square=factor**2 * earlier.square,
            cost=factor * earlier.cost,
            frozen=earlier.frozen, pass_work=earlier.pass_work, n_earlier=earlier.serial,
            since=earlier.since, ask_average=not self.problem.enumerates,
            # Rounds over held planes continue while they gain more than a pass without any gain.
            worked=earlier.pass_work, loses=earlier.loses, uncopied=math.inf,
        )  # fmt: skip

    def rounds(self, risk: BlockRisk, state: MultiPlaneState) -> Iterator[Round]:
        while True:
            state.number += 1
            before = state.bounds.primal, state.bounds.dual
            is_last = state.number == self.problem.max_rounds
            ask = "all" if is_last else self._whom_to_ask(state, state.number)
            point = self._point(state) if ask == "all" else None
            with state.clock.phase("cache" if ask == "none" else "oracle"):
                answers = risk.ascend(state.w, point, self._todo(risk, state, ask))
            state.late = any(answer.late for answer in answers)
            if ask == "all" and state.late and math.isinf(sum(a.upper for a in answers)):
                ask = "some"  # the found planes are valid, but there is no certificate
            primal = None
            with state.clock.phase("cuts"):
                counted = self._freeze(risk, state, answers)
                if ask == "all":
                    primal = self._certify(risk, state, point, counted, before)
                elif state.late:
                    self._certify_dual(risk, state, risk.holdings())
                gain = self._take(risk, state, counted)
                if ask != "none":
                    self._begin_count(risk, state, ask)
            self._count(state, answers, gain, ask)
            note = self._back_up(risk, state)
            yield replace(self._record(state, ask, primal), note=note)

    def is_forced(self, state: MultiPlaneState) -> bool:
        number = state.number + 1
        return number == self.problem.max_rounds and self._whom_to_ask(state, number) != "all"

    # --- the steps of a round --------------------------------------------------------------

    def _eps(self, state: MultiPlaneState) -> float:
        return self.problem.working_eps(state.bounds.dual)

    def _violation(self, state: MultiPlaneState) -> float:
        """Return how much planes may be violated: then the gap is about C·eps.

        For the quadratic penalty the gap is at most C·v·mean ξ + C·v²/2.
        """
        eps, primal = self._eps(state), state.bounds.primal
        if self.problem.penalty == "linear" or math.isinf(primal):
            return eps
        mean = math.sqrt(2.0 * primal / self.problem.C)
        return 2.0 * eps / (math.sqrt(mean**2 + 2.0 * eps) + mean)

    def _whom_to_ask(self, state: MultiPlaneState, number: int) -> str:
        """Return which examples to ask: "none" while held planes gain more for their work."""
        if state.bounds.w is None:
            return "all"
        if number == 1:
            return "none" if state.n_earlier else "some"  # the planes of another C, or no planes
        pays = state.gained > 0 and state.rate * state.worked >= state.gained
        if pays and state.held_gap > HELD_SHARE * state.gap:
            return "none"
        if self.options.ask_share >= 1 or state.since >= FULL_AFTER:
            return "all"
        is_near = state.since > 0 and self._estimated_gap(state) <= (
            self.problem.C * self._eps(state)
        )
        return "all" if is_near else "some"

    def _estimated_gap(self, state: MultiPlaneState) -> float:
        """Return an estimate of the gap: from the examples' shares, or from its fall so far.

        Shares are those of the last oracle calls, so they may be much too large.
        """
        course = state.bounds.gap * math.exp(-state.fall * (1.0 + state.since))
        return min(state.unseen * state.gap, course)

    def _point(self, state: MultiPlaneState) -> np.ndarray | None:
        """Return the point of oracle calls on all examples; None for w itself."""
        if state.number == 1:
            return state.start
        return state.average if state.ask_average else None

    def _todo(self, risk: BlockRisk, state: MultiPlaneState, ask: str) -> Ascent:
        average = state.gained / state.worked if ask == "none" and state.worked else 0.0
        n_parts = self._n_parts(risk)
        return Ascent(
            number=state.serial, taken=state.taken, sigma=state.sigma, ask=ask,
            share=self.options.ask_share / n_parts,
            n_passes=N_PASSES if risk.n_blocks == 1 else N_PASSES_APART,
            n_parts=n_parts, least_rate=average, tol=TOL_SHARE * self._violation(state),
            enough=self.problem.C * self._eps(state) / (state.unseen * risk.total_weight),
            regain=state.regain(),
        )  # fmt: skip

    def _n_parts(self, risk: BlockRisk) -> int:
        """Number of rounds over which one `ask_share` of the examples is asked."""
        return 1 if risk.n_blocks == 1 or self.problem.enumerates else N_PARTS

    def _certify(
        self,
        risk: BlockRisk,
        state: MultiPlaneState,
        point: np.ndarray | None,
        answers: Sequence[Ascended],
        before: tuple[float, float],
    ) -> float:
        """Update the bounds: P at the point of the oracle calls, and D of the α before the round.

        Return P.
        """
        asked = state.w if point is None else np.array(point)  # later rounds change the average
        self._certify_dual(risk, state, [a.holding for a in answers if a.holding is not None])
        mean = sum(answer.upper for answer in answers) / risk.total_weight
        primal = 0.5 * risk.point(asked).norm2 + self.problem.C * mean
        state.bounds.add_primal(primal, asked, all(answer.exact for answer in answers))
        if state.bounds.primal == before[0]:
            state.ask_average = not state.ask_average
        gap = before[0] - before[1]
        if 0 < state.bounds.gap <= gap < math.inf:
            state.fall = math.log(gap / state.bounds.gap) / (1.0 + state.since)
        if 0 < state.gap < math.inf:
            state.unseen = max(1.0, state.bounds.gap / state.gap)
        same = (state.bounds.primal, state.bounds.dual) == before
        state.n_stalled = state.n_stalled + 1 if same else min(0, state.n_stalled)
        return primal

    def _certify_dual(
        self, risk: BlockRisk, state: MultiPlaneState, holdings: Sequence[Holding]
    ) -> None:
        """Compute w and D again from the α before the round."""
        frozen = state.frozen
        counted = [h for k, h in enumerate(holdings) if frozen is None or k not in frozen.blocks]
        # A new array, because the bounds may refer to the old one.
        state.w = risk.sum([h.a for h in counted])
        state.linear = sum(holding.b for holding in counted)
        state.cost = sum(holding.cost for holding in counted)
        model = risk.point(state.w)
        if frozen is not None:
            frozen.compare(holdings)
            model.add(1.0, frozen.a)
            state.linear += frozen.b
        state.square = model.norm2
        state.bounds.add_dual(state.dual)

    def _freeze(
        self, risk: BlockRisk, state: MultiPlaneState, answers: Sequence[Ascended]
    ) -> Sequence[Ascended]:
        """Freeze the points of lost workers' blocks, which begin anew; return the valid answers.

        Workers may be lost while the driver collects the other blocks' sums: then their answers of
        this round are lost, too.
        """
        lost = {block for block, answer in enumerate(answers) if answer.lost}
        if not lost:
            return answers
        state.n_stalled = -REGAIN_ROUNDS
        state.loses = True
        gone: set[int] = set()
        while True:
            holdings = risk.holdings()
            late = {k for k, holding in enumerate(holdings) if holding.number != state.serial}
            if late <= gone:
                break
            gone |= late
        blocks = lost | gone | (set() if state.frozen is None else state.frozen.blocks)
        net = state.linear - 0.5 * state.cost
        state.frozen = Frozen.of(state.w, net, holdings, frozenset(blocks))
        return [
            answer if block not in gone else answer.without_change()
            for block, answer in enumerate(answers)
        ]

    def _take(self, risk: BlockRisk, state: MultiPlaneState, answers: Sequence[Ascended]) -> float:
        """Add the blocks' changes to w, all by the one best factor; return the gain of the dual.

        Changes of blocks that regain lost planes do not count in w at first.
        """
        before = state.dual
        state.aside = frozenset() if state.frozen is None else state.frozen.blocks
        model = risk.point(state.w)
        counted = [a for k, a in enumerate(answers) if k not in state.aside]
        step = Step.of(model, counted, self._is_exact(answers))
        state.taken, best = step.taken, step.best
        state.linear += step.linear
        state.square += step.longer
        state.cost += step.dearer
        # The difference, because a gain below the dual's rounding is none.
        gain = state.dual - before
        if state.frozen is not None:
            regaining = [answers[k] for k in sorted(state.aside)]
            live, regained = self._thaw(model, state, state.frozen, regaining)
            state.regained, best, gain = live.taken, min(best, live.best), gain + regained
        self._adapt(state, best, len(answers))
        return gain

    def _thaw(
        self, model: LinearPoint, state: MultiPlaneState, frozen: Frozen,
        answers: Sequence[Ascended],
    ) -> tuple[Step, float]:  # fmt: skip
        """Move live by its best step, and then frozen by the best one towards live.

        Returns
        -------
        live's step, and its gain of the dual if live were in w
        """
        point, linear = model.minus(frozen.apart), state.linear - frozen.linear
        before = linear - 0.5 * point.norm2
        live = Step.of(point, answers)
        gain = linear + live.linear - 0.5 * (point.norm2 + live.dearer) - before
        for answer in answers:
            frozen.follow(answer.u, answer.net(live.taken), live.taken)
        step = frozen.step(model)
        model.add(-step, frozen.apart)
        state.linear -= step * frozen.linear
        state.square = model.norm2
        frozen.move(step)
        if step == 1:
            state.frozen = None
        return live, gain

    def _is_exact(self, answers: Sequence[Ascended]) -> bool:
        """Return whether to add whole changes, even if a part of them were better."""
        return False

    def _adapt(self, state: MultiPlaneState, best: float, n_blocks: int) -> None:
        """Adapt σ′ to the best common step of the blocks."""
        if best < 1:
            state.sigma = min(float(n_blocks), GROW * state.sigma)
        elif best > ROOM:
            state.sigma = max(1.0, SHRINK * state.sigma)

    def _begin_count(self, risk: BlockRisk, state: MultiPlaneState, ask: str) -> None:
        """Begin new counts of gain and work after a round with oracle calls."""
        n_parts = self._n_parts(risk)
        state.n_asked += 1
        part = 1.0 if self.problem.enumerates else self.options.ask_share / n_parts
        state.since = 0.0 if ask == "all" else state.since + part
        state.gained = state.worked = 0.0
        if state.average is None:
            state.average = np.array(state.w)
        elif state.n_asked % n_parts == 0:
            risk.point(state.average).approach(risk.point(state.w), AVERAGING)

    def _count(
        self, state: MultiPlaneState, answers: Sequence[Ascended], gain: float, ask: str
    ) -> None:
        work = sum(answer.work for answer in answers)
        if ask == "all":
            state.pass_work = work
        state.gained += gain
        state.worked += work
        state.uncopied += work
        state.rate = gain / work if work > 0 else 0.0
        state.gap = sum(answer.gap for answer in answers)
        state.held_gap = sum(answer.held_gap for answer in answers)
        state.n_calls += sum(answer.n_calls for answer in answers)
        state.n_visits += sum(answer.n_visits for answer in answers)
        state.n_planes = sum(answer.n_planes for answer in answers)
        state.n_support = sum(answer.n_support for answer in answers)
        state.n_refused = sum(answer.n_refused for answer in answers)
        state.plane_bytes = sum(answer.n_bytes for answer in answers)

    def _back_up(self, risk: BlockRisk, state: MultiPlaneState) -> str | None:
        """Copy all planes to the driver from time to time, once workers have been lost.

        A rebuilt worker begins with that copy, while the lost worker's last point still counts in
        w. Without copies, there would be no progress if losses come faster than workers regain
        their planes. Return a note if there is no room for a copy.
        """
        if not state.loses or state.uncopied < COPY_WORK * state.plane_bytes:
            return None
        state.uncopied = 0.0
        if state.plane_bytes <= COPY_BYTES and risk.back_up():
            return None
        if state.copies:
            state.copies = False
            return UNCOPIED
        return None

    def _record(self, state: MultiPlaneState, ask: str, primal: float | None) -> Round:
        bounds = state.bounds
        return Round(
            number=state.number,
            kind={"all": "fresh", "some": "refreshed", "none": "cached"}[ask],
            primal=primal,
            best_primal=bounds.primal,
            dual=bounds.dual,
            gap=bounds.gap,
            risk=None,
            w_norm=math.sqrt(max(0.0, state.square)),
            n_oracle_calls=state.n_calls,
            n_cache_hits=state.n_visits,
            n_planes=state.n_planes,
            plane_bytes=state.plane_bytes,
            solver=self.name,
            own=self._own(state),
            seconds=dict(state.clock.seconds),
        )

    def _own(self, state: MultiPlaneState) -> dict[str, float]:
        """Return the values of the solver's own columns."""
        return {
            "violation": state.gap / self.problem.C,
            "n_support_planes": state.n_support,
            "n_refused_planes": state.n_refused,
        }


class Step(NamedTuple):
    """The step of w along the blocks' changes.

    Parameters
    ----------
    taken, best : float
        The part of them that was added, and the best one if it could be above 1.
    linear, longer, dearer : float
        The growth of Σ α·q, of ‖w‖² and of Holding.cost.
    """

    taken: float
    best: float
    linear: float
    longer: float
    dearer: float

    @classmethod
    def of(cls, point: LinearPoint, answers: Sequence[Ascended], whole: bool = False) -> Step:
        """Add the best part of the changes for the dual to the point, in place.

        With `whole`, add the whole changes.
        """
        changes, ones = [answer.u for answer in answers], np.ones(len(answers))
        linear = sum(answer.linear for answer in answers)
        along, apart = point.advance(changes, ones)
        cost_along = sum(answer.cost_along for answer in answers)
        cost_apart = sum(answer.cost_apart for answer in answers)
        square = apart + cost_apart
        best = (linear - along - cost_along) / square if square > 0 else 1.0
        taken = 1.0 if whole else min(1.0, max(0.0, best))
        if taken < 1:
            point.advance(changes, (taken - 1.0) * ones)
        longer = taken * (2 * along + taken * apart)
        dearer = taken * (2 * cost_along + taken * cost_apart)
        return cls(taken, best, taken * linear, longer, dearer)
