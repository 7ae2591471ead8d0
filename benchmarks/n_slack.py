"""n-slack beside 1-slack and multi-plane: Table 1 and figures 1 to 9 of the 1-slack paper.

Run: python benchmarks/n_slack.py PART [--only PROBLEM] [--seconds S]   (--quick: small and short)

PART is size (Table 1, figures 1, 3, 4 and 5), C (figures 7 and 9), best-C (figure 2), eps (figure
8) or cache (figure 6). PROBLEM is classes (Covertype, zero-one loss), tags (UD English EWT, Hamming
loss) or trees (Penn Treebank sample, at most 15 words, F1 loss); losses are scaled to 100. C/n is
that of the paper's Table 1: 19.1 for classes, 0.14 for tags and 2.04 for trees; other parts than
`size` take the middle one of its subsamples. A cell runs to eps = 0.1 in units of the scaled loss,
or to its limit of seconds, which `> limit` marks; gap/C says how far it came. Nothing else is cut.

CPU time is that of this process with one worker, loading included. A support vector of 1-slack is a
cut with α > 0, elsewhere a plane. `difference` is how far the primal is above the best dual of all
methods in the same place, in parts of that. `test` is the loss on held-out data: wrong classes,
wrong tags, or 1 − F1 of the binarised tree, in per cent. Exponents are slopes of lines through the
cells of a method that reached eps, on log–log axes. Plots go to benchmarks/out.

On all rows the paper (Table 1) reports, 1-slack / n-slack: CPU hours 1.05 / 1,180.56 for
Covertype, 0.90 / 177.00 for tags and 2.90 / 8.52 for trees; oracle calls 4,183,288 / 10,981,131,
1,314,647 / 4,476,906 and 224,940 / 479,220; support vectors 98 / 334,524, 139 / 83,126 and 70 /
12,890; figure 7: accuracy 72.33 / 72.35, tokens 96.71 / 96.69 and F1 70.22 / 70.09. Its exponents
are in words: 1-slack linear in n, n-slack above that.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import matplotlib as mpl
from scaling import exponent
from support import OUT, covertype, machine, penn, table, ud_ewt
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
FAST = {name: METHODS[name] for name in ("1-slack, cache", "multi-plane")}
THEORY = {"n-slack": "above 1", "1-slack": "1", "1-slack, cache": "1"}
SCALE, EPS = 100.0, 0.1
FACTORS = (1e-3, 1e-2, 0.1, 1.0, 10.0)
PRECISIONS = (10.0, 1.0, 0.1, 0.01)
CACHES = (0, 2, 5, 10, 20)


class Problem(NamedTuple):
    """One subsample, what `train` takes, and held-out data with the loss of one mistake there."""

    name: str
    n: int
    task: Task
    data: tuple[Any, ...]
    C: float
    test: tuple[Any, ...]
    unit: float


class Cell(NamedTuple):
    """One method in one place of a sweep."""

    problem: Problem
    method: str
    at: float
    cpu_s: float
    result: TrainResult

    @property
    def reached(self) -> bool:
        return self.result.stop_reason == "eps"

    @property
    def support(self) -> int:
        return self.result.n_support_cuts or self.result.n_support_planes

    @property
    def test_loss(self) -> float:
        """The loss on held-out data in per cent."""
        score = self.result.model.evaluate(*self.problem.test, executor="serial")
        return 100.0 * score.mean_loss / self.problem.unit


def problems(folder: str, quick: bool, only: str) -> Iterator[Problem]:
    if only in "classes":
        for n in (500, 1_000, 2_000) if quick else (1_000, 3_000, 10_000, 50_000):
            X, y, X_test, y_test = covertype(n)
            test = X_test[:10_000], y_test[:10_000]
            task = MulticlassTask(loss_scale=SCALE)
            yield Problem("classes", n, task, (X, y), 19.1 * n, test, SCALE)
    if only in "tags":
        dev = ConlluData(ud_ewt(folder, "dev"), templates=TEMPLATES)
        shard = dev.specs(1)[0].load()
        length = shard.x.starts[-1] / shard.n
        for n in (50, 100, 200) if quick else (250, 1_000, 4_000):
            data = ConlluData(ud_ewt(folder, "train", n, f"{n}-of-"), templates=TEMPLATES)
            task = SequenceTask(loss_scale=SCALE)
            yield Problem("tags", n, task, (data,), 0.14 * n, (dev,), SCALE * length)
    if only in "trees":
        trees, held_out = penn(folder, 15)
        test = [tree.sentence() for tree in held_out], held_out
        for n in (50, 100, 200) if quick else (200, 400, len(trees)):
            data = [tree.sentence() for tree in trees[:n]], trees[:n]
            yield Problem("trees", n, ParseTask("f1", SCALE), data, 2.04 * n, test, SCALE)


def run(
    problem: Problem, method: str, at: float, limit_s: float, eps: float = EPS, factor: float = 1.0,
    **more: Any,
) -> Cell:  # fmt: skip
    """Train until eps or the limit, after a round that compiles."""
    given = {"C": factor * problem.C, "executor": "serial", "n_workers": 1, **METHODS[method]}
    given |= more
    train(problem.task, *problem.data, max_rounds=2, **given)
    began_s = time.process_time()
    result = train(problem.task, *problem.data, eps=eps, max_seconds=limit_s, **given)
    return Cell(problem, method, at, time.process_time() - began_s, result)


def show(title: str, found: list[Cell], place: str) -> None:
    """Print and draw the cells of one problem."""
    best: dict[float, float] = {}
    for cell in found:
        best[cell.at] = max(best.get(cell.at, 0.0), cell.result.dual)
    rows = []
    for cell in found:
        result = cell.result
        high = best[cell.at]
        rows.append([
            f"{cell.at:,g}", cell.method, f"{'' if cell.reached else '> limit '}{cell.cpu_s:.2f}",
            f"{result.n_rounds:,}", f"{result.n_oracle_calls:,}", f"{cell.support:,}",
            f"{100 * result.seconds['qp'] / result.seconds['total']:.0f}%",
            f"{result.gap / result.C:.3g}",
            f"{(result.primal - high) / high:.2g}" if high > 0 else "unknown",
            f"{cell.test_loss:.2f}%",
        ])  # fmt: skip
    print(f"\n{title}")
    table([place, "method", "CPU s", "rounds", "oracle calls", "support", "QP", "gap/C",
           "difference", "test"], rows)  # fmt: skip
    figures = {
        "CPU seconds": lambda cell: cell.cpu_s,
        "rounds": lambda cell: cell.result.n_rounds,
        "oracle calls": lambda cell: cell.result.n_oracle_calls,
        "support": lambda cell: cell.support,
    }
    draw(title, found, place, figures)
    for method in METHODS:
        there = [cell for cell in found if cell.method == method and cell.reached]
        if place == "n" and len({cell.at for cell in there}) > 1:
            slopes = ", ".join(
                f"{name} ~ n^{exponent([c.at for c in there], [value(c) for c in there]):.2f}"
                for name, value in figures.items()
                if all(value(c) > 0 for c in there)
            )
            print(f"{method}: {slopes} (the paper's CPU time: {THEORY.get(method, 'none')})")


def draw(
    title: str, found: list[Cell], place: str, figures: dict[str, Callable[[Cell], float]]
) -> None:
    """Write a picture with one panel a figure; open marks are cells that their limit ended."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    picture, panels = plt.subplots(1, len(figures), figsize=(4 * len(figures), 3.2))
    for axes, (name, value) in zip(panels, figures.items(), strict=True):
        for k, method in enumerate(METHODS):
            own = [cell for cell in found if cell.method == method]
            axes.plot([c.at for c in own], [value(c) for c in own], color=f"C{k}", label=method)
            cut = [cell for cell in own if not cell.reached]
            axes.plot([c.at for c in cut], [value(c) for c in cut], "o", mfc="w", color=f"C{k}")
        axes.set(xlabel=place, title=name, yscale="log")
        axes.set_xscale("linear" if place == "cached planes" else "log")
    panels[0].legend(fontsize=7)
    OUT.mkdir(exist_ok=True)
    path = OUT / f"n_slack-{title.replace(', ', '-').replace(' ', '-')}.png"
    picture.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(picture)
    print(f"Drawn in {path.name}")


def sweep(part: str, sizes: list[Problem], limit_s: float) -> None:
    """Make all cells of a part for the subsamples of one problem."""
    middle = sizes[(len(sizes) - 1) // 2]
    name = middle.name
    if part == "size":
        cells = [run(problem, m, problem.n, limit_s) for problem in sizes for m in METHODS]
        show(f"{name}, size", cells, "n")
    elif part == "C":
        cells = [run(middle, m, f, limit_s, factor=f) for f in FACTORS for m in METHODS]
        show(f"{name}, C at n={middle.n}", cells, "C, in parts of the paper's")
    elif part == "best-C":
        cells = []
        for problem in sizes:
            for m in FAST:
                tried = [run(problem, m, problem.n, limit_s, factor=f) for f in FACTORS]
                cells.append(min(tried, key=lambda cell: cell.test_loss))
                print(f"n={problem.n}, {m}: best C/n {cells[-1].result.C / problem.n:.3g}")
        show(f"{name}, size at the best C", cells, "n")
    elif part == "eps":
        cells = [run(middle, m, eps, limit_s, eps) for eps in PRECISIONS for m in METHODS]
        show(f"{name}, eps at n={middle.n}", cells, "eps")
    else:
        method = "1-slack, cache"
        cells = [run(middle, method, size, limit_s, cache_size=size) for size in CACHES]
        show(f"{name}, cache at n={middle.n}", cells, "cached planes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("size", "C", "best-C", "eps", "cache"))
    parser.add_argument("--quick", action="store_true", help="small subsamples, 6 s a cell")
    parser.add_argument("--only", default="", choices=("", "classes", "tags", "trees"))
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of a cell")
    args = parser.parse_args()
    logging.getLogger("distsvm").setLevel(logging.ERROR)  # sentences outside the grammar count
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        for name in ("classes", "tags", "trees"):
            if args.only in name:
                sizes = list(problems(folder, args.quick, name))
                sweep(args.part, sizes, 6.0 if args.quick else args.seconds)


if __name__ == "__main__":
    main()
