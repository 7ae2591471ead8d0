"""A small compiled structure: which of an example's items are wanted, a bit for each.

Ψ(x, y) = Σ of the items' features where y is 1; Δ counts wrong bits. The oracle is a search, the
features of outputs, and what numbers outputs and examples are: all else are defaults.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from distsvm import Task, checks
from distsvm.data.ragged import Ragged, offsets, spread
from distsvm.data.shard import Shard
from distsvm.messages import Planes
from distsvm.oracles.oracle import Oracle
from distsvm.oracles.packing import Numbering
from distsvm.oracles.search import Separation


@dataclass(frozen=True)
class EnumeratedBits(Task):
    """In plain Python: every output is tried. Inputs are arrays (n_items, dim), outputs tuples."""

    dim: int = 3
    largest_loss: float = 9.0
    rescalings: ClassVar[frozenset[str]] = frozenset({"margin", "slack"})

    def joint_features(self, x, y):
        return np.asarray(y, np.float64) @ np.asarray(x)

    def loss(self, y, y_hat):
        return float(np.sum(np.array(y) != np.array(y_hat)))

    def outputs(self, x):
        return product((0, 1), repeat=len(x))

    def decode(self, w, x):
        return max(self.outputs(x), key=lambda y: self.joint_features(x, y) @ w)

    def separate(self, w, x, y, rescaling):
        truth = self.joint_features(x, y) @ w

        def value(other):
            margin = truth - self.joint_features(x, other) @ w
            loss = self.loss(y, other)
            return loss * (1 - margin) if rescaling == "slack" else loss - margin

        return max(self.outputs(x), key=value)


@dataclass(frozen=True)
class CompiledBits(EnumeratedBits):
    """The same with an oracle of its own."""

    compiled: ClassVar[bool] = True

    def oracle(self, shard, rescaling):
        return BitsOracle(self, shard, rescaling)


class BitsOracle(Oracle):
    """Scores all items of many examples at once; outputs are a Ragged of bits."""

    keeps_examples = True

    def __init__(self, task: Task, shard: Shard, rescaling: str) -> None:
        super().__init__(task, shard, rescaling)
        inputs: Any = shard.x
        values = [np.asarray(x, np.float64).ravel() for x in inputs]
        examples: dict[str, Any] = {"items": Ragged.of(values, np.float64).frozen()}
        if shard.y is not None:
            examples["truth"] = Ragged.of([np.array(y) for y in shard.y], np.int8).frozen()
        if shard.weight is not None:
            examples["weight"] = shard.weight
        self.examples = examples

    def check_examples(self, unfit):
        checks.finite("items", self.examples["items"].values)
        if (self.examples["items"].lengths % self.dim).any():
            raise ValueError("items with other features than the task's")
        if "truth" in self.examples:
            checks.within("truth", self.examples["truth"].values, 0, 2)
            if (self.examples["truth"].lengths != self.lengths).any():
                raise ValueError("truths of other lengths than the items")

    @property
    def lengths(self):
        return self.examples["items"].lengths // self.dim

    @property
    def numbering(self):
        return Numbering(2, np.int8, self.lengths)

    # --- the search ------------------------------------------------------------------------

    def scores(self, view, rows):
        return self.examples["items"][rows].values.reshape(-1, self.dim) @ view

    def separate(self, view, rows):
        truth, scores = self.truths(rows), self.scores(view, rows)
        margins = np.where(truth.values == 1, scores, -scores)  # what a wrong bit costs
        wrong = margins < 1.0
        if self.slack:
            for a, b in zip(truth.starts[:-1], truth.starts[1:], strict=True):
                order = np.argsort(margins[a:b], kind="stable")
                number = np.arange(b - a + 1)
                cost = np.concatenate([[0.0], np.cumsum(margins[a:b][order])])
                best = int(np.argmax(number * (1.0 - cost)))
                wrong[a:b] = False
                wrong[a + order[:best]] = True
        output = Ragged(np.where(wrong, 1 - truth.values, truth.values), truth.starts)
        planes = Planes.linear(rows, output, self.losses(rows, output))
        value = np.maximum(self.values(view, planes), 0.0)
        return Separation(planes, value, value, exact=True)

    def decode(self, view, rows):
        return Ragged((self.scores(view, rows) > 0).astype(np.int8), offsets(self.lengths[rows]))

    def losses(self, rows, outputs):
        total = offsets(outputs.values != self.truths(rows).values)
        return np.diff(total[outputs.starts]).astype(np.float64)

    def public(self, outputs):
        return [tuple(outputs.row(i).tolist()) for i in range(len(outputs))]

    # --- the flat map ----------------------------------------------------------------------

    def features(self, rows, outputs):
        items, on = self.examples["items"][rows], np.flatnonzero(outputs.values)
        value = items.values.reshape(-1, self.dim)[on]
        counts = np.diff(offsets(outputs.values)[outputs.starts])
        index = spread(np.zeros(on.size, np.int64), np.full(on.size, self.dim))
        return index, value.ravel(), offsets(counts * self.dim)


def bits(n=30, n_items=4, dim=3, seed=0):
    """(inputs, outputs): noisy signs of a linear score."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=dim)
    inputs = [rng.normal(size=(rng.integers(1, n_items + 1), dim)) for _ in range(n)]
    outputs = [tuple((x @ w + rng.normal(size=len(x)) > 0).astype(int).tolist()) for x in inputs]
    return inputs, outputs
