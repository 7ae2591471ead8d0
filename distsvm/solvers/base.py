"""The contract of every solver: rounds that turn a risk into w, and a state that can be kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from distsvm.cuts.bounds import Target
from distsvm.errors import ConfigError
from distsvm.oracles.task import Task
from distsvm.risks.base import Risk
from distsvm.solvers.options import SolverOptions
from distsvm.solvers.round import Column, Round
from distsvm.solvers.state import State
from distsvm.wording import Setting, message
from distsvm.workers.part import PartMaker

R = TypeVar("R", bound=Risk)
S = TypeVar("S", bound=State)
Self = TypeVar("Self", bound="Solver")


@dataclass(frozen=True)
class Problem:
    """What is solved, as far as a solver has to know it.

    Parameters
    ----------
    C : float
        Multiplies R(w).
    target : Target
        The gap to reach.
    rescaling : "margin" or "slack"
    penalty : "linear", "quadratic" or "hard"
        A hard margin has no C, which is 1 then.
    max_rounds : int or None
        The last round allowed has to certify.
    seed : int
        For what is drawn.
    largest_loss : float or None
        No output's loss is above it; None where that is only claimed (tasks in Python).
    most_loss, square_radius : float, float or None
        The largest loss that the task claims, and max ‖ψ‖² if it is known: for theorems.
    enumerates, weighs_features : bool
        As the task has them.
    """

    C: float
    target: Target = field(default_factory=Target)
    rescaling: str = "margin"
    penalty: str = "linear"
    max_rounds: int | None = None
    seed: int = 0
    largest_loss: float | None = None
    most_loss: float = 1.0
    square_radius: float | None = None
    enumerates: bool = False
    weighs_features: bool = False

    def working_eps(self, dual: float) -> float:
        """The eps to work towards while the dual value is this; see Target."""
        return self.target.working_eps(self.C, dual)


@dataclass(frozen=True)
class Place:
    """Where a run is to be, as far as defaults depend on it.

    Parameters
    ----------
    one_process : bool
        Whether the workers are threads of the driver's process.
    limited : bool
        Whether a worker's memory is limited, so that it works through its examples in pieces.
    n_workers : int
    """

    one_process: bool
    limited: bool = False
    n_workers: int = 1


@dataclass(frozen=True)
class Solver(ABC, Generic[R, S]):
    """A solver, in one file: its options, the risk it talks to, its part in the workers, its state.

    Subclasses are frozen dataclasses with the fields `problem` and `options`.

    Attributes
    ----------
    name : str
        Under which it is registered, and in the history.
    Options : type
        A dataclass of its options, which may all be left out.
    State : type
        What it knows between two rounds; checkpoints save its declared fields.
    needs : frozenset of str
        What a task's oracle must be able to do: names of CAPABILITIES.
    penalties : frozenset of str
        What a slack may cost.
    why_linear : str
        Why it takes no other penalty, where theory says so; for messages.
    columns : tuple of Column
        Its own columns of the history.
    worker_vectors : int
        Vectors of length dim that a worker of two shards may have of its own if none is sparse, as
        counted: sums that wait for others, the one that is made, and what is on its way. One number
        for all, as pieces, and so bits, must not depend on how many workers there are.
    hosts_blocks : bool
        Whether a worker hosts a block as one, or each of its shards.
    """

    name: ClassVar[str]
    Options: ClassVar[type[SolverOptions]]
    State: ClassVar[type[State]]
    needs: ClassVar[frozenset[str]] = frozenset()
    penalties: ClassVar[frozenset[str]] = frozenset({"linear"})
    why_linear: ClassVar[str] = ""
    columns: ClassVar[tuple[Column, ...]] = ()
    worker_vectors: ClassVar[int] = 5
    hosts_blocks: ClassVar[bool] = False

    problem: Problem
    options: Any

    @classmethod
    def settled(cls, options: Any, task: Task, place: Place) -> Any:
        """The options with what "auto" and what is missing come to for this task."""
        return options

    @classmethod
    def check_task(cls, options: Any, task: Task, rescaling: str, place: Place) -> None:
        """Refuse, with a ConfigError, a task that has what the solver needs but not with these."""

    @classmethod
    def default_blocks(cls, place: Place) -> int:
        """The number of blocks unless it is given."""
        return 1

    @abstractmethod
    def part_maker(self) -> PartMaker:
        """What makes the solver's part of each worker."""

    @abstractmethod
    def risk_kind(self) -> type[R]:
        """The kind of risk that it talks to."""

    @abstractmethod
    def begin(self, risk: R, start: np.ndarray | None) -> S:
        """The state before the first round; `start` is a w to ask about first."""

    def restore(self, risk: R, arrays: Mapping[str, np.ndarray]) -> S:
        """The state that State.arrays gave these arrays of."""
        state = self.begin(risk, None)
        state.take(arrays)
        return state

    @abstractmethod
    def follow(self, risk: R, earlier: S, factor: float) -> S:
        """The state before the first round at this C, from the last one at C / factor.

        Every α is `factor` times what it was, so that it is feasible, and nothing is asked: planes
        and cuts do not depend on C. The earlier state is used up.
        """

    @abstractmethod
    def rounds(self, risk: R, state: S) -> Iterator[Round]:
        """Rounds without end; the caller stops when it has seen enough."""

    def is_forced(self, state: S) -> bool:
        """Whether the limit of rounds makes the next round another one than it would be without.

        Such a round certifies the result. Its state is not one to go on from.
        """
        return False

    def bound_on_rounds(
        self, n_blocks: int, square_radius: float | None, largest_loss: float
    ) -> int | None:
        """The theory's bound on the number of rounds until the gap is C·eps, if there is one."""
        return None

    def at(self: Self, C: float) -> Self:
        """The same solver for another C."""
        return replace(self, problem=replace(self.problem, C=C))


CAPABILITIES = {
    "planes": "sums of planes (accumulate and values)",
    "steps": "steps of the dual over held planes (vectors)",
    "sequential": "exact steps of the dual over all outputs of an example (sequential)",
}
"""What a solver may need of an oracle, in words."""


def check_penalty(solver: type[Solver], penalty: str) -> None:
    """Refuse a penalty that the solver does not take."""
    if penalty in solver.penalties:
        return
    reason = f": {solver.why_linear}" if solver.why_linear else ""
    raise ConfigError(
        message(
            "{} with {}{}; expected {}, or another {solver}",
            Setting("solver", solver.name),
            Setting("penalty", penalty),
            reason,
            ", ".join(sorted(solver.penalties)),
        )
    )


def check_needs(solver: type[Solver], task: Task) -> None:
    """Refuse a task whose oracle lacks what the solver needs."""
    for missing in sorted(solver.needs - task.capabilities):
        what = CAPABILITIES.get(missing, missing)
        raise ConfigError(
            message(
                "{} needs {}, which {} does not have",
                Setting("solver", solver.name),
                what,
                type(task).__name__,
            )
        )
