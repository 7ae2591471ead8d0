"""The first fit of a machine: what compiling costs for each structure, beside earlier code.

Run: python benchmarks/cold_start.py [--old DIR] [--kernels 10]     (about 3 minutes)

Each figure is of a fresh process with an empty cache of compiled code: a first fit and a first
prediction on few examples. CPU seconds count all threads, and the ratio is the median over pairs
of processes that follow each other. DIR is a checkout of earlier code. --kernels lists the kernels
that take longest, the compiling of those that they call not included.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve()
STRUCTURES = ("classes", "tags", "trees")


def first_fit(structure: str) -> None:
    """Fit and predict in this process, and print what it took as a line of JSON."""
    from numba.core import event

    stack: list[float] = []
    own: dict[str, float] = {}
    total = [0.0]

    began: list[float] = []

    class Timing(event.Listener):
        def on_start(self, event: event.Event) -> None:
            began.append(time.process_time())
            stack.append(0.0)

        def on_end(self, event: event.Event) -> None:
            spent = time.process_time() - began.pop()
            within = stack.pop()
            if stack:
                stack[-1] += spent
            else:
                total[0] += spent
            function = event.data["dispatcher"].py_func
            name = f"{function.__module__.removeprefix('distsvm.')}.{function.__name__}"
            own[name] = own.get(name, 0.0) + spent - within

    event.register("numba:compile", Timing())
    started, cpu = time.perf_counter(), time.process_time()
    FITS[structure]()
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    kernels = sorted(own.items(), key=lambda pair: -pair[1])
    print(json.dumps({"wall": wall, "cpu": cpu, "compiling": total[0], "kernels": kernels}))


# Public names alone, as the code that is imported may be of another time.


def fit_classes() -> None:
    from distsvm import MulticlassSVC

    draw = np.random.default_rng(0)
    y = draw.integers(5, size=200)
    X = draw.standard_normal((200, 120)) + y[:, None]
    MulticlassSVC().fit(X, y).predict(X)


def fit_tags() -> None:
    from distsvm import SequenceTagger

    draw = np.random.default_rng(0)
    tags = [[f"T{code}" for code in draw.integers(5, size=n)] for n in draw.integers(1, 9, 100)]
    X = [[[f"own={tag}", f"place={place % 3}"] for place, tag in enumerate(y)] for y in tags]
    SequenceTagger().fit(X, tags).predict(X)


def fit_trees() -> None:
    from distsvm import ParseTask, train

    draw = np.random.default_rng(0)
    phrases = ["(NP (DT the) (NN cat))", "(NP (NN mice))", "(NP (NP (NN cats)) (PP (IN on) (NP (NN"
               " mats))))"]  # fmt: skip
    trees = [
        f"( (S {draw.choice(phrases)} (VP (VBZ sees) {draw.choice(phrases)})) )" for _ in range(50)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trees.mrg"
        path.write_text("\n".join(trees) + "\n")
        result = train(ParseTask(), path, executor="serial")
        result.model.predict(path, executor="serial")


FITS = {"classes": fit_classes, "tags": fit_tags, "trees": fit_trees}


def measured(structure: str, code: Path) -> dict:
    """What a first fit takes in a fresh process that imports this code."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(code)}
        command = [sys.executable, "-W", "ignore", str(HERE), "--child", structure]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=code)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--old", type=Path, help="a checkout of earlier code to compare with")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kernels", type=int, default=0, help="list so many kernels")
    parser.add_argument("--only", choices=STRUCTURES, help="one structure")
    parser.add_argument("--child", choices=STRUCTURES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        first_fit(args.child)
        return
    from support import machine, median_ratio, table

    print(machine())
    codes = {"new": HERE.parent.parent} | ({} if args.old is None else {"old": args.old.resolve()})
    rows, longest = [], []
    for structure in STRUCTURES if args.only is None else (args.only,):
        found: dict[str, list[dict]] = {side: [] for side in codes}
        for _ in range(args.repeats):
            for side, code in codes.items():
                found[side].append(measured(structure, code))
        for side, runs in found.items():
            cpu = [run["cpu"] for run in runs]
            ratio = median_ratio(cpu, [run["cpu"] for run in found["old"]]) if args.old else 1.0
            middle = {key: statistics.median(run[key] for run in runs) for key in ("wall", "cpu")}
            rows.append(
                (structure, side, f"{middle['wall']:.1f}", f"{middle['cpu']:.1f}",
                 f"{statistics.median(run['compiling'] for run in runs):.1f}",
                 len(runs[0]["kernels"]), f"{ratio:.2f}")
            )  # fmt: skip
        kernels = found["new"][0]["kernels"][: args.kernels]
        longest += [(structure, name, f"{seconds:.2f}") for name, seconds in kernels]
    head = ("structure", "code", "seconds", "CPU s", "compiling CPU s", "kernels", "CPU / old")
    table(head, rows)
    if longest:
        table(("structure", "kernel", "CPU s"), longest)


if __name__ == "__main__":
    main()
