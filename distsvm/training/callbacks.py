"""What may watch a run. A callback gets frozen records and cannot steer w."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from distsvm.solvers.base import Round
from distsvm.training.path_result import PathPoint
from distsvm.training.result import TrainResult

log = logging.getLogger("distsvm")


@dataclass(frozen=True)
class RunStart:
    """What is known when the first round begins."""

    n_examples: int
    dim: int
    n_shards: int
    n_workers: int
    executor: str
    C: float
    eps: float | None
    rel_gap: float | None
    max_rounds: int | None
    bound_on_rounds: int | None
    first_round: int
    n_dropped: int = 0
    n_blocks: int = 1


@dataclass(frozen=True)
class PathStep:
    """One run of a path: value `number` of `n_values`, on all data or without one of the folds.

    `fold` counts from 1 and is 0 where there are no folds; in the refit it is `n_folds` + 1.
    """

    C: float
    number: int
    n_values: int
    fold: int = 0
    n_folds: int = 0


class Callback:
    """Does nothing at every event; override what you need."""

    def on_step(self, step: PathStep) -> None:
        """Before each run of a path, whose other events follow; never called by train."""

    def on_point(self, step: PathStep, point: PathPoint) -> None:
        """After each run of a path, with its score."""

    def on_start(self, start: RunStart) -> None:
        """Before the first round."""

    def on_round(self, record: Round) -> bool | None:
        """After each round; True ends the run as "interrupted", with a checkpoint."""

    def on_end(self, result: TrainResult) -> None:
        """After the last."""


class LogRounds(Callback):
    """Logs rounds: fresh ones at verbose 1, all of them at 2."""

    def __init__(self, verbose: int) -> None:
        self.verbose = verbose

    def on_round(self, record: Round) -> None:
        if self.verbose >= 2 or record.kind == "fresh":
            log.info(
                "round %d %s: primal %.6g dual %.6g gap %.3g, %d cuts, %d oracle calls, %.1f s",
                record.number, record.kind, record.best_primal, record.dual, record.gap,
                record.n_cuts, record.n_oracle_calls, record.elapsed_s,
            )  # fmt: skip
