"""Products and sums in pieces are those of the whole vectors, whatever the forms and the cores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from distsvm.risks import algebra
from distsvm.vectors import SparseVector

matrices = st.tuples(st.integers(0, 4), st.integers(1, 40)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.0, 1.0, -2.5, 3.25]))
)


def form(dense, is_sparse):
    index = np.flatnonzero(dense).astype(np.int32)
    dense.flags.writeable = False
    return SparseVector(index, dense[index], dense.size) if is_sparse else dense


@given(matrices, st.data(), st.integers(1, 3))
def test_pieces_add_up_to_the_whole(matrix, data, n_cores):
    n, dim = matrix.shape
    forms = data.draw(st.lists(st.booleans(), min_size=n + 1, max_size=n + 1))
    other = data.draw(arrays(np.float64, dim, elements=st.sampled_from([0.0, 2.0, -0.5])))
    vectors = [
        form(row.copy(), is_sparse) for row, is_sparse in zip(matrix, forms[:n], strict=True)
    ]
    coefficients = np.arange(1.0, n + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(algebra, "PIECE", 7)
        patch.setattr(algebra, "usable_cores", lambda: n_cores)
        found = algebra.products(vectors, form(other, forms[-1]))
        total = algebra.combination(vectors, coefficients, dim)
        w = np.array(other)
        along, square = algebra.advance(w, vectors, coefficients)
    assert np.array_equal(w, other + coefficients @ matrix)
    assert (along, square) == (total @ other, total @ total)
    assert np.array_equal(found, matrix @ other)
    assert np.array_equal(total, coefficients @ matrix)


def test_bits_do_not_depend_on_the_cores(monkeypatch):
    rng = np.random.default_rng(0)
    vectors = [form(rng.standard_normal(1000) * (rng.random(1000) < 0.3), True) for _ in range(5)]
    monkeypatch.setattr(algebra, "PIECE", 64)
    found = []
    for n_cores in (1, 2, 5):
        monkeypatch.setattr(algebra, "usable_cores", lambda n=n_cores: n)
        products = algebra.products(vectors, vectors[0])
        total = algebra.combination(vectors, np.full(5, 0.1), 1000)
        found.append((products.tobytes(), total.tobytes()))
    assert found[0] == found[1] == found[2]
