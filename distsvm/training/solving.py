"""From a configuration to a solver and the risk that it talks to."""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from distsvm.data import Dataset
from distsvm.data.shard import ShardSpec
from distsvm.executors.base import Executor
from distsvm.messages import Facts
from distsvm.risks.blocks import BlockRisk
from distsvm.risks.example import ExampleRisk
from distsvm.solvers import solver_class
from distsvm.solvers.multi_plane import MultiPlane
from distsvm.training.config import TrainConfig

log = logging.getLogger(__name__)

LINE_SEARCH_CUTS = 50
N_BLOCKS = 8
"""Of the dual ascent, whatever the machine has."""


def holds_planes(config: TrainConfig) -> bool:
    """Whether the solver has the workers keep planes with their α, beside no other cache."""
    return solver_class(config.solver) is MultiPlane


def cut_into_shards(
    data: Dataset, config: TrainConfig, cost: Callable[[Any], float]
) -> list[ShardSpec]:
    """The shards of the training data; in the dual ascent each of them is a block."""
    specs = list(data.specs(config.n_shards, cost))
    if not holds_planes(config) or config.n_shards is not None:
        return specs
    n_blocks = config.n_blocks or N_BLOCKS
    if config.n_blocks is None and len(specs) <= n_blocks:
        return specs
    return list(data.specs(n_blocks, cost))


def make_solver(
    config: TrainConfig, executor: Executor, shards: range, dim: int, facts: Facts, C: float,
    eps: float, has_cache: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """The solver and its risk."""
    if holds_planes(config):
        solver = MultiPlane(
            C=C, eps=eps, share=config.ask_share, memory_mb=config.plane_memory_mb,
            seed=config.random_state or 0, max_rounds=config.max_rounds,
        )  # fmt: skip
        return solver, BlockRisk(executor, shards, dim, facts.n_examples, facts.weight)
    n_blocks = min(config.n_blocks or 1, len(shards))
    if config.n_blocks is not None and n_blocks < config.n_blocks:
        log.warning("n_blocks=%d, but there are only %d shards", config.n_blocks, n_blocks)
    edges = np.linspace(0, len(shards), n_blocks + 1).round().astype(int).tolist()
    blocks = [range(lo, hi) for lo, hi in pairwise(edges)]
    max_cuts = config.max_cuts
    if max_cuts is None and config.qp == "line-search":
        max_cuts = LINE_SEARCH_CUTS * n_blocks
    one_slack = solver_class(config.solver)(
        C=C, eps=eps, rescaling=config.rescaling, qp=config.qp,
        refresh_fraction=config.refresh_fraction, stabilise=config.stabilise,
        idle_solves=config.idle_solves, max_cuts=max_cuts, max_rounds=config.max_rounds,
    )  # fmt: skip
    risk = ExampleRisk(executor, blocks, dim, facts.n_examples, facts.weight, has_cache)
    return one_slack, risk
