"""How the cost of tagging grows with n: oracle calls and time until gap/C ≤ 0.1, on log–log axes.

Run: python benchmarks/growth.py                  (up to 25 minutes; --quick: about 3 minutes)

The first 1,000 to 12,544 sentences of UD English EWT (XPOS tags), C/n the same for all, with the
default solver and with 1-slack and a cache. A run that ends at its limit of seconds is marked so
(`> limit`); larger n are not tried with that solver then. The exponents are slopes of lines through
the logarithms, by least squares, of the runs that got there. A pass is one oracle call a sentence.
Time is that of the rounds, without loading.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scaling import BLUE, GREY, ORANGE, exponent, plain_numbers, saved, style
from solvers import METHODS
from support import OUT, limited, machine, rounds_s, table, ud_ewt
from tagging import TEMPLATES

from distsvm import TrainResult, train
from distsvm.structures.sequences.readers.conllu import ConlluData
from distsvm.structures.sequences.task import SequenceTask

import matplotlib.pyplot as plt  # isort: skip  (scaling has chosen how to draw)
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator  # isort: skip

ALL = 12_544
SIZES, QUICK_SIZES = (1_000, 2_000, 4_000, 8_000, ALL), (250, 500, 1_000, 2_000)
C_SHARE = 1_000.0 / ALL
EPS = 0.1
LIMIT_S, QUICK_S = 240.0, 30.0
SOLVERS: dict[str, dict[str, Any]] = {
    "default solver": {},
    "1-slack, cache": METHODS["1-slack, cache"],
}
COLORS = {"default solver": (BLUE, "o"), "1-slack, cache": (ORANGE, "s")}


@dataclass(frozen=True)
class Point:
    """One run."""

    n: int
    n_calls: int
    seconds: float
    gap: float
    reached: bool

    @classmethod
    def of(cls, result: TrainResult, n: int) -> Point:
        reached = result.stop_reason == "eps"
        return cls(n, result.n_oracle_calls, rounds_s(result), result.gap / result.C, reached)

    def row(self, name: str) -> list[str]:
        took = (f"{self.n_calls:,}", f"{self.n_calls / self.n:.1f}", f"{self.seconds:.1f}")
        shown = [limited(amount, self.reached) for amount in took]
        return [name, f"{self.n:,}", *shown, f"{self.gap:.3g}"]


def sweep(folder: str, config: dict[str, Any], sizes: Sequence[int], limit_s: float) -> list[Point]:
    """A point a size, up to the first that ends at its limit."""
    points: list[Point] = []
    for n in sizes:
        data = ConlluData(ud_ewt(folder, "train", n), templates=TEMPLATES)
        result = train(SequenceTask(), data, C=C_SHARE * n, eps=EPS, max_seconds=limit_s, **config)
        points.append(Point.of(result, n))
        if not points[-1].reached:
            break
    return points


def slope(points: Sequence[Point], what: str) -> float | None:
    """The exponent over the runs that got there; None where there are not two."""
    there = [p for p in points if p.reached]
    if len(there) < 2:
        return None
    return exponent([p.n for p in there], [getattr(p, what) for p in there])


def draw(sweeps: dict[str, list[Point]], path: Path) -> None:
    """Calls and seconds against n; a run that ended at its limit is an open mark by itself."""
    style()
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.2))
    for axes, what, label in (
        (panels[0], "n_calls", "oracle calls"), (panels[1], "seconds", "time of the rounds (s)"),
    ):  # fmt: skip
        for name, points in sweeps.items():
            color, marker = COLORS[name]
            found = slope(points, what)
            text = name if found is None else f"{name}: $n^{{{found:.2f}}}$"
            there = [p for p in points if p.reached]
            axes.plot([p.n for p in there], [getattr(p, what) for p in there], color=color,
                      marker=marker, label=text)  # fmt: skip
            for p in points:
                if not p.reached:
                    axes.plot(p.n, getattr(p, what), "^", color=color, markerfacecolor="white")
        first = next(iter(sweeps.values()))
        ends = [first[0].n, first[-1].n]
        start = getattr(first[0], what)
        axes.plot(ends, [start, start * ends[1] / ends[0]], "--", color=GREY, label="linear in n")
        axes.set(xscale="log", yscale="log", xlabel="training sentences n", ylabel=label)
        plain_numbers(axes.yaxis)
        axes.xaxis.set_major_locator(FixedLocator([p.n for p in first]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.legend(loc="upper left")
    note = "UD English EWT, XPOS; C/n constant. Open marks: ended at the time limit."
    saved(figure, path, f"Tagging: the cost of gap/C ≤ {EPS} against n", note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="at most 2,000 sentences")
    parser.add_argument("--limit", type=float, help="seconds a run")
    parser.add_argument(
        "--plot", type=Path, default=OUT / "cost_vs_n.png", help="PNG or SVG file of the figure"
    )
    args = parser.parse_args()
    sizes = QUICK_SIZES if args.quick else SIZES
    limit_s = args.limit or (QUICK_S if args.quick else LIMIT_S)
    print(machine())
    sweeps = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, config in SOLVERS.items():
            sweep(folder, config | {"max_rounds": 4}, [40], limit_s)  # compile
            sweeps[name] = sweep(folder, config, sizes, limit_s)
    table(
        ["solver", "n", "oracle calls", "passes", "seconds", "gap/C"],
        [point.row(name) for name, points in sweeps.items() for point in points],
    )
    for name, points in sweeps.items():
        found = {what: slope(points, what) for what in ("n_calls", "seconds")}
        calls, seconds = ("unknown" if s is None else f"{s:.2f}" for s in found.values())
        print(f"{name}: oracle calls grow with n^{calls}, time with n^{seconds}")
    draw(sweeps, args.plot)
    print(f"figure: {args.plot}")


if __name__ == "__main__":
    main()
