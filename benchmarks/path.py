"""A path of 13 values of C, warm-started, against the hardest of them trained alone.

Run: python benchmarks/path.py                    (up to 15 minutes; --quick: up to 4 minutes)

UD English EWT (XPOS tags), the first 400 sentences unless --sentences is given; 13 values of C from
10⁻³ to 10³ times the default, with the default solver for sequences and its default number of
blocks. Every value runs until gap/C is at most --eps, in units of the mean loss, or for a limit of
seconds; `> limit` marks one that had not reached it by then. Trained alone, from nothing, are the
values that took the path the most oracle calls, and one that is larger. Wanted: the whole path
takes at most 3 times the oracle calls of the hardest single value. A value that ended at its limit
has made fewer calls than it needs: alone it makes the printed ratio an upper bound, on the path it
makes it no verdict.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from support import limited, machine, rounds_s, table, ud_ewt, verdict
from tagging import TEMPLATES

import distsvm
from distsvm.structures.sequences.readers.conllu import ConlluData
from distsvm.structures.sequences.task import SequenceTask
from distsvm.training.path import FACTORS
from distsvm.training.path_result import PathPoint
from distsvm.training.result import TrainResult

# Seconds of a value on the path; alone it has twice as many.
LIMIT_S, QUICK_S = 45.0, 12.0
N_ALONE = 2
WANTED = 3.0


class Steps(distsvm.Callback):
    """Says how every run went, as it ends."""

    def on_end(self, result: TrainResult) -> None:
        print(
            f"C {result.C:.3g}: {result.n_oracle_calls} calls in {result.n_rounds} rounds, gap/C "
            f"{result.gap / result.C:.3g} ({result.stop_reason})",
            file=sys.stderr,
        )


def at_limit(found: PathPoint | TrainResult) -> bool:
    return found.stop_reason == "max_seconds"


def passes(found: PathPoint | TrainResult, n: int) -> str:
    return limited(f"{found.n_oracle_calls / n:.1f}", not at_limit(found))


def tags(folder: str) -> np.ndarray:
    """All tags of both files: a rare one may be missing from few sentences."""
    rows = [
        line.split("\t")
        for name in ("train", "dev")
        for line in (Path(folder) / f"{name}.conllu").read_text(encoding="utf-8").splitlines()
    ]
    return np.unique([row[4] for row in rows if len(row) == 10 and row[0].isdigit()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="150 sentences, short limits")
    parser.add_argument("--sentences", type=int, help="number of sentences, the first (0: all)")
    parser.add_argument("--eps", type=float, default=0.1)
    parser.add_argument("--limit", type=float, help="seconds a value; alone it has twice as many")
    parser.add_argument("--solver", default="multi-plane")
    args = parser.parse_args()
    n_sentences = args.sentences if args.sentences is not None else 150 if args.quick else 400
    limit_s = args.limit or (QUICK_S if args.quick else LIMIT_S)
    config: dict[str, Any] = {"solver": args.solver, "eps": args.eps, "callbacks": [Steps()]}
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        data = ConlluData(ud_ewt(folder, "train", n_sentences or None), templates=TEMPLATES)
        check = ConlluData(ud_ewt(folder, "dev", 400), templates=TEMPLATES)
        task = SequenceTask(labels=tags(folder))
        distsvm.train(task, data, solver=args.solver, max_rounds=2)  # compile
        found = distsvm.path(task, data, validation=check, max_seconds=limit_s, **config)
        assert len(found.points) == len(FACTORS)
        hard = hardest(found.points, N_ALONE)
        alone = {
            i: distsvm.train(task, data, C=found.points[i].C, max_seconds=2 * limit_s, **config)
            for i in hard
        }
    n = alone[hard[0]].n_examples
    print(f"\n{n} sentences, {args.solver}, gap/C ≤ {args.eps}: passes over the data, seconds")
    table(
        ["C", "path", "s", "alone", "s", "gap/C", "dev loss", "dev exact"],
        [row(i, found, alone.get(i), n) for i in range(len(found.points))],
    )
    tell_ratio(found, alone, n)


def tell_ratio(found: distsvm.PathResult, alone: dict[int, TrainResult], n: int) -> None:
    """Print the ratio of the path to the hardest single value."""
    hard = max(alone.values(), key=lambda one: one.n_oracle_calls)
    ratio = found.n_oracle_calls / hard.n_oracle_calls
    ended = [f"{point.C:.3g}" for point in found.points if at_limit(point)]
    answer = verdict(ratio <= WANTED, known=not at_limit(hard))
    if ended:
        answer = f"unknown: on the path C = {', '.join(ended)} ended at the limit"
    print(
        f"\nthe path: {found.n_oracle_calls / n:.1f} passes; the hardest single value "
        f"(C {hard.C:.3g}): {passes(hard, n)}; ratio {'at most ' * at_limit(hard)}{ratio:.2f}, "
        f"wanted at most {WANTED:g}: {answer}"
    )


def hardest(points: Sequence[PathPoint], n: int) -> list[int]:
    """The n values that took the most calls, and the one two beyond them, or the last."""
    order = np.argsort([-point.n_oracle_calls for point in points], kind="stable").tolist()
    return sorted({*order[:n], min(max(order[:n]) + 2, len(points) - 1)})


def row(i: int, found: distsvm.PathResult, one: TrainResult | None, n: int) -> list[str]:
    point = found.points[i]
    seconds = "" if one is None else f"{rounds_s(one):.1f}"
    mark = " ←" if i == found.best else ""
    return [
        f"{point.C:.3g}", passes(point, n), f"{point.seconds:.1f}",
        "" if one is None else passes(one, n), seconds, f"{point.gap / point.C:.3g}",
        f"{point.validation_loss:.4f}{mark}", f"{point.validation_accuracy:.4f}",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
