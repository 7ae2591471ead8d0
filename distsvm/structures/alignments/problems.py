"""Small problems for `distsvm warm-up`, which together use every kernel of alignments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from distsvm.data.shard import Shard
from distsvm.structures.alignments.alignment import Alignment, Sequences
from distsvm.structures.alignments.readers.fasta import write_fasta
from distsvm.structures.alignments.synthetic import make_alignments
from distsvm.structures.alignments.task import AlignmentTask

N = 8  # examples: types decide what is compiled, not sizes


def problems(name: str, folder: Path) -> Iterator[tuple[AlignmentTask, Path, Any]]:
    inputs, outputs = make_alignments(N, length=20, n_operations=8, n_decoys=2)
    write_fasta(folder / "decoys.fasta", inputs, outputs)
    yield AlignmentTask(), folder / "decoys.fasta", None
    _use_the_rest(AlignmentTask(), Shard(inputs, outputs, None))
    pairs = [
        Sequences(x.native, (x.candidates[y.candidate],))
        for x, y in zip(inputs, outputs, strict=True)
    ]
    alone = [Alignment(0, y.columns, y.start, y.candidate_start) for y in outputs]
    write_fasta(folder / "pairs.fasta", pairs, alone)
    yield AlignmentTask("residues"), folder / "pairs.fasta", None


def _use_the_rest(task: AlignmentTask, shard: Shard) -> None:
    """Use what only checkpoints and scores need."""
    oracle = task.prepare(task.scan(shard)).oracle(shard, "margin")
    rows = np.arange(oracle.n)
    planes = oracle.separate(oracle.view(np.zeros(oracle.dim)), rows).planes
    oracle.unpack(oracle.pack(planes))
    oracle.pair_counts(rows, oracle.truths(rows))
