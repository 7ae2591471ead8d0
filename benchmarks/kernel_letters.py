"""OCR letters: emissions of polynomial functions of the pixels beside linear ones."""

from __future__ import annotations

import argparse
import statistics
import time
from itertools import pairwise
from typing import Any

import numpy as np
from support import data_folder, table

from distsvm import SequenceTask, TrainResult, train
from distsvm.data.features import SparseRows
from distsvm.data.ragged import Ragged
from distsvm.data.shard import Shard
from distsvm.feature_maps import LowRank
from distsvm.kernel_functions import kernel_function
from distsvm.structures.sequences.rows import SequenceRows, TagRows

PENALTIES = {
    "SVM1, margin": {"penalty": "linear", "rescaling": "margin"},
    "SVM2, margin": {"penalty": "quadratic", "rescaling": "margin"},
    "SVM2, slack": {"penalty": "quadratic", "rescaling": "slack"},
}


class Letters:
    """Some words as a data set: 128 binary pixels a letter, in one shard."""

    n_bytes = None

    def __init__(self, which: np.ndarray) -> None:
        with np.load(data_folder() / "ocr_letters" / "letters.npz") as file:
            pixels, labels = np.unpackbits(file["X_packed"], axis=1), file["y"].astype(np.int64)
            lengths, self.folds = file["lengths"].astype(np.int64), file["folds"]
        words = np.flatnonzero(np.isin(self.folds, which))
        starts = np.concatenate([[0], np.cumsum(lengths)])
        tokens = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in words])
        some = pixels[tokens]
        rows, columns = np.nonzero(some)
        entries = np.concatenate([[0], np.cumsum(some.sum(axis=1, dtype=np.int64))])
        values = np.ones(rows.size)
        own = np.concatenate([[0], np.cumsum(lengths[words])])
        inputs = SequenceRows(SparseRows(values, columns.astype(np.int32), entries, 128), own, None)
        names = np.array([f"{label:02d}" for label in range(labels.max() + 1)])
        self.shard = Shard(inputs, TagRows(Ragged(labels[tokens].astype(np.int32), own), names),
                           None, first=0)  # fmt: skip
        self.n_words = words.size

    def specs(self, n_shards: int | None = None, cost: Any = None) -> list[Any]:
        return [self]

    def load(self) -> Shard:
        return self.shard

    def few(self, n: int) -> Letters:
        """Return the first n words."""
        self.shard = self.shard.slice(range(min(n, self.n_words)))
        self.n_words = min(n, self.n_words)
        return self


def accuracy(result: TrainResult, data: Letters) -> float:
    """Return the share of letters whose label is right."""
    found = result.model.predict(data)
    codes = data.shard.y.codes
    truth = [codes.values[a:b] for a, b in pairwise(codes.starts.tolist())]
    right = sum(
        int(np.sum(np.array(word, dtype=np.int64) == own))
        for word, own in zip(found, truth, strict=True)
    )
    return right / int(codes.lengths.sum())


def compare(args: argparse.Namespace) -> None:
    """Train on one fold of words and test on the others, as given; n-slack, constraints counted."""
    k = 60 if args.quick else 1000
    kinds: dict[str, Any] = {
        "linear": None,
        f"poly 2, low rank {k}": LowRank(kernel_function("poly", 1 / 128, 2, 1.0), basis=k),
        f"poly 3, low rank {k}": LowRank(kernel_function("poly", 1 / 128, 3, 1.0), basis=k),
    }
    rows = []
    folds = range(1 if args.quick else args.folds)
    for kind, features in kinds.items():
        for name, settings in PENALTIES.items():
            found, cpu_s, planes, reached = [], [], [], True
            for fold in folds:
                data, others = Letters(np.array([fold])), Letters(np.delete(np.arange(10), fold))
                if args.quick:
                    data, others = data.few(30), others.few(200)
                task = SequenceTask(features=features, loss_scale=1.0)
                began_s = time.process_time()
                result = train(
                    task, data, C_per_example=1.0, rel_gap=0.01, executor="serial",
                    solver="n-slack", max_seconds=args.limit, **settings,
                )  # fmt: skip
                cpu_s.append(time.process_time() - began_s)
                found.append(100 * accuracy(result, others))
                planes.append(result.n_planes)
                reached &= result.stop_reason == "rel_gap"
            deviation = statistics.stdev(found) if len(found) > 1 else 0.0
            rows.append(
                (kind, name, f"{statistics.mean(found):.2f} ± {deviation:.2f}",
                 f"{statistics.mean(planes):,.0f}",
                 f"{'' if reached else '> '}{statistics.mean(cpu_s):.1f}")
            )  # fmt: skip
    print(f"\nOCR letters, one fold to train, nine to test, {len(folds)} times; C/n = 1, n-slack")
    table(("emissions", "penalty, rescaling", "letters right %", "constraints", "CPU s"), rows)
