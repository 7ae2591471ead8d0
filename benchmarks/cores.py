"""What a second core brings: every structure on one thread and on two, and on Ray.

Run: python benchmarks/cores.py              (an hour or more; --quick: about 10 minutes)
     python benchmarks/cores.py --old DIR    (a checkout of earlier code, in the same runs)

UD English EWT (gap/C 0.1), Penn trees with F1 loss scaled to 100 (gap/C 1), and classes (gap 0.1%
of the primal value). Each cell is a process of its own that compiles on a little of the data first,
and then waits for its turn; cells take turns, and figures are medians. Seconds are those of the
rounds, without reading the data and without starting Ray.

ceiling: two processes with one thread each, at once, on a core each; what they do in the time of
one that is alone. "of ceiling" is how much of that two threads reach on one problem.
best, 1 thread: the fastest on one thread, of the default and of SETTINGS. --old adds the time
before over the time now: of the default on two threads, and of one block on one.
A cell may take --limit seconds; "> s" is a run that was stopped there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

TEMPLATES = "word[-1..+1]; prefix(1..6)[-1..+1]; suffix(1..6)[-1..+1]; shape"
TREES = {"trees, 15 words": 15, "trees, 40 words": 40}
TAGS = {"tags, 2,000": 2_000, "tags, 12,544": 12_544}
CLASSES = {
    "MNIST": 0.1,
    "Newsgroups": 1.0,
    "Covertype": 0.01,
    "CLINC150": 1.0,
    "Adult (binary)": 0.1,
}
"""The C of each, as LIBLINEAR has it."""
QUICK = {"tags, 2,000": 300, "trees, 15 words": 300, "MNIST": 4_000, "Newsgroups": 2_000,
         "Covertype": 20_000, "CLINC150": 2_000, "Adult (binary)": 4_000}  # fmt: skip
"""With --quick: the problems, and how many examples of each."""
FEW = 60
ACTORS_S = 15.0
"""What actors of Ray may take to start, beside the limit."""

ONE, TWO = {"executor": "serial"}, {"executor": "threads", "n_workers": 2}
RAY_ONE = {
    "executor": "ray", "n_workers": 1, "executor_options": {"resources_per_worker": {"CPU": 2}},
}  # fmt: skip
RAY_TWO = {
    "executor": "ray", "n_workers": 2, "executor_options": {"resources_per_worker": {"CPU": 1}},
}  # fmt: skip
PLACES: dict[str, tuple[int, dict[str, Any]]] = {
    "1 thread": (1, ONE), "2 threads": (2, TWO), "Ray, 1 actor of 2": (2, RAY_ONE),
    "Ray, 2 actors of 1": (2, RAY_TWO),
}  # fmt: skip
"""How many cores a cell may use, and where it runs; all else is as distsvm chooses."""
SETTINGS: dict[str, dict[str, Any]] = {
    "1 block": {"solver": "multi-plane", "n_blocks": 1},
    "one-slack": {"solver": "one-slack"},
    "sequential-dual": {"solver": "sequential-dual"},
}
BEST_OF = {"tags": ("1 block",), "trees": ("1 block", "one-slack"), "classes": tuple(SETTINGS)}
"""The settings to try; 1-slack is far behind on tags."""


# --- in a process of its own, with the code of any checkout: by public names alone ---------------


def given(kind: str, path: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The task, the data, and how files are read."""
    import distsvm

    if kind == "tags":
        return distsvm.SequenceTask(), (path,), {"data_options": {"templates": TEMPLATES}}
    if kind == "trees":
        return distsvm.ParseTask("f1", 100.0), (path,), {}
    from scipy import sparse

    is_sparse = os.path.exists(f"{path}.npz")
    X = sparse.load_npz(f"{path}.npz") if is_sparse else np.load(f"{path}.X.npy")
    return distsvm.MulticlassTask(), (X, np.load(f"{path}.npy")), {}


def cell(
    kind: str, few: tuple[str, Any], whole: tuple[str, Any], n_cores: int, limit: float,
    options: dict[str, Any],
) -> None:  # fmt: skip
    """Compile, say that it is ready, wait for a line, train, and print what that took."""
    if hasattr(os, "sched_setaffinity") and "core" in options:
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[options.pop("core")]})
    elif hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-n_cores:])
    from distsvm import train

    local = {key: value for key, value in options.items() if not key.startswith("n_")}
    if local["executor"] == "ray":
        local |= {"executor": "serial", "executor_options": {}}
    path, stop = few
    task, data, reading = given(kind, path)
    train(task, *data, max_rounds=12, **reading, **stop, **local)
    path, stop = whole
    task, data, reading = given(kind, path)
    if options["executor"] == "ray":
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        import ray

        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        limit += ACTORS_S
    print("ready", flush=True)
    sys.stdin.readline()
    result = train(task, *data, max_seconds=limit, **reading, **stop, **options)
    last = result.history[-1]
    print(json.dumps({
        "passes": last.n_oracle_calls / result.n_examples,
        "visits": last.n_cache_hits / result.n_examples,
        "seconds": last.elapsed_s - result.seconds["load"],
        "load": result.seconds["load"],
        "reached": result.stop_reason in ("eps", "rel_gap"),
    }), flush=True)  # fmt: skip


# --- asked by the one that prints --------------------------------------------------------------


def kind_of(name: str) -> str:
    return "tags" if name in TAGS else "trees" if name in TREES else "classes"


def written(name: str, n: int | None, folder: str) -> tuple[str, dict[str, Any]]:
    """Write n examples of a problem to the folder; where they are, and when to stop."""
    from defaults import loaded
    from scipy import sparse
    from support import penn, ud_ewt

    path = os.path.join(folder, f"{n}")
    if name in TAGS:
        n = n or TAGS[name]
        return ud_ewt(folder, "train", n, f"{n}-of-"), {"C": 1_000.0 * n / 12_544, "eps": 0.1}
    if name in TREES:
        trees = penn(folder, TREES[name])[0][:n]
        Path(f"{path}.mrg").write_text("\n".join(f"( {tree} )" for tree in trees) + "\n")
        return f"{path}.mrg", {"C": 50.0 * len(trees), "eps": 1.0}
    X, y = loaded(name, n)
    if sparse.issparse(X):
        sparse.save_npz(f"{path}.npz", X)
    else:
        np.save(f"{path}.X.npy", X)
    np.save(f"{path}.npy", y)
    return path, {"C_per_example": CLASSES[name], "rel_gap": 1e-3}


@dataclass(frozen=True)
class Took:
    """What a run took, and whether it reached its gap."""

    passes: float
    visits: float
    seconds: float
    load: float
    reached: bool

    def text(self, name: str, digits: int = 1) -> str:
        value = f"{getattr(self, name):.{digits}f}"
        return value if self.reached else f"> {value}"


class Cell:
    """A process that runs one problem in one place, with the code of one checkout."""

    def __init__(self, code: Path | None, *given: Any) -> None:
        path = os.pathsep.join(
            filter(None, [str(code) if code else "", os.environ.get("PYTHONPATH")])
        )
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--cell", json.dumps(given)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONPATH": path},
        )  # fmt: skip

    def wait(self) -> Cell:
        """Once it is ready."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line == "ready\n":
                return self
        raise SystemExit(f"a cell failed:\n{self._process.stderr.read()}")  # type: ignore[union-attr]

    def go(self) -> Cell:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return self

    def took(self) -> Took:
        out, err = self._process.communicate()
        if self._process.returncode:
            raise SystemExit(f"a cell failed:\n{err}")
        return Took(**json.loads(out.splitlines()[-1]))


def cells(
    name: str, problem: tuple[Any, ...], limit: float, code: Path | None
) -> Iterator[tuple[str, list[Took]]]:
    """One turn of all cells of a problem: their names, and what each process of them took."""
    for place, (n_cores, options) in PLACES.items():
        one = Cell(code, *problem, n_cores, limit, options)
        yield place, [one.wait().go().took()]
    pair = [Cell(code, *problem, 1, limit, ONE | {"core": core}) for core in range(2)]
    for one in pair:
        one.wait()
    yield "two copies", [one.took() for one in [one.go() for one in pair]]
    for setting in BEST_OF[kind_of(name)]:
        if code is None or setting != "sequential-dual":  # which earlier code does not have
            one = Cell(code, *problem, 1, limit, ONE | SETTINGS[setting])
            yield f"1 thread, {setting}", [one.wait().go().took()]


def middle(runs: list[Took]) -> Took:
    """The run of the median time."""
    return sorted(runs, key=lambda took: took.seconds)[len(runs) // 2]


def lines_of(name: str, whose: str, found: dict[str, list[list[Took]]]) -> Iterator[list[str]]:
    """The rows of one problem and one checkout."""
    mid = {place: middle([run for turn in turns for run in turn]) for place, turns in found.items()}
    pair = median(max(run.seconds for run in turn) for turn in found["two copies"])
    one = mid["1 thread"].seconds
    best = min((key for key in mid if key.startswith("1 thread")), key=lambda k: mid[k].seconds)
    for place, took in mid.items():
        if place == "two copies":
            continue
        speed = of_ceiling = ""
        if took.reached and mid["1 thread"].reached and not place.startswith("1 thread"):
            speed, of_ceiling = f"{one / took.seconds:.2f}", f"{pair / (2 * took.seconds):.2f}"
        mark = " (best, 1 thread)" if place == best else ""
        yield [
            name, whose, place + mark, took.text("passes"), took.text("visits", 0),
            took.text("seconds", 2), f"{took.load:.1f}", speed, of_ceiling,
        ]  # fmt: skip
    yield [name, whose, "ceiling", "", "", "", "", f"{2 * one / pair:.2f}", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data, one turn")
    parser.add_argument("--only", default="", help="only problems whose name contains this")
    parser.add_argument("--old", type=Path, metavar="DIR", help="a checkout to compare with")
    parser.add_argument("--turns", type=int, help="runs of each cell (3; --quick: 1)")
    parser.add_argument("--limit", type=float, help="seconds a cell may take (240; --quick: 20)")
    parser.add_argument("--no-ray", action="store_true", help="without the cells of Ray")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell:
        cell(*json.loads(args.cell))
        return
    limit, turns = (
        args.limit or (20.0 if args.quick else 240.0),
        args.turns or (1 if args.quick else 3),
    )
    if args.no_ray:
        for place in [place for place in PLACES if place.startswith("Ray")]:
            del PLACES[place]
    codes: dict[str, Path | None] = {"now": None}
    if args.old:
        codes = {"before": args.old.resolve(), "now": None}
    from support import machine, table

    print(machine(), flush=True)
    head = ["data", "code", "", "passes", "visits / n", "s", "load s", "speed-up", "of ceiling"]
    for name in [*TAGS, *TREES, *CLASSES]:
        if args.only not in name or (args.quick and name not in QUICK):
            continue
        found: dict[str, dict[str, list[list[Took]]]] = {whose: {} for whose in codes}
        with tempfile.TemporaryDirectory() as folder:
            few = written(name, FEW, folder)
            whole = written(name, QUICK[name] if args.quick else None, folder)
            problem = (kind_of(name), few, whole)
            for _ in range(turns):
                turn = {whose: cells(name, problem, limit, code) for whose, code in codes.items()}
                for whose, (place, took) in in_turns(turn):
                    found[whose].setdefault(place, []).append(took)
        print()
        table(head, [line for whose in codes for line in lines_of(name, whose, found[whose])])
        for line in ratios_of(found) if args.old else ():
            print(line)
        sys.stdout.flush()


def in_turns(turn: dict[str, Iterator[Any]]) -> Iterator[tuple[str, Any]]:
    """Yield what the iterators yield, one of each in turn."""
    for together in zip_longest(*turn.values()):
        yield from ((whose, one) for whose, one in zip(turn, together, strict=True) if one)


def ratios_of(found: dict[str, dict[str, list[list[Took]]]]) -> Iterator[str]:
    """The times before over the times now."""
    for place in ("2 threads", "1 thread, 1 block"):
        before, now = (middle([run for turn in found[whose][place] for run in turn])
                       for whose in ("before", "now"))  # fmt: skip
        ratio = f"{before.seconds / now.seconds:.2f}"
        if not before.reached or not now.reached:
            ratio = "unknown" if not now.reached else f"> {ratio}"
        yield f"{place}: time before / time now {ratio}"


if __name__ == "__main__":
    main()
