"""n-slack beside 1-slack and multi-plane: CPU time, oracle calls and support vectors against n.

Run: python benchmarks/n_slack.py         (subsamples; up to 60 s a cell; --quick: 6 s a cell)

Covertype (zero-one loss), the tags of UD English EWT (Hamming loss) and the Penn Treebank sample
of at most 15 words (F1 loss), all losses scaled to 100. C/n is that of the paper's Table 1: 19.1
for classes, 0.14 for tags and 2.04 for trees. Each cell runs to eps = 0.1 in units of the scaled
loss, or to its limit of seconds, which `> limit` marks; gap/C says how far it came. CPU time is
that of this process with one worker, loading included. A support vector of 1-slack is a cut with
α > 0, elsewhere a plane. `difference` is how far the primal is above the best dual of all solvers
at this n, in parts of that. Exponents are slopes of lines through the cells of a solver that
reached eps, on log–log axes.

On all rows the 1-slack paper (Table 1) reports, 1-slack / n-slack: CPU hours 1.05 / 1,180.56 for
Covertype, 0.90 / 177.00 for tags and 2.90 / 8.52 for trees, and support vectors 98 / 334,524,
139 / 83,126 and 70 / 12,890.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from scaling import exponent
from support import covertype, machine, penn, table, ud_ewt
from tagging import TEMPLATES

from distsvm import MulticlassTask, SequenceTask, Task, TrainResult, train
from distsvm.structures.sequences.readers.conllu import ConlluData
from distsvm.structures.trees.task import ParseTask

METHODS: dict[str, dict[str, Any]] = {
    "n-slack": {"solver": "n-slack"},
    "n-slack, subspace": {"solver": "n-slack", "ascent": "subspace"},
    "1-slack": {"solver": "one-slack", "cache_size": 0, "stabilise": 1.0},
    "1-slack, cache": {"solver": "one-slack", "cache_size": 10, "stabilise": 1.0},
    "multi-plane": {"solver": "multi-plane"},
}
SCALE = 100.0


class Problem(NamedTuple):
    """One subsample, and what `train` takes."""

    name: str
    n: int
    task: Task
    data: tuple[Any, ...]
    C: float


class Cell(NamedTuple):
    """One solver on one subsample."""

    problem: Problem
    method: str
    cpu_s: float
    result: TrainResult

    @property
    def reached(self) -> bool:
        return self.result.stop_reason == "eps"


def problems(folder: str, quick: bool) -> Iterator[Problem]:
    sizes = (500, 1_000, 2_000) if quick else (1_000, 3_000, 10_000, 50_000)
    for n in sizes:
        X, y, *_ = covertype(n)
        yield Problem("classes", n, MulticlassTask(loss_scale=SCALE), (X, y), 19.1 * n)
    for n in (50, 100, 200) if quick else (250, 1_000, 4_000):
        data = ConlluData(ud_ewt(folder, "train", n, f"{n}-of-"), templates=TEMPLATES)
        yield Problem("tags", n, SequenceTask(loss_scale=SCALE), (data,), 0.14 * n)
    trees, _ = penn(folder, 15)
    for n in (50, 100, 200) if quick else (200, 400, len(trees)):
        some = trees[:n]
        inputs = [tree.sentence() for tree in some]
        yield Problem("trees", n, ParseTask("f1", SCALE), (inputs, some), 2.04 * n)


def run(problem: Problem, method: str, limit_s: float) -> Cell:
    """Train until eps or the limit, after a round that compiles."""
    given = {"C": problem.C, "executor": "serial", "n_workers": 1, **METHODS[method]}
    train(problem.task, *problem.data, max_rounds=2, **given)
    began_s = time.process_time()
    result = train(problem.task, *problem.data, eps=0.1, max_seconds=limit_s, **given)
    return Cell(problem, method, time.process_time() - began_s, result)


def support(result: TrainResult) -> int:
    return result.n_support_cuts or result.n_support_planes


def row(cell: Cell, best: float) -> list[str]:
    result = cell.result
    difference = (result.primal - best) / best if best > 0 else float("inf")
    limit = "" if cell.reached else "> limit "
    return [
        f"{cell.problem.n:,}", cell.method, f"{limit}{cell.cpu_s:.2f}",
        f"{result.n_oracle_calls:,}", f"{support(result):,}",
        f"{100 * result.seconds['qp'] / result.seconds['total']:.0f}%",
        f"{result.gap / cell.problem.C:.3g}", f"{difference:.2g}",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small subsamples, 6 s a cell")
    parser.add_argument("--only", default="", help="only problems whose name contains this")
    args = parser.parse_args()
    print(machine())
    cells: dict[str, list[Cell]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for problem in problems(folder, args.quick):
            if args.only in problem.name:
                limit_s = 6.0 if args.quick else 60.0
                own = [run(problem, method, limit_s) for method in METHODS]
                cells.setdefault(problem.name, []).extend(own)
    for name, found in cells.items():
        best: dict[int, float] = {}
        for cell in found:
            n = cell.problem.n
            best[n] = max(best.get(n, 0.0), cell.result.dual)
        head = ["n", "solver", "CPU s", "oracle calls", "support", "QP", "gap/C", "difference"]
        print(f"\n{name}")
        table(head, [row(cell, best[cell.problem.n]) for cell in found])
        for method in METHODS:
            there = [cell for cell in found if cell.method == method and cell.reached]
            if len({cell.problem.n for cell in there}) > 1:
                slope = exponent([c.problem.n for c in there], [c.cpu_s for c in there])
                print(f"{method}: CPU time ~ n^{slope:.2f}")


if __name__ == "__main__":
    main()
