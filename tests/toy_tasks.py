"""Small tasks in plain Python, searched by brute force, for tests of everything above tasks."""

from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from distsvm import Bounded, Task


@dataclass(frozen=True)
class ToyChain(Task):
    """Tag a short sequence of symbols: emissions and transitions, Hamming loss, enumeration."""

    n_labels: int = 2
    n_symbols: int = 3
    rescalings = frozenset({"margin", "slack"})
    largest_loss = 1.0

    @property
    def dim(self):
        return self.n_labels * (self.n_symbols + self.n_labels)

    def joint_features(self, x, y):
        counts = {}
        for symbol, label in zip(x, y, strict=True):
            place = label * self.n_symbols + symbol
            counts[place] = counts.get(place, 0) + 1
        for a, b in pairwise(y):
            place = self.n_labels * self.n_symbols + a * self.n_labels + b
            counts[place] = counts.get(place, 0) + 1
        return counts

    def loss(self, y, y_hat):
        return float(np.mean(np.array(y) != np.array(y_hat)))

    def outputs(self, x):
        return product(range(self.n_labels), repeat=len(x))

    def score(self, w, x, y):
        return sum(w[i] * v for i, v in self.joint_features(x, y).items())

    def decode(self, w, x):
        return max(self.outputs(x), key=lambda y: self.score(w, x, y))

    def separate(self, w, x, y, rescaling):
        truth = self.score(w, x, y)

        def value(other):
            margin = truth - self.score(w, x, other)
            loss = self.loss(y, other)
            return loss * (1 - margin) if rescaling == "slack" else loss - margin

        return max(self.outputs(x), key=value)

    def cost(self, x):
        return float(len(x))


@dataclass(frozen=True)
class BoundedChain(ToyChain):
    """The same with an oracle that only says how large the maximum can be at most."""

    slackness: float = 0.01

    def separate(self, w, x, y, rescaling):
        best = super().separate(w, x, y, rescaling)
        margin = self.score(w, x, y) - self.score(w, x, best)
        loss = self.loss(y, best)
        value = loss * (1 - margin) if rescaling == "slack" else loss - margin
        return Bounded(best, value + self.slackness)


def toy_chains(n=40, length=4, seed=0, n_labels=2, n_symbols=3):
    """(inputs, outputs): noisy tags that follow their symbols."""
    rng = np.random.default_rng(seed)
    inputs, outputs = [], []
    for _ in range(n):
        x = rng.integers(0, n_symbols, rng.integers(1, length + 1))
        y = np.where(rng.random(x.size) < 0.75, x % n_labels, rng.integers(0, n_labels, x.size))
        inputs.append(tuple(x.tolist()))
        outputs.append(tuple(y.tolist()))
    return inputs, outputs


def all_planes(task, inputs, outputs, rescaling):
    """Every plane of every example, [(p, q), …] each: the whole problem, for exact references."""
    planes = []
    for x, y in zip(inputs, outputs, strict=True):
        rows = []
        for other in task.outputs(x):
            p = np.zeros(task.dim)
            for i, v in task.joint_features(x, y).items():
                p[i] += v
            for i, v in task.joint_features(x, other).items():
                p[i] -= v
            q = task.loss(y, other)
            rows.append((q * p if rescaling == "slack" else p, q))
        planes.append(rows)
    return planes


def primal(planes, w, C, weights=None):
    """P(w) from all planes."""
    weights = np.ones(len(planes)) if weights is None else weights
    hinge = [max(q - p @ w for p, q in rows) for rows in planes]
    return 0.5 * w @ w + C * np.dot(weights, hinge) / np.sum(weights)
