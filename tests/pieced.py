"""Shards in pieces: small packed files, each of them a piece, wherever the worker is."""

import gzip
import json
from itertools import pairwise

import numpy as np
from toy_tasks import ToyChain, toy_chains

from distsvm.data import open_data
from distsvm.data.keeping import Keeping
from distsvm.data.synthetic import make_multiclass, make_sparse_multiclass, make_tagged_sentences
from distsvm.structures.classes.task import MulticlassTask
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.structures.trees.task import ParseTask
from distsvm.workers.ascent_part import AscentPartMaker
from distsvm.workers.shard_worker import ShardWorker

MEMORY_MB = 200.0
N_FILES = 6


def _rows(X, y):
    return [
        f"{label} " + " ".join(f"{j + 1}:{x:.6g}" for j, x in enumerate(row) if x) + "\n"
        for row, label in zip(np.asarray(X), y, strict=True)
    ]


def sparse():
    X, y = make_sparse_multiclass(240, 60, 4, n_nonzero=5)
    return _rows(X.toarray(), y)


def dense():
    X, y = make_multiclass(240, 5, 4, noise=0.3)
    return [
        json.dumps({"x": x, "y": int(label)}) + "\n" for x, label in zip(X.tolist(), y, strict=True)
    ]


def sentences():
    pairs = make_tagged_sentences(60)
    return [
        "".join(f"{word} {tag}\n" for word, tag in zip(*pair, strict=True)) + "\n" for pair in pairs
    ]


def trees():
    return [f"{tree}\n" for tree in make_treebank(48, max_length=8)]


def chains():
    pairs = zip(*toy_chains(n=60, seed=4), strict=True)
    return [json.dumps({"x": list(x), "y": list(y)}) + "\n" for x, y in pairs]


CASES = {
    "sparse classes": (MulticlassTask(), sparse, "svm"),
    "dense classes": (MulticlassTask(), dense, "jsonl"),
    "sequences": (SequenceTask(), sentences, "conll"),
    "trees": (ParseTask(), trees, "mrg"),
    "python": (ToyChain(), chains, "jsonl"),
}


def write(folder, case, n_files=N_FILES):
    """The task of a case, and its examples in packed files in a folder."""
    task, make, ending = CASES[case]
    return task, write_packed(folder, make(), ending, n_files)


def write_packed(folder, examples, ending, n_files=N_FILES):
    """The texts of examples in packed files in a folder."""
    home = folder / "data"
    home.mkdir(exist_ok=True)
    edges = np.linspace(0, len(examples), n_files + 1).astype(int)
    for number, (low, high) in enumerate(pairwise(edges)):
        with gzip.open(home / f"{number}.{ending}.gz", "wt", encoding="utf-8") as file:
            file.writelines(examples[low:high])
    return str(home)


def bound(folder, case, *, pieces, C_share=0.4, memory_mb=10.0, n_apart=1):
    """A worker that has all of a case in one shard, ready for rounds of the dual ascent."""
    task, home = write(folder, case)
    keeping = Keeping(str(folder / "packed"), MEMORY_MB if pieces else None)
    made = ShardWorker(open_data(home, tables=task.tables).specs(1)[0], keeping)
    made.bind(task.prepare(made.scan(task)), "margin", AscentPartMaker(), False, 0)
    made.part.hold(C_share, memory_mb, 0, n_apart)
    return made
