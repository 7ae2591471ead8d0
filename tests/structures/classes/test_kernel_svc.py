"""KernelSVC: scikit-learn's contract, kernel functions, saved models, and bad input."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from distsvm import KernelSVC, load_model, register_kernel
from distsvm.errors import ConfigError, DataError, ModelError
from distsvm.storage import read_arrays, write_arrays

SERIAL = {"executor": "serial"}


def points(n=200, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] ** 2 - 1 + 0.2 * rng.normal(size=n) > 0).astype(int)
    return X, np.array(["no", "yes", "very"])[y + (k == 3) * (X[:, 2] > 0.6)]


WEIGHTS = {
    f"check_sample_weight_equivalence_on_{form}_data": "gamma='scale' is 1/(d·Var X), and Var X "
    "has no weights, as in scikit-learn's SVC; with a number for gamma the check passes"
    for form in ("dense", "sparse")
}


@parametrize_with_checks([KernelSVC(n_workers=1)], expected_failed_checks=lambda _: WEIGHTS)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_weights_are_as_good_as_repeated_rows_with_a_number_for_gamma(form):
    check = getattr(estimator_checks, f"check_sample_weight_equivalence_on_{form}_data")
    check("KernelSVC", KernelSVC(gamma=0.1, n_workers=1))


@pytest.mark.parametrize("method", ["exact", "linear-time", "constant-time"])
@pytest.mark.parametrize("k", [2, 3])
def test_methods_classify_about_as_well_as_svc(method, k):
    X, y = points(400, k)
    Z, z = points(400, k, seed=1)
    sample = None if method == "exact" else 100
    own = KernelSVC(method=method, sample=sample, C_per_example=2.0, random_state=0, **SERIAL)
    theirs = SVC(C=2.0).fit(X, y).score(Z, z)
    assert own.fit(X, y).score(Z, z) >= theirs - 0.05


def test_the_decision_function_is_the_expansion_and_agrees_with_svc():
    X, y = points()
    own = KernelSVC(gamma=0.3, C_per_example=1.0, eps=1e-5, **SERIAL).fit(X, y)
    K = rbf_kernel(X, own.support_vectors_, gamma=0.3)
    np.testing.assert_allclose(own.decision_function(X), K @ own.dual_coef_[0] + own.intercept_)
    theirs = SVC(gamma=0.3, C=1.0, tol=1e-6).fit(X, y)
    assert np.mean(own.predict(X) == theirs.predict(X)) >= 0.98
    assert own.decision_function(X).shape == (200,)


@pytest.mark.parametrize("word", ["scale", "auto"])
def test_words_for_gamma_are_those_of_scikit_learn(word):
    X, y = points()
    own = KernelSVC(gamma=word, **SERIAL).fit(X, y)
    expected = {"scale": 1 / (4 * X.var()), "auto": 0.25}[word]
    assert own.model_.task.kernel.gamma == pytest.approx(expected)


def test_sparse_rows_and_precomputed_values_give_the_same_model():
    X, y = points(k=3)
    X[np.abs(X) < 0.5] = 0
    own = KernelSVC(gamma=0.3, C=20.0, **SERIAL)
    dense = own.fit(X, y).decision_function(X)
    own.fit(sparse.csr_matrix(X), y)
    assert sparse.issparse(own.support_vectors_)
    np.testing.assert_allclose(own.decision_function(sparse.csr_matrix(X)), dense, atol=0.05)
    table = KernelSVC(kernel="precomputed", C=20.0, **SERIAL).fit(rbf_kernel(X, gamma=0.3), y)
    np.testing.assert_allclose(table.decision_function(rbf_kernel(X, gamma=0.3)), dense, atol=0.05)
    sampled = KernelSVC(kernel="precomputed", C=20.0, method="linear-time", sample=60, **SERIAL)
    result = sampled.fit(rbf_kernel(X, gamma=0.3), y).result_
    assert result.dual <= table.result_.primal
    assert table.result_.dual <= result.primal


@register_kernel
def twice_linear(A, B):
    return 2 * np.asarray(A @ B.T)


@pytest.mark.parametrize(
    "arguments",
    [{"gamma": 0.3}, {"kernel": twice_linear}, {"kernel": "poly", "degree": 2, "coef0": 1.0}],
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_saved_model_predicts_the_same_in_memory_and_in_pieces(arguments, form, tmp_path):
    if form is sparse.csr_matrix and arguments.get("kernel") is twice_linear:
        arguments = {"kernel": "laplacian", "gamma": 0.2}
    X, y = points(k=3)
    own = KernelSVC(C=20.0, **arguments, **SERIAL).fit(form(X), y)
    own.model_.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(form(X)), own.predict(form(X)))
    parts = list(loaded.predictions(form(X), executor="serial"))
    np.testing.assert_array_equal(np.concatenate(parts), own.predict(form(X)))
    assert loaded.evaluate(form(X), y).accuracy == own.score(form(X), y)


def test_support_vectors_are_there_once_and_have_coefficients():
    X, y = points()
    own = KernelSVC(method="linear-time", sample=40, C=50.0, **SERIAL).fit(X, y)
    rows = own.support_vectors_
    assert len(np.unique(rows, axis=0)) == len(rows) < own.result_.n_rounds * 40
    assert own.dual_coef_.any(axis=0).all()


@pytest.mark.parametrize(("name", "change"), [
    ("task.anchors", lambda a: a[:, :2]), ("task.anchors", lambda a: a[:-1]),
    ("task.anchors", lambda a: a * np.nan), ("task.anchors", lambda a: a.ravel()),
    ("w", lambda a: a[:-1]), ("w", lambda a: a * np.inf), ("task.anchors", lambda a: a.astype(str)),
])  # fmt: skip
def test_a_models_damaged_arrays_are_refused(name, change, tmp_path):
    X, y = points()
    KernelSVC(C=20.0, **SERIAL).fit(X, y).model_.save(tmp_path / "model")
    with np.errstate(invalid="ignore"):
        _changed(tmp_path / "model", {name: change})
    with pytest.raises(ModelError):
        load_model(tmp_path / "model")


@pytest.mark.parametrize(("name", "change"), [
    ("task.anchor_columns", lambda a: a + 100), ("task.anchor_columns", lambda a: -a - 1),
    ("task.anchor_starts", lambda a: a[::-1]), ("task.anchor_starts", lambda a: a + 5),
    ("task.anchor_starts", lambda a: a[:-1]), ("task.anchor_starts", lambda a: a.astype(float)),
    ("task.anchors", lambda a: a[:-1]),
])  # fmt: skip
def test_damaged_sparse_support_vectors_are_refused(name, change, tmp_path):
    X, y = points()
    KernelSVC(C=20.0, **SERIAL).fit(sparse.csr_matrix(X), y).model_.save(tmp_path / "model")
    _changed(tmp_path / "model", {name: change})
    with pytest.raises(ModelError):
        load_model(tmp_path / "model")


@pytest.mark.parametrize("function", [
    {"name": "rbf", "gamma": "scale"}, {"name": "rbf", "gamma": -1.0}, {"name": "rbf"},
    {"name": "os:system"}, {"name": "own", "function": "os:system"}, [], None,
    {"name": "poly", "gamma": 1.0, "degree": 0, "coef0": 0.0},
])  # fmt: skip
def test_a_models_damaged_kernel_function_is_refused(function, tmp_path):
    X, y = points()
    KernelSVC(C=20.0, **SERIAL).fit(X, y).model_.save(tmp_path / "model")
    manifest = tmp_path / "model" / "manifest.json"
    data = json.loads(manifest.read_text())
    data["fields"]["kernel"] = {"kernel_function": function}
    manifest.write_text(json.dumps(data))
    with pytest.raises((ModelError, ConfigError)):
        load_model(tmp_path / "model")


def _changed(folder, changes):
    data = json.loads((folder / "manifest.json").read_text())
    arrays = dict(read_arrays(folder / "arrays.npz", ModelError, data["digest"]))
    arrays |= {name: change(arrays[name]) for name, change in changes.items()}
    data["digest"] = write_arrays(folder / "arrays.npz", arrays)
    (folder / "manifest.json").write_text(json.dumps(data))


# --- bad input --------------------------------------------------------------------------------


def not_finite(A, B):
    values = A @ B.T
    values[0, 0] = np.nan
    return values


def wrong_shape(A, B):
    return (A @ B.T)[:, :-1]


def not_symmetric(A, B):
    return A @ np.triu(np.ones((A.shape[1], B.shape[1]))) @ B.T


def not_positive(A, B):
    return -(A @ B.T)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"kernel": not_finite}, "kernel"),
        ({"kernel": wrong_shape}, "kernel"),
        ({"kernel": not_symmetric}, "not symmetric"),
        ({"kernel": not_positive}, "not positive semidefinite"),
        ({"kernel": "rfb"}, "kernel"),
        ({"kernel": 3}, "kernel"),
        ({"gamma": 0.0}, "gamma"),
        ({"gamma": -1.0}, "gamma"),
        ({"gamma": "wide"}, "gamma"),
        ({"gamma": np.nan}, "gamma"),
        ({"kernel": "poly", "degree": 0}, "degree"),
        ({"kernel": "poly", "degree": 2.5}, "degree"),
        ({"kernel": "poly", "coef0": np.inf}, "coef0"),
        ({"sample": 0}, "sample"),
        ({"method": "fast"}, "method"),
        ({"certify": 3}, "certify"),
        ({"solver_options": {"method": "exact"}}, "method"),
        ({"kernel": "precomputed"}, "precomputed"),
        ({"method": "linear-time", "solver_options": {"redraws": -1}}, "redraws"),
        ({"penalty": "quadratic"}, "penalty"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, named):
    X, y = points(60)
    with pytest.raises((ConfigError, DataError), match=named):
        KernelSVC(**arguments, **SERIAL).fit(X, y)


def test_constant_features_are_refused():
    _, y = points(60)
    with pytest.raises(ConfigError, match="constant"):
        KernelSVC(**SERIAL).fit(np.ones((60, 3)), y)


def test_a_precomputed_table_must_be_square_and_a_kernel():
    X, y = points(60)
    with pytest.raises(DataError, match="square"):
        KernelSVC(kernel="precomputed", **SERIAL).fit(rbf_kernel(X, X[:50]), y)
    with pytest.raises(ConfigError, match="symmetric"):
        KernelSVC(kernel="precomputed", **SERIAL).fit(np.triu(rbf_kernel(X)), y)
    with pytest.raises(ConfigError, match="semidefinite"):
        KernelSVC(kernel="precomputed", **SERIAL).fit(-rbf_kernel(X), y)
    fitted = KernelSVC(kernel="precomputed", **SERIAL).fit(rbf_kernel(X), y)
    with pytest.raises(DataError, match="features"):
        fitted.predict(rbf_kernel(X, X[:50]))
