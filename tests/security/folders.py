"""Models, checkpoints and runs of every kind of task, and folders like them that lie."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mutation import mutated, mutated_json
from toy_tasks import ToyChain, toy_chains

import distsvm
from distsvm.data.synthetic import make_multiclass, make_tagged_sentences
from distsvm.data.templates import Templates
from distsvm.structures.alignments.synthetic import make_alignments
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.structures.trees.task import ParseTask

MANIFESTS = (
    "manifest.json", "run.json", "result.json", "state.json", "lock.json", "data.json",
)  # fmt: skip
SMALL = ("run.json", "result.json", "state.json", "lock.json", "history.jsonl")
"""What tells of a run at a glance."""


@dataclass(frozen=True)
class Case:
    """A task, examples for it, and how it is trained."""

    task: Any
    inputs: Any
    outputs: Any
    options: dict[str, Any]

    def train(self, run_dir: Path, **options: Any) -> Any:
        given = {"executor": "serial", "n_shards": 2, "checkpoint_rounds": 1, "max_rounds": 4}
        given |= {"checkpoint_share": 1}
        return distsvm.train(
            self.task, self.inputs, self.outputs, run_dir=str(run_dir),
            **given | self.options | options,
        )  # fmt: skip


def _classes() -> Case:
    X, y = make_multiclass(40, 5, 3, seed=1)
    return Case(distsvm.MulticlassTask(scale=True), X, y, {"cache_size": 3})


def _sequence(**options: Any) -> Case:
    features = Templates.parse("bias; word; suffix(1..2)").features
    sentences = make_tagged_sentences(25)
    inputs = [features(words) for words, _ in sentences]
    return Case(SequenceTask(), inputs, [tags for _, tags in sentences], options)


def _trees(**options: Any) -> Case:
    trees = make_treebank(15, max_length=8)
    task = ParseTask(words=True)
    return Case(task, [[w for w, _ in tree.sentence()] for tree in trees], trees, options)


def _alignments() -> Case:
    made = make_alignments(8, length=20, n_operations=8, n_decoys=2)
    return Case(distsvm.AlignmentTask(), *made, {"solver": "multi-plane"})


def _python() -> Case:
    return Case(ToyChain(), *toy_chains(12), {"cache_size": 3})


CASES: dict[str, Callable[[], Case]] = {
    "classes": _classes,
    "sequence": lambda: _sequence(solver="multi-plane"),
    "sequence-cuts": lambda: _sequence(solver="one-slack", cache_size=3),
    "trees": lambda: _trees(cache_size=3),
    "trees-planes": lambda: _trees(solver="multi-plane"),
    "alignments": _alignments,
    "python": _python,
}


def spoil(folder: Path, rng: random.Random, only: tuple[str, ...] | None = None) -> None:
    """Change something in one file of a folder of folders, and make the digests fit again.

    `only` names the files to choose from, instead of all.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    wanted = [f for f in files if f.name in MANIFESTS or f.suffix in (".npz", ".jsonl")]
    file = rng.choice(wanted if only is None else [f for f in files if f.name in only])
    way = rng.randrange(4)
    if way == 0:
        file.write_bytes(mutated(file.read_bytes(), rng))
    elif file.suffix == ".npz":
        with np.load(file) as kept:
            arrays = dict(kept)
        name = rng.choice(sorted(arrays))
        arrays[name] = spoiled(arrays[name], rng)
        if way == 1:
            del arrays[name]
        np.savez(file, **arrays)
    elif file.suffix == ".jsonl":
        lines = file.read_text().splitlines()
        place = rng.randrange(len(lines))
        lines[place] = json.dumps(mutated_json(json.loads(lines[place]), rng))
        file.write_text("\n".join(lines) + "\n")
    else:
        file.write_text(json.dumps(mutated_json(json.loads(file.read_text()), rng)))
    _sign(folder)


def spoiled(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """Other numbers, another shape or another type."""
    way = rng.randrange(6)
    if way == 0 or not array.size:
        return np.array(rng.choice([0, -1, 7, 2.5, 1e300, "x", True]))
    if way == 1:
        return array[: rng.randrange(array.shape[0] + 1)] if array.ndim else array.reshape(1, 1)
    if way == 2 and array.dtype.kind != "U":
        return array.astype(rng.choice(["f4", "i2", "i8", "u8", "U3", "?", "c16", ">f8"]))
    if way == 3:
        return np.concatenate([array.ravel(), array.ravel()])
    copy = array.copy().ravel()
    for _ in range(rng.randint(1, 5)):
        wild: Any = rng.choice([-1, -2, -3, 0, 1, 2**15 - 1, -(2**15), 2**31 - 1, 10**9])
        if copy.dtype.kind == "f":
            wild = rng.choice([wild, np.nan, np.inf, -np.inf, 1e308])
        place = rng.randrange(copy.size)
        with np.errstate(all="ignore"):
            copy[place] = np.array(wild).astype(copy.dtype)
    return copy.reshape(array.shape)


def _sign(folder: Path) -> None:
    """Write the digests of the arrays as they are now: who makes up one can make up the other."""
    for file in folder.rglob("manifest.json"):
        try:
            manifest = json.loads(file.read_text())
            main = "driver.npz" if (file.parent / "driver.npz").exists() else "arrays.npz"
            manifest["digest"] = _digest(file.parent / main)
            planes = sorted(file.parent.glob("planes-*.npz"))
            if planes:
                manifest["planes"] = [_digest(path) for path in planes]
            file.write_text(json.dumps(manifest))
        except (ValueError, TypeError, OSError):
            continue  # it was this one that was spoilt


def _digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()


def copied(folder: Path, place: Path) -> Path:
    """A copy that takes the place of the last one."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place)
    return place
