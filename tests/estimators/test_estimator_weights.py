"""A weight of 2 is the example twice, a weight of 0 its absence: shown at certified tolerance.

P is strongly convex, so ‖w − w*‖ ≤ √(2·gap): two certified solutions of one problem are no
further apart than the sum of their bounds.
"""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.class_weight import compute_sample_weight

from distsvm import BinarySVC, MulticlassSVC

TIGHT = {"eps": 0, "rel_gap": 1e-8}


@pytest.fixture(scope="module")
def examples():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], [70, 20, 10])
    X = rng.normal(size=(100, 5)) + np.eye(5)[y]
    return X, y, rng.integers(0, 4, 100)


def assert_same_optimum(one, other):
    """Two results of one problem, as close as their certificates promise."""
    a, b = one.result_, other.result_
    assert {a.stop_reason, b.stop_reason} <= {"rel_gap", "eps"}  # "eps" if the gap is 0
    assert pytest.approx(b.C, rel=1e-12) == a.C
    rounding = 1e-12 * (a.primal + b.primal)
    assert abs(a.primal - b.primal) <= max(a.gap, b.gap) + rounding
    distance = np.linalg.norm(one.model_.w - other.model_.w)
    assert distance <= math.sqrt(2 * a.gap) + math.sqrt(2 * b.gap) + rounding


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"C": 50.0}, {"C_per_example": 0.1}, {"class_weight": "balanced"}, {"n_shards": 3}],
    ids=["default", "C", "C_per_example", "balanced", "shards"],
)
def test_weights_are_repetitions(examples, form, settings):
    X, y, weight = examples
    weighted = MulticlassSVC(**TIGHT, **settings).fit(form(X), y, sample_weight=weight)
    repeated = MulticlassSVC(**TIGHT, **settings)
    repeated.fit(form(X.repeat(weight, axis=0)), y.repeat(weight))
    assert_same_optimum(weighted, repeated)


def test_a_weight_of_zero_is_removal(examples):
    X, y, weight = examples
    kept = weight > 0
    weighted = BinarySVC(**TIGHT).fit(X, y > 0, sample_weight=kept)
    removed = BinarySVC(**TIGHT).fit(X[kept], y[kept] > 0)
    assert_same_optimum(weighted, removed)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.5, 2: 4.0}], ids=["balanced", "dict"])
@pytest.mark.parametrize("estimator", [MulticlassSVC, BinarySVC])
def test_class_weights_are_example_weights(examples, estimator, class_weight):
    X, y, _ = examples
    if estimator is BinarySVC:
        y = np.where(y == 0, 0, 2)
    named = estimator(class_weight=class_weight, **TIGHT).fit(X, y)
    each = estimator(**TIGHT).fit(X, y, sample_weight=compute_sample_weight(class_weight, y))
    assert_same_optimum(named, each)
    assert named.coef_.shape == each.coef_.shape


def test_class_weights_of_string_labels(examples):
    X, y, _ = examples
    names = np.array(["a", "b", "c"], dtype=object)[y]
    plain = MulticlassSVC().fit(X, names)
    weighted = MulticlassSVC(class_weight={"c": 50.0}).fit(X, names)
    assert np.mean(weighted.predict(X) == "c") > np.mean(plain.predict(X) == "c")
