"""Small problems for `distsvm warm-up`, which together use every kernel of sequences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distsvm.data.templates import Templates
from distsvm.structures.sequences.synthetic import make_tagged_sentences
from distsvm.structures.sequences.task import SequenceTask

N = 12  # examples: types decide what is compiled, not sizes


def problems(name: str, folder: Path) -> Iterator[tuple[SequenceTask, Any, None]]:
    features = Templates.parse("bias; word[-1..+1]").features
    tagged = [(features(words), tags) for words, tags in make_tagged_sentences(N)]
    for order in (1, 2):
        for losses in ("hamming", "zero-one"):
            yield SequenceTask(losses=losses, order=order), tagged, None
    halves = [([dict.fromkeys(names, 0.5) for names in x], tags) for x, tags in tagged]
    yield SequenceTask(), halves, None
    yield SequenceTask(transition_features="bias"), tagged, None
