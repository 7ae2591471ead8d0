"""Climbers: Gram matrices, changes of w and gains of the dual are those of the planes by hand."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sequence_examples import drawn, prepared
from toy_tasks import ToyChain, toy_chains

from distsvm.data.features import as_rows
from distsvm.data.shard import Shard
from distsvm.structures.alignments.synthetic import make_alignments
from distsvm.structures.alignments.task import AlignmentTask
from distsvm.structures.classes.task import BinaryTask, MulticlassTask
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.rows import TreeRows
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.structures.trees.task import ParseTask
from distsvm.vectors import SparseVector, is_small, to_dense
from distsvm.workers.stock import PlaneStock
from distsvm.workers.whole_stock import WholeStock

SEEDS = st.integers(0, 10**6)
RESCALINGS = st.sampled_from(["margin", "slack"])
SIGMAS = st.sampled_from([1.0, 3.0])


def classes(seed, binary, costs, scaled, sparse_rows, intercept, dtype):
    """A task, its shard, and the inputs and outputs as joint_features takes them."""
    rng = np.random.default_rng(seed)
    n, d, k = 9, int(rng.integers(1, 12)), 2 if binary else int(rng.integers(2, 6))
    X = rng.integers(-3, 4, (n, d)).astype(dtype)
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    losses = "zero-one"
    if costs:
        losses = rng.integers(0, 4, (k, k)).astype(float)  # some mistakes are forgiven
        np.fill_diagonal(losses, 0)
        losses[0, 1] = 2.0
    task = (BinaryTask if binary else MulticlassTask)(
        losses=losses, loss_scale=2.0, intercept_scaling=intercept, scale=scaled
    )
    shard = Shard(as_rows(sparse.csr_matrix(X) if sparse_rows else X), y, None)
    return task.prepare(task.scan(shard)), shard, X, y


class Holding:
    """A stock filled with the oracle's answers at a few points, and its planes by hand."""

    def __init__(self, task, shard, inputs, outputs, rescaling, seed, n_blocks=1):
        self.task, self.slack = task, rescaling == "slack"
        self.oracle = task.oracle(shard, rescaling)
        self.oracle.climb_beside(n_blocks)
        # How many times over a change of each weight counts.
        self.times = self.by_hand(n_blocks) if task.weighs_features else np.ones(task.dim)
        self.rng = np.random.default_rng(seed)
        total = self.rng.choice([0.05, 0.3, 2.0], self.oracle.n)
        self.stock = PlaneStock(self.oracle, total, 1e9)
        self.inputs, self.outputs = inputs, outputs
        for _ in range(5):
            view = self.oracle.view(self.point())
            answer = self.oracle.separate(view, np.arange(self.oracle.n))
            self.stock.insert(answer.planes.take(np.flatnonzero(answer.value > 0)))

    def by_hand(self, n_blocks):
        """For a feature of a part f of the tokens: 1 + (n − 1)·f / (f + 0.01); n for the chain."""
        tokens = self.oracle.tokens
        pairs = list(zip(tokens.starts[:-1], tokens.starts[1:], strict=True))
        own = [set(tokens.columns[first:stop].tolist()) for first, stop in pairs]
        times = np.full(self.task.dim, float(n_blocks))
        for j in range(self.task.n_features):
            part = np.mean([j in token for token in own])
            labels = slice(j * self.oracle.n_labels, (j + 1) * self.oracle.n_labels)
            times[labels] = 1 + (n_blocks - 1) * part / (part + 0.01)
        return times

    def point(self):
        w = np.round(self.rng.normal(size=self.task.dim), 2)
        w.flags.writeable = False
        return w

    def planes(self, i):
        """(p, q) of every plane held of example i, from the task's own definitions."""
        stock, x, y = self.stock, self.inputs[i], self.outputs[i]
        slots = i * stock.size + np.arange(stock.held.count[i])
        found = stock.outputs[slots]
        if isinstance(self.task, ParseTask):
            found = TreeRows(found.values, found.starts, np.full(slots.size, i))
        found = self.oracle.public(found)
        truth = to_dense(self.features(x, y))
        rows = []
        for other in found:
            other = getattr(other, "output", other)  # a task in Python keeps p beside its output
            q = self.task.loss(y, other)
            p = truth - to_dense(self.features(x, other))
            rows.append((q * p if self.slack else p, q))
        return rows

    def features(self, x, y):
        psi = self.task.joint_features(x, y)
        return SparseVector.of(psi, self.task.dim) if isinstance(psi, dict) else psi

    def check_gram(self):
        held = self.stock.held
        for i in range(self.oracle.n):
            rows = self.planes(i)
            m = held.count[i]
            P = np.array([p for p, _ in rows]).reshape(m, self.task.dim)
            np.testing.assert_allclose(held.gram[i, :m, :m], self.times * P @ P.T, atol=1e-9)
            np.testing.assert_allclose(held.q[i, :m], [q for _, q in rows])

    def check_visits(self, sigma):
        """u, linear and gain of some visits; all begin at another w, with the α so far."""
        stock, oracle, w = self.stock, self.oracle, self.point()
        held, climber = stock.held, stock.climber(w, sigma)
        before = held.alpha.copy()
        gain = linear = 0.0
        for _ in range(2):
            rows = self.rng.permutation(oracle.n)[: self.rng.integers(1, oracle.n + 1)]
            rows.flags.writeable = False
            visits = stock.visit(climber, rows, 0.0)
            gain, linear = gain + visits.gain, linear + visits.linear
            assert visits.gain >= -1e-12  # rounding
            assert visits.work >= 0
        assert (held.alpha >= 0).all()
        assert (held.alpha.sum(axis=1) <= held.total * (1 + 1e-12)).all()
        u, q = np.zeros(self.task.dim), 0.0
        for i in range(oracle.n):
            for slot, (plane, loss) in enumerate(self.planes(i)):
                u += (held.alpha - before)[i, slot] * plane
                q += (held.alpha - before)[i, slot] * loss
        change = climber.change()
        np.testing.assert_allclose(to_dense(change), u, atol=1e-9)
        assert isinstance(change, SparseVector) == is_small(
            np.count_nonzero(to_dense(change)), self.task.dim
        )
        assert np.isclose(linear, q, atol=1e-9)
        # Of the dual itself for σ = 1, else of a bound of what the blocks bring together.
        assert np.isclose(gain, q - u @ w - 0.5 * sigma * (self.times * u) @ u, atol=1e-8)
        moved = w + u
        moved.flags.writeable = False
        every = np.arange(oracle.n)
        seen = oracle.separate(climber.view(), every)
        np.testing.assert_allclose(
            seen.value, oracle.separate(oracle.view(moved), every).value, atol=1e-8
        )

    def check(self, sigma):
        self.check_gram()
        for _ in range(3):
            self.check_visits(sigma)


class WholeHolding(Holding):
    """The α of all classes of every example."""

    def __init__(self, *given):
        super().__init__(*given)
        self.stock = WholeStock(self.oracle, self.stock.total)

    def planes(self, i):
        y, labels, truth = self.outputs[i], self.task.labels, self.oracle.truth[i]
        psi = [to_dense(self.features(self.inputs[i], label)) for label in labels]
        rows = []
        for number, label in enumerate(labels):
            q, p = self.task.loss(y, label), psi[truth] - psi[number]
            rows.append((q * p if self.slack else p, q))
        return rows

    def check_best(self, sigma):
        """After a visit no plane of its example is better than those with α, nor the truth."""
        w, i = self.point(), int(self.rng.integers(self.oracle.n))
        climber, held = self.stock.climber(w, sigma), self.stock.held
        self.stock.visit(climber, np.array([i]), 0.0)
        at = w + sigma * to_dense(climber.change())
        value = np.array([q - p @ at for p, q in self.planes(i)])
        alpha, total = held.alpha[i], held.total[i]
        gap = total * max(value.max(), 0.0) - alpha @ value
        # A visit may take its last step before all is even.
        assert gap <= 1e-6 * (1 + total * np.abs(value).max())

    def check(self, sigma):
        for _ in range(3):
            self.check_visits(sigma)
            self.check_best(sigma)
        planes, alpha = self.stock.support(self.stock.held.alpha)
        w = np.zeros(self.task.dim)
        self.oracle.accumulate(planes, alpha, w)
        every = [self.planes(i) for i in range(self.oracle.n)]
        by_hand = [a * p for row, own in zip(self.stock.held.alpha, every, strict=True)
                   for a, (p, _) in zip(row, own, strict=True)]  # fmt: skip
        np.testing.assert_allclose(w, np.sum(by_hand, axis=0), atol=1e-9)


CLASS_CASES = (
    SEEDS, st.booleans(), st.booleans(), st.booleans(), st.booleans(),
    st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([np.float64, np.float32, np.int16, np.uint8]),
    RESCALINGS, SIGMAS,
)  # fmt: skip


@settings(max_examples=120)
@given(*CLASS_CASES)
def test_classes(seed, binary, costs, scaled, sparse_rows, intercept, dtype, rescaling, sigma):
    given = classes(seed, binary, costs, scaled, sparse_rows, intercept, dtype)
    Holding(*given, rescaling, seed).check(sigma)


@settings(max_examples=60)
@given(*CLASS_CASES)
def test_all_classes(seed, binary, costs, scaled, sparse_rows, intercept, dtype, rescaling, sigma):
    given = classes(seed, binary, costs, scaled, sparse_rows, intercept, dtype)
    WholeHolding(*given, rescaling, seed).check(sigma)


@settings(max_examples=100)
@given(
    SEEDS, st.sampled_from(["hamming", "zero-one"]), st.sampled_from([1, 2]), RESCALINGS, SIGMAS,
    st.sampled_from([1, 2, 8]),
)  # fmt: skip
def test_sequences_with_real_and_repeated_features(seed, losses, order, rescaling, sigma, n_blocks):
    inputs, outputs = drawn(seed, n=6)
    inputs[0] = [["f0", "f0", "f1"] for _ in inputs[0]]
    task = prepared(SequenceTask(losses=losses, order=order, loss_scale=1.5), inputs, outputs)
    shard = task.shard(inputs, outputs)
    Holding(task, shard, inputs, outputs, rescaling, seed, n_blocks).check(sigma)


@settings(max_examples=40)
@given(SEEDS, st.integers(1, 4), st.sampled_from([1, 2]), SIGMAS)
def test_sequences_whose_names_are_hashed_to_one_column(seed, bits, order, sigma):
    inputs, outputs = drawn(seed, n=6)
    task = prepared(SequenceTask(hash_bits=bits, order=order), inputs, outputs)
    shard = task.shard(inputs, outputs)
    Holding(task, shard, inputs, outputs, "margin", seed).check(sigma)


@settings(max_examples=60)
@given(
    SEEDS, st.booleans(),
    st.sampled_from([("zero-one", "margin"), ("zero-one", "slack"), ("brackets", "margin"),
                     ("f1", "margin"), ("f1", "slack")]),
    SIGMAS,
)  # fmt: skip
def test_trees(seed, words, case, sigma):
    losses, rescaling = case
    trees = make_treebank(6, max_length=6, seed=seed)
    inputs = [[word if words else (word, tag) for word, tag in tree.sentence()] for tree in trees]
    task = ParseTask(losses, 3.0, words=words)
    task = task.prepare(task.scan(task.shard(inputs, trees)))
    Holding(task, task.shard(inputs, trees), inputs, trees, rescaling, seed).check(sigma)


@settings(max_examples=20)
@given(SEEDS, RESCALINGS, SIGMAS, st.sampled_from(["local", "global"]))
def test_alignments(seed, rescaling, sigma, alignment):
    inputs, outputs = make_alignments(4, length=12, n_operations=6, n_decoys=2, seed=seed)
    if alignment == "global":
        outputs = [y.candidate for y in outputs]
    task = AlignmentTask("zero-one", 3.0, alignment=alignment, gaps="affine")
    shard = task.shard(inputs, outputs)
    task = task.prepare(task.scan(shard))
    Holding(task, shard, inputs, outputs, rescaling, seed).check(sigma)


@settings(max_examples=40)
@given(SEEDS, RESCALINGS, SIGMAS)
def test_tasks_in_python(seed, rescaling, sigma):
    inputs, outputs = toy_chains(n=6, seed=seed)
    task = ToyChain()
    Holding(task, task.shard(inputs, outputs), inputs, outputs, rescaling, seed).check(sigma)
