"""Classes with codes Λ(y) of their own: sizes, searches and optima are those of Ψ = x ⊗ Λ(y)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from distsvm import load_model, train
from distsvm.data.features import as_rows
from distsvm.data.shard import Shard
from distsvm.errors import ConfigError
from distsvm.messages import Planes
from distsvm.oracles.description import describe, rebuild
from distsvm.structures.classes.task import MulticlassTask
from distsvm.testing import check_task
from distsvm.vectors import to_dense

CODES = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
TAXONOMY = np.array(
    [[1, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1]]
)


def problem(seed, codes, sparse_rows=False, **options):
    """A prepared task with its shard, X and y; each class comes at least once."""
    rng = np.random.default_rng(seed)
    k, n = len(codes), 4 * len(codes)
    X, y = rng.normal(size=(n, 3)), np.arange(n) % k
    rows = as_rows(sparse.csr_matrix(X) if sparse_rows else X)
    task, shard = MulticlassTask(codes=codes, **options), Shard(rows, y, None)
    return task.prepare(task.scan(shard)), shard, X, y


def drawn_codes(seed):
    rng = np.random.default_rng(seed)
    return rng.integers(-2, 3, (rng.integers(2, 6), rng.integers(1, 5))).astype(float)


def by_hand(task, X, y):
    """Ψ(x, c) of every example and class."""
    return [[to_dense(task.joint_features(x, c)) for c in task.labels] for x in X]


def test_sizes_of_codes_that_are_not_unit():
    X = np.array([[5**0.5], [1.0], [8**0.5]])
    shard = Shard(as_rows(X), np.arange(3), None)
    task = MulticlassTask(codes=CODES)
    norms, square_radius = task.prepare(task.scan(shard)).oracle(shard, "margin").norms()
    np.testing.assert_allclose(norms, [6.0, 8.0, 18.0])
    assert np.isclose(square_radius, max(6.0 * 5.0, 2.0 * 5.0, 9.0 * 2.0))


@settings(max_examples=80)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_sizes_of_any_codes(seed, sparse_rows, scaled):
    task, shard, X, y = problem(seed, drawn_codes(seed), sparse_rows, scale=scaled)
    norms, square_radius = task.oracle(shard, "margin").norms()
    psi = by_hand(task, X, y)
    np.testing.assert_allclose(norms, [p[t] @ p[t] for p, t in zip(psi, y, strict=True)])
    largest = max(
        float((p[t] - other) @ (p[t] - other)) for p, t in zip(psi, y, strict=True) for other in p
    )
    assert np.isclose(square_radius, largest)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["margin", "slack"]))
def test_the_search_and_its_planes_equal_enumeration(seed, sparse_rows, rescaling):
    task, shard, X, y = problem(seed, drawn_codes(seed), sparse_rows)
    oracle, w = task.oracle(shard, rescaling), np.random.default_rng(seed).normal(size=task.dim)
    w.flags.writeable = False
    answer = oracle.separate(oracle.view(w), np.arange(len(y)))
    psi = by_hand(task, X, y)
    for i, t in enumerate(y):
        q = 1.0 * (np.arange(len(task.labels)) != t)
        margin = np.array([(psi[i][t] - other) @ w for other in psi[i]])
        values = q * (1 - margin) if rescaling == "slack" else q - margin
        assert np.isclose(answer.value[i], values.max())
        every = Planes.linear(
            np.full(q.size, i), np.arange(q.size, dtype=np.int32), oracle.losses(
                np.full(q.size, i), np.arange(q.size))
        )  # fmt: skip
        np.testing.assert_allclose(oracle.values(oracle.view(w), every), values, atol=1e-9)


@pytest.mark.parametrize("codes", [CODES, TAXONOMY, TAXONOMY.tolist()], ids=["few", "tree", "list"])
def test_tasks_with_codes_pass_check_task(codes):
    task, _, X, y = problem(1, codes)
    check_task(task, list(zip(X, y, strict=True)), outputs=lambda x: task.labels.tolist())


@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("options", [{}, {"rescaling": "slack"}, {"plane_memory_mb": 0.003}])
def test_both_solvers_find_the_same_optimum(options, sparse_rows):
    _, _, X, y = problem(2, TAXONOMY)
    X = np.vstack([X, X + 0.3, X - 0.5])
    X, y = sparse.csr_matrix(X) if sparse_rows else X, np.tile(y, 3)
    given = MulticlassTask(codes=TAXONOMY), X, y
    options = {"C": 3.0, "eps": 1e-5, "n_shards": 2, "executor": "serial"} | options
    two = train(*given, solver="multi-plane", **options)
    options.pop("plane_memory_mb", None)
    one = train(*given, solver="one-slack", **options)
    assert one.stop_reason == two.stop_reason == "eps"
    assert one.dual <= two.primal * (1 + 1e-12)
    assert two.dual <= one.primal * (1 + 1e-12)


def test_codes_are_saved(tmp_path):
    task, _, X, y = problem(3, CODES)
    result = train(task, X, y, C=1.0, eps=0.1, executor="serial")
    result.model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert np.array_equal(loaded.task.codes, CODES)
    assert np.array_equal(loaded.predict(X), result.model.predict(X))


def test_without_codes_a_task_is_described_as_before_there_were_any():
    task, *_ = problem(4, np.eye(3))
    data, arrays = describe(MulticlassTask(classes=np.arange(3)))
    assert "codes" not in data["fields"]
    assert "codes" not in arrays
    assert rebuild(data, arrays).codes is None
    assert np.array_equal(describe(task)[1]["codes"], np.eye(3))


def test_codes_that_are_unit_vectors_give_the_optimum_of_no_codes():
    _, _, X, y = problem(5, np.eye(3))
    options = {"C": 2.0, "eps": 1e-6, "executor": "serial"}
    one = train(MulticlassTask(codes=np.eye(3)), X, y, **options)
    two = train(MulticlassTask(), X, y, **options)
    assert np.isclose(one.primal, two.primal, rtol=1e-6)


def test_a_warm_start_needs_the_same_codes():
    old, _, _, _ = problem(6, CODES)
    wider, _, _, _ = problem(7, CODES)
    w = np.random.default_rng(0).normal(size=old.dim)
    assert np.array_equal(wider.carry(w, old), w)
    for codes in (CODES + 1, None):
        other = MulticlassTask(codes=codes, classes=np.arange(3), n_features=3)
        with pytest.raises(ConfigError, match="other codes"):
            other.carry(w, old)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (CODES[:2], r"shape \(2, 2\), expected \(3"),
        (np.zeros((3, 0)), r"shape \(3, 0\)"),
        ([1.0, 2.0, 3.0], r"shape \(3,\)"),
        ([[1.0], [2.0, 3.0], [4.0]], "not an array of numbers"),
        ([["a"], ["b"], ["c"]], "not an array of numbers"),
        ([[1.0], [np.inf], [2.0]], "not finite"),
    ],
)
def test_codes_that_do_not_fit_are_refused(codes, message):
    shard = Shard(as_rows(np.ones((3, 2))), np.arange(3), None)
    task = MulticlassTask(codes=codes)
    with pytest.raises(ConfigError, match=message):
        task.prepare(task.scan(shard))
    loaded = MulticlassTask(codes=codes, classes=np.arange(3), n_features=2)
    with pytest.raises(ConfigError, match=message):
        loaded.check_loaded()
