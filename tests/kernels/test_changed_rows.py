"""Weights with changes beside them are the weights with the changes added."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distsvm.data.features import frozen
from distsvm.kernels import changed_rows
from distsvm.oracles.climber import change_of_rows, room_for_changes
from distsvm.vectors import to_dense


@given(
    seed=st.integers(0, 10**6), n_rows=st.integers(1, 6), r=st.sampled_from([1, 3, 63, 64, 65, 130])
)
def test_changes_are_those_of_a_dense_table_also_when_they_are_forgotten(seed, n_rows, r):
    rng = np.random.default_rng(seed)
    V = frozen(rng.standard_normal((n_rows, r)))
    last = rng.integers(0, 2, 4) * 1.5
    changed = room_for_changes(np.arange(n_rows), V, np.ones(n_rows))
    for _ in range(2):  # the second time where the first has lain
        changed_rows.forget(changed)
        expected = np.zeros((n_rows, r))
        for _ in range(rng.integers(0, 30)):
            row, column, x = rng.integers(n_rows), rng.integers(r), rng.standard_normal()
            changed_rows.add_weight(changed, row, column, x)
            expected[row, column] += x
        u = to_dense(change_of_rows(changed, 0.5, last, expected.size + last.size))
        assert np.array_equal(u, np.concatenate([0.5 * expected.ravel(), last]))
        values, columns = np.ones(n_rows), np.arange(n_rows, dtype=np.int32)
        out, entries = np.empty((1, r)), np.array([0, n_rows])
        token = frozen(np.zeros(1, np.int64))
        changed_rows.changed_products(
            frozen(values), frozen(columns), frozen(entries), token, changed, 0.5, out
        )
        np.testing.assert_allclose(out[0], (V + 0.5 * expected).sum(axis=0), atol=1e-12)
