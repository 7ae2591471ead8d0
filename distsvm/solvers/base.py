"""The contract of every solver: rounds that minimise a risk, and a state for checkpoints."""

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
from distsvm.workers.support import SupportTable

R = TypeVar("R", bound=Risk)
S = TypeVar("S", bound=State)
Self = TypeVar("Self", bound="Solver")


@dataclass(frozen=True)
class Problem:
    """The parameters of the optimisation problem for a solver.

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
        The limit of rounds; the last allowed round certifies.
    seed : int
        Seed of random numbers.
    largest_loss : float or None
        A proved upper bound of the loss; None for tasks in Python, which only claim one.
    most_loss, square_radius : float, float or None
        The largest loss that the task claims, and max ‖ψ‖² if it is known: for theorems.
    enumerates, weighs_features : bool
        The task's attributes of these names.
    memory_mb : float or None
        The limit of a worker's memory, for solvers that keep all examples in it.
    n_workers : int
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
    memory_mb: float | None = None
    n_workers: int = 1

    def working_eps(self, dual: float) -> float:
        """Return the eps to work towards at this dual value; see Target."""
        return self.target.working_eps(self.C, dual)


@dataclass(frozen=True)
class Place:
    """The circumstances of a run that defaults depend on.

    Parameters
    ----------
    one_process : bool
        Whether the workers are threads of the driver's process.
    limited : bool
        Whether a worker's memory is limited, so that it reads its examples in pieces.
    n_workers : int
    """

    one_process: bool
    limited: bool = False
    n_workers: int = 1


@dataclass(frozen=True)
class Solver(ABC, Generic[R, S]):
    """A solver, in one file: its options, its kind of risk, its part in the workers, its state.

    Subclasses are frozen dataclasses with the fields `problem` and `options`.

    Attributes
    ----------
    name : str
        Its name in the registry and in the history.
    Options : type
        A dataclass of its options, all with defaults.
    State : type
        Its state between two rounds; checkpoints save the declared fields.
    needs : frozenset of str
        Required capabilities of a task's oracle: names of CAPABILITIES.
    penalties : frozenset of str
        The penalties of a slack that it supports.
    auto_penalties : frozenset of str
        The penalties for which solver="auto" may take it.
    why_linear : str
        The theory's reason why it supports no other penalty, for messages.
    why_no_support : str
        Why no single output has an α, for messages; empty where `support` tells them.
    columns : tuple of Column
        Its own columns of the history.
    worker_vectors : int
        The counted number of dense vectors of length dim in a worker of two shards: sums that wait
        for others, the sum in progress, and messages. It is one number for all runs, because pieces
        depend on it, and bits must not depend on the number of workers.
    hosts_blocks : bool
        Whether a worker hosts a whole block, or each of its shards.
    has_blocks : bool
        Whether several blocks of examples make sense for it.
    in_memory : bool
        Whether it needs all examples in memory.
    warm_up : tuple of dict
        Settings of training that together use all its kernels, for `distsvm warm-up`.
    keeps_examples : bool
        Whether workers of limited memory keep their examples in it all the same; then the solver
        keeps the rest within the limit.
    """

    name: ClassVar[str]
    Options: ClassVar[type[SolverOptions]]
    State: ClassVar[type[State]]
    needs: ClassVar[frozenset[str]] = frozenset()
    penalties: ClassVar[frozenset[str]] = frozenset({"linear"})
    auto_penalties: ClassVar[frozenset[str]] = frozenset({"linear"})
    why_linear: ClassVar[str] = ""
    why_no_support: ClassVar[str] = "it keeps no planes of single examples"
    columns: ClassVar[tuple[Column, ...]] = ()
    worker_vectors: ClassVar[int] = 5
    hosts_blocks: ClassVar[bool] = False
    has_blocks: ClassVar[bool] = True
    in_memory: ClassVar[bool] = False
    warm_up: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    keeps_examples: ClassVar[bool] = False

    problem: Problem
    options: SolverOptions

    @classmethod
    def settled(cls, options: Any, task: Task, place: Place) -> Any:
        """Return the options with values for this task in the place of "auto" and None."""
        return options

    @classmethod
    def check_task(cls, options: Any, task: Task, rescaling: str, place: Place) -> None:
        """Raise ConfigError for a task that does not go with these options or this place."""

    @classmethod
    def default_blocks(cls, place: Place) -> int:
        """Return the default number of blocks."""
        return 1

    @abstractmethod
    def part_maker(self) -> PartMaker:
        """Return the function that makes the solver's part of each worker."""

    @abstractmethod
    def risk_kind(self) -> type[R]:
        """Return the solver's kind of risk."""

    @abstractmethod
    def begin(self, risk: R, start: np.ndarray | None) -> S:
        """Return the state before the first round; `start` is the w of the first oracle calls."""

    def restore(self, risk: R, arrays: Mapping[str, np.ndarray]) -> S:
        """Return the state from the result of State.arrays."""
        state = self.begin(risk, None)
        state.take(arrays)
        return state

    @abstractmethod
    def follow(self, risk: R, earlier: S, factor: float) -> S:
        """Return the state before the first round at this C, from the last one at C / factor.

        It multiplies every α by `factor`, which keeps α feasible, and makes no oracle calls,
        because planes and cuts do not depend on C. The earlier state must not be used again.
        """

    @abstractmethod
    def rounds(self, risk: R, state: S) -> Iterator[Round]:
        """Yield rounds without end; the caller stops."""

    def support(self, risk: R, state: S) -> SupportTable | None:
        """Return the planes with α > 0 after the last round, the largest α first.

        None where no plane has an α of its own, or where a lost worker had some of them.
        """
        return None

    def is_forced(self, state: S) -> bool:
        """Return whether the limit of rounds changes the kind of the next round.

        Such a round certifies the result. No run may continue from its state.
        """
        return False

    def bound_on_rounds(
        self, n_blocks: int, square_radius: float | None, largest_loss: float
    ) -> int | None:
        """Return the theory's bound on the number of rounds until the gap is C·eps, or None."""
        return None

    def at(self: Self, C: float) -> Self:
        """Return the same solver for another C."""
        return replace(self, problem=replace(self.problem, C=C))


CAPABILITIES = {
    "planes": "sums of planes (accumulate and values)",
    "steps": "steps of the dual over held planes (vectors)",
    "kernel": "values of a kernel function (joint_kernel)",
    "sequential": "exact steps of the dual over all outputs of an example (sequential)",
}
"""Capabilities of an oracle that a solver may need, in words."""


def check_penalty(solver: type[Solver], penalty: str) -> None:
    """Refuse a penalty that the solver does not support."""
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


def check_place(solver: type[Solver], n_blocks: int | None, limited: bool) -> None:
    """Refuse several blocks and limited memory where the solver does not support them."""
    if n_blocks not in (None, 1) and not solver.has_blocks:
        raise ConfigError(
            message(
                "{} with {}: this solver has no blocks; expected 1",
                Setting("n_blocks", n_blocks),
                Setting("solver", solver.name),
            )
        )
    if limited and solver.in_memory:
        raise ConfigError(
            message(
                "{worker_memory_mb} with {}: this solver needs the examples in memory; expected "
                "another solver",
                Setting("solver", solver.name),
            )
        )


def check_needs(solver: type[Solver], task: Task) -> None:
    """Refuse a task whose oracle lacks a capability that the solver needs."""
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
