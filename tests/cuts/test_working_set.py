"""The working set: its Gram matrix, and changes that leave w and the dual value alone."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from distsvm.cuts.cut import Cut
from distsvm.cuts.working_set import WorkingSet
from distsvm.qp.base import QPSolution
from distsvm.vectors import compact, to_dense

DIM = 12


def combine(vectors, coefficients):
    return compact(sum(c * to_dense(v) for c, v in zip(coefficients, vectors, strict=True)))


def filled(seed, m, n_blocks):
    rng = np.random.default_rng(seed)
    working = WorkingSet(np.full(n_blocks, 2.0))
    for j in range(m):
        a = rng.standard_normal(DIM) * (rng.random(DIM) < rng.choice([0.2, 1.0]))
        cut = Cut(compact(a), float(rng.random()), j % n_blocks)
        row = [to_dense(cut.a) @ to_dense(other.a) for other in [*working.cuts, cut]]
        working.add(cut, np.array(row))
    alpha = rng.random(m) * (rng.random(m) < 0.6)
    working.accept(QPSolution(alpha, 0.0, 0.0, 0))
    return working


def w_of(working):
    return sum(
        (a * to_dense(c.a) for a, c in zip(working.alpha, working.cuts, strict=True)), np.zeros(DIM)
    )


def check_gram(working):
    vectors = np.array([to_dense(cut.a) for cut in working.cuts]).reshape(-1, DIM)
    np.testing.assert_allclose(working.gram, vectors @ vectors.T, atol=1e-10)


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(0, 40), st.integers(1, 3), st.integers(5, 20))
def test_shrinking_changes_neither_w_nor_the_dual(seed, m, n_blocks, max_cuts):
    working = filled(seed, m, n_blocks)
    w, linear = w_of(working), working.linear()
    totals = np.bincount([c.block for c in working.cuts], working.alpha, n_blocks)
    working.shrink(max_cuts, combine)
    assert len(working) <= max(max_cuts, n_blocks)
    np.testing.assert_allclose(w_of(working), w, atol=1e-10)
    np.testing.assert_allclose(working.linear(), linear, atol=1e-10)
    np.testing.assert_allclose(
        np.bincount([c.block for c in working.cuts], working.alpha, n_blocks), totals, atol=1e-10
    )
    check_gram(working)


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_idle_cuts_are_dropped_after_n_solves_and_not_before(seed, m):
    working = filled(seed, m, 1)
    n_support, w = working.n_support, w_of(working)
    for _ in range(3):
        working.accept(QPSolution(working.alpha, 0.0, 0.0, 0))
    working.drop_idle(5)
    assert len(working) == m
    working.drop_idle(4)
    assert len(working) == n_support
    assert np.array_equal(w_of(working), w)
    check_gram(working)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(0, 20), st.integers(1, 3))
def test_arrays_give_the_same_set_back(seed, m, n_blocks):
    working = filled(seed, m, n_blocks)
    back = WorkingSet.from_arrays(working.limit, working.arrays(), DIM)
    assert np.array_equal(back.gram, working.gram)
    assert np.array_equal(back.alpha, working.alpha)
    assert np.array_equal(back.idle, working.idle)
    for a, b in zip(back.cuts, working.cuts, strict=True):
        assert (a.b, a.block, type(a.a)) == (b.b, b.block, type(b.a))
        assert np.array_equal(to_dense(a.a), to_dense(b.a))
