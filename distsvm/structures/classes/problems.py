"""Small problems for `distsvm warm-up` that together use every kernel of classes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from distsvm.data.synthetic import make_multiclass, make_sparse_multiclass
from distsvm.data.writers import write_svmlight
from distsvm.structures.classes.task import BinaryTask, ClassTask, MulticlassTask

WIDE = 5000  # features: w is so long that the driver stores it sparse
MANY = 50  # classes; LIMITED has no room for all of them for each of MANY · 4 examples
SEQUENTIAL = (
    {"solver": "sequential-dual", "n_blocks": 1},
    {"solver": "sequential-dual", "n_blocks": 2},
)
FORMULATIONS = tuple(
    {"solver": "sequential-dual", "formulation": name} for name in ("weston-watkins", "one-vs-rest")
)
LIMITED = ({"solver": "multi-plane", "plane_memory_mb": 0.04},)
N = 12  # examples: compilation depends on types, not on sizes


def problems(
    name: str, folder: Path
) -> Iterator[tuple[ClassTask, Any, tuple[dict[str, Any], ...] | None]]:
    make, k = (BinaryTask, 2) if name == "binary" else (MulticlassTask, 3)
    costs = np.ones((k, k)) - np.eye(k)
    X, y = make_multiclass(N, 4, k)
    yield make(), (X, y), None
    few = np.where(X > 1, X, 0.0)  # dense rows that are copied as sparse ones
    for rows in ((X, y), (few, y), (X.astype(np.float32), y), make_sparse_multiclass(N, WIDE, k)):
        yield make(), rows, SEQUENTIAL + (FORMULATIONS if k > 2 else ())
    yield make(losses=costs, scale=True), (X, y), None
    yield make(), (X.astype(np.float32), y), None
    yield make(), make_sparse_multiclass(N, WIDE, k), None
    write_svmlight(folder / "rows.svm", X, y)
    yield make(), folder / "rows.svm", None
    if name == "multiclass":
        yield make(), make_multiclass(4 * MANY, MANY, MANY), LIMITED
        yield make(), make_sparse_multiclass(4 * MANY, WIDE, MANY), LIMITED
