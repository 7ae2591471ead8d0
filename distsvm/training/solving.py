"""From a configuration to a solver, and to data that is cut for it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from distsvm import checks, storage
from distsvm.cuts.bounds import Target
from distsvm.data import Dataset
from distsvm.data.shard import ShardSpec
from distsvm.errors import DAMAGE, CheckpointError, ConfigError
from distsvm.executors.base import Executor
from distsvm.oracles.task import Circumstances, Task
from distsvm.registry import solver_named, solvers
from distsvm.solvers.base import (
    Place,
    Problem,
    Solver,
    check_needs,
    check_penalty,
    check_place,
)
from distsvm.training.config import TrainConfig
from distsvm.wording import Setting, message

log = logging.getLogger(__name__)

ONE_PROCESS = ("serial", "threads")

EARLIER_NAMES = {"OneSlack": "one-slack", "MultiPlane": "multi-plane"}
"""The names of solvers in run.json of earlier versions."""


def place_of(config: TrainConfig, executor: Executor) -> Place:
    """Return the circumstances that defaults of solvers depend on."""
    limited = config.worker_memory_mb is not None
    return Place(executor.name in ONE_PROCESS, limited, executor.n_workers)


@dataclass(frozen=True)
class Choice:
    """The solver and the number of blocks of a run, in the place of "auto" and None.

    Parameters
    ----------
    solver : type
    n_blocks : int
    """

    solver: type[Solver]
    n_blocks: int

    @classmethod
    def of(cls, config: TrainConfig, task: Task, executor: Executor, data: Dataset) -> Choice:
        """Return the choice of a new run; data may allow fewer blocks than the solver's default."""
        place = place_of(config, executor)
        solver = solver_named(_name(config, task, place, data))
        check_needs(solver, task)
        check_penalty(solver, config.penalty)
        check_place(solver, config.n_blocks, place.limited)
        solver.check_task(config.options_of(solver.name), task, config.rescaling, place)
        n_blocks = config.n_blocks
        if n_blocks is None:
            n_blocks = solver.default_blocks(place)
            if n_blocks > 1:
                n_blocks = min(n_blocks, len(data.specs(config.n_shards, task.cost)))
        return cls(solver, n_blocks)

    @classmethod
    def recorded(cls, run: dict[str, Any], path: storage.Place) -> Choice:
        """Return the recorded choice of the run of run.json, which a resumed run repeats."""
        used = run.get("used", {})
        try:
            name = run["problem"]["config"]["solver"]
            solver = solver_named(EARLIER_NAMES.get(name, name))
            # In earlier versions a block of the dual ascent was a shard.
            earlier = used["n_shards"] if solver.hosts_blocks else run["config"].n_blocks or 1
            n_blocks = used.get("n_blocks", earlier)
            checks.whole("n_blocks", n_blocks, 1)
        except DAMAGE as error:
            raise CheckpointError(f"{path} is damaged: {error!r}") from error
        return cls(solver, n_blocks)

    def make(self, config: TrainConfig, task: Task, executor: Executor) -> Solver:
        """Return the solver for C = 1; the C of the run may depend on the data."""
        place = place_of(config, executor)
        options = config.options_of(self.solver.name)
        problem = Problem(
            C=1.0, target=Target(config.eps, config.rel_gap), rescaling=config.rescaling,
            penalty=config.penalty,
            max_rounds=config.max_rounds, seed=config.random_state or 0,
            largest_loss=task.largest_loss if task.compiled and not task.enumerates else None,
            enumerates=task.enumerates, weighs_features=task.weighs_features,
            memory_mb=config.worker_memory_mb, n_workers=executor.n_workers,
        )  # fmt: skip
        return self.solver(problem, self.solver.settled(options, task, place))


def _name(config: TrainConfig, task: Task, place: Place, data: Dataset) -> str:
    """Return the named solver, or the only one with options given, or the task's choice.

    If that is not for the penalty, it is the registry's first solver that is.
    """
    if config.solver != "auto":
        config.check_options_of(config.solver)
        return config.solver
    named = config.solvers_named()
    if len(named) == 1:
        return named[0]
    able = [name for name, one in solvers().items() if config.penalty in one.auto_penalties]
    one_block = place.one_process and config.n_blocks in (None, 1)
    n_columns = _n_columns(data, task) if one_block and not place.limited else None
    chosen = task.choose_solver(
        Circumstances(one_block, place.limited, n_columns, config.rescaling)
    )
    if chosen not in able:
        chosen = able[0]
    config.check_options_of(chosen)
    return chosen


def _n_columns(data: Dataset, task: Task) -> int | None:
    """Return the number of columns of features at the beginning of the data."""
    if not task.tables:
        return None
    spec = data.specs(None, task.cost)[0]
    return spec.seen_columns() if hasattr(spec, "seen_columns") else None


@dataclass(frozen=True, eq=False)
class DataCut:
    """Training data in shards and blocks.

    Parameters
    ----------
    n_shards : int
    blocks : list of range
        The shards of each block.
    specs : list of ShardSpec
        The hosted objects of workers: the shards, or the blocks.
    hosts : list of range
        The numbers of each block's specs.
    """

    n_shards: int
    blocks: list[range]
    specs: list[ShardSpec]
    hosts: list[range]


def cut_data(data: Dataset, config: TrainConfig, task: Task, choice: Choice) -> DataCut:
    """Return the shards of the training data, and their blocks.

    Where workers host blocks, a block is one shard until the number of shards is given.
    """
    n_shards, n_blocks, hosts_blocks = config.n_shards, choice.n_blocks, choice.solver.hosts_blocks
    if hosts_blocks and n_shards is None:
        n_shards = n_blocks
    specs = list(data.specs(n_shards, task.cost))
    if config.n_blocks is not None and config.n_blocks > len(specs):
        n = Setting("n_blocks", config.n_blocks)
        log.warning(message("{}, but there are only {} shards", n, len(specs)))
    blocks = groups(len(specs), n_blocks)
    if not hosts_blocks:
        return DataCut(len(specs), blocks, specs, blocks)
    joined = [_joined(specs[block.start : block.stop]) for block in blocks]
    return DataCut(len(specs), blocks, joined, [range(k, k + 1) for k in range(len(joined))])


def groups(n_shards: int, n_blocks: int) -> list[range]:
    """Return n_blocks groups of neighbours of about equal size; at most one for each shard."""
    edges = np.linspace(0, n_shards, min(n_blocks, n_shards) + 1).round().astype(int).tolist()
    return [range(low, high) for low, high in pairwise(edges)]


def _joined(specs: Sequence[Any]) -> ShardSpec:
    first, *others = specs
    if not others:
        return first
    if not hasattr(first, "joined"):
        raise ConfigError(
            message(
                "{n_shards} and {n_blocks}: a {} cannot be joined with others to a block; expected "
                "{n_blocks} alone, or both equal",
                type(first).__name__,
            )
        )
    return first.joined(others)
