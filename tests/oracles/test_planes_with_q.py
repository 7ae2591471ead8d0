"""What enters the dual is q, whatever Δ is: values, sums, Gram matrices, visits, what is stored."""

from dataclasses import replace

import numpy as np
import pytest
from bits_task import CompiledBits, bits
from scipy import sparse
from sequence_examples import drawn, prepared

from distsvm.data.features import as_rows
from distsvm.data.shard import Shard
from distsvm.structures.alignments.synthetic import make_alignments
from distsvm.structures.alignments.task import AlignmentTask
from distsvm.structures.classes.task import BinaryTask, MulticlassTask
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.synthetic import make_treebank
from distsvm.structures.trees.task import ParseTask
from distsvm.vectors import to_dense
from distsvm.workers.cache import PlaneCache
from distsvm.workers.stock import PlaneStock
from distsvm.workers.whole_stock import WholeStock


def classes(task=MulticlassTask, k=4, sparse_rows=False):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 3)), np.arange(8) % k
    shard = Shard(as_rows(sparse.csr_matrix(X) if sparse_rows else X), y, None)
    made = task(losses=3.0 * (1 - np.eye(k)))
    return made.prepare(made.scan(shard)), shard


def tags():
    inputs, outputs = drawn(3, n=6)
    task = prepared(SequenceTask(loss_scale=3.0), inputs, outputs)
    return task, task.shard(inputs, outputs)


def trees():
    made = make_treebank(30, max_length=9)
    inputs = [tree.sentence() for tree in made]
    task = ParseTask("f1", 3.0)
    task = task.prepare(task.scan(task.shard(inputs, made)))
    return task, task.shard(inputs, made)


def sets():
    task = CompiledBits()
    return task, task.shard(*bits(8))


def alignments():
    inputs, outputs = make_alignments(6, length=20, n_operations=8, n_decoys=2)
    task = AlignmentTask("zero-one", 3.0, gaps="affine", symmetric=True)
    shard = task.shard(inputs, outputs)
    return task.prepare(task.scan(shard)), shard


PROBLEMS = {
    "alignments": alignments,
    "dense": classes,
    "sparse": lambda: classes(sparse_rows=True),
    "binary": lambda: classes(BinaryTask, 2),
    "tags": tags,
    "trees": trees,
    "bits": sets,
}


@pytest.fixture(params=[(name, kind) for name in PROBLEMS for kind in ("margin", "slack")],
                ids=" ".join)  # fmt: skip
def found(request):
    """An oracle whose q is √Δ, its planes, and their p by hand."""
    name, rescaling = request.param
    task, shard = PROBLEMS[name]()
    oracle = task.oracle(shard, rescaling)
    w = 0.1 * np.random.default_rng(1).normal(size=task.dim)
    planes = oracle.separate(oracle.view(w), np.arange(oracle.n)).planes
    planes = planes.take(np.flatnonzero(planes.loss > 0))
    assert len(planes) > 1
    P = np.zeros((len(planes), task.dim))
    for i in range(len(planes)):
        oracle.accumulate(planes.take(np.array([i])), np.ones(1), P[i])
    if oracle.slack:
        P *= (np.sqrt(planes.loss) / planes.loss)[:, None]
    oracle.q_is_loss = False
    return oracle, replace(planes, q=np.sqrt(planes.loss)), P


def test_values_and_sums(found):
    oracle, planes, P = found
    rng = np.random.default_rng(2)
    w, weights = rng.normal(size=P.shape[1]), rng.random(len(planes))
    np.testing.assert_allclose(oracle.values(oracle.view(w), planes), planes.q - P @ w)
    out = np.zeros(P.shape[1])
    oracle.accumulate(planes, weights, out)
    np.testing.assert_allclose(out, weights @ P, atol=1e-9)
    total = oracle.total(P.shape[1])
    total.add(planes, weights)
    np.testing.assert_allclose(to_dense(total.vector()), weights @ P, atol=1e-9)


def test_the_dual_ascent(found):
    oracle, planes, P = found
    w, row = np.random.default_rng(3).normal(size=P.shape[1]), planes.row
    oracle.climb_beside(1)
    stock = PlaneStock(oracle, np.full(oracle.n, 0.3), 1e9)
    stock.insert(planes)
    held, climber = stock.held, stock.climber(w, 1.0)
    np.testing.assert_allclose(held.gram[row, 0, 0], (P**2).sum(axis=1))
    visits = stock.visit(climber, row, 0.0)
    alpha = held.alpha[row, 0]
    assert alpha.any()
    u = alpha @ P
    np.testing.assert_allclose(to_dense(climber.change()), u, atol=1e-9)
    assert np.isclose(visits.linear, alpha @ planes.q)
    assert np.isclose(visits.gain, alpha @ planes.q - u @ w - 0.5 * u @ u)


def test_what_is_kept_and_stored_has_both(found):
    oracle, planes, _ = found
    stock = PlaneStock(oracle, np.full(oracle.n, 0.3), 1e9)
    stock.insert(planes)
    stock.held.alpha[planes.row, 0] = 0.1
    twin = PlaneStock(oracle, np.full(oracle.n, 0.3), 1e9)
    twin.restore(stock.state())
    cache = PlaneCache(oracle, 2)
    cache.insert(planes)
    cached = PlaneCache(oracle, 2)
    cached.restore(cache.state().items())
    view = oracle.view(np.zeros(oracle.dim))
    for kept in (
        oracle.unpack(oracle.pack(planes)),
        twin.support(twin.held.alpha)[0],
        cached.best(view, np.arange(oracle.n))[0],
    ):
        assert np.array_equal(kept.row, planes.row)
        assert np.array_equal(kept.q, planes.q)
        assert np.array_equal(kept.loss, planes.loss)


def test_drop_and_growth_keep_q_and_loss_together(found):
    oracle, planes, _ = found
    stock = PlaneStock(oracle, np.full(oracle.n, 0.3), 1e9)
    stock.insert(planes)
    stock.held.alpha[planes.row, 0] = 0.1
    assert stock._grow()
    stock.held.idle[:] = 99
    stock.held.alpha[planes.row[0], 0] = 0.0
    stock.drop_idle()
    kept = stock.support(stock.held.alpha)[0]
    assert np.array_equal(kept.q, planes.q[1:])
    assert np.array_equal(kept.loss, planes.loss[1:])


def test_all_outputs_at_once_are_visited_for_the_linear_penalty_only():
    task, shard = classes()
    oracle = task.oracle(shard, "margin")
    assert np.isfinite(WholeStock.bytes_for(oracle))
    oracle.q_is_loss = False
    assert WholeStock.bytes_for(oracle) == np.inf


def test_a_second_array_is_held_only_where_q_is_not_the_loss():
    task, shard = classes()
    oracle = task.oracle(shard, "margin")
    total = np.full(oracle.n, 0.3)
    linear, cache = PlaneStock(oracle, total, 1e9), PlaneCache(oracle, 2)
    oracle.q_is_loss = False
    other, its_cache = PlaneStock(oracle, total, 1e9), PlaneCache(oracle, 2)
    assert other.n_bytes == linear.n_bytes + linear.held.q.nbytes
    assert its_cache.n_bytes == cache.n_bytes + 2 * 8 * oracle.n
    assert other._bytes_for(2 * other.size) > linear._bytes_for(2 * linear.size)
