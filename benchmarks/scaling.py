"""How the work grows: with n, with ε, with C, and with the size of the cache. Tables and figures.

Run: python benchmarks/scaling.py                 (about 8 minutes; --quick: under a minute)

The sweeps of section 5 of the 1-slack paper on Covertype (loss 100·[y ≠ ŷ], two threads), and the
oracle calls against the cache's size on Covertype and on matchings, a task in plain Python whose
oracle solves an assignment problem (examples/matching_task.py, two processes). Figures are written
to benchmarks/out/. The theory bounds the time by a constant times n, and the rounds by one times
C/ε; the printed exponents are slopes of a line through the logarithms. Time is that of the rounds,
without the start of the workers.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from support import HERE, OUT, covertype, machine, n_passes, rounds_s, table

from distsvm import MulticlassTask, TrainResult, train

sys.path.insert(0, str(HERE.parent / "examples"))
from matching_task import Matching, make_examples

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, LogLocator, NullFormatter

LOSS = 100.0
BLUE, ORANGE, GREEN, RED, GREY = "#2b6cb0", "#dd6b20", "#2f855a", "#c53030", "#718096"


@dataclass(frozen=True)
class Point:
    """One place of a sweep: a run, and the median time of its repetitions.

    Time is that of the rounds: starting workers and handing them their data is left out.
    """

    at: float
    result: TrainResult
    seconds: float

    @property
    def passes(self) -> float:
        return n_passes(self.result)


def sweep(places: Sequence[float], run: Callable[[Any], TrainResult], repeats: int) -> list[Point]:
    """A point for each place, run in turns so that a noisy machine is noisy to all alike."""
    turns = [[run(at) for at in places] for _ in range(repeats)]
    points = []
    for at, results in zip(places, zip(*turns, strict=True), strict=True):
        points.append(Point(at, results[0], statistics.median(map(rounds_s, results))))
    return points


def exponent(at: Sequence[float], values: Sequence[float]) -> float:
    """The slope of the line through (log at, log value)."""
    return float(np.polyfit(np.log(at), np.log(values), 1)[0])


# --- sweeps ----------------------------------------------------------------------------------


class Sweeps:
    """The problems, and what is swept over them."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.quick = args, args.quick
        self.repeats = 1 if args.quick else args.repeats
        self.X, self.y, _, _ = covertype()

    def covertype(self, n: int, **config) -> TrainResult:
        task = MulticlassTask(loss_scale=LOSS, intercept_scaling=0.0)
        given = {"executor": "threads", "n_workers": 2, "max_seconds": self.args.limit} | config
        return train(task, self.X[:n], self.y[:n], **given)

    def sizes(self) -> list[Point]:
        sizes = [1000, 3000, 10_000, 30_000, 100_000]
        if not self.quick:
            sizes += [300_000, self.y.size]
        C, eps = self.args.C, self.args.eps
        return sweep(sizes, lambda n: self.covertype(n, C=C, eps=eps), self.repeats)

    def precisions(self) -> list[Point]:
        values = [10, 3, 1, 0.3, 0.1] if self.quick else [10, 3, 1, 0.3, 0.1, 0.03, 0.01]
        C = self.args.C
        return sweep(values, lambda eps: self.covertype(self.rows, C=C, eps=eps), self.repeats)

    def constants(self) -> list[Point]:
        values = [1e2, 1e3, 1e4, 1e5] if self.quick else [1e2, 1e3, 1e4, 1e5, 1e6, 1e7]
        eps = self.args.eps
        return sweep(values, lambda C: self.covertype(self.rows, C=C, eps=eps), self.repeats)

    @property
    def rows(self) -> int:
        """How many rows the sweeps over ε and C have."""
        return 20_000 if self.quick else 100_000

    def caches(self, stabilise: float) -> dict[str, list[Point]]:
        sizes = [0, 10] if self.quick else [0, 1, 2, 5, 10, 20]
        n_examples, n = (60, 5000) if self.quick else (600, 20_000)
        inputs, outputs = make_examples(n=n_examples, m=8, dim=20, seed=0)

        def matching(size: int) -> TrainResult:
            return train(
                Matching(dim=20), inputs, outputs, C=100.0, cache_size=size, stabilise=stabilise,
                executor="processes", n_workers=2, max_seconds=self.args.limit,
            )  # fmt: skip

        def classes(size: int) -> TrainResult:
            return self.covertype(n, C=1e4, eps=0.1, cache_size=size, stabilise=stabilise)

        return {
            f"matchings, n = {n_examples}": sweep(sizes, matching, 1),
            f"Covertype, n = {n:,}": sweep(sizes, classes, 1),
        }


# --- tables ----------------------------------------------------------------------------------


def print_points(name: str, points: list[Point], as_text: Callable[[float], str]) -> None:
    table(
        (name, "stop", "rounds", "passes", "cuts", "support", "time s", "ms a round", "gap/C"),
        [
            (as_text(p.at), p.result.stop_reason, p.result.n_rounds, f"{p.passes:.1f}",
             p.result.n_cuts, p.result.n_support_cuts, f"{p.seconds:.2f}",
             f"{1e3 * p.seconds / p.result.n_rounds:.2f}", f"{p.result.gap / p.result.C:.3g}")
            for p in points
        ],
    )  # fmt: skip


def print_exponents(name: str, points: list[Point], theory: str) -> None:
    at = [p.at for p in points]
    time, rounds = (exponent(at, [of(p) for p in points]) for of in (seconds_of, rounds_of))
    print(f"exponent of time in {name}: {time:.2f}; of rounds: {rounds:.2f} (theory: {theory})\n")


# --- figures ---------------------------------------------------------------------------------


def style() -> None:
    plt.rcParams.update(
        {
            "figure.dpi": 150, "font.size": 10, "axes.titlesize": 11, "axes.titleweight": "bold",
            "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
            "grid.color": "#e2e8f0", "grid.linewidth": 0.8, "axes.axisbelow": True,
            "lines.linewidth": 1.8, "lines.markersize": 5.5, "legend.frameon": False,
            "axes.edgecolor": GREY, "xtick.color": "#2d3748", "ytick.color": "#2d3748",
        }
    )  # fmt: skip


def line(axes: Axes, points: list[Point], value: Callable, color: str, label: str, **more) -> None:
    given = {"marker": "o"} | more
    axes.plot([p.at for p in points], [value(p) for p in points], color=color, label=label, **given)


def reference(axes: Axes, points: list[Point], value: Callable, power: float, label: str) -> None:
    """A line of the slope that the theory allows, through the point where the work is largest."""
    at = np.array([p.at for p in points], dtype=float)
    end = max(points, key=value)
    axes.plot(at, value(end) * (at / end.at) ** power, color=GREY, ls="--", lw=1.2, label=label)


def saved(figure, path: Path, title: str, note: str) -> Path:
    """The path of the figure, written there with its title above and a note below."""
    figure.suptitle(title, fontsize=12.5, fontweight="bold", x=0.01, y=0.985, ha="left")
    figure.text(0.01, 0.012, note, fontsize=8, color=GREY)
    figure.tight_layout(rect=(0, 0.03, 1, 1.0))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)
    return path


def seconds_of(p: Point) -> float:
    return p.seconds


def rounds_of(p: Point) -> float:
    return p.result.n_rounds


def draw_pair(
    name: str, points: list[Point], title: str, note: str, x_label: str,
    powers: tuple[float, float], bound: str,
) -> Path:  # fmt: skip
    """Time and rounds against one thing, both axes logarithmic; a power of 0 draws no bound."""
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.0))
    for axes, value, color, what, power in (
        (panels[0], seconds_of, BLUE, "time of the rounds (s)", powers[0]),
        (panels[1], rounds_of, ORANGE, "rounds", powers[1]),
    ):
        slope = exponent([p.at for p in points], [value(p) for p in points])
        line(axes, points, value, color, f"measured, slope {slope:.2f}".replace("-", "−"))
        axes.set(xscale="log", yscale="log", xlabel=x_label, ylabel=what)
        at_least_a_decade(axes)
        if power:
            view = axes.get_ylim()
            reference(axes, points, value, power, bound)
            axes.set_ylim(view)  # the measured points fill it, wherever the bound goes
        plain_numbers(axes.xaxis)
        plain_numbers(axes.yaxis)
        axes.legend(loc="best")
    return saved(figure, OUT / f"{name}.png", title, note)


def draw_cuts(points: list[Point], note: str) -> Path:
    figure, axes = plt.subplots(figsize=(6.4, 4.0))
    line(axes, points, lambda p: p.result.n_cuts, BLUE, "in the working set at the end")
    line(axes, points, lambda p: p.result.n_support_cuts, ORANGE, "support cuts (α > 0)")
    top = max(p.result.n_cuts for p in points)
    axes.set(xscale="log", xlabel="training examples n", ylabel="cuts", ylim=(0, 1.35 * top))
    plain_numbers(axes.xaxis)
    axes.legend(loc="upper right", ncols=2)
    return saved(figure, OUT / "cuts_vs_n.png", "Cuts against n", note)


def draw_caches(sweeps: dict[float, dict[str, list[Point]]], note: str) -> Path:
    figure, axes = plt.subplots(2, 2, figsize=(9.5, 6.8), sharex="col")
    styles = {1.0: (BLUE, "o", "µ = 1, as the paper"), 0.3: (ORANGE, "s", "µ = 0.3, the default")}
    for stabilise, tasks in sweeps.items():
        color, marker, label = styles[stabilise]
        for column, (task, points) in enumerate(tasks.items()):
            # The axis is of places, not of sizes: 0 has no logarithm.
            place = list(range(len(points)))
            for row, value in enumerate((lambda p: p.passes, seconds_of)):
                values = [value(p) for p in points]
                axes[row, column].plot(place, values, color=color, marker=marker, label=label)
                axes[row, column].set(yscale="log")
            axes[0, column].set(title=task)
            axes[1, column].set(xlabel="cache size (planes an example)")
            axes[1, column].xaxis.set_major_locator(FixedLocator(place))
            names = [f"{p.at:.0f}" for p in points]
            axes[1, column].xaxis.set_major_formatter(FixedFormatter(names))
    axes[0, 0].set_ylabel("oracle calls an example")
    axes[1, 0].set_ylabel("time of the rounds (s)")
    for each in axes.ravel():
        at_least_a_decade(each)
        plain_numbers(each.yaxis)
    axes[0, 0].legend(loc="upper right")
    title = "Oracle calls against the cache's size"
    return saved(figure, OUT / "oracle_calls_vs_cache.png", title, note)


def at_least_a_decade(axes: Axes) -> None:
    """No small change looks like a large one on a logarithmic axis."""
    low, high = axes.get_ylim()
    if high < 12 * low:
        middle = np.sqrt(low * high)
        axes.set_ylim(middle / 3.5, middle * 3.5)


def plain_numbers(axis: Axis) -> None:
    """0.1, 10, 1,000 in the place of powers, where there is room; more where the range is small."""
    low, high = axis.get_view_interval()
    n_decades = np.log10(high / low)
    if n_decades > 4.5:
        return
    axis.set_major_locator(LogLocator(subs=(1.0,) if n_decades > 2.2 else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}" if v >= 1 else f"{v:g}"))
    axis.set_minor_formatter(NullFormatter())


# --- everything ------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and smaller problems")
    parser.add_argument("--repeats", type=int, default=3, help="of timed runs (default 3)")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a run (default 60)")
    parser.add_argument("--C", type=float, default=1e5, help="where it is fixed (default 1e5)")
    parser.add_argument("--eps", type=float, default=0.1, help="where it is fixed (default 0.1)")
    args = parser.parse_args()
    print(machine())
    style()
    sweeps = Sweeps(args)
    sweeps.covertype(2000, C=10.0, eps=1.0)  # compile
    files, fixed = [], f"C = {args.C:,.0f}, ε = {args.eps:g}"
    note = "Covertype, loss 100·[y ≠ ŷ], 1-slack, two threads; "

    points = sweeps.sizes()
    print(f"Against n ({fixed})")
    print_points("n", points, lambda n: f"{n:.0f}")
    at, seconds = [p.at for p in points], [p.seconds for p in points]
    slope, upper = exponent(at, seconds), exponent(at[2:], seconds[2:])
    print(
        f"exponent of time in n: {slope:.2f} over all n, {upper:.2f} from n = {at[2]:.0f} on "
        f"(theory: at most 1); of rounds: {exponent(at, [rounds_of(p) for p in points]):.2f}\n"
    )
    files.append(
        draw_pair("time_and_rounds_vs_n", points, "Against the number of examples", note + fixed,
                  "training examples n", (1, 0), "linear in n")
    )  # fmt: skip
    files.append(draw_cuts(points, note + fixed))

    points = sweeps.precisions()
    print(f"Against ε ({sweeps.rows} rows, C = {args.C:g})")
    print_points("ε", points, lambda eps: f"{eps:g}")
    print_exponents("ε", points, "they grow at most with 1/ε")
    files.append(
        draw_pair("time_and_rounds_vs_eps", points, "Against the precision ε",
                  f"{note}n = {sweeps.rows:,}, C = {args.C:,.0f}",
                  "ε (in units of the loss, which is 0 or 100)", (-1, -1), "1/ε, as in the bound")
    )  # fmt: skip

    points = sweeps.constants()
    print(f"Against C ({sweeps.rows} rows, ε = {args.eps:g})")
    print_points("C", points, lambda C: f"{C:.0e}")
    print_exponents("C", points, "at most 1")
    files.append(
        draw_pair("time_and_rounds_vs_C", points, "Against C",
                  f"{note}n = {sweeps.rows:,}, ε = {args.eps:g}", "C", (1, 1),
                  "linear in C, as in the bound")
    )  # fmt: skip

    by_point = {stabilise: sweeps.caches(stabilise) for stabilise in (1.0, 0.3)}
    for stabilise, tasks in by_point.items():
        for task, found in tasks.items():
            print(f"Against the cache's size: {task}, stabilise = {stabilise:g}")
            print_points("cache", found, lambda size: f"{size:.0f}")
            print()
    files.append(
        draw_caches(by_point, "The oracle is asked at (1 − µ)·w_best + µ·w_model. Matchings: a "
                    "task in plain Python, two processes; Covertype: compiled, two threads")
    )  # fmt: skip
    for file in files:
        print(f"written: {file.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
