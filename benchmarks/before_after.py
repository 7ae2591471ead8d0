"""Two checkouts of distsvm side by side: one fresh oracle round, and training to a gap.

Run: python benchmarks/before_after.py --old DIR         (about 12 minutes; --quick: about 4)

DIR is a checkout of an earlier version, such as `git worktree add ../old 236ed94`, the last commit
before structures became folders. Each version runs in a process of its own, on one thread and one
block. The processes take turns, in the order old, new, new, old. Loading and compiling are done
before; times are medians. Counts of rounds say whether both did the same work.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

HOME = Path(__file__).resolve().parents[1]


def cases(quick: bool) -> dict[str, Callable[[], int]]:
    """Return functions by name that do the work of one measurement and return its rounds.

    They use only what all versions have, and come from the version's own folder of benchmarks.
    """
    import numpy as np
    from oracle_round import contenders
    from support import covertype, mnist, newsgroups, ud_ewt

    from distsvm import MulticlassTask, SequenceTask, train

    X, y, *_ = covertype(20_000 if quick else 100_000)
    texts, groups = newsgroups()
    digits, labels, *_ = mnist()
    n, m = (2_000, 1_000) if quick else (10_000, 4_000)
    folder = tempfile.mkdtemp(prefix="distsvm-")
    atexit.register(shutil.rmtree, folder)
    sentences = ud_ewt(folder, "train", 200 if quick else 2_000)
    given = {"templates": "pos", "tag": "xpos"}

    def round_of(X, y):
        ours, _, dim = contenders(X, y, 1)
        w = np.random.default_rng(0).standard_normal(dim)
        return lambda: ours(w) and 1

    def training(task, *data, **how):
        settings = {"executor": "serial", "n_shards": 1, "n_blocks": 1} | how
        return lambda: train(task, *data, **settings).n_rounds

    table = (MulticlassTask(), digits[:n], labels[:n])
    text = (MulticlassTask(), texts[:m], groups[:m])
    tags = (SequenceTask(), sentences)
    return {
        "oracle round, Covertype": round_of(X, y),
        "oracle round, Newsgroups": round_of(texts, groups),
        "MNIST, multi-plane": training(*table, C=0.01 * n, rel_gap=1e-2, solver="multi-plane"),
        "MNIST, one-slack": training(*table, C=0.01 * n, rel_gap=1e-2, solver="one-slack"),
        "Newsgroups, multi-plane": training(*text, C=1.0 * m, rel_gap=1e-2, solver="multi-plane"),
        "tags, multi-plane": training(
            *tags, data_options=given, C=1000, eps=0.1, solver="multi-plane"
        ),
        "tags, one-slack": training(
            *tags, data_options=given, C=1000, max_rounds=20, solver="one-slack"
        ),
    }


def serve(quick: bool) -> None:
    """Print the names of the cases; then measure each that a line of standard input names."""
    found = cases(quick)
    print(json.dumps(list(found)), flush=True)
    for line in sys.stdin:
        started, busy = time.perf_counter(), time.process_time()
        n_rounds = found[line.strip()]()
        wall_s, cpu_s = time.perf_counter() - started, time.process_time() - busy
        print(json.dumps([wall_s, cpu_s, n_rounds]), flush=True)


class Version:
    """A process that measures one checkout."""

    def __init__(self, home: Path, quick: bool) -> None:
        path = os.pathsep.join([str(home), str(home / "benchmarks")])
        words = [sys.executable, __file__, "--serve", *(["--quick"] if quick else [])]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=home,
            env=os.environ | {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
        )  # fmt: skip
        self.names: list[str] = self._answer()

    def measure(self, name: str) -> list[float]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> list:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("["):
                return json.loads(line)
        sys.exit("a version ended before its answer; its error is above")

    def end(self) -> None:
        self._process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--old", type=Path, help="a checkout of an earlier version")
    parser.add_argument("--new", type=Path, default=HOME, help="default: this one")
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each version")
    parser.add_argument("--quick", action="store_true", help="a tenth of the examples")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.quick)
        return
    if args.old is None:
        parser.error("--old is missing")
    from support import machine, table

    print(machine())
    versions = {"old": Version(args.old.resolve(), args.quick),
                "new": Version(args.new.resolve(), args.quick)}  # fmt: skip
    rows = []
    for name in versions["old"].names:
        if args.only not in name:
            continue
        found: dict[str, list[list[float]]] = {"old": [], "new": []}
        for version in versions.values():
            version.measure(name)  # compiles
        for turn in range(args.repeats):
            for which in ("old", "new") if turn % 2 == 0 else ("new", "old"):
                found[which].append(versions[which].measure(name))
        old, new = (
            [median(column) for column in zip(*found[which], strict=True)] for which in found
        )
        rows.append((
            name, f"{old[0]:.3g}", f"{new[0]:.3g}", f"{new[0] / old[0]:.2f}",
            f"{new[1] / old[1]:.2f}", f"{old[2]:.0f}", f"{new[2]:.0f}",
        ))  # fmt: skip
        print("  ".join(rows[-1]), flush=True)
    for version in versions.values():
        version.end()
    print("\nSeconds, medians; ratio = new / old")
    table(("", "old s", "new s", "ratio", "CPU ratio", "old rounds", "new rounds"), rows)


if __name__ == "__main__":
    main()
