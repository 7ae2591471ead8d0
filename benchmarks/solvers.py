"""Solvers side by side: oracle passes and time until the gap is small, on tagging and parsing.

Run: python benchmarks/solvers.py                 (up to 55 minutes; --quick: about 4 minutes)

UD English EWT (XPOS tags, C = 1,000) and the Penn Treebank sample (at most 15 words; zero-one loss
scaled to 100, and F1 loss scaled to 100). A pass is one oracle call for every example; the passes
that certify are counted. Each method runs until gap/C is at the smallest threshold, or for LIMIT_S
seconds; a dash says that it was not there by then. The threshold is in units of the mean loss.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from support import machine, penn, table, ud_ewt
from tagging import TEMPLATES

from distsvm import Task, TrainResult, train
from distsvm.data.readers.conllu import ConlluData
from distsvm.tasks.parse import ParseTask
from distsvm.tasks.sequence import SequenceTask

ONE_SLACK = {"solver": "one-slack", "stabilise": 1.0}
METHODS: dict[str, dict[str, Any]] = {
    "1-slack, no cache": {**ONE_SLACK, "cache_size": 0},
    "1-slack, cache of 10": {**ONE_SLACK, "cache_size": 10},
    "1-slack, stabilised": {"solver": "one-slack", "cache_size": 0},
    "multi-plane, 1 block, all": {"solver": "multi-plane", "n_blocks": 1, "ask_share": 1.0},
    "multi-plane, 1 block": {"solver": "multi-plane", "n_blocks": 1},
    "multi-plane, 2 blocks": {"solver": "multi-plane", "n_blocks": 2},
    "multi-plane, 8 blocks": {"solver": "multi-plane", "n_blocks": 8},
    "multi-plane, 32 blocks": {"solver": "multi-plane", "n_blocks": 32},
}
LIMIT_S, QUICK_S = 120.0, 15.0


@dataclass(frozen=True)
class Problem:
    """What to train, on what, and the gaps to wait for."""

    name: str
    task: Task
    data: tuple[Any, ...]
    C: float
    thresholds: tuple[float, ...]


def problems(folder: str, quick: bool) -> list[Problem]:
    data = ConlluData(ud_ewt(folder, "train", 1_500 if quick else None), templates=TEMPLATES)
    n = 1_500 if quick else 12_544
    trees, _ = penn(folder, 15)
    parsing = ([tree.sentence() for tree in trees], trees)
    C = 0.5 * len(trees) * 100.0
    return [
        Problem("tagging", SequenceTask(), (data,), 1_000.0 * n / 12_544, (1.0, 0.1, 0.01)),
        Problem("parsing, zero-one", ParseTask("zero-one", 100.0), parsing, C, (10.0, 1.0, 0.1)),
        Problem("parsing, F1", ParseTask("f1", 100.0), parsing, C, (10.0, 1.0, 0.1)),
    ]


def reached(result: TrainResult, n: int, threshold: float) -> tuple[str, str]:
    """Passes and seconds when gap/C was first at the threshold."""
    for record in result.history:
        if record.kind == "fresh" and record.gap <= threshold * result.C:
            seconds = record.elapsed_s - result.seconds["load"]
            return f"{record.n_oracle_calls / n:.1f}", f"{seconds:.1f}"
    return "-", "-"


def row(problem: Problem, name: str, options: dict[str, Any], limit_s: float) -> Sequence[str]:
    least = problem.thresholds[-1]
    result = train(
        problem.task, *problem.data, C=problem.C, eps=least, max_seconds=limit_s, **options
    )
    n = result.history[0].n_oracle_calls
    found = [reached(result, n, threshold) for threshold in problem.thresholds]
    passes, seconds = zip(*found, strict=True)
    return [name, *passes, *seconds, f"{result.gap / result.C:.3g}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1,500 sentences, short limits")
    parser.add_argument("--only", help="only problems whose name contains this")
    args = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        for problem in problems(folder, args.quick):
            if args.only and args.only not in problem.name:
                continue
            for options in METHODS.values():  # compile
                train(problem.task, *problem.data, C=problem.C, max_rounds=2, **options)
            print(f"\n{problem.name}: passes, then seconds, to gap/C of …")
            head = [f"{threshold:g}" for threshold in problem.thresholds]
            limit_s = QUICK_S if args.quick else LIMIT_S
            rows = [row(problem, name, o, limit_s) for name, o in METHODS.items()]
            table(["method", *head, *(f"{h} s" for h in head), "last gap/C"], rows)


if __name__ == "__main__":
    main()
