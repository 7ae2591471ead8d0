"""Small problems for the extension's structure and solver."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from distsvm_example.rings.files import write_rings
from distsvm_example.rings.task import RingTask

import distsvm
from distsvm.data.synthetic import make_multiclass, make_tagged_sentences
from distsvm.data.writers import write_svmlight
from distsvm.structures.sequences.writers import write_conll

D = 3


def make_rings(n, longest=6, seed=0):
    """Rings whose labels follow their features and their neighbours, and some of them do not."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=D)
    inputs, outputs = [], []
    for n_sites in rng.integers(1, longest + 1, n).tolist():
        x = rng.normal(size=(n_sites, D))
        pull = x @ direction
        noise = 0.5 * rng.normal(size=n_sites)
        y = pull + 0.5 * (np.roll(pull, 1) + np.roll(pull, -1)) + noise > 0
        inputs.append(x)
        outputs.append(y.astype(int).tolist())
    return inputs, outputs


def labellings(x):
    """All outputs of a ring, the lowest first."""
    return [list(y) for y in itertools.product((0, 1), repeat=len(x))]


@dataclass(frozen=True)
class Problem:
    """A task with data in memory and a file of the same, as the command line names them."""

    task: distsvm.Task
    inputs: Any
    outputs: Any
    name: str
    file: str
    reading: tuple[str, ...] = ()

    def write(self, folder):
        path = folder / self.file
        if self.name == "ring":
            write_rings(path, self.inputs, self.outputs)
        elif self.name == "multiclass":
            write_svmlight(path, self.inputs, self.outputs)
        else:
            write_conll(path, make_tagged_sentences(40, n_tags=3, length=5))
        return path


def problem(name):
    if name == "ring":
        return Problem(RingTask(), *make_rings(60), name, "train.rings")
    if name == "multiclass":
        X, y = make_multiclass(90, 5, 3, seed=0)
        return Problem(distsvm.MulticlassTask(), X, y, name, "train.svm")
    sentences = make_tagged_sentences(40, n_tags=3, length=5)
    inputs = [[[word] for word in words] for words, _ in sentences]
    outputs = [tags for _, tags in sentences]
    return Problem(distsvm.SequenceTask(), inputs, outputs, name, "train.conll",
                   ("--templates", "word"))  # fmt: skip
