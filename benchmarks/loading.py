"""Loading named features of tags: tokens a second from lists and from files, beside earlier code.

Run: python benchmarks/loading.py [--old DIR]             (about 2 minutes; --quick: less data)

Loading is all before the first round: reading or packing, the dictionary of features, and the
shards with its columns. Two processes that hold the data of UD English EWT load it in turns, one
with the code of this folder, one with that of DIR, a checkout of earlier code; the ratio is the
median over pairs. On one thread, and from files on two as well.
"""

from __future__ import annotations

import argparse
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from distsvm import SequenceTask, open_data, train

HERE = Path(__file__).resolve()
TEMPLATES = "word[-1..+1]; prefix(1..6)[-1..+1]; suffix(1..6)[-1..+1]; shape"
WAYS = {
    "lists of feature strings": ("lists", "serial", None),
    "a CoNLL-U file": ("file", "serial", None),
    "a CoNLL-U file, two threads": ("file", "threads", 2),
}


def child(path: str) -> None:
    """Load in the way that each line of input names, and print the seconds.

    It uses public names alone, as the code that it imports may be of another time.
    """
    X, tags = pickle.loads(Path(f"{path}.lists").read_bytes())  # written by main
    print(sum(map(len, X)), flush=True)
    for line in sys.stdin:
        kind, executor, n_workers = WAYS[line.strip()]
        data = open_data(path, templates=TEMPLATES) if kind == "file" else open_data(X, tags)
        result = train(
            SequenceTask(), data, C=1.0, eps=1e9, max_rounds=1, solver="one-slack",
            cache_size=0, executor=executor, n_workers=n_workers,
        )  # fmt: skip
        print(result.seconds["load"], flush=True)


class Side:
    """A process that imports the code of one folder and loads when it is asked to."""

    def __init__(self, code: Path, path: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(HERE), "--child", path],
            env=os.environ | {"PYTHONPATH": str(code), "OPENBLAS_NUM_THREADS": "1"},
            cwd=code, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.n_tokens = int(self._answer())

    def seconds(self, way: str) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(way + "\n")
        self._process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def close(self) -> None:
        self._process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--old", type=Path, help="a checkout of earlier code to compare with")
    parser.add_argument("--quick", action="store_true", help="2,000 sentences")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--child", metavar="PATH", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child)
        return
    from support import feature_lists, machine, median_ratio, table, ud_ewt

    print(machine())
    codes = {"new": HERE.parent.parent} | ({} if args.old is None else {"old": args.old.resolve()})
    with tempfile.TemporaryDirectory() as folder:
        path = ud_ewt(folder, "train", 2_000 if args.quick else None)
        (spec,) = open_data(path, templates=TEMPLATES).specs(1)
        Path(f"{path}.lists").write_bytes(pickle.dumps(feature_lists(spec.load())))
        sides = {name: Side(code, path) for name, code in codes.items()}
        rows = []
        for way in WAYS:
            times: dict[str, list[float]] = {name: [] for name in sides}
            for repeat in range(args.repeats + 1):
                for name, side in sides.items():
                    seconds = side.seconds(way)
                    if repeat:  # the first one compiles
                        times[name].append(seconds)
            for name, side in sides.items():
                ratio = median_ratio(times["old"], times[name]) if args.old else 1.0
                middle = statistics.median(times[name])
                rows.append(
                    (way, name, f"{middle:.2f}", f"{side.n_tokens / middle:,.0f}", f"{ratio:.2f}")
                )
        for side in sides.values():
            side.close()
    print(f"{next(iter(sides.values())).n_tokens:,} tokens")
    table(("from", "code", "seconds", "tokens / s", "old time / time"), rows)


if __name__ == "__main__":
    main()
