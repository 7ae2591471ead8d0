"""Kernel functions against scikit-learn's and against their definitions."""

from itertools import pairwise as neighbours

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import pairwise
from sklearn.svm import SVC

from distsvm.data.features import as_rows
from distsvm.errors import ConfigError, DataError, ModelError
from distsvm.kernel_functions import (
    BlockCache,
    check_gram,
    kernel_function,
    read_function,
    register_kernel,
)
from distsvm.kernel_functions.function import BLOCK_ROWS
from distsvm.kernel_functions.sampling import Seen, row_keys

RNG = np.random.default_rng(0)
A = RNG.normal(size=(BLOCK_ROWS + 37, 5)) * (RNG.random((BLOCK_ROWS + 37, 5)) < 0.6)
B = RNG.normal(size=(21, 5))
REFERENCES = {
    "rbf": lambda a, b: pairwise.rbf_kernel(a, b, gamma=0.3),
    "poly": lambda a, b: pairwise.polynomial_kernel(a, b, gamma=0.3, degree=5, coef0=0.7),
    "linear": pairwise.linear_kernel,
    "laplacian": lambda a, b: pairwise.laplacian_kernel(a, b, gamma=0.3),
}


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("left", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("right", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_are_those_of_scikit_learn(name, left, right, dtype):
    function = kernel_function(name, gamma=0.3, degree=5, coef0=0.7)
    found = function.block(as_rows(left(A)), as_rows(right(B)), dtype)
    assert found.dtype == dtype
    wanted = REFERENCES[name](A, B)
    tolerance = (1e-5 if dtype == np.float32 else 1e-12) * np.abs(wanted).max()
    np.testing.assert_allclose(found, wanted, atol=tolerance)
    own = [function.block(as_rows(a[None]), as_rows(a[None]))[0, 0] for a in A[:5]]
    np.testing.assert_allclose(function.diagonal(as_rows(A[:5])), own, rtol=1e-12)


def test_float32_keeps_its_digits_far_from_the_origin():
    far = 3000 + A
    function = kernel_function("rbf", gamma=0.3)
    found = function.block(as_rows(far), as_rows(far[:50]), np.float32)
    np.testing.assert_allclose(found, pairwise.rbf_kernel(far, far[:50], gamma=0.3), atol=1e-4)


@pytest.mark.parametrize("name", [*REFERENCES, "own"])
def test_a_row_has_the_same_bits_however_many_rows_follow_its_block(name):
    function = kernel_function(own_values if name == "own" else name, gamma=0.3)
    whole = function.block(as_rows(A), as_rows(B), np.float32)
    first = function.block(as_rows(A[:BLOCK_ROWS]), as_rows(B), np.float32)
    assert np.array_equal(whole[:BLOCK_ROWS], first)


def test_scale_and_auto_are_scikit_learns():
    y = A[:, 0] > 0
    for gamma in ("scale", "auto"):
        parts = [Seen.of(as_rows(part), 100, 0) for part in (A[:50], A[50:])]
        settled = kernel_function("rbf", gamma).settled(parts[0] + parts[1])
        assert settled.gamma == pytest.approx(SVC(gamma=gamma).fit(A, y)._gamma, rel=1e-12)
    seen = Seen.of(as_rows(sparse.csr_matrix(A)), 100, 0)
    wanted = SVC(gamma="scale").fit(sparse.csr_matrix(A), y)._gamma
    assert kernel_function("rbf").settled(seen).gamma == pytest.approx(wanted, rel=1e-12)


def test_median_is_that_of_all_distances_where_the_sample_has_all_rows():
    seen = Seen.of(as_rows(B), 100, 0)
    distances = pairwise.euclidean_distances(B)[np.triu_indices(len(B), 1)]
    settled = kernel_function("rbf", "median").settled(seen)
    assert settled.gamma == pytest.approx(0.5 / np.median(distances) ** 2)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.lists(st.integers(0, 60), max_size=4))
def test_the_sample_depends_on_rows_and_seed_only(seed, limit, cuts):
    X = np.random.default_rng(seed).integers(0, 3, (60, 3)).astype(float)
    whole = Seen.of(as_rows(X), limit, seed)
    edges = sorted({0, 60, *cuts})
    parts = [
        Seen.of(as_rows(sparse.csr_matrix(X[i:j])), limit, seed, i) for i, j in neighbours(edges)
    ]
    total = parts[-1]
    for part in parts[-2::-1]:
        total = total + part
    assert np.array_equal(total.keys, whole.keys)
    assert np.array_equal(X[total.numbers], whole.rows.values)
    assert len(np.unique(whole.rows.values, axis=0)) == len(whole.keys)
    assert (total.mean, total.variance) == pytest.approx((X.mean(), X.var()), abs=1e-12)


def test_equal_rows_have_equal_keys_of_all_kinds_of_rows():
    X = np.round(A, 2).astype(np.float32)
    keys = row_keys(as_rows(X), 7)
    assert np.array_equal(keys, row_keys(as_rows(X.astype(float)), 7))
    assert np.array_equal(keys, row_keys(as_rows(sparse.csr_matrix(X)), 7))
    assert np.unique(keys).size == len(np.unique(X, axis=0))


def test_precomputed_values_are_columns_of_the_matrix():
    K = pairwise.rbf_kernel(B)
    function = kernel_function("precomputed").settled(Seen.of(as_rows(K), 10, 0))
    anchors = function.anchors(as_rows(K[[3, 1]]), np.array([3, 1]))
    assert np.array_equal(function.block(as_rows(K), anchors), K[:, [3, 1]])
    with pytest.raises(DataError, match="21 rows of 20 values"):
        function.settled(Seen.of(as_rows(K[:, :-1]), 10, 0))


def own_values(a, b):
    found = a @ b.T
    return (found.toarray() if sparse.issparse(found) else found) + 1.0


def test_a_function_of_the_users_own_is_called_with_blocks_and_saved_by_name():
    function = kernel_function(own_values)
    for form in (np.asarray, sparse.csr_matrix):
        found = function.block(as_rows(form(A)), as_rows(form(B)))
        np.testing.assert_allclose(found, A @ B.T + 1.0)
    assert read_function(function.to_json()) == function
    with pytest.raises(ModelError, match="no module has it by name"):
        kernel_function(lambda a, b: a @ b.T).to_json()
    with pytest.raises(ModelError, match="'os:system'"):
        read_function({"name": "own", "function": "os:system"})
    with pytest.raises(ConfigError, match="kernel="):
        register_kernel(lambda a, b: a @ b.T)


@pytest.mark.parametrize("name", [*REFERENCES, "precomputed"])
def test_a_saved_function_is_equal(name):
    function = kernel_function(name, 0.25, 2, 1.5)
    assert read_function(function.to_json()) == function


@pytest.mark.parametrize(
    "data", [None, {}, {"name": "rbf"}, {"name": 3}, {"name": "poly", "gamma": 1}]
)
def test_a_damaged_function_is_refused(data):
    with pytest.raises(ModelError, match="the kernel function"):
        read_function(data)


@pytest.mark.parametrize(("parameter", "value"), [
    ("gamma", 0.0), ("gamma", -1), ("gamma", np.nan), ("gamma", "wide"), ("degree", 0),
    ("degree", 1.5), ("coef0", np.inf), ("kernel", "gaussian"), ("kernel", 3),
])  # fmt: skip
def test_bad_parameters_are_named(parameter, value):
    with pytest.raises(ConfigError, match=f"^{parameter}=") as caught:
        kernel_function(**{"kernel": "rbf"} | {parameter: value})
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(("bad", "text"), [
    (lambda a, b: np.full((len(a), len(b)), np.nan), "K is nan for row 0"),
    (lambda a, b: np.ones((len(a), len(b) + 1)), r"expected \(4, 21\)"),
    (lambda a, b: np.ones(len(a)), r"shape \(4,\)"),
])  # fmt: skip
def test_bad_values_of_a_function_are_refused(bad, text):
    with pytest.raises(ConfigError, match=text):
        kernel_function(bad).block(as_rows(A[:4]), as_rows(B))


def test_values_that_are_no_kernel_function_are_refused():
    check_gram(pairwise.rbf_kernel(B).astype(np.float32), "rbf")
    with pytest.raises(ConfigError, match="not symmetric"):
        check_gram(np.arange(9.0).reshape(3, 3), "own")
    with pytest.raises(ConfigError, match="not positive semidefinite"):
        check_gram(-np.eye(3), "own")


def test_constant_features_and_open_parameters_are_refused():
    constant = Seen.of(as_rows(np.ones((5, 2))), 10, 0)
    for gamma in ("scale", "median", 1.0):
        with pytest.raises(ConfigError, match="all features are constant"):
            kernel_function("rbf", gamma).settled(constant)
    with pytest.raises(ConfigError, match="not settled"):
        kernel_function("rbf").block(as_rows(A), as_rows(B))


def test_a_cache_keeps_to_its_bound_and_forgets_the_least_recently_used():
    cache = BlockCache(2 * 8 * 10)
    for key in (0, 1, 0, 2, 0, 1):
        block = cache.block(key, lambda: np.zeros(10))
        assert cache.n_bytes <= cache.max_bytes
    assert (cache.n_found, cache.n_made) == (2, 4)
    assert not block.flags.writeable
    assert cache.block(9, lambda: np.ones(99)).sum() == 99  # larger than the bound
    assert cache.n_bytes <= cache.max_bytes
