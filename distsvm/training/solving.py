"""From a configuration to a solver and the risk that it talks to."""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import Any

import numpy as np

from distsvm.cuts.bounds import Target
from distsvm.data import Dataset
from distsvm.data.shard import ShardSpec
from distsvm.errors import ConfigError
from distsvm.executors.base import Executor
from distsvm.messages import Facts
from distsvm.risks.blocks import BlockRisk
from distsvm.risks.example import ExampleRisk
from distsvm.solvers import solver_class
from distsvm.solvers.multi_plane import MultiPlane
from distsvm.solvers.one_slack import OneSlack
from distsvm.tasks.base import Task
from distsvm.training.config import TrainConfig

log = logging.getLogger(__name__)

CACHE_SIZE = 10
LINE_SEARCH_CUTS = 50
N_BLOCKS = 8
"""Of the dual ascent, whatever the machine has: more of them share the work between more workers,
and take more of it (benchmarks/solvers.py)."""

WORKER_VECTORS = {OneSlack: 5, MultiPlane: 8}
"""Of length dim, that a worker of two shards may have of its own if none is sparse, as counted:
sums that wait for others, the one that is made or the w that is climbed on, and what is on its way.
One number for all, as pieces, and so bits, must not depend on how many workers there are."""


def worker_vectors(config: TrainConfig, task: Task) -> int:
    """The vectors of length dim that a worker is given room for."""
    return WORKER_VECTORS[solver_class(config.solver, task.suited_solver)]


def holds_planes(config: TrainConfig, task: Task) -> bool:
    """Whether the solver has the workers keep planes with their α, beside no other cache."""
    return solver_class(config.solver, task.suited_solver) is MultiPlane


def cache_size(config: TrainConfig, task: Task) -> int:
    """Planes of each example in the one-slack solver's cache."""
    if holds_planes(config, task):
        return 0
    in_pieces = config.worker_memory_mb is not None
    if config.cache_size == "auto":
        return 0 if task.enumerates or in_pieces else CACHE_SIZE
    if in_pieces and config.cache_size:
        raise ConfigError(
            f"worker_memory_mb and cache_size={config.cache_size}: the one-slack solver's cache "
            "would take memory of its own; expected 0 or 'auto', or solver='multi-plane'"
        )
    return int(config.cache_size)


def cut_into_shards(data: Dataset, config: TrainConfig, task: Task) -> list[ShardSpec]:
    """The shards of the training data; in the dual ascent each of them is a block."""
    ascent, n_shards = holds_planes(config, task), config.n_shards
    if ascent and n_shards is not None and config.n_blocks not in (None, n_shards):
        raise ConfigError(
            f"n_shards={n_shards} and n_blocks={config.n_blocks}: for the multi-plane solver a "
            "shard is a block; give one of them"
        )
    specs = list(data.specs(n_shards, task.cost))
    if not ascent or n_shards is not None:
        return specs
    n_blocks = config.n_blocks or N_BLOCKS
    if config.n_blocks is None and len(specs) <= n_blocks:
        return specs
    return list(data.specs(n_blocks, task.cost))


def make_solver(
    config: TrainConfig, task: Task, executor: Executor, shards: range, facts: Facts, C: float,
    target: Target, has_cache: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """The solver and its risk."""
    if config.asynchronous:
        _check_together(config, task, executor)
    if holds_planes(config, task):
        solver = MultiPlane(
            C=C, eps=target.eps, rel_gap=target.rel_gap, share=config.ask_share,
            memory_mb=config.plane_memory_mb,
            seed=config.random_state or 0, max_rounds=config.max_rounds,
            enumerates=task.enumerates, weighs_features=task.weighs_features,
            largest_loss=task.largest_loss if task.compiled and not task.enumerates else None,
        )  # fmt: skip
        return solver, BlockRisk(
            executor, shards, task.dim, facts.n_examples, facts.weight, config.asynchronous
        )
    n_blocks = min(config.n_blocks or 1, len(shards))
    if config.n_blocks is not None and n_blocks < config.n_blocks:
        log.warning("n_blocks=%d, but there are only %d shards", config.n_blocks, n_blocks)
    edges = np.linspace(0, len(shards), n_blocks + 1).round().astype(int).tolist()
    blocks = [range(lo, hi) for lo, hi in pairwise(edges)]
    max_cuts = config.max_cuts
    if max_cuts is None and config.qp == "line-search":
        max_cuts = LINE_SEARCH_CUTS * n_blocks
    one_slack = OneSlack(
        C=C, eps=target.eps, rel_gap=target.rel_gap, rescaling=config.rescaling, qp=config.qp,
        refresh_fraction=config.refresh_fraction, stabilise=config.stabilise,
        idle_solves=config.idle_solves, max_cuts=max_cuts, max_rounds=config.max_rounds,
    )  # fmt: skip
    risk = ExampleRisk(executor, blocks, task.dim, facts.n_examples, facts.weight, has_cache)
    return one_slack, risk


def _check_together(config: TrainConfig, task: Task, executor: Executor) -> None:
    if not holds_planes(config, task):
        raise ConfigError(
            "asynchronous is for the multi-plane solver; this task's is one-slack unless "
            "solver='multi-plane' is given"
        )
    if executor.name not in ("serial", "threads"):
        raise ConfigError(
            f"asynchronous with executor={executor.name!r}: expected 'threads' or 'serial', for "
            "blocks see each other's changes only in one process"
        )
