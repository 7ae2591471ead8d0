"""Sparse and dense vectors agree in every operation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from distsvm import vectors
from distsvm.vectors import (
    SparseVector,
    add,
    add_into,
    compact,
    dot,
    mix,
    scale,
    subtract,
    to_dense,
)

entries = st.sampled_from([0.0, 0.0, 0.0, 1.0, -2.5, 3.25])
pairs = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        arrays(np.float64, n, elements=entries), arrays(np.float64, n, elements=entries)
    )
)


def sparse(dense):
    index = np.flatnonzero(dense)
    return SparseVector(index, dense[index], dense.size)


@given(pairs)
def test_operations_do_not_depend_on_the_form(pair):
    u, v = pair
    for a in (u, sparse(u)):
        assert np.array_equal(to_dense(scale(a, 3.0)), 3 * u)
        for b in (v, sparse(v)):
            assert dot(a, b) == u @ v
            assert np.array_equal(to_dense(add(a, b)), u + v)
            out = u.copy()
            add_into(out, -2.0, b)
            assert np.array_equal(out, u - 2 * v)
    difference = subtract(sparse(u), sparse(v))
    assert np.array_equal(to_dense(difference), u - v)
    assert (difference.value != 0).all()


@given(pairs)
def test_long_vectors_add_up_as_short_ones_do(pair):
    u, v = pair
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "LONG", 0)
        total = add(sparse(u), sparse(v))
    assert np.array_equal(to_dense(total), u + v)
    assert (np.diff(total.index) > 0).all()


@given(pairs)
def test_mix_lies_between_piece_by_piece(pair):
    u, v = pair
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "RUN", 7)
        assert np.array_equal(mix(u, v, 0.25), 0.75 * u + 0.25 * v)


@given(pairs)
def test_compact_takes_the_smaller_form_and_changes_nothing(pair):
    u, _ = pair
    nnz = np.count_nonzero(u)
    with_zeros = SparseVector(np.arange(u.size), u, u.size)
    for form in (u, sparse(u), with_zeros):
        small = compact(form)
        assert np.array_equal(to_dense(small), u)
        assert isinstance(small, SparseVector) == (12 * nnz < u.nbytes)
        assert not isinstance(small, SparseVector) or small.nbytes == 12 * nnz


def test_of_sorts_and_leaves_out_zeros():
    v = SparseVector.of({5: 1.0, 2: -1.0, 3: 0.0}, 8)
    assert v.index.tolist() == [2, 5]
    assert v.value.tolist() == [-1.0, 1.0]
