"""Data and words for the tests of the command line."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Files:
    """Three classes in ten features: a file to train on, one for tests, and a model."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    train: str
    test: str
    model: str


def blobs(n, seed, n_features=10):
    rng = np.random.default_rng(seed)
    y = rng.integers(1, 4, n)
    return rng.normal(size=(n, n_features)) + 2 * np.eye(4, n_features)[y], y


def train_args(data, *more):
    """`train` on a multiclass problem, on one worker."""
    return ["train", "--task", "multiclass", "--data", str(data), "--executor", "serial",
            *(str(word) for word in more)]  # fmt: skip


def contents(folder: Path):
    """Every file below a folder with its bytes."""
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
