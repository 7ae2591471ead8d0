"""Out of core: training on a set several times larger than the memory that the workers are given.

Run: python benchmarks/out_of_core.py             (some minutes; --quick: a few)

One-slack: rows of float32 are written to Parquet files, a part at a time. Two worker processes
train on them with worker_memory_mb, and their peak USS (unique set size) is printed beside that
limit; so is the driver's, for two sizes of the data, of which it must not depend. The smaller set
is also trained on in memory: the same bits, and what it takes there. A second start on the larger
one finds its examples packed.

Multi-plane: the larger set, and tagged sequences in the format of SVM-HMM, each in pieces, with
their planes on disk, and in memory. The order of visits differs, so do the bits; the optimum must
lie between the dual and the primal value of both.

Peaks are sampled every 20 ms.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil
from memory import Peaks
from support import MB, machine, rounds_s, spawned, table

from distsvm import MulticlassTask, Task, train
from distsvm.data.writers import write_parquet
from distsvm.structures.sequences.task import SequenceTask

N_COLUMNS, N_CLASSES, N_WORKERS = 64, 5, 2
PART_ROWS = 100_000
N_TAGS, N_WORDS, TOKEN_FEATURES, N_TOKENS = 10, 20_000, 20, 20
PART_SENTENCES = 1000
SOLVERS = ("one-slack", "multi-plane")


def write(folder: str, n_mb: int) -> list[str]:
    """Write files of about `n_mb` megabytes of features in all."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(N_CLASSES, N_COLUMNS))
    paths = []
    for number in range(max(2, round(n_mb * MB / (4 * N_COLUMNS * PART_ROWS)))):
        y = rng.integers(0, N_CLASSES, PART_ROWS)
        X = (0.3 * centres[y] + rng.normal(size=(PART_ROWS, N_COLUMNS))).astype(np.float32)
        paths.append(os.path.join(folder, f"part-{number:05d}.parquet"))
        write_parquet(paths[-1], X, y)
    return paths


def write_sentences(folder: str, n: int) -> str:
    """Write a file of n tagged sentences; a tenth of the features depend on the tag."""
    rng = np.random.default_rng(0)
    path = os.path.join(folder, "sentences.svmhmm")
    entries = np.array([f"{column}:1" for column in range(1, N_WORDS + 1)], dtype=object)
    with open(path, "w", encoding="ascii") as file:
        for first in range(0, n, PART_SENTENCES):
            tags = rng.integers(0, N_TAGS, (PART_SENTENCES, N_TOKENS, 1))
            shape = (PART_SENTENCES, N_TOKENS, TOKEN_FEATURES)
            informative = 100 * tags + rng.integers(0, 100, shape)
            columns = np.where(
                rng.random(shape) < 0.1, informative, rng.integers(0, N_WORDS, shape)
            )
            for i, (own, tokens) in enumerate(zip(tags[..., 0], columns, strict=True)):
                for tag, token in zip(own.tolist(), tokens, strict=True):
                    features = " ".join(entries[np.unique(token)])
                    file.write(f"T{tag} qid:{first + i + 1} {features}\n")
    return path


@dataclass(frozen=True)
class Use:
    """Peaks of the driver and of the worker that took the most, and what came out."""

    driver: int
    worker: int
    n_examples: int
    load_s: float
    round_s: float
    digest: str
    primal: float
    dual: float
    n_passes: float
    n_mb: float


def drive(answer: Any, task: Task, paths: list[str], options: dict[str, Any]) -> None:
    """Train in a fresh process, and send the results."""
    result = train(task, paths, eps=0.0, executor="processes", n_workers=N_WORKERS, **options)
    load_s, round_s = result.seconds["load"], rounds_s(result) / result.n_rounds
    w = hashlib.blake2b(result.model.w.tobytes(), digest_size=8).hexdigest()
    n_mb = (result.memory["data"] + result.memory["planes"]) / MB
    n_passes = result.n_oracle_calls / result.n_examples
    answer.send((result.n_examples, load_s, round_s, w, result.primal, result.dual, n_passes, n_mb))


def used(task: Task, paths: list[str], **options: Any) -> Use:
    """Train in a process of its own, watched from here."""
    ours, process = spawned(drive, task, paths, options)
    driver = psutil.Process(process.pid)
    peaks = Peaks(lambda: [driver, *driver.children(recursive=True)])
    peaks.start()
    try:
        n, *sent = ours.recv()
    finally:
        largest = peaks.stop()
        process.join()
    workers = [peak for pid, peak in largest.items() if pid != driver.pid]
    return Use(largest[driver.pid], max(workers), n, *sent)


def one_slack(paths: list[str], few: list[str], limit: dict[str, Any], rounds: int) -> None:
    """Rows of classes, in two sizes: what they take in pieces, and that the bits are the same."""
    memory, task = limit["worker_memory_mb"], MulticlassTask()
    options = {"solver": "one-slack", "C": 100.0, "max_rounds": rounds}
    runs = {
        "a fourth, in pieces": (few, limit),
        "a fourth, in memory": (few, {}),
        "all, in pieces": (paths, limit),
        "all, second start": (paths, limit),
    }
    found = {name: used(task, files, **options, **more) for name, (files, more) in runs.items()}
    rows = [
        (name, use.n_examples, f"{4 * N_COLUMNS * use.n_examples / MB:.0f}",
         memory if "memory" not in name else "none", f"{use.worker / MB:.0f}",
         f"{use.driver / MB:.0f}", f"{use.load_s:.1f}", f"{use.round_s:.2f}", use.digest)
        for name, use in found.items()
    ]  # fmt: skip
    print(f"One-slack, {rounds} rounds: peak USS in MB of the larger of {N_WORKERS} workers and of "
          "the driver")  # fmt: skip
    table(
        ("data", "n", "MB", "limit of a worker", "worker", "driver", "load s", "round s", "w"),
        rows,
    )
    less, more = found["a fourth, in pieces"], found["all, in pieces"]
    same = less.digest == found["a fourth, in memory"].digest
    size = 4 * N_COLUMNS * more.n_examples / MB
    print(
        f"The data is {size / (N_WORKERS * memory):.1f} times the limit of all workers; the "
        f"largest worker took {more.worker / MB:.0f} of {memory} MB: "
        f"{'within' if more.worker <= memory * MB else 'ABOVE'} it"
    )
    print(f"In pieces and in memory: {'the same bits' if same else 'OTHER bits'} of w")
    print(f"The driver from n = {less.n_examples} to {more.n_examples}: "
          f"{(more.driver - less.driver) / MB:+.1f} MB")  # fmt: skip


def multi_plane(
    data: dict[str, tuple[Task, list[str]]], limit: dict[str, Any], rounds: int
) -> None:
    """Each kind of data in pieces and in memory: what is taken, and that both hold the optimum."""
    memory = limit["worker_memory_mb"]
    options = {"solver": "multi-plane", "C_per_example": 0.01, "max_rounds": rounds}
    rows, verdicts = [], []
    for name, (task, paths) in data.items():
        pieces = used(task, paths, **options, **limit)
        whole = used(task, paths, **options)
        for kind, bound, use in (("pieces", memory, pieces), ("memory", "none", whole)):
            rows.append(
                (f"{name}, in {kind}", use.n_examples, f"{whole.n_mb:.0f}", bound,
                 f"{use.worker / MB:.0f}", f"{use.driver / MB:.0f}", f"{use.load_s:.1f}",
                 f"{use.round_s:.2f}", f"{use.n_passes:.1f}", f"{use.dual:.6g}",
                 f"{use.primal:.6g}")
            )  # fmt: skip
        same = max(pieces.dual, whole.dual) <= min(pieces.primal, whole.primal)
        verdicts.append(
            f"{name}: the largest worker took {pieces.worker / MB:.0f} of {memory} MB, "
            f"{'within' if pieces.worker <= memory * MB else 'ABOVE'} the limit; an optimum "
            f"{'that both agree on' if same else 'that they DO NOT agree on'}"
        )
    print(f"Multi-plane, {rounds} rounds: peak USS in MB of the larger of {N_WORKERS} workers and "
          "of the driver; data with planes as they are in memory")  # fmt: skip
    table(
        ("data", "n", "MB", "limit of a worker", "worker", "driver", "load s", "round s", "passes",
         "dual", "primal"),
        rows,
    )  # fmt: skip
    for line in verdicts:
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a third of the data, fewer rounds")
    parser.add_argument("--solver", choices=SOLVERS, help="only this one")
    parser.add_argument("--memory", type=int, default=256, help="worker_memory_mb (default 256)")
    args = parser.parse_args()
    n_mb, rounds, n_sentences, more = (
        (1600, 3, 100_000, 20) if args.quick else (4800, 5, 300_000, 40)
    )
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        limit = {
            "worker_memory_mb": args.memory, "cache_dir": os.path.join(folder, "packed"),
        }  # fmt: skip
        paths = write(folder, n_mb)
        few = paths[: max(1, len(paths) // 4)]
        classes, tags = MulticlassTask(), SequenceTask()
        for solver in SOLVERS:  # compiles
            train(classes, few[:1], max_rounds=1, executor="serial", solver=solver)
        if args.solver != "multi-plane":
            one_slack(paths, few, limit, rounds)
            print()
        if args.solver == "one-slack":
            return
        sentences = [write_sentences(folder, n_sentences)]
        compiling = os.path.join(folder, "little")
        os.mkdir(compiling)
        train(tags, write_sentences(compiling, PART_SENTENCES), max_rounds=3, executor="serial")
        data = {"classes": (classes, paths), "sequences": (tags, sentences)}
        multi_plane(data, limit, more)


if __name__ == "__main__":
    main()
