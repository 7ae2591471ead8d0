"""Asking the oracle about a part of the examples at a time, against asking about all of them.

Run: python benchmarks/refresh.py                 (a few minutes; --quick: a minute)

1-slack with its cache of 10 planes an example, for both ways of choosing where to ask (stabilise 1
is the paper's, 0.3 the default) and for each of FRACTIONS, to the same certified gap. A pass is one
oracle call for every example; partial ones and those that certify are counted.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

from support import limited, machine, n_passes, penn, rounds_s, table, ud_ewt
from tagging import TEMPLATES

from distsvm import Task, train
from distsvm.data.synthetic_trees import make_treebank
from distsvm.structures.sequences.readers.conllu import ConlluData
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.task import ParseTask

FRACTIONS = (1.0, 0.5, 0.3, 0.1)
STABILISE = (1.0, 0.3)
CACHE = {"solver": "one-slack", "cache_size": 10, "executor": "serial"}


class Problem(NamedTuple):
    """What to train, on what, to which gap, and a little of the data, to compile on."""

    name: str
    task: Task
    data: tuple[Any, ...]
    few: tuple[Any, ...]
    limits: dict[str, float]


def problems(folder: str, quick: bool, made_here: bool) -> Iterator[Problem]:
    n = 300 if quick else 1_000
    trees = make_treebank(n)
    yield parsing("synthetic trees", trees, {"rel_gap": 0.01})
    if made_here:
        return
    few, data = (
        ConlluData(ud_ewt(folder, "train", m, f"{m}-of-"), templates=TEMPLATES) for m in (40, n)
    )
    yield Problem(
        "tagging, UD EWT", SequenceTask(), (data,), (few,), {"C_per_example": 0.08, "rel_gap": 0.1}
    )
    trees, _ = penn(folder, 10 if quick else 15)
    yield parsing("parsing, Penn Treebank", trees, {"C_per_example": 50.0, "rel_gap": 0.02})


def parsing(name: str, trees: list[Any], limits: dict[str, float]) -> Problem:
    words = [tree.sentence() for tree in trees]
    task = ParseTask("f1", 100.0)
    return Problem(name, task, (words, trees), (words[:40], trees[:40]), limits)


def cell(problem: Problem, fraction: float, stabilise: float, limit: float) -> str:
    result = train(
        problem.task, *problem.data, refresh_fraction=fraction, stabilise=stabilise,
        max_seconds=limit, **problem.limits, **CACHE,
    )  # fmt: skip
    amount = f"{n_passes(result):.1f} ({result.n_rounds}, {rounds_s(result):.1f} s)"
    return limited(amount, result.stop_reason == "rel_gap")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer sentences")
    parser.add_argument("--made-here", action="store_true", help="only what needs no files")
    parser.add_argument("--only", default="", help="only problems whose name contains this")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a run (default 60)")
    args = parser.parse_args()
    print(machine())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for problem in problems(folder, args.quick, args.made_here):
            if args.only not in problem.name:
                continue
            train(problem.task, *problem.few, max_rounds=8, refresh_fraction=0.5, **CACHE)
            for stabilise in STABILISE:
                cells = [cell(problem, part, stabilise, args.limit) for part in FRACTIONS]
                rows.append((problem.name, stabilise, *cells))
                print(f"  done: {problem.name}, stabilise {stabilise}", flush=True)
    print("Oracle passes (rounds, seconds)")
    table(("problem", "stabilise", *(f"refresh_fraction {part}" for part in FRACTIONS)), rows)


if __name__ == "__main__":
    main()
