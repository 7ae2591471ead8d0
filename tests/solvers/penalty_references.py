"""All planes of small problems of every structure, and optima of the three penalties by cvxpy."""

from collections import Counter
from dataclasses import dataclass
from itertools import product

import cvxpy as cp
import numpy as np
from alignment_enumeration import alignments as all_alignments
from parse_enumeration import all_trees
from sequence_examples import all_outputs, drawn, prepared
from toy_tasks import ToyChain, toy_chains

from distsvm import Alignment, AlignmentTask, MulticlassTask
from distsvm.oracles.task import PENALTIES
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.task import ParseTask
from distsvm.structures.trees.tree import TOP
from distsvm.vectors import SparseVector, to_dense

RULES = (
    f"{TOP} -> X Y", f"{TOP} -> Y", "X -> 'a'", "X -> X X", "Y -> X", "Y -> 'b'", "Y -> Y Y",
    "X -> Y X",
)  # fmt: skip
COSTS = np.array([[0, 1, 4], [1, 0, 2], [3, 2, 0.0]])
VALUE = {"quadratic": np.sqrt, "hard": lambda loss: float(loss > 0)}


@dataclass(frozen=True)
class RootChain(ToyChain):
    """A chain in plain Python whose search takes √Δ and 1, too."""

    penalties = PENALTIES

    def separate(self, w, x, y, rescaling, penalty="linear"):
        truth, q_of = self.score(w, x, y), VALUE.get(penalty, float)

        def value(other):
            margin = truth - self.score(w, x, other)
            q = q_of(self.loss(y, other))
            return q * (1 - margin) if rescaling == "slack" else q - margin

        return max(self.outputs(x), key=value)


@dataclass(frozen=True)
class ZeroOneChain(ToyChain):
    """A chain in plain Python that is right or wrong as a whole."""

    zero_one_loss = True

    def loss(self, y, y_hat):
        return float(tuple(y) != tuple(y_hat))


def classes(seed, losses="zero-one"):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(14, 3)), np.arange(14) % 3
    X[np.arange(14), y] += 1.0
    task = MulticlassTask(losses=losses, loss_scale=2.0)
    task = task.prepare(task.scan(task.shard(X, y)))
    return task, X, y, lambda x: [0, 1, 2]


def tags(seed, losses="hamming"):
    inputs, outputs = drawn(seed, n=8, length=3)
    task = prepared(SequenceTask(losses), inputs, outputs)
    return task, inputs, outputs, all_outputs(task)


def python(seed, task=None):
    task = task or RootChain()
    return task, *toy_chains(n=10, length=3, seed=seed), task.outputs


def trees(seed, losses="f1"):
    task = ParseTask(losses, loss_scale=4.0, rules=RULES, max_chain=2)
    every = {tags: all_trees(RULES, (), 2, tags) for tags in product("ab", repeat=3)}
    several = [found for found in every.values() if len(found) > 1]
    # Random trees cannot be learnt: the truth has the highest score of those with a Ψ of their own.
    w = np.random.default_rng(2 + seed).normal(size=task.dim)
    outputs = []
    for found in several:
        counts = Counter(_features(task, None, tree).tobytes() for tree in found)
        single = [tree for tree in found if counts[_features(task, None, tree).tobytes()] == 1]
        if single:
            outputs.append(max(single, key=lambda tree: _features(task, None, tree) @ w))
    inputs = [tree.sentence() for tree in outputs]
    known = {tuple(tag for _, tag in found[0].sentence()): found for found in several}
    return task, inputs, outputs, lambda x: known[tuple(tag for _, tag in x)]


def alignments(seed):
    """Each native sequence has a copy of itself among its candidates."""
    rng = np.random.default_rng(seed)
    words = ["".join(letters) for letters in product("ACG", repeat=2)]
    inputs, outputs = [], []
    for _ in range(6):
        native, *decoys = rng.permutation(words)[:3].tolist()
        place = int(rng.integers(3))
        inputs.append((native, [*decoys[:place], native, *decoys[place:]]))
        outputs.append(Alignment(place, "MM"))
    task = prepared(AlignmentTask(alignment="global", loss_scale=2.0), inputs, outputs)
    return task, inputs, outputs, lambda x: list(all_alignments(x, local=False))


STRUCTURES = {
    "classes": classes,
    "costs": lambda seed: classes(seed, COSTS),
    "tags": tags,
    "tags, zero-one": lambda seed: tags(seed, "zero-one"),
    "trees": trees,
    "trees, zero-one": lambda seed: trees(seed, "zero-one"),
    "alignments": alignments,
    "python": python,
    "python, zero-one": lambda seed: python(seed, ZeroOneChain()),
}


def planes_of(task, inputs, outputs, every, rescaling, penalty):
    """(P, q) of every example: all planes of all its outputs."""
    found = []
    for x, y in zip(inputs, outputs, strict=True):
        own = _features(task, x, y)
        rows, qs = [np.zeros(task.dim)], [0.0]
        for other in every(x):
            if not task.competes(y, other):
                continue
            loss = task.loss(y, other)
            q = float(np.sqrt(loss)) if penalty == "quadratic" else loss
            psi = own - _features(task, x, other)
            if penalty == "hard" and rescaling == "slack":
                q = float(loss > 0)
            rows.append(q * psi if rescaling == "slack" else psi)
            qs.append(q)
        found.append((np.array(rows), np.array(qs)))
    return found


def _features(task, x, y):
    psi = task.joint_features(x, y)
    if isinstance(psi, dict):
        psi = SparseVector.of(psi, task.dim)
    return to_dense(psi)


def value(planes, w, C, weight, penalty):
    """P(w) from all planes; infinite where a hard margin is broken."""
    hinge = np.array([(q - P @ w).max() for P, q in planes])
    if penalty == "hard":
        return 0.5 * w @ w if hinge.max() <= 1e-7 else np.inf
    cost = hinge if penalty == "linear" else 0.5 * hinge**2
    return 0.5 * w @ w + C * weight @ cost / weight.sum()


def optimum(planes, C, weight, penalty):
    """The smallest P(w), inf where no w has all margins."""
    n, dim = len(planes), planes[0][0].shape[1]
    w, slack = cp.Variable(dim), cp.Variable(n)
    rules = [q - P @ w <= (0 if penalty == "hard" else slack[i]) for i, (P, q) in enumerate(planes)]
    price = 0
    if penalty != "hard":
        cost = slack if penalty == "linear" else 0.5 * cp.square(slack)
        price = C * (weight / weight.sum()) @ cost
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + price), rules)
    problem.solve(solver=cp.CLARABEL)
    return problem.value
