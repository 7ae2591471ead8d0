"""Rows in memory are predicted without shards: the same classes and errors as with them."""

import numpy as np
import pytest
from scipy import sparse

from distsvm import BinarySVC, MulticlassSVC, train
from distsvm.data.synthetic import make_multiclass
from distsvm.errors import DataError
from distsvm.structures.classes import predictor
from distsvm.structures.classes.task import MulticlassTask


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint8])
def test_rows_in_memory_get_the_classes_that_shards_give(dtype, monkeypatch):
    X, y = make_multiclass(60, 7, 4)
    X = (10 * np.abs(X)).astype(dtype)
    model = train(MulticlassTask(scale=True), X, y, max_rounds=5, executor="serial").model
    expected = model.predict(X, executor="serial")
    assert model.predict(X).tolist() == expected.tolist()
    assert np.concatenate([model.predict(row[None]) for row in X]).tolist() == expected.tolist()
    monkeypatch.setattr(predictor, "MOST_VALUES", 0)
    assert model.predict(X).tolist() == expected.tolist()


def test_a_bad_table_is_refused_alike():
    X, y = make_multiclass(30, 3, 3)
    model = train(MulticlassTask(), X, y, max_rounds=2, executor="serial").model
    for options in ({}, {"executor": "serial"}):
        with pytest.raises(DataError, match="expected 3"):
            model.predict(X[:, :2], **options)
        bad = X.copy()
        bad[4, 1] = np.nan
        with pytest.raises(DataError, match="nan"):
            model.predict(bad, **options)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("k", [2, 4])
def test_one_row_has_the_scores_that_it_has_among_all(form, k):
    X, y = make_multiclass(40, 6, k)
    for estimator in (MulticlassSVC, *([BinarySVC] if k == 2 else [])):
        fitted = estimator(max_rounds=5, executor="serial").fit(form(X), y)
        scores = fitted.decision_function(form(X))
        for i in range(len(X)):
            one = fitted.decision_function(form(X[i : i + 1]))
            np.testing.assert_allclose(one[0], scores[i], rtol=1e-12)
        expected = X @ fitted.coef_.T + fitted.intercept_
        np.testing.assert_allclose(scores.reshape(expected.shape), expected, rtol=1e-9, atol=1e-9)


def test_columns_in_any_order_and_given_twice_have_the_scores_of_their_sums():
    rng = np.random.default_rng(0)
    X = sparse.random(60, 9, 0.6, "csr", rng=rng)
    y = rng.integers(0, 3, 60)
    fitted = MulticlassSVC(max_rounds=5, executor="serial").fit(X, y)
    row, values = np.repeat(np.arange(60), np.diff(X.indptr)), rng.random(X.nnz) * X.data
    order = rng.permutation(2 * X.nnz)
    order = order[np.argsort(np.tile(row, 2)[order], kind="stable")]
    given = np.concatenate([values, X.data - values])[order], np.tile(X.indices, 2)[order]
    mixed = sparse.csr_matrix((*given, 2 * X.indptr), X.shape)
    before = mixed.indices.copy()
    np.testing.assert_allclose(fitted.decision_function(mixed), fitted.decision_function(X))
    assert fitted.predict(mixed).tolist() == fitted.predict(X).tolist()
    assert np.array_equal(mixed.indices, before)
    assert mixed.nnz == 2 * X.nnz
