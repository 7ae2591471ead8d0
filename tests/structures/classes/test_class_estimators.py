"""The classifiers solve the problem they state: checked in NumPy and against LIBLINEAR."""

import tracemalloc

import numpy as np
import pytest
from class_objective import primal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from distsvm import BinarySVC, MulticlassSVC

COST = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


@pytest.fixture(scope="module")
def noisy():
    """Three classes that overlap, with features of very different sizes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    X = rng.normal(size=(120, 6)) + 1.2 * np.eye(6)[y]
    return X * np.array([1.0, 2.0, 0.5, 5.0, 0.1, 1.0]), y


@pytest.mark.parametrize("C", [0.05, 1.0])
def test_multiclass_objective_equals_liblinears(digits, C):
    X, y = digits[0][:300], digits[1][:300]
    ours = MulticlassSVC(C_per_example=C, fit_intercept=False, eps=0, rel_gap=1e-6).fit(X, y)
    peer = LinearSVC(
        multi_class="crammer_singer", fit_intercept=False, C=C, tol=1e-8, max_iter=100_000
    ).fit(X, y)
    peer.intercept_ = np.zeros(10)
    theirs = primal(peer, X, y, C * len(y))
    assert ours.result_.stop_reason == "rel_gap"
    assert primal(ours, X, y, C * len(y)) == pytest.approx(theirs, rel=1e-4)
    assert ours.result_.dual <= theirs * (1 + 1e-12)


@pytest.mark.parametrize("C", [0.05, 1.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_binary_objective_equals_liblinears(digits, C, fit_intercept):
    X, y = digits[0][:300], digits[1][:300] > 4
    settings = {"fit_intercept": fit_intercept, "intercept_scaling": 2.0}
    ours = BinarySVC(C_per_example=C, eps=0, rel_gap=1e-6, **settings).fit(X, y)
    peer = LinearSVC(loss="hinge", C=C, tol=1e-8, max_iter=100_000, **settings).fit(X, y)
    peer.intercept_ = np.atleast_1d(peer.intercept_)
    theirs = primal(peer, X, y, C * len(y), intercept_scaling=2.0)
    assert primal(ours, X, y, C * len(y), intercept_scaling=2.0) == pytest.approx(theirs, rel=1e-4)
    assert ours.result_.dual <= theirs * (1 + 1e-12)


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, {}),
        ({"rescaling": "slack", "loss": COST}, {"rescaling": "slack", "loss": COST}),
        ({"loss": COST}, {"loss": COST}),
        ({"loss_scale": 100.0}, {"loss": 100.0 * (1 - np.eye(3))}),
        ({"loss": COST, "loss_scale": 0.5}, {"loss": 0.5 * COST}),
        ({"intercept_scaling": 7.0}, {"intercept_scaling": 7.0}),
        ({"fit_intercept": False}, {}),
    ],
    ids=["default", "slack", "cost", "loss_scale", "both", "intercept_scaling", "no_intercept"],
)
def test_certificate_is_the_objective_recomputed(noisy, settings, kind):
    X, y = noisy
    weight = np.linspace(0.0, 2.0, len(y))
    fitted = MulticlassSVC(C=20.0, rel_gap=1e-4, eps=0, **settings).fit(X, y, weight)
    recomputed = primal(fitted, X, y, 20.0, weight=weight, **kind)
    assert fitted.result_.primal == pytest.approx(recomputed, rel=1e-9)
    assert fitted.result_.C == 20.0
    if settings.get("fit_intercept") is False:
        assert not fitted.intercept_.any()


def test_larger_intercept_scaling_regularises_the_intercept_less(noisy):
    X, y = noisy[0] + 10.0, noisy[1]
    losses = [
        MulticlassSVC(C=0.1, intercept_scaling=s, rel_gap=1e-6, eps=0).fit(X, y).result_.primal
        for s in (0.1, 1.0, 30.0)
    ]
    assert losses[0] > losses[1] > losses[2]


def test_cost_matrix_moves_errors_to_where_they_are_cheap(noisy):
    X, y = noisy
    # Rows are the truth: taking anything else for class 2 is dear.
    cost = np.array([[0.0, 1.0, 20.0], [1.0, 0.0, 20.0], [1.0, 1.0, 0.0]])
    plain, dear = MulticlassSVC().fit(X, y), MulticlassSVC(loss=cost).fit(X, y)
    assert np.sum(dear.predict(X)[y != 2] == 2) < np.sum(plain.predict(X)[y != 2] == 2)


def test_two_classes_are_the_binary_problem_at_twice_the_C(noisy):
    X, y = noisy[0], noisy[1] > 0
    multi = MulticlassSVC(C=10.0, rel_gap=1e-8, eps=0).fit(X, y)
    binary = BinarySVC(C=20.0, rel_gap=1e-8, eps=0).fit(X, y)
    assert multi.coef_.shape == binary.coef_.shape == (1, 6)
    assert multi.intercept_.shape == binary.intercept_.shape == (1,)
    assert 2 * multi.result_.primal == pytest.approx(binary.result_.primal, rel=1e-7)
    np.testing.assert_allclose(multi.coef_, binary.coef_, atol=2e-3)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_decision_function_is_the_linear_form(noisy, scale, form):
    X, y = noisy
    for estimator, labels, shape in (
        (MulticlassSVC(scale=scale), y, (120, 3)),
        (MulticlassSVC(scale=scale), y > 0, (120,)),
        (BinarySVC(scale=scale), y > 0, (120,)),
    ):
        fitted = estimator.fit(form(X), labels)
        decision = fitted.decision_function(form(X))
        assert decision.shape == shape
        linear = X @ fitted.coef_.T + fitted.intercept_
        np.testing.assert_allclose(decision, linear.reshape(shape), atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("estimator", [MulticlassSVC, BinarySVC])
def test_scaling_inside_is_scaling_before(noisy, estimator):
    X, y = noisy[0], noisy[1] if estimator is MulticlassSVC else noisy[1] > 0
    settings = {"C": 20.0, "rel_gap": 1e-6, "eps": 0}
    scaler = MaxAbsScaler().fit(X)
    inside = estimator(scale=True, **settings).fit(X, y)
    before = estimator(**settings).fit(scaler.transform(X), y)
    np.testing.assert_allclose(inside.coef_ * scaler.max_abs_, before.coef_, rtol=1e-6, atol=1e-9)
    largest = np.abs(X).max(axis=0)
    assert inside.result_.primal == pytest.approx(
        primal(inside, X, y, 20.0, largest=largest), rel=1e-9
    )


def test_sparse_equals_dense(digits):
    X, y = digits[0][:400], digits[1][:400]
    dense = MulticlassSVC(n_shards=2).fit(X, y)
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        fitted = MulticlassSVC(n_shards=2).fit(form(X), y)
        np.testing.assert_allclose(fitted.coef_, dense.coef_, rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(fitted.predict(form(X)), dense.predict(X))


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.uint8, bool])
def test_numbers_of_other_kinds_give_the_same_model(digits, kind):
    X, y = np.round(digits[0][:300] * 16), digits[1][:300]
    X = X > 5 if kind is bool else X
    expected = MulticlassSVC().fit(X.astype(np.float64), y)
    for form in (np.asarray, sparse.csr_array):
        fitted = MulticlassSVC().fit(form(X.astype(kind)), y)
        np.testing.assert_allclose(fitted.coef_, expected.coef_, rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(fitted.predict(form(X.astype(kind))), expected.predict(X))


def test_float32_is_never_copied_to_float64():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1000)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    fitted = MulticlassSVC(max_rounds=2)
    with pytest.warns(UserWarning, match="stopped by max_rounds"):
        fitted.fit(X[:400], y[:400])  # compiles
    tracemalloc.start()
    try:
        with pytest.warns(UserWarning, match="stopped by max_rounds"):
            fitted.fit(X, y)
        fitted.predict(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.75 * X.nbytes


def test_default_accuracy_on_digits_reaches_linear_svcs():
    X, y = load_digits(return_X_y=True)
    ours, theirs = [], []
    for seed in range(4):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=seed)
        ours.append(MulticlassSVC().fit(X_train, y_train).score(X_test, y_test))
        theirs.append(LinearSVC(random_state=0).fit(X_train, y_train).score(X_test, y_test))
    assert np.mean(ours) >= np.mean(theirs)


def test_default_does_not_depend_on_the_size_of_features_and_losses(noisy):
    X, y = noisy
    expected = MulticlassSVC(fit_intercept=False).fit(X, y)
    scaled = MulticlassSVC(fit_intercept=False, loss_scale=100.0).fit(1024.0 * X, y)
    np.testing.assert_allclose(scaled.coef_ * 1024.0 / 100.0, expected.coef_, rtol=1e-6)


def test_binary_on_real_data_with_scaling_is_accurate():
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    fitted = BinarySVC(scale=True).fit(X_train, y_train)
    assert fitted.score(X_test, y_test) > 0.94


@pytest.mark.parametrize("estimator", [MulticlassSVC, BinarySVC])
def test_an_unknown_argument_is_refused_with_the_nearest_one(estimator):
    with pytest.raises(TypeError, match=r"has no argument 'max_iter'; the nearest is 'max_rounds'"):
        estimator(max_iter=1)
