"""Binary and multiclass: the compiled oracle equals enumeration, for every loss and data."""

import logging
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from distsvm.data.dataset import TableData
from distsvm.data.features import as_rows
from distsvm.data.shard import Shard
from distsvm.errors import ConfigError, DataError
from distsvm.messages import Planes
from distsvm.structures.classes.task import BinaryTask, MulticlassTask
from distsvm.testing import check_task
from distsvm.vectors import to_dense


def prepared(task, X, y):
    shard = Shard(as_rows(X), np.asarray(y), None)
    return task.prepare(task.scan(shard)), shard


def problem(seed, n, d, k, binary, costs, scaled, sparse_rows, dtype):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, d)).astype(dtype)  # small integers: plenty of ties
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    losses = "zero-one"
    if costs:
        losses = rng.integers(0, 5, (k, k)).astype(float)
        np.fill_diagonal(losses, 0)
        losses[0, 1] = 2.0
    task = (BinaryTask if binary else MulticlassTask)(
        losses=losses, loss_scale=2.0, intercept_scaling=0.5, scale=scaled
    )
    return prepared(task, sparse.csr_matrix(X) if sparse_rows else X, y), X, y


cases = st.tuples(
    st.integers(0, 10**6), st.integers(5, 12), st.integers(1, 6), st.integers(2, 5), st.booleans(),
    st.booleans(), st.booleans(), st.booleans(),
    st.sampled_from([np.float64, np.float32, np.int16]),
)  # fmt: skip


@settings(max_examples=60)
@given(cases, st.sampled_from(["margin", "slack"]))
def test_oracle_equals_enumeration(case, rescaling):
    seed, n, d, k, binary, costs, scaled, sparse_rows, dtype = case
    k = 2 if binary else k
    (task, shard), X, y = problem(seed, n, d, k, binary, costs, scaled, sparse_rows, dtype)
    w = np.random.default_rng(seed + 1).integers(-2, 3, task.dim) / 2.0
    w.flags.writeable = False
    oracle = task.oracle(shard, rescaling)
    rows = np.arange(n)[::-1].copy()
    answer = oracle.separate(oracle.view(w), rows)
    total = np.zeros(task.dim)
    for i, row in enumerate(rows):
        psi = [to_dense(task.joint_features(X[row], c)) for c in task.labels]
        values = []
        for c in range(k):
            delta = task.loss(y[row], c)
            margin = (psi[y[row]] - psi[c]) @ w
            values.append(delta * (1 - margin) if rescaling == "slack" else delta - margin)
        chosen = answer.planes.output[i]
        assert np.isclose(max(values), answer.value[i], rtol=1e-9, atol=1e-9)
        assert np.isclose(values[chosen], max(values), rtol=1e-9, atol=1e-9)
        assert answer.planes.loss[i] == task.loss(y[row], chosen)
        p = psi[y[row]] - psi[chosen]
        total += (i + 1) * (answer.planes.loss[i] * p if rescaling == "slack" else p)
    out = np.zeros(task.dim)
    oracle.accumulate(answer.planes, np.arange(1.0, n + 1), out)
    np.testing.assert_allclose(out, total, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        oracle.values(oracle.view(w), answer.planes), answer.value, rtol=1e-9, atol=1e-9
    )


def test_values_of_any_planes_in_any_order():
    (task, shard), X, y = problem(0, 30, 4, 5, False, True, True, False, np.float64)
    rng = np.random.default_rng(1)
    w = rng.standard_normal(task.dim)
    oracle = task.oracle(shard, "margin")
    oracle.piece = 7  # several pieces
    row = rng.integers(0, 30, 100)
    output = rng.integers(0, 5, 100).astype(np.int32)
    loss = oracle.losses(row, output)
    values = oracle.values(oracle.view(w), Planes.linear(row, output, loss))
    for i in range(100):
        psi = to_dense(task.joint_features(X[row[i]], y[row[i]]))
        psi = psi - to_dense(task.joint_features(X[row[i]], output[i]))
        assert np.isclose(values[i], loss[i] - psi @ w)


def test_ties_go_to_the_lowest_class():
    task, shard = prepared(MulticlassTask(), np.ones((3, 2)), [0, 1, 2])
    oracle = task.oracle(shard, "margin")
    answer = oracle.separate(oracle.view(np.zeros(task.dim)), np.arange(3))
    assert answer.planes.output.tolist() == [1, 0, 0]
    assert oracle.decode(oracle.view(np.zeros(task.dim)), np.arange(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("kind", [BinaryTask, MulticlassTask])
@pytest.mark.parametrize("scaled", [False, True])
def test_class_tasks_pass_check_task(kind, scaled):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), np.arange(20) % 2
    task, _ = prepared(kind(scale=scaled), X, y)
    check_task(task, list(zip(X, y, strict=True)), outputs=lambda x: [0, 1])


def test_float32_rows_are_not_copied():
    X = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
    shard = TableData(X, np.arange(50) % 3).specs(1)[0].load()
    oracle = MulticlassTask().prepare(MulticlassTask().scan(shard)).oracle(shard, "margin")
    assert np.shares_memory(oracle.rows.values, X)
    assert oracle.rows.values.dtype == np.float32


def test_sparse_rows_are_not_copied_and_shards_share_them():
    X = sparse.random(60, 10, 0.3, format="csr", random_state=0)
    specs = TableData(X, np.arange(60) % 3).specs(4)
    for spec in specs:
        assert np.shares_memory(spec.load().x.values, X.data)


def test_radius_and_size_are_those_of_the_joint_features():
    (task, shard), X, y = problem(3, 12, 4, 3, False, False, True, False, np.float64)
    weights = np.arange(1.0, 13)
    square, square_radius = task.oracle(shard, "margin").size(weights)
    psi = [[to_dense(task.joint_features(x, c)) for c in range(3)] for x in X]
    expected = sum(c * p[t] @ p[t] for c, p, t in zip(weights, psi, y, strict=True))
    largest = max(np.linalg.norm(p[a] - p[b]) for p in psi for a in range(3) for b in range(3))
    assert np.isclose(square, expected)
    assert np.isclose(square_radius, largest**2)


def test_badly_scaled_features_warn_once_and_scale_mends_it(caplog):
    X = np.array([[1e5, 1.0], [2e5, 3.0], [1.0, 2.0]])
    with caplog.at_level(logging.WARNING):
        prepared(MulticlassTask(), X, [0, 1, 2])
    assert "feature 0 reaches 2e+05, feature 1 only 3" in caplog.text
    caplog.clear()
    task, _ = prepared(MulticlassTask(scale=True), X, [0, 1, 2])
    assert not caplog.records
    assert np.allclose(task.scaler, [1 / 2e5, 1 / 3.0])


def test_carry_keeps_the_scores_of_old_features_and_classes():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((9, 3)), np.array([1, 3, 5] * 3)
    old, _ = prepared(MulticlassTask(), X, y)
    wide = np.hstack([X, rng.standard_normal((9, 2))])
    new, _ = prepared(MulticlassTask(), wide, np.array([1, 2, 3, 4, 5, 1, 3, 5, 2]))
    w = rng.standard_normal(old.dim)
    V, bias = old.weights(w)
    V_new, bias_new = new.weights(new.carry(w, old))
    scores = wide @ V_new + bias_new
    np.testing.assert_allclose(scores[:, [0, 2, 4]], X @ V + bias)
    np.testing.assert_allclose(scores[:, [1, 3]], 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"losses": np.ones((2, 2))}, "shape"),
        ({"losses": np.ones((3, 3))}, "diagonal"),
        ({"losses": -1 + np.eye(3)}, "negative"),
        ({"losses": np.zeros((3, 3))}, "all 0"),
        ({"losses": "hinge"}, "zero-one"),
        ({"loss_scale": 0.0}, "loss_scale"),
        ({"class_weight": "even"}, "balanced"),
        ({"class_weight": {7: 1.0}}, "7"),
        ({"class_weight": {0: -1.0}}, "-1"),
        ({"class_weight": {0: "much"}}, "much"),
        ({"class_weight": [1, 2, 3]}, "expected 'balanced', a dict"),
        ({"losses": [["a"]]}, "numbers"),
        ({"losses": [[0, 1], [1]]}, "numbers"),
        ({"loss_scale": "big"}, "loss_scale='big'"),
        ({"intercept_scaling": float("nan")}, "intercept_scaling=nan"),
    ],
)
def test_bad_settings_are_refused_by_name(change, message):
    with pytest.raises(ConfigError, match=message):
        prepared(MulticlassTask(**change), np.ones((3, 2)), [0, 1, 2])


def test_bad_labels_are_refused():
    X = np.ones((4, 2))
    with pytest.raises(DataError, match="one class"):
        prepared(MulticlassTask(), X, [1, 1, 1, 1])
    with pytest.raises(DataError, match="3 classes"):
        prepared(BinaryTask(), X, [0, 1, 2, 2])
    with pytest.raises(DataError, match="label 9"):
        prepared(MulticlassTask(classes=np.array([0, 1])), X, [0, 1, 9, 1])
    task, _ = prepared(MulticlassTask(), X, [0, 1, 2, 2])
    with pytest.raises(DataError, match="example 12: label"):
        task.oracle(Shard(as_rows(X), np.array([0, 1, 5, 1]), None, first=10), "margin").check_fit()
    with pytest.raises(DataError, match="3 features, expected 2"):
        task.oracle(Shard(as_rows(np.ones((4, 3))), np.array([0, 1, 2, 1]), None), "margin")


def test_thousands_of_classes_take_little_more_memory_than_w():
    k = 5000
    X = np.random.default_rng(0).standard_normal((k, 3))
    task, shard = prepared(MulticlassTask(), X, np.arange(k))
    tracemalloc.start()
    oracle = task.oracle(shard, "margin")
    square, square_radius = oracle.size(np.ones(k))
    answer = oracle.separate(oracle.view(np.zeros(task.dim)), np.arange(64))
    oracle.accumulate(answer.planes, np.ones(64), np.zeros(task.dim))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6  # a matrix of 5000 × 5000 would be 200 MB
    assert np.isclose(square, (X**2).sum() + k)
    assert np.isclose(square_radius, 2 * ((X**2).sum(axis=1).max() + 1))


def test_labels_too_large_for_whole_numbers_stay_as_they_are():
    task, _ = prepared(MulticlassTask(), np.ones((3, 2)), np.array([0.0, 1e300, 2e300]))
    assert task.labels.tolist() == [0.0, 1e300, 2e300]
