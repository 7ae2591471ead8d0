"""Training for a long time: whether memory, open files and shared memory stay as they are.

Run: python benchmarks/soak.py [--minutes 30] [--executor ray]

Runs with checkpoints, one after another in one process. After each, what the driver and the workers
hold for themselves (USS; pages shared with others are not counted), open files of the driver, and
blocks in /dev/shm. The runs are told in tenths of the time; the first tenth is for warming up.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from chaos import CONFIG, workers
from memory import uss
from support import MB, machine, table

from distsvm import Callback, MulticlassTask, train
from distsvm.data.synthetic import make_multiclass

N_PARTS = 10


@dataclass(frozen=True)
class Sample:
    at_s: float
    driver_mb: float
    workers_mb: float
    n_files: int
    n_blocks: int


class Watch(Callback):
    """Looks when a run has ended and its workers are still there."""

    def __init__(self) -> None:
        self.started, self.samples = time.perf_counter(), []

    def on_end(self, result) -> None:
        own = psutil.Process()
        held = [uss(psutil.Process(pid)) for pid in workers()]
        self.samples.append(
            Sample(
                at_s=time.perf_counter() - self.started,
                driver_mb=uss(own) / MB,
                workers_mb=sum(held) / MB,
                n_files=own.num_fds(),
                n_blocks=len(list(Path("/dev/shm").glob("psm_*"))),
            )
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--executor", default="processes", choices=("threads", "processes", "ray"))
    parser.add_argument("--examples", type=int, default=20_000)
    args = parser.parse_args()
    print(machine())
    watch, data = Watch(), make_multiclass(args.examples, 60, 8, noise=0.5, seed=1)
    if args.executor == "ray":
        import ray

        ray.init(address="local", include_dashboard=False, log_to_driver=False)
    while time.perf_counter() - watch.started < 60 * args.minutes:
        with tempfile.TemporaryDirectory() as folder:
            train(
                MulticlassTask(), data, executor=args.executor, n_workers=2, callbacks=[watch],
                run_dir=Path(folder) / "run", checkpoint_rounds=5, **CONFIG,
            )  # fmt: skip
    rows = [row for part in range(N_PARTS) if (row := told(watch.samples, part, args.minutes))]
    table(["minute", "runs", "driver MB", "workers MB", "files", "blocks"], rows)
    first, last = float(rows[1 % len(rows)][2]), float(rows[-1][2])
    print(f"driver, last tenth against the second: {last / first:.3f}")


def told(samples: list[Sample], part: int, minutes: float) -> list[object]:
    """The medians of one tenth of the time."""
    width = 60 * minutes / N_PARTS
    own = [s for s in samples if min(N_PARTS - 1, int(s.at_s / width)) == part]
    if not own:
        return []
    middle = [
        statistics.median(getattr(s, name) for s in own) for name in ("driver_mb", "workers_mb")
    ]
    return [f"{(part + 1) * minutes / N_PARTS:g}", len(own), f"{middle[0]:.1f}", f"{middle[1]:.1f}",
            max(s.n_files for s in own), max(s.n_blocks for s in own)]  # fmt: skip


if __name__ == "__main__":
    main()
