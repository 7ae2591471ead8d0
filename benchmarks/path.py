"""A path of 13 values of C, warm-started, against the same values trained one by one.

Run: python benchmarks/path.py                    (up to 40 minutes; --quick: about 3 minutes)

UD English EWT (XPOS tags), the first 2,000 sentences unless told otherwise; C from 10⁻³ to 10³
times the default. Every value runs until gap/C is at most --eps, in units of the mean loss, or
for LIMIT_S seconds; `> limit` says that it was not there by then. Wanted: the whole path takes at
most 3 times the oracle calls of the hardest single value.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from support import machine, table, ud_ewt
from tagging import TEMPLATES

import distsvm
from distsvm.data.readers.conllu import ConlluData
from distsvm.tasks.sequence import SequenceTask
from distsvm.training.path_result import PathPoint
from distsvm.training.result import TrainResult

LIMIT_S, QUICK_S = 150.0, 20.0


class Steps(distsvm.Callback):
    """Says how every run went, as it ends."""

    def on_end(self, result: TrainResult) -> None:
        print(
            f"C {result.C:.3g}: {result.n_oracle_calls} calls in {result.n_rounds} rounds, gap/C "
            f"{result.gap / result.C:.3g} ({result.stop_reason})",
            file=sys.stderr,
        )


def passes(found: PathPoint | TrainResult, n: int) -> str:
    limit = "> limit " if found.stop_reason == "max_seconds" else ""
    return f"{limit}{found.n_oracle_calls / n:.1f}"


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
    parser.add_argument("--quick", action="store_true", help="400 sentences, short limits")
    parser.add_argument("--sentences", type=int, help="so many of the first (0: all)")
    parser.add_argument("--eps", type=float, default=0.1)
    parser.add_argument("--solver", default="multi-plane")
    args = parser.parse_args()
    n_sentences = args.sentences if args.sentences is not None else 400 if args.quick else 2_000
    config: dict[str, Any] = {
        "solver": args.solver, "eps": args.eps,
        "max_seconds": QUICK_S if args.quick else LIMIT_S,
    }  # fmt: skip
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        data = ConlluData(ud_ewt(folder, "train", n_sentences or None), templates=TEMPLATES)
        check = ConlluData(ud_ewt(folder, "dev", 400), templates=TEMPLATES)
        task = SequenceTask(labels=tags(folder))
        distsvm.train(task, data, solver=args.solver, max_rounds=2)  # compile
        found = distsvm.path(task, data, validation=check, callbacks=[Steps()], **config)
        alone = [
            distsvm.train(task, data, C=p.C, callbacks=[Steps()], **config) for p in found.points
        ]
    n = alone[0].history[0].n_oracle_calls
    print(f"\n{n} sentences, {args.solver}, gap/C ≤ {args.eps}: passes over the data, seconds")
    table(
        ["C", "path", "s", "alone", "s", "gap/C", "dev loss", "dev exact"],
        [
            [f"{p.C:.3g}", passes(p, n), f"{p.seconds:.1f}", passes(one, n),
             f"{one.seconds['total'] - one.seconds['load']:.1f}", f"{p.gap / p.C:.3g}",
             f"{p.validation_loss:.4f}" + (" ←" if i == found.best else ""),
             f"{p.validation_accuracy:.4f}"]
            for i, (p, one) in enumerate(zip(found.points, alone, strict=True))
        ],
    )  # fmt: skip
    hardest = max(one.n_oracle_calls for one in alone)
    total = found.n_oracle_calls
    short = [p for p in (*found.points, *alone) if p.stop_reason == "max_seconds"]
    print(
        f"\nthe path: {total / n:.1f} passes; the hardest single value: {hardest / n:.1f}; ratio "
        f"{total / hardest:.2f} (wanted: at most 3); all single ones: "
        f"{sum(one.n_oracle_calls for one in alone) / n:.1f}"
    )
    if short:
        print(f"{len(short)} runs ended at their limit of time: the ratio is no verdict")


if __name__ == "__main__":
    main()
