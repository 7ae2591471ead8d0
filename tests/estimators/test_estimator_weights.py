"""A weight of 2 is the example twice, a weight of 0 its absence: shown at certified tolerance.

The default of C is an exception: it does not change when all weights are scaled, so it cannot
change as it does when all examples are repeated.

P is strongly convex, so ‖w − w*‖ ≤ √(2·gap): two certified solutions of one problem are no
further apart than the sum of their bounds.
"""

import math

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
)
from sklearn.utils.fixes import parse_version

from distsvm import BinarySVC, MulticlassSVC, TreeParser
from distsvm.structures.trees.synthetic import make_treebank

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
    [
        {"C": 50.0},
        {"C_per_example": 0.1},
        {"C": 50.0, "class_weight": "balanced"},
        {"C": 50.0, "n_shards": 3},
    ],
    ids=["C", "C_per_example", "balanced", "shards"],
)
def test_weights_are_repetitions(examples, form, settings):
    X, y, weight = examples
    weighted = MulticlassSVC(**TIGHT, **settings).fit(form(X), y, sample_weight=weight)
    repeated = MulticlassSVC(**TIGHT, **settings)
    repeated.fit(form(X.repeat(weight, axis=0)), y.repeat(weight))
    assert_same_optimum(weighted, repeated)


@pytest.mark.parametrize("factor", [1e-6, 1 / 100, 1e6])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_scaling_all_weights_changes_nothing(examples, factor, class_weight):
    X, y, weight = examples
    settings = {**TIGHT, "class_weight": class_weight}
    plain = MulticlassSVC(**settings).fit(X, y, sample_weight=weight)
    scaled = MulticlassSVC(**settings).fit(X, y, sample_weight=weight * factor)
    assert_same_optimum(plain, scaled)
    constant = MulticlassSVC(**settings).fit(X, y, sample_weight=np.full(y.size, factor))
    assert_same_optimum(constant, MulticlassSVC(**settings).fit(X, y))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scaling_all_weights_leaves_rare_words_rare():
    trees = make_treebank(60)
    plain = TreeParser(words=True, max_rounds=2).fit(trees)
    for factor in (1 / 60, 1 / 7, 1e6):
        scaled = TreeParser(words=True, max_rounds=2)
        scaled.fit(trees, sample_weight=np.full(60, factor))
        assert scaled.task_.rules == plain.task_.rules
        assert pytest.approx(plain.result_.C) == scaled.result_.C


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.7"),
    reason="scikit-learn 1.6 makes the shuffled and the repeated labels binary in two ways",
)
@pytest.mark.parametrize("estimator", [MulticlassSVC(C=100.0), BinarySVC(C=100.0)])
def test_scikit_learns_checks_of_weights_pass_at_a_given_C(estimator):
    name = type(estimator).__name__
    check_sample_weight_equivalence_on_dense_data(name, estimator)
    check_sample_weight_equivalence_on_sparse_data(name, estimator)


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
