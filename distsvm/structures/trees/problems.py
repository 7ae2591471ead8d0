"""Small problems for `distsvm warm-up`, which together use every kernel of trees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from distsvm.structures.trees.oracle import KINDS
from distsvm.structures.trees.synthetic import make_treebank, write_treebank
from distsvm.structures.trees.task import ParseTask

N = 12  # examples; compiled code depends on types, not on sizes


def problems(name: str, folder: Path) -> Iterator[tuple[ParseTask, Path, None]]:
    write_treebank(folder / "trees.mrg", make_treebank(N, max_length=8))
    for losses in KINDS:
        for words in (False, True):
            yield ParseTask(losses=losses, words=words), folder / "trees.mrg", None
