"""Small problems for `distsvm warm-up`, which together use every kernel of trees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from distsvm.structures.trees.oracle import KINDS
from distsvm.structures.trees.synthetic import make_treebank, write_treebank
from distsvm.structures.trees.task import ParseTask

N = 12  # examples; compiled code depends on types, not on sizes


def problems(name: str, folder: Path) -> Iterator[tuple[ParseTask, Path, None]]:
    write_treebank(folder / "trees.mrg", make_treebank(N, max_length=8))
    for losses in KINDS:
        for words in (False, True):
            yield ParseTask(losses=losses, words=words), folder / "trees.mrg", None
    yield ParseTask(span_features="default", min_span_count=1), folder / "trees.mrg", None
    _search_n_best()


def _search_n_best() -> None:
    """Search the best few trees, which no training does."""
    trees = make_treebank(N, max_length=8)
    task = ParseTask()
    shard = task.packed(task.shard([tree.sentence() for tree in trees], trees))
    task = task.prepare(task.scan(shard))
    oracle = task.oracle(shard, "margin")
    oracle.n_best(oracle.view(np.zeros(task.dim)), np.arange(oracle.n), 2)
