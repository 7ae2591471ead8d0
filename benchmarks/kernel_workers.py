"""Two workers against one: rounds of linear-time sampling, and the making of low-rank features."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from kernel_methods import MOST, PROBLEMS, Problem
from support import interleaved, median_ratio, table, verdict

from distsvm import train
from distsvm.blas import one_thread
from distsvm.data.dataset import TableData
from distsvm.data.features import as_rows
from distsvm.executors import make_executor
from distsvm.feature_maps import LowRank
from distsvm.kernel_functions import kernel_function
from distsvm.structures.classes.kernel_task import KernelBinaryTask

WANTED = 1.7
SHARDS = 8


def sampling(problem: Problem, kind: str, n_workers: int, rounds: int) -> None:
    """Train for some rounds; the same bits whatever the number of workers."""
    train(
        KernelBinaryTask(gamma=problem.gamma), problem.X, problem.y, C_per_example=problem.C,
        solver="sampled-cuts", solver_options={"method": "linear-time", "sample": 400},
        executor=kind, n_workers=n_workers, n_shards=SHARDS, max_rounds=rounds,
    )  # fmt: skip


class Mapper:
    """A worker that has one shard, and maps its rows whenever it is asked."""

    def __init__(self, spec: Any) -> None:
        self.rows = spec.load().x

    def use_team(self, team: Any) -> None:
        """Nothing is shared out within a shard."""

    def features(self, made: LowRank) -> int:
        return made.transform(self.rows).n_rows


def mapping(
    problem: Problem, made: LowRank, kind: str, repeats: int
) -> dict[str, list[float]]:  # fmt: skip
    """Return the seconds of mapping all rows, by one worker and by two."""
    specs = TableData(problem.X, problem.y).specs(SHARDS)
    executors = [make_executor(kind, w, compiled=True) for w in (1, 2)]
    try:
        for executor in executors:
            executor.start([partial(Mapper, spec) for spec in specs])
        with one_thread():
            return interleaved(
                {
                    str(w): partial(executor.run, "features", made)
                    for w, executor in enumerate(executors, 1)
                },
                repeats,
            )  # fmt: skip
    finally:
        for executor in executors:
            executor.close()


def compare(args: argparse.Namespace) -> None:
    n, k, rounds = (1_000, 50, 3) if args.quick else (50_000, 1_000, 30)
    repeats = 3 if args.quick else 7
    rows = []
    for data in args.data:
        problem = PROBLEMS[data](min(n, MOST[data]), 0)
        plain = LowRank(kernel_function("rbf", problem.gamma), basis=k)
        made = plain.prepared(plain.sees(as_rows(problem.X), 0))
        for kind in ("threads", "processes"):
            found = interleaved(
                {
                    str(w): partial(sampling, problem, kind, w, rounds)
                    for w in (1, 2)
                },
                repeats,
            )  # fmt: skip
            rows.append((data, kind, "linear-time sampling", *ratio(found)))
            rows.append((data, kind, "low-rank map", *ratio(mapping(problem, made, kind, repeats))))
    print(f"\n{n:,} rows at most, {SHARDS} shards, {rounds} rounds, {k} basis inputs")
    table(("data", "executor", "work", "1 worker / 2", f"≥ {WANTED}"), rows)


def ratio(found: dict[str, list[float]]) -> tuple[str, str]:
    value = median_ratio(found["1"], found["2"])
    return f"{value:.2f}", verdict(value >= WANTED)
