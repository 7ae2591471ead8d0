"""Kernel functions: sampled cuts, low rank and exact cuts beside SVC, Nystroem and trees.

Run: python benchmarks/kernels.py scaling    (time against n; limit 120 s a cell; figures in out/)
     python benchmarks/kernels.py samples    (draws a cut × C on Adult)
     python benchmarks/kernels.py table      (error and time of all methods, 3 seeds)
     python benchmarks/kernels.py letters    (OCR letters: polynomial tokens beside linear ones)
     python benchmarks/kernels.py workers    (two workers against one)
     --quick makes a small run of each part, --limit SECONDS sets the limit of a cell.

Gaussian kernel functions with one γ and one C for each example on a data set, for all methods.
Every fit is a process of its own on one core; time is its CPU time of `fit`. Ours end at
eps = 0.001, SVC at its tolerance 0.001; `>` marks what its limit ended. A low-rank map is certified
for the low-rank problem, whose optimum is above the one of the kernel function.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterable

import kernel_letters
import kernel_workers
from kernel_methods import MOST, OURS, Cell, known_peers, run
from scaling import exponent, plt
from support import OUT, machine, table

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
QUICK_SIZES = (300, 1_000, 3_000)
SAMPLES = (100, 400, 1_000, 4_000, 10_000)
COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)
BASES = (100, 250, 500, 1_000, 2_000)


def seconds(cell: Cell) -> str:
    return f"{'' if cell.reached else '> '}{cell.cpu_s:.1f}"


def share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.2f}%"


def gap(cell: Cell) -> str:
    return "–" if cell.gap is None else f"{cell.gap:.2g}"


# --- time against n ----------------------------------------------------------------------------


def scaling(args: argparse.Namespace) -> None:
    for data in args.data:
        methods = [*OURS, *known_peers()]
        sizes = QUICK_SIZES if args.quick else [n for n in SIZES if n < MOST[data]] + [MOST[data]]
        found: dict[str, list[tuple[int, Cell]]] = {name: [] for name in methods}
        rows = []
        for n in sizes:
            for name in list(methods):
                cell = run(name, data, n, 0, args.limit)
                found[name].append((n, cell))
                rows.append(
                    (f"{n:,}", name, seconds(cell), share(cell.error), cell.rounds or "–",
                     gap(cell), cell.certificate or "–")
                )  # fmt: skip
                if not cell.reached:
                    methods.remove(name)  # a larger sample takes longer
        print(f"\n{data}")
        head = ("n", "method", "CPU s", "test error", "rounds", "gap/C", "certificate")
        table(head, rows)
        slopes = {}
        for name, cells in found.items():
            done = [(n, cell.cpu_s) for n, cell in cells if cell.reached]
            if len(done) > 2:
                slopes[name] = exponent(*zip(*done[-3:], strict=True))
        table(("method", "CPU time ~ n^"), [(n, f"{s:.2f}") for n, s in slopes.items()])
        print(f"figure: {drawn(data, found)}")


def drawn(data: str, found: dict[str, list[tuple[int, Cell]]]) -> str:
    """Draw CPU time against n, and return the path of the figure."""
    figure, axes = plt.subplots(figsize=(7.0, 4.6))
    for name, cells in found.items():
        done = [(n, cell.cpu_s) for n, cell in cells if cell.reached]
        if done:
            axes.plot(*zip(*done, strict=True), marker="o", label=name)
    axes.set(xscale="log", yscale="log", xlabel="n", ylabel="CPU seconds", title=data)
    axes.legend(fontsize=8)
    figure.tight_layout()
    OUT.mkdir(exist_ok=True)
    path = OUT / f"kernels-{data}.png"
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return str(path)


# --- draws and C on Adult ----------------------------------------------------------------------


def samples(args: argparse.Namespace) -> None:
    n = 1_000 if args.quick else 22_697
    rows = []
    for method in ("constant-time", "linear-time"):
        for r in SAMPLES[:2] if args.quick else SAMPLES:
            for C in COSTS[1:3] if args.quick else COSTS:
                own = {"method": method, "sample": r, "C_per_example": C}
                cell = run(method, "adult", n, 0, args.limit, own)
                rows.append(
                    (method, f"{r:,}", f"{C:g}", cell.rounds, seconds(cell),
                     share(cell.train_error), share(cell.error), gap(cell), cell.certificate)
                )  # fmt: skip
    print(f"\nAdult, {n:,} rows; C = this times n")
    head = ("method", "r", "C/n", "rounds", "CPU s", "train error", "test error", "gap/C",
            "certificate")  # fmt: skip
    table(head, rows)


# --- the paper's Table 1 -----------------------------------------------------------------------


def spread(values: Iterable[float | None]) -> str:
    known = [100 * value for value in values if value is not None]
    if not known:
        return "–"
    deviation = statistics.stdev(known) if len(known) > 1 else 0.0
    return f"{statistics.mean(known):.2f} ± {deviation:.2f}"


def errors(args: argparse.Namespace) -> None:
    for data in args.data:
        n = 1_000 if args.quick else min(args.n, MOST[data])
        methods = {"SVC": None, **{k: v for k, v in OURS.items() if "low-rank" not in k}}
        for k in (50, 100) if args.quick else BASES:
            for choice in ("random", "k-means", "greedy"):
                methods[f"low-rank {k} {choice}"] = {
                    "method": "low-rank", "basis": k, "basis_choice": choice,
                }  # fmt: skip
        rows = []
        for name, settings in methods.items():
            cells = [run(name, data, n, seed, args.limit, settings) for seed in range(args.seeds)]
            reached = "" if all(cell.reached for cell in cells) else "> "
            rows.append(
                (name, spread(cell.error for cell in cells),
                 f"{reached}{statistics.mean(cell.cpu_s for cell in cells):.1f}",
                 " ".join(gap(cell) for cell in cells))
            )  # fmt: skip
        print(f"\n{data}, {n:,} rows, {args.seeds} seeds")
        table(("method", "test error %", "CPU s", "gap/C of each"), rows)


PARTS = {
    "scaling": scaling, "samples": samples, "table": errors,
    "letters": kernel_letters.compare, "workers": kernel_workers.compare,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--quick", action="store_true", help="small samples")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds a cell")
    parser.add_argument("--data", nargs="+", choices=MOST, default=list(MOST))
    parser.add_argument("--n", type=int, default=20_000, help="rows of the table")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folds", type=int, default=3, help="folds of the letters")
    args = parser.parse_args()
    print(machine())
    PARTS[args.part](args)


if __name__ == "__main__":
    main()
