"""Fuzzes one target with atheris: python atheris_targets.py TARGET SECONDS FOLDER.

Bytes are the file itself, or the seed of a change of a folder; all but errors of distsvm is found.
"""

from __future__ import annotations

import random
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import atheris
import numpy as np

with atheris.instrument_imports(include=["distsvm"]):
    import distsvm
    from distsvm.cli import exits, main
    from distsvm.data import open_data
    from distsvm.errors import DAMAGE, DistSVMError

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
from folders import CASES, copied, spoil, spoiled  # noqa: E402
from test_fuzz_config import SEED  # noqa: E402
from test_fuzz_readers import SEEDS as TEXTS  # noqa: E402
from toy_tasks import ToyChain  # noqa: E402

SEEDS = TEXTS | {"toml": SEED, "jsonl": b'{"x": [1, 2], "y": 1}\n{"x": [3, 4], "y": 2}\n'}
READERS = ("svmlight", "conll", "conllu", "svmhmm", "treebank", "jsonl", "parquet")


class Guided(random.Random):
    """Random numbers that the fuzzer's bytes decide, as long as there are some."""

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self._left = data

    def getrandbits(self, k: int) -> int:
        n = (k + 7) // 8
        taken, self._left = self._left[:n], self._left[n:]
        return int.from_bytes(taken, "little") % (1 << k) if taken else super().getrandbits(k)

    def random(self) -> float:
        return self.getrandbits(32) / 2**32


def target(name: str, home: Path):
    """A function of bytes that raises what should not be."""
    if name == "toml":
        return lambda data: _configuration(home / "config.toml", data)
    if name in READERS:
        return lambda data: _read(home / f"data.{name}", name, data)
    kind, _, case_name = name.partition(":")
    case, run = CASES[case_name](), home / case_name
    if kind == "packed":
        return _packed(case)
    case.train(run)
    task = ToyChain if isinstance(case.task, ToyChain) else None

    def model(data: bytes) -> None:
        folder = copied(run / "model", home / "model")
        spoil(folder, Guided(data))
        distsvm.load_model(folder, task).predict(case.inputs, executor="serial")

    def resumed(data: bytes) -> None:
        folder = copied(run, home / "spoilt")
        spoil(folder, Guided(data))
        case.train(folder, resume=True, max_rounds=6, cache_dir=str(home / "cache"))

    return model if kind == "model" else resumed


def _packed(case):
    """The examples of a packed cache, any of their arrays changed, and searched."""
    shard = case.task.shard(case.inputs, case.outputs)
    task = case.task.prepare(case.task.scan(shard))
    oracle = task.oracle(shard, "margin")
    arrays, w = oracle.arrays(), np.zeros(task.dim)

    def attempt(data: bytes) -> None:
        rng = Guided(data)
        name = rng.choice(sorted(arrays))
        with suppress(*DAMAGE):  # which whoever opens the cache turns into a DataError
            opened = oracle.over(arrays | {name: spoiled(arrays[name], rng)}, range(oracle.n))
            opened.separate(opened.view(w), np.arange(opened.n))

    return attempt


def _read(path: Path, kind: str, data: bytes) -> None:
    path.write_bytes(data)
    options = {"label": "y"} if kind == "parquet" else {}
    for spec in open_data(str(path), format=kind, **options).specs(1):
        spec.load()


def _configuration(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    if main(["train", str(path)]) == exits.UNEXPECTED:
        raise AssertionError("an error that nobody expected")


def fuzz(name: str, seconds: float, home: Path) -> None:
    attempt = target(name, home)

    def one(data: bytes) -> None:
        with suppress(DistSVMError):
            attempt(data)

    warnings.simplefilter("ignore")
    corpus = home / "corpus"
    corpus.mkdir()
    if name in SEEDS:
        (corpus / "seed").write_bytes(SEEDS[name])
    limits = [f"-max_total_time={seconds:g}", "-rss_limit_mb=4096", "-max_len=4096", "-verbosity=0"]
    atheris.Setup(
        [sys.argv[0], *limits, f"-artifact_prefix={home}/", str(corpus)], one,
        enable_python_coverage=True,
    )  # fmt: skip
    atheris.Fuzz()


if __name__ == "__main__":
    fuzz(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]))
