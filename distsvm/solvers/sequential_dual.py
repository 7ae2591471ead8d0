"""The sequential dual method for classes (Keerthi et al., KDD 2008): one example after another.

Each visit solves the dual over all α of one example exactly. Rounds, parallel blocks and lost
workers are as in the multi-plane ascent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from distsvm.kinds import choice
from distsvm.messages import Ascended
from distsvm.options import option
from distsvm.oracles.task import Task
from distsvm.risks.blocks import BlockRisk
from distsvm.solvers.base import Place
from distsvm.solvers.multi_plane import MultiPlane
from distsvm.solvers.multi_plane_state import MultiPlaneState
from distsvm.solvers.options import SolverOptions
from distsvm.solvers.round import Column
from distsvm.workers.sequential_part import SequentialPartMaker

FORMULATIONS = ("crammer-singer", "weston-watkins", "one-vs-rest")

SHRINKING = ("gap", "cooled", "fixed", "none")

# After this many rounds without a certificate the next one certifies, even far from the target.
MOST_UNCERTIFIED = 10.0


@dataclass(frozen=True)
class SequentialDualOptions(SolverOptions):
    """The options of the sequential dual method."""

    formulation: str = option(
        FORMULATIONS[0], kind=choice(*FORMULATIONS), metavar="NAME",
        help="classes: the hinge H. crammer-singer: max_ŷ Δ + s_ŷ − s_y, the hinge of the worst "
        "class; weston-watkins: Σ_ŷ max(0, Δ + s_ŷ − s_y) over ŷ ≠ y; one-vs-rest: max(0, Δ − s_y) "
        "+ Σ_ŷ max(0, Δ + s_ŷ). The last two are for zero-one losses",
    )  # fmt: skip
    shrinking: str = option(
        SHRINKING[0], kind=choice(*SHRINKING), metavar="RULE",
        help="when the loops over the examples with an α at no bound, and over their classes with "
        "α > 0, end, so that one over all follows. gap: when they show a fifth of the gap before "
        "them, or after twice the work of a loop over all; cooled: when no class is better than "
        "another by ε_t = 1, 0.1, …, which falls when a loop over all shows the same, or after 5 "
        "times that work; fixed: the same with the last ε_t from the start; none: loops over all",
    )  # fmt: skip
    # Multi-plane's options: no block asks about a part, and the α of all examples must be held.
    ask_share: ClassVar[float] = 1.0
    plane_memory_mb: ClassVar[float] = math.inf


@dataclass(frozen=True)
class SequentialDual(MultiPlane):
    """Rounds of visits, and a round that certifies when the target seems to be reached."""

    name: ClassVar[str] = "sequential-dual"
    Options: ClassVar[type[SolverOptions]] = SequentialDualOptions
    needs: ClassVar[frozenset[str]] = frozenset({"sequential"})
    penalties: ClassVar[frozenset[str]] = frozenset({"linear"})
    why_linear: ClassVar[str] = "its exact steps are those of the linear one"
    in_memory: ClassVar[bool] = True
    warm_up: ClassVar[tuple[dict[str, Any], ...]] = ()  # the problems of classes have them
    columns: ClassVar[tuple[Column, ...]] = (
        Column("violation", "", "sum of the examples' last computed shares of the gap, over C"),
        Column("n_planes", "α > 0", "α of examples and classes that are above 0"),
    )

    options: Any = SequentialDualOptions()

    @classmethod
    def check_task(cls, options: Any, task: Task, rescaling: str, place: Place) -> None:
        task.check_formulation(options.formulation, rescaling)  # type: ignore[attr-defined]

    def part_maker(self) -> SequentialPartMaker:
        return SequentialPartMaker(self.options.formulation, self.options.shrinking)

    # --- the steps of a round --------------------------------------------------------------

    def _eps(self, state: MultiPlaneState) -> float:
        """Return the eps for the current dual, because certificates are rare."""
        return self.problem.working_eps(max(state.bounds.dual, state.dual))

    def _whom_to_ask(self, state: MultiPlaneState, number: int) -> str:
        """Return "all", to certify, once the visits' shares of the gap reach the target."""
        if number == 1:
            return "some" if state.start is None else "all"
        if state.since == 0:
            return "some"
        near = state.unseen * state.gap <= self.problem.C * self._eps(state)
        return "all" if near or state.since >= MOST_UNCERTIFIED else "some"

    def _begin_count(self, risk: BlockRisk, state: MultiPlaneState, ask: str) -> None:
        """Count the rounds since the last certificate; there is no averaged w."""
        state.n_asked += 1
        state.since = 0.0 if ask == "all" else state.since + 1.0
        state.gained = state.worked = 0.0

    def _is_exact(self, answers: Sequence[Ascended]) -> bool:
        """Return whether there is one block: a part of its change would take α off their bounds."""
        return len(answers) == 1

    def _own(self, state: MultiPlaneState) -> dict[str, float]:
        return {"violation": state.gap / self.problem.C}
