"""Bad input is refused by fit and predict, never by the constructor, with errors of our own."""

import numpy as np
import pytest
from scipy import sparse

from distsvm import BinarySVC, MulticlassSVC, MulticlassTask, StructuralSVM
from distsvm.errors import ConfigError, DataError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = np.arange(30) % 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0}, "C=0: expected a number > 0"),
        ({"C": -1.0}, "C=-1.0"),
        ({"C": float("nan")}, "C=nan"),
        ({"C": "1"}, "C='1'"),
        ({"C": 1.0, "C_per_example": 1.0}, "both given"),
        ({"C_per_example": 0.0}, "C_per_example"),
        ({"eps": -0.1}, "eps=-0.1: expected a number ≥ 0"),
        ({"rel_gap": -1e-3}, "rel_gap"),
        ({"max_rounds": 0}, "max_rounds"),
        ({"max_seconds": 0}, "max_seconds"),
        ({"rescaling": "both"}, "rescaling"),
        ({"solver": "magic"}, "solver"),
        ({"cache_size": -1}, "cache_size"),
        ({"executor": "cloud"}, "executor"),
        ({"n_workers": 0}, "n_workers"),
        ({"n_shards": 31}, "n_shards"),
        ({"loss": "hamming"}, "loss"),
        ({"loss": np.ones((3, 3))}, "diagonal"),
        ({"loss": np.zeros((2, 2))}, "shape"),
        ({"loss_scale": 0.0}, "loss_scale"),
        ({"intercept_scaling": 0.0}, "intercept_scaling"),
        ({"intercept_scaling": "1"}, "intercept_scaling"),
        ({"class_weight": {5: 1.0}}, "5"),
        ({"class_weight": "even"}, "class_weight"),
        ({"solver_options": {"magic": 1}}, "magic"),
        ({"solver_options": {"C": 1}}, "argument of its own"),
        ({"solver_options": [1]}, "solver_options"),
        ({"solver_options": {"stabilise": 2.0}}, "stabilise"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused_by_fit(settings, message):
    estimator = MulticlassSVC(**settings)
    with pytest.raises(ConfigError) as caught:
        estimator.fit(X, Y)
    assert message in str(caught.value)
    assert isinstance(caught.value, ValueError)


def with_value(value):
    bad = X.copy()
    bad[4, 2] = value
    return bad


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, lambda a: a.astype(np.float32)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused_with_their_place(form, value):
    bad = form(with_value(value))
    with pytest.raises(DataError, match="example 4: feature 2 is") as caught:
        MulticlassSVC().fit(bad, Y)
    assert "Input X contains" in str(caught.value)
    fitted = MulticlassSVC().fit(X, Y)
    for call in (fitted.predict, fitted.decision_function):
        with pytest.raises(DataError, match="example 4: feature 2"):
            call(bad)


@pytest.mark.parametrize("estimator", [MulticlassSVC(), BinarySVC()])
@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        (X, np.ones(30), "one class, 1.0"),
        (X, RNG.normal(size=30), "Unknown label type"),
        (X, Y[:-1], "inconsistent"),
        (X, None, "requires y"),
        (X[0], Y, "2D array"),
        (X[:0], Y[:0], "minimum of 1 is required"),
        (X[:, :0], Y, "0 feature"),
        (X.astype(complex), Y, "Complex"),
        (X.astype(str), Y, "could not convert|numeric"),
        (X, np.array([1.0, np.nan] * 15), "y contains NaN"),
        (X, np.array([1, "a"] * 15, dtype=object), "labels of different kinds|Unknown label type"),
    ],
    ids=[
        "one_class", "regression", "length", "no_y", "one_row", "empty", "no_features", "complex",
        "strings", "nan_label", "mixed_labels",
    ],
)  # fmt: skip
def test_unusable_data_is_refused(estimator, features, labels, message):
    if message.startswith("could not"):
        features = np.full(X.shape, "word")
    with pytest.raises(DataError, match=message):
        estimator.fit(features, labels)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(29), r"shape \(29,\)"),
        (np.ones((30, 1)), r"shape \(30, 1\)"),
        (np.where(np.arange(30) == 7, -1.0, 1.0), "example 7 is -1.0"),
        (np.where(np.arange(30) == 7, np.nan, 1.0), "example 7 is nan"),
        (np.zeros(30), "all weights are zero"),
        (["heavy"] * 30, "could not convert"),
    ],
    ids=["short", "table", "negative", "nan", "zero", "words"],
)
@pytest.mark.parametrize(
    "estimator", [MulticlassSVC(), StructuralSVM(MulticlassTask())], ids=["classes", "structural"]
)
def test_bad_weights_are_refused(estimator, weight, message):
    with pytest.raises(DataError, match=message):
        estimator.fit(X, Y, sample_weight=weight)


def test_features_of_another_number_are_refused():
    for estimator in (MulticlassSVC(), StructuralSVM(MulticlassTask())):
        fitted = estimator.fit(X, Y)
        for other in (X[:, :2], sparse.csr_array(X[:, :2]), np.hstack([X, X])):
            with pytest.raises(DataError, match="is expecting 3 features"):
                fitted.predict(other)


def test_more_than_two_classes_are_refused_by_binary():
    with pytest.raises(DataError, match=r"Only binary classification is supported\..*3 classes"):
        BinarySVC().fit(X, Y)


def test_a_failed_fit_leaves_the_earlier_one():
    fitted = MulticlassSVC().fit(X, Y)
    coef = fitted.coef_
    with pytest.raises(DataError):
        fitted.fit(X, np.ones(30))
    assert fitted.coef_ is coef
    assert fitted.predict(X).shape == (30,)
