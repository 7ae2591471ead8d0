"""Callbacks: they get frozen records of a run and cannot change w."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from dataclasses import dataclass

from distsvm.solvers.round import Round, shown_columns
from distsvm.training.path_result import PathPoint
from distsvm.training.result import TrainResult

log = logging.getLogger("distsvm")


@dataclass(frozen=True)
class RunStart:
    """The facts that are known before the first round."""

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
    """The events of a run; override the methods that you need."""

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
    """Logs fresh rounds at verbose 1, all rounds at 2."""

    def __init__(self, verbose: int) -> None:
        self.verbose = verbose

    def on_round(self, record: Round) -> None:
        if self.verbose >= 2 or record.kind == "fresh":
            columns = ", ".join(f"{c.text(record)} {c.label}" for c in shown_columns(record))
            _log(
                f"round {record.number} {record.kind}: primal {record.best_primal:.6g} "
                f"dual {record.dual:.6g} gap {record.gap:.3g}, {columns}, "
                f"{record.n_oracle_calls} oracle calls, {record.elapsed_s:.1f} s"
            )

    def on_end(self, result: TrainResult) -> None:
        _log(f"ended by {result.stop_reason}: {result.in_words}")


def _log(text: str) -> None:
    """Log a line; write it to stderr where no logging is set up, which would drop it."""
    if log.isEnabledFor(logging.INFO) and log.hasHandlers():
        log.info("%s", text)
    else:
        with suppress(OSError, ValueError):  # a closed stderr ends no run
            sys.stderr.write(f"{text}\n")
