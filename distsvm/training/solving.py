"""From a configuration to a solver and the risk that it talks to."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from distsvm import checks
from distsvm.cuts.bounds import Target
from distsvm.data import Dataset
from distsvm.data.shard import ShardSpec
from distsvm.errors import DAMAGE, CheckpointError, ConfigError
from distsvm.executors.base import Executor
from distsvm.messages import Facts
from distsvm.oracles.task import Task
from distsvm.risks.blocks import BlockRisk
from distsvm.risks.example import ExampleRisk
from distsvm.solvers import SOLVERS
from distsvm.solvers.multi_plane import MultiPlane
from distsvm.solvers.one_slack import OneSlack
from distsvm.training.config import TrainConfig
from distsvm.wording import Setting, Value, message

log = logging.getLogger(__name__)

CACHE_SIZE = 10
LINE_SEARCH_CUTS = 50
ONE_PROCESS = ("serial", "threads")
N_BLOCKS = 8
"""Of the dual ascent in several processes, whatever the machine has: more blocks share the work
between more workers, and take more of it (benchmarks/solvers.py). In one process there is one."""

MANY_COLUMNS = 100
"""From here on one block of the dual ascent is faster for classes than cuts, whose number grows
with the columns that matter (benchmarks/defaults.py)."""

WORKER_VECTORS = {OneSlack: 5, MultiPlane: 8}
"""Of length dim, that a worker of two shards may have of its own if none is sparse, as counted:
sums that wait for others, the one that is made or the w that is climbed on, and what is on its way.
One number for all, as pieces, and so bits, must not depend on how many workers there are."""


@dataclass(frozen=True)
class Choice:
    """What "auto" and a missing n_blocks came to.

    Parameters
    ----------
    solver : type
    n_blocks : int or None
        None: N_BLOCKS, or fewer where the data gives fewer shards.
    """

    solver: type
    n_blocks: int | None

    @classmethod
    def of(cls, config: TrainConfig, task: Task, executor: Executor, data: Dataset) -> Choice:
        """The choice of a new run: it depends on the kind of executor, not on the workers."""
        solver, n_blocks = _solver(config, task, executor, data), config.n_blocks
        asynchronous = config.options_of("multi-plane").asynchronous
        if n_blocks is None and (
            solver is OneSlack or (executor.name in ONE_PROCESS and not asynchronous)
        ):
            n_blocks = 1
        return cls(solver, n_blocks)

    @classmethod
    def recorded(cls, run: dict[str, Any], path: Any) -> Choice:
        """The choice of the run that run.json describes, which a later session has to repeat."""
        used = run.get("used", {})
        try:
            name = run["problem"]["config"]["solver"]
            solver = {own.__name__: own for own in SOLVERS.values()}[name]
            # Before there were groups of shards, a block of the dual ascent was a shard.
            earlier = used["n_shards"] if solver is MultiPlane else run["config"].n_blocks or 1
            n_blocks = used.get("n_blocks", earlier)
            checks.whole("n_blocks", n_blocks, 1)
        except DAMAGE as error:
            raise CheckpointError(f"{path} is damaged: {error!r}") from error
        return cls(solver, n_blocks)

    @property
    def holds_planes(self) -> bool:
        """Whether the workers keep planes with their α, beside no other cache."""
        return self.solver is MultiPlane

    @property
    def worker_vectors(self) -> int:
        """The vectors of length dim that a worker is given room for."""
        return WORKER_VECTORS[self.solver]


def _solver(config: TrainConfig, task: Task, executor: Executor, data: Dataset) -> type:
    if config.solver != "auto":
        return SOLVERS[config.solver]
    named = config.solvers_named()
    if len(named) == 1:
        return SOLVERS[named[0]]
    suited = SOLVERS[task.suited_solver]
    if task.enumerates and suited is MultiPlane:
        # Measured for one block of many columns in memory; elsewhere cuts are faster.
        one_block = executor.name in ONE_PROCESS and config.n_blocks in (None, 1)
        if not one_block or config.worker_memory_mb is not None or _has_few_columns(data, task):
            return OneSlack
    return suited


def _has_few_columns(data: Dataset, task: Task) -> bool:
    """Whether the beginning of the data shows fewer than MANY_COLUMNS."""
    spec = data.specs(None, task.cost)[0]
    n_columns = spec.seen_columns() if hasattr(spec, "seen_columns") else None
    return n_columns is not None and n_columns < MANY_COLUMNS


def cache_size(config: TrainConfig, task: Task, choice: Choice) -> int:
    """Planes of each example in the one-slack solver's cache."""
    if choice.holds_planes:
        return 0
    size = config.options_of("one-slack").cache_size
    if size == "auto":
        return 0 if task.enumerates or config.worker_memory_mb is not None else CACHE_SIZE
    return size


@dataclass(frozen=True, eq=False)
class Cut:
    """Training data as it is cut.

    Parameters
    ----------
    n_shards : int
    blocks : list of range
        The shards of each block.
    specs : list of ShardSpec
        What workers host, each as one: the shards, or in the dual ascent the blocks.
    """

    n_shards: int
    blocks: list[range]
    specs: list[ShardSpec]


def cut_data(data: Dataset, config: TrainConfig, task: Task, choice: Choice) -> Cut:
    """The shards of the training data, and their groups.

    In the dual ascent a block is one until the number of shards is given.
    """
    n_shards, n_blocks = config.n_shards, choice.n_blocks
    if choice.holds_planes and n_shards is None:
        if n_blocks is None:
            n_blocks = min(N_BLOCKS, len(data.specs(None, task.cost)))
        n_shards = n_blocks
    specs = list(data.specs(n_shards, task.cost))
    if config.n_blocks is not None and config.n_blocks > len(specs):
        n = Setting("n_blocks", config.n_blocks)
        log.warning(message("{}, but there are only {} shards", n, len(specs)))
    blocks = groups(len(specs), N_BLOCKS if n_blocks is None else n_blocks)
    hosted = specs
    if choice.holds_planes:
        hosted = [_joined(specs[block.start : block.stop]) for block in blocks]
    return Cut(len(specs), blocks, hosted)


def groups(n_shards: int, n_blocks: int) -> list[range]:
    """n_blocks groups of neighbours, as equal as can be; no more than there are shards."""
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


def make_solver(
    config: TrainConfig, task: Task, executor: Executor, choice: Choice, cut: Cut, facts: Facts,
    C: float, target: Target, has_cache: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """The solver and its risk."""
    own = config.options_of("multi-plane")
    if own.asynchronous:
        _check_together(choice, executor)
    if choice.holds_planes:
        solver = MultiPlane(
            C=C, eps=target.eps, rel_gap=target.rel_gap, share=own.ask_share,
            memory_mb=own.plane_memory_mb,
            seed=config.random_state or 0, max_rounds=config.max_rounds,
            enumerates=task.enumerates, weighs_features=task.weighs_features,
            largest_loss=task.largest_loss if task.compiled and not task.enumerates else None,
        )  # fmt: skip
        return solver, BlockRisk(
            executor, range(len(cut.blocks)), task.dim, facts.n_examples, facts.weight,
            own.asynchronous,
        )  # fmt: skip
    own = config.options_of("one-slack")
    max_cuts = own.max_cuts
    if max_cuts is None and own.qp == "line-search":
        max_cuts = LINE_SEARCH_CUTS * len(cut.blocks)
    one_slack = OneSlack(
        C=C, eps=target.eps, rel_gap=target.rel_gap, rescaling=config.rescaling, qp=own.qp,
        refresh_fraction=own.refresh_fraction, stabilise=own.stabilise,
        idle_solves=own.idle_solves, max_cuts=max_cuts, max_rounds=config.max_rounds,
    )  # fmt: skip
    risk = ExampleRisk(executor, cut.blocks, task.dim, facts.n_examples, facts.weight, has_cache)
    return one_slack, risk


def _check_together(choice: Choice, executor: Executor) -> None:
    if not choice.holds_planes:
        raise ConfigError(
            message(
                "{asynchronous} is for {}, and this run's is one-slack",
                Setting("solver", "multi-plane"),
            )
        )
    if executor.name not in ONE_PROCESS:
        raise ConfigError(
            message(
                "{asynchronous} with {}: expected {} or {}, for blocks see each other's changes "
                "only in one process",
                Setting("executor", executor.name),
                Value("threads"),
                Value("serial"),
            )
        )
