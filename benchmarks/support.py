"""Helpers of the benchmarks: data, fair timing, LIBLINEAR, processes of their own, and tables."""

from __future__ import annotations

import gzip
import importlib
import json
import multiprocessing
import os
import statistics
import sys
import time
import warnings
import zipfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from distsvm.executors.base import usable_cores
from distsvm.structures.trees.treebank import TreebankData

if TYPE_CHECKING:
    from distsvm import TrainResult

HERE = Path(__file__).parent
OUT = HERE / "out"
MB = 2.0**20


def data_folder() -> Path:
    """Return the folder of the real data sets; without it the benchmark ends with a reason."""
    folder = Path(os.environ.get("DISTSVM_DATA", HERE.parent.parent / "shared" / "data"))
    if not folder.is_dir():
        sys.exit(
            f"{folder} does not exist: this benchmark needs the data sets that are not part of "
            "distsvm; set DISTSVM_DATA to their folder"
        )
    return folder


def covertype(n_train: int = 522_911, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Return (X, y, X_test, y_test) of Covertype: a seeded split, numeric columns standardised.

    54 columns and a constant one, float64: 10 numbers with mean 0 and variance 1, 4 + 40 binary.
    """
    with np.load(data_folder() / "covtype.npz") as file:
        numbers = file["num"].astype(np.float64)
        area, soil, y = file["wilderness"], file["soil"], file["y"].astype(np.int64)
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    X = np.hstack([numbers, np.eye(4)[area], np.eye(40)[soil], np.ones((y.size, 1))])
    order = np.random.default_rng(seed).permutation(y.size)
    train, test = order[:n_train], order[522_911:]
    return X[train], y[train], X[test], y[test]


def mnist() -> tuple[np.ndarray, ...]:
    """Return (X, y, X_test, y_test) of MNIST, float64 in [0, 1]."""
    with np.load(data_folder() / "mnist.npz") as file:
        names = list(file)
        arrays = [file[name] for name in names]
    by_shape = {array.shape: array for array in arrays}
    parts = []
    for n in (60_000, 10_000):
        X = next(a for s, a in by_shape.items() if s[0] == n and len(s) > 1)
        y = next(a for s, a in by_shape.items() if s == (n,))
        parts += [X.reshape(n, -1) / 255.0, y.astype(np.int64)]
    return tuple(parts)


def newsgroups() -> tuple[Any, np.ndarray]:
    """Return tf-idf of the training posts without their headers, and their classes."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, labels = [], []
    with gzip.open(data_folder() / "newsgroups20" / "train.jsonl.gz", "rt") as file:
        for line in file:
            record = json.loads(line)
            text = record.get("text", record.get("data", ""))
            texts.append(text.partition("\n\n")[2])
            labels.append(record.get("label", record.get("target")))
    return TfidfVectorizer(sublinear_tf=True).fit_transform(texts), np.unique(
        labels, return_inverse=True
    )[1]


def peer(module: str) -> Any:
    """Return the package to compare with; without it the benchmark ends with a reason."""
    try:
        return importlib.import_module(module)
    except ImportError:
        sys.exit(f'{module} is not installed: run pip install -e ".[bench]"')


def ud_ewt(folder: str, part: str, n_sentences: int | None = None, prefix: str = "") -> str:
    """Return the path of one part of UD English EWT, unpacked into the folder."""
    packed = data_folder() / "ud_ewt" / f"en_ewt-ud-{part}.conllu.gz"
    text = gzip.decompress(packed.read_bytes()).decode()
    sentences = text.split("\n\n")[:n_sentences]
    path = Path(folder) / f"{prefix}{part}.conllu"
    path.write_text("\n\n".join(sentences).rstrip("\n") + "\n\n", encoding="utf-8")
    return str(path)


def feature_lists(shard: Any) -> tuple[list[list[list[str]]], list[list[str]]]:
    """Return a shard of tagged sequences as lists of feature names, and the tags."""
    names = shard.x.names.tolist()
    _, columns, entries = shard.x.tokens.arrays()
    columns, entries = columns.tolist(), entries.tolist()
    tokens = [[names[j] for j in columns[a:b]] for a, b in pairwise(entries)]
    starts = shard.x.starts.tolist()
    tags = shard.y.names[shard.y.codes.values].tolist()
    return [tokens[a:b] for a, b in pairwise(starts)], [tags[a:b] for a, b in pairwise(starts)]


def penn(folder: str, max_length: int, seed: int = 0) -> tuple[Any, Any]:
    """Return (training trees, test trees) of the Penn Treebank sample: a seeded split, 80 to 20."""
    with zipfile.ZipFile(data_folder() / "treebank" / "treebank.zip") as archive:
        names = [name for name in archive.namelist() if "/combined/" in name]
        archive.extractall(folder, [name for name in names if name.endswith(".mrg")])
    data = TreebankData(Path(folder) / "treebank" / "combined", max_length=max_length)
    trees = [tree for spec in data.specs(1) for tree in spec.load().y]
    order = np.random.default_rng(seed).permutation(len(trees))
    cut = round(0.8 * len(trees))
    return [trees[i] for i in order[:cut]], [trees[i] for i in order[cut:]]


def objective(W: np.ndarray, X: Any, y: np.ndarray, C: float, loss: float = 1.0) -> float:
    """Return ½‖w‖² + C·Σ H_i for weights of shape (k, d) and loss·[y ≠ ŷ], by NumPy alone."""
    code, each = np.searchsorted(np.unique(y), y), np.arange(y.size)
    scores = np.asarray(X @ W.T)
    truth = scores[each, code]
    scores += loss
    scores[each, code] = truth
    return float(0.5 * np.sum(W * W) + C * np.sum(scores.max(axis=1) - truth))


def machine() -> str:
    """Return the number of cores and the load, which a reader of the figures needs."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return f"Machine: {usable_cores()} cores, load average {load} at the start"


def interleaved(functions: dict[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Return the seconds of each function; turns expose all of them to the same noise."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for function in functions.values():
        function()  # compile, warm caches
    for _ in range(repeats):
        for name, function in functions.items():
            started = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - started)
    return times


def median_ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Return the median over pairs of above/below."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def spawned(
    target: Callable[..., None], *args: Any, daemon: bool = False
) -> tuple[Connection, SpawnProcess]:
    """Return a pipe to a fresh process that runs target(pipe, *args), and the process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(theirs, *args), daemon=daemon)
    process.start()
    theirs.close()
    return ours, process


def answers(target: Callable[..., None], n: int, limit: float, *args: Any) -> list[Any]:
    """Return what a fresh process sends: n answers, or those before the first that is too late.

    The process sends None when the time of an answer begins.
    """
    pipe, process = spawned(target, *args, daemon=True)
    found: list[Any] = []
    try:
        while len(found) < n:
            pipe.recv()
            if not pipe.poll(limit):
                break
            found.append(pipe.recv())
    finally:
        process.kill()
        process.join()
    return found


def use_cores(n: int) -> None:
    """Limit this process to n cores, where the system supports that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-n:])


def liblinear(X: Any, y: np.ndarray, C: float, tol: float, **more: Any) -> tuple[Any, float, float]:
    """Return LIBLINEAR's model with hinge loss and no intercept, seconds, and CPU seconds."""
    from sklearn.svm import LinearSVC

    is_binary = np.unique(y).size == 2
    kind = {"loss": "hinge"} if is_binary else {"multi_class": "crammer_singer"}
    model = LinearSVC(**kind, fit_intercept=False, C=C, tol=tol, random_state=0, **more)
    started, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of iterations, which this solver does not limit
        model.fit(X, y)
    return model, time.perf_counter() - started, time.process_time() - cpu


def rounds_s(result: TrainResult) -> float:
    """Return the seconds of a run without loading."""
    return result.seconds["total"] - result.seconds["load"]


def n_passes(result: TrainResult) -> float:
    """Return the oracle calls for each example."""
    return result.n_oracle_calls / result.n_examples


def limited(amount: str, reached: bool) -> str:
    """Return an amount, marked as a limit where the limit stopped the run."""
    return amount if reached else f"> limit {amount}"


def verdict(kept: bool, known: bool = True) -> str:
    """Return whether a wanted figure was reached, where that is known."""
    return "yes" if kept else "NO" if known else "unknown"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under a head, columns aligned."""
    cells = [[str(c) for c in row] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    for i, row in enumerate(cells):
        print("  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)))
        if i == 0:
            print("  ".join("-" * w for w in widths))
    sys.stdout.flush()
