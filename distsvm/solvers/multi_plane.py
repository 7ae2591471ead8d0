"""Multi-plane dual ascent: the dual over all planes that the workers hold, block by block."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

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

# After as many passes of calls about some examples, the next round asks about all, and certifies,
# also where the gap seems far from its target. Ten times 0.1, added up, is a little less than 1.
FULL_AFTER = 2.0 - 1e-9
# Passes over the held planes within a round, where there is one block and where there are more,
# which have to hear of each other.
N_PASSES, N_PASSES_APART = 5, 1
# For the same reason several blocks ask, in so many rounds, about what one would ask about in one.
N_PARTS = 4
# The held planes are done with when they show less than this part of the gap that the oracle saw.
HELD_SHARE = 0.1
# Values of planes count as equal when they differ by less than this part of the working eps.
TOL_SHARE = 0.1
# How fast the averaged w follows w.
AVERAGING = 0.3
# σ′ grows by this factor after changes that had to be scaled down, and shrinks by the other after
# changes that could have gone further than ROOM times as far.
GROW, SHRINK, ROOM = 1.25, 0.9, 1.3
# Work to be done before planes are copied again, for each of their bytes: copies stay cheap.
COPY_WORK = 10.0
# Of planes that the driver has room for.
COPY_BYTES = 2**30
UNCOPIED = (
    "workers get lost, and their planes are too large to be copied to the driver: rebuilt workers "
    "begin with those of the last checkpoint, or with none; if the bounds stand still, write "
    "checkpoints more often"
)
# Certifying rounds that may bring nothing after a loss: what was lost has to be found again first.
REGAIN_ROUNDS = 50


@dataclass(frozen=True)
class MultiPlaneOptions(SolverOptions):
    """The options of the multi-plane solver."""

    ask_share: float = option(
        0.3, kind=share, metavar="F",
        help="the part of the examples, those with the largest shares of the gap, that most rounds "
        "with oracle calls ask about",
    )  # fmt: skip
    plane_memory_mb: float = option(
        4096.0, kind=number(above=0), flag="--plane-memory", metavar="MB", unit="MiB",
        help="limit of the memory for planes, of all workers together; with {worker_memory_mb} "
        "that of one piece of each block counts, which may take as much as a piece",
    )  # fmt: skip


@dataclass(frozen=True)
class MultiPlane(Solver[BlockRisk, MultiPlaneState]):
    """Block steps over held planes, and the oracle asked where the gap is.

    Where the problem tells the largest loss, the first rounds ask as later ones do; without it the
    first asks about all at w = 0, so that there is a primal value.
    """

    name: ClassVar[str] = "multi-plane"
    Options: ClassVar[type[SolverOptions]] = MultiPlaneOptions
    State: ClassVar[type[State]] = MultiPlaneState
    needs: ClassVar[frozenset[str]] = frozenset({"planes", "steps"})
    columns: ClassVar[tuple[Column, ...]] = (
        Column("violation", "", "the examples' shares of the gap, as last known, over C"),
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
        return AscentPartMaker()

    def risk_kind(self) -> type[BlockRisk]:
        return BlockRisk

    def begin(self, risk: BlockRisk, start: np.ndarray | None) -> MultiPlaneState:
        problem = self.problem
        risk.hold(problem.C, self.options.plane_memory_mb, problem.seed)
        sigma = 1.0 if problem.weighs_features else max(1.0, 0.5 * risk.n_blocks)
        # α = 0 is feasible, with w = 0 and D = 0.
        bounds = Bounds(dual=0.0)
        if start is None and problem.largest_loss is not None:
            # No example's hinge is above that at w = 0, where an oracle would have little to say.
            bounds.add_primal(problem.C * problem.largest_loss, risk.zero(), exact=False)
        return MultiPlaneState(
            bounds, risk.zero(), start=start, sigma=sigma, ask_average=not problem.enumerates
        )

    def restore(self, risk: BlockRisk, arrays: Mapping[str, np.ndarray]) -> MultiPlaneState:
        state = super().restore(risk, arrays)
        state.frozen = Frozen.from_arrays(dict(arrays))
        state.aside = frozenset(checks.vector("aside", arrays["aside"], "i").tolist())
        return state

    def follow(self, risk: BlockRisk, earlier: MultiPlaneState, factor: float) -> MultiPlaneState:
        blocks = range(risk.n_blocks)
        risk.rescale(
            self.problem.C,
            factor,
            [earlier.regained if block in earlier.aside else earlier.taken for block in blocks],
        )
        if earlier.frozen is not None:
            earlier.frozen.rescale(factor)
        return MultiPlaneState(
            earlier.bounds.rescaled(factor), factor * earlier.w, sigma=earlier.sigma,
            linear=factor * earlier.linear, square=factor**2 * earlier.square,
            frozen=earlier.frozen, pass_work=earlier.pass_work, n_earlier=earlier.serial,
            since=earlier.since, ask_average=not self.problem.enumerates,
            # The held planes go on for as long as they do better than a pass without any gain.
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
                ask = "some"  # what was found holds, and certifies nothing
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

    def _whom_to_ask(self, state: MultiPlaneState, number: int) -> str:
        """The oracle while it brings the dual more for its work than the held planes do."""
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
        """What a certificate would say now: by the examples' shares, or if it falls as it has.

        Shares are known from when the oracle was last asked, so that they may be much too large.
        """
        course = state.bounds.gap * math.exp(-state.fall * (1.0 + state.since))
        return min(state.unseen * state.gap, course)

    def _point(self, state: MultiPlaneState) -> np.ndarray | None:
        """Where to ask about all: None for w itself."""
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
            n_parts=n_parts, least_rate=average, tol=TOL_SHARE * self._eps(state),
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
        """P where all were asked, and D of the α that the round began with."""
        asked = state.w if point is None else np.array(point)  # the average will move on
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
        """w and D anew from the α that the round began with."""
        frozen = state.frozen
        counted = [h for k, h in enumerate(holdings) if frozen is None or k not in frozen.blocks]
        # A new array: the one that was asked about stays as it is.
        state.w = risk.sum([h.a for h in counted])
        state.linear = sum(holding.b for holding in counted)
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
        """Keep what the blocks of lost workers had; they have begun anew. The answers that count.

        Workers may be lost while the others are asked what they have: what those had just answered
        is lost, too.
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
        state.frozen = Frozen.of(state.w, state.linear, holdings, frozenset(blocks))
        return [
            answer if block not in gone else answer.without_change()
            for block, answer in enumerate(answers)
        ]

    def _take(self, risk: BlockRisk, state: MultiPlaneState, answers: Sequence[Ascended]) -> float:
        """Add the blocks' changes to w, all by the one factor that is best; what they gained.

        Blocks that are finding again what was lost gain for themselves at first, and not for w.
        """
        before = state.dual
        state.aside = frozenset() if state.frozen is None else state.frozen.blocks
        model = risk.point(state.w)
        counted = [a for k, a in enumerate(answers) if k not in state.aside]
        step = Step.of(model, counted, self._is_exact(answers))
        state.taken, best = step.taken, step.best
        state.linear += step.linear
        state.square += step.longer
        # A difference: what is lost in the dual's rounding is no gain to go on for.
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
        """Let live take its best step, and then frozen the best one towards live.

        Returns
        -------
        live's step, and what it gains of the dual that there would be with live in w
        """
        point, linear = model.minus(frozen.apart), state.linear - frozen.linear
        before = linear - 0.5 * point.norm2
        live = Step.of(point, answers)
        gain = linear + live.linear - 0.5 * point.norm2 - before
        for answer in answers:
            frozen.follow(answer.u, answer.linear, live.taken)
        step = frozen.step(model)
        model.add(-step, frozen.apart)
        state.linear -= step * frozen.linear
        state.square = model.norm2
        frozen.move(step)
        if step == 1:
            state.frozen = None
        return live, gain

    def _is_exact(self, answers: Sequence[Ascended]) -> bool:
        """Whether the changes are wanted as they are, although a part of them may be better."""
        return False

    def _adapt(self, state: MultiPlaneState, best: float, n_blocks: int) -> None:
        """Let σ′ follow how far the blocks could have gone together."""
        if best < 1:
            state.sigma = min(float(n_blocks), GROW * state.sigma)
        elif best > ROOM:
            state.sigma = max(1.0, SHRINK * state.sigma)

    def _begin_count(self, risk: BlockRisk, state: MultiPlaneState, ask: str) -> None:
        """A round has asked the oracle: gains and work are counted from it on."""
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
        """Once workers get lost, keep a copy of all planes where the next loss cannot take them.

        A worker that is built again begins with that copy, while the driver still counts what the
        lost one had at the end: without copies, losses that come sooner than all is found again
        would allow no progress. Return what to note where there can be no copy.
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
        """The values of the columns that are the solver's own."""
        return {
            "violation": state.gap / self.problem.C,
            "n_support_planes": state.n_support,
            "n_refused_planes": state.n_refused,
        }


class Step(NamedTuple):
    """How far w has gone along the blocks' changes.

    Parameters
    ----------
    taken, best : float
        The part of them that was added, and the one that would be best if it could be above 1.
    linear, longer : float
        By how much Σ α·q and ‖w‖² have grown.
    """

    taken: float
    best: float
    linear: float
    longer: float

    @classmethod
    def of(cls, point: LinearPoint, answers: Sequence[Ascended], whole: bool = False) -> Step:
        """Add to the point, in its place, the part of the changes that is best for the dual.

        `whole` says that they are added as they are.
        """
        changes, ones = [answer.u for answer in answers], np.ones(len(answers))
        linear = sum(answer.linear for answer in answers)
        along, apart = point.advance(changes, ones)
        best = (linear - along) / apart if apart > 0 else 1.0
        taken = 1.0 if whole else min(1.0, max(0.0, best))
        if taken < 1:
            point.advance(changes, (taken - 1.0) * ones)
        return cls(taken, best, taken * linear, taken * (2 * along + taken * apart))
