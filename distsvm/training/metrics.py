"""The progress of a run as metrics of Ray: on the dashboard, and for Prometheus, tagged by run."""

from __future__ import annotations

import logging
import math
import os
from pathlib import Path
from typing import Any

from distsvm.solvers.round import Round
from distsvm.training.callbacks import Callback, RunStart

log = logging.getLogger(__name__)

GAUGES = {
    "distsvm_gap": "primal - dual, of the certificate so far",
    "distsvm_primal": "the best certified primal value",
    "distsvm_dual": "the best dual value",
}
# Gauges as well, which only grow: Ray shows a counter of its own only once it is more than 0.
COUNTS = {
    "distsvm_oracle_calls": "oracle calls of this session",
    "distsvm_cache_hits": "examples of this session that were served from caches",
    "distsvm_worker_restarts": "workers of this session that were lost and built again",
}
ROUND_SECONDS = "distsvm_round_seconds"
BOUNDARIES = [0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 1800.0]


class RayMetrics(Callback):
    """Exports every round, tagged by the name of the run; after an error it stops exporting."""

    def __init__(self, run: str) -> None:
        self._tags = {"run": run}
        self._metrics: dict[str, Any] | None = {}
        self._base: tuple[int, ...] | None = None
        self._elapsed_s: float | None = None

    def on_start(self, start: RunStart) -> None:
        if start.first_round == 1:
            self._base = (0,) * len(COUNTS)
        self._guarded(self._make)

    def on_round(self, record: Round) -> None:
        self._guarded(self._export, record)

    def _make(self) -> None:
        from ray.util.metrics import Gauge, Histogram

        self._metrics = {
            **{name: Gauge(name, text, ("run",)) for name, text in (GAUGES | COUNTS).items()},
            ROUND_SECONDS: Histogram(
                ROUND_SECONDS, "seconds between the ends of rounds", BOUNDARIES, ("run",)
            ),
        }
        for name in COUNTS:
            self._metrics[name].set(0, self._tags)

    def _export(self, record: Round) -> None:
        metrics = self._metrics
        assert metrics is not None
        for name, value in zip(GAUGES, (record.gap, record.best_primal, record.dual), strict=True):
            if math.isfinite(value):
                metrics[name].set(value, self._tags)
        counts = (record.n_oracle_calls, record.n_cache_hits, record.n_restarts)
        # The first round of a resumed run has the counts of earlier sessions, too.
        self._base = self._base or counts
        for name, now, base in zip(COUNTS, counts, self._base, strict=True):
            metrics[name].set(now - base, self._tags)
        if self._elapsed_s is not None:
            metrics[ROUND_SECONDS].observe(record.elapsed_s - self._elapsed_s, self._tags)
        self._elapsed_s = record.elapsed_s

    def _guarded(self, call: Any, *args: Any) -> None:
        if self._metrics is None:
            return
        try:
            call(*args)
        except Exception as error:
            self._metrics = None
            log.warning("no metrics of this run are exported to Ray: %s", error)


def run_name(run_dir: str | None) -> str:
    """Return the name of a run for its metrics: of its folder, its job, or the driver's process."""
    if run_dir is not None:
        return Path(run_dir).name
    return os.environ.get("DISTSVM_JOB") or f"process-{os.getpid()}"
