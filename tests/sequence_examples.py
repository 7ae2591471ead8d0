"""Small sequences with tags, and their searches by enumeration."""

from itertools import pairwise, product

import numpy as np

from distsvm.data.synthetic import make_chains
from distsvm.structures.sequences.task import SequenceTask

BIO = ["B-X", "I-X", "B-Y", "O"]


def prepared(task, inputs, outputs):
    return task.prepare(task.scan(task.shard(inputs, outputs)))


def drawn(seed, n=5, length=4, tags=("A", "B", "C"), n_names=6, allowed=None):
    """(inputs, outputs): tokens as dicts or lists of names, values from small integers."""
    rng = np.random.default_rng(seed)
    names = [f"f{i}" for i in range(n_names)]
    legal = rules(allowed, tags)
    inputs, outputs = [], []
    for i in range(n):
        x = []
        for _ in range(rng.integers(0 if i == 3 else 1, length + 1)):
            chosen = rng.choice(names, rng.integers(0, 4), replace=False).tolist()
            real = {name: int(rng.integers(-2, 3)) for name in chosen}
            x.append(real if i % 2 else chosen)
        options = [y for y in product(tags, repeat=len(x)) if legal(y)]
        inputs.append(x)
        outputs.append(list(options[rng.integers(len(options))]))
    return inputs, outputs


def rules(allowed, tags):
    """Whether a tag sequence keeps the rules, written down once more."""

    def legal(y):
        if allowed is None:
            return True
        if allowed == "bio":
            return all(
                not b.startswith("I-") or a in ("B" + b[1:], b) for a, b in pairwise(["", *y])
            )
        return not any(pair in allowed for pair in pairwise([None, *y, None]) if len(y))

    return legal


def all_outputs(task):
    legal = rules(task.allowed, task.labels)
    return lambda x: [
        list(y) for y in product(task.labels.tolist(), repeat=len(x)) if legal(list(y))
    ]


def chains(n=60, length=6, n_labels=4, n_symbols=12, seed=0):
    """(inputs, outputs) of a hidden Markov model: the symbol and its neighbour, tags by letter."""
    inputs, outputs = [], []
    for symbols, labels in make_chains(n, length, n_labels, n_symbols, seed):
        before = [None, *symbols[:-1]]
        inputs.append([[f"s={s}", f"b={b}"] for s, b in zip(symbols, before, strict=True)])
        outputs.append(["ABCDEFGH"[label] for label in labels])
    return inputs, outputs


def task_of(losses="hamming", order=1, allowed=None, **more):
    return SequenceTask(losses=losses, order=order, allowed=allowed, loss_scale=1.5, **more)
