"""The estimators keep scikit-learn's contract and work in its tools."""

import pickle

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from distsvm import (
    BinarySVC,
    MulticlassSVC,
    MulticlassTask,
    SequenceTagger,
    StructuralSVM,
    TreeParser,
    load_model,
)

CLASSIFIERS = [MulticlassSVC(), BinarySVC()]


def expected_failures(estimator):
    """None with scikit-learn 1.7 and later; test_estimator_weights.py has the certified form."""
    if isinstance(estimator, BinarySVC) and parse_version(sklearn.__version__) < parse_version(
        "1.7"
    ):
        reason = "scikit-learn 1.6 makes the shuffled and the repeated labels binary in two ways"
        names = ("dense", "sparse")
        return {f"check_sample_weight_equivalence_on_{name}_data": reason for name in names}
    return {}


@parametrize_with_checks(CLASSIFIERS, expected_failed_checks=expected_failures)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_tags_tell_what_each_takes():
    assert is_classifier(MulticlassSVC())
    assert get_tags(MulticlassSVC()).input_tags.sparse
    assert get_tags(MulticlassSVC()).classifier_tags.multi_class
    assert not get_tags(BinarySVC()).classifier_tags.multi_class
    assert get_tags(StructuralSVM(MulticlassTask())).target_tags.required


def test_all_arguments_are_keywords():
    with pytest.raises(TypeError):
        MulticlassSVC(1.0)


def test_clone_and_set_params_keep_arguments():
    cost = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    estimator = MulticlassSVC(C=3.0, loss=cost, solver_options={"stabilise": 0.5})
    copy = clone(estimator).set_params(C=4.0)
    assert copy.C == 4.0
    assert estimator.C == 3.0
    np.testing.assert_array_equal(copy.loss, cost)
    assert copy.get_params()["solver_options"] == {"stabilise": 0.5}


def test_pipeline_and_grid_search_over_C(iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), MulticlassSVC())
    search = GridSearchCV(pipeline, {"multiclasssvc__C": [0.1, 10.0, 1000.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert search.best_params_["multiclasssvc__C"] > 0.1
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_cross_val_score_reaches_what_iris_allows(iris):
    assert cross_val_score(MulticlassSVC(), *iris, cv=3).mean() > 0.9


def test_binary_serves_one_against_the_rest(iris):
    X, y = iris
    assert OneVsRestClassifier(BinarySVC()).fit(X, y).score(X, y) > 0.85


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: type(e).__name__)
def test_pickled_estimator_predicts_the_same(iris, estimator):
    X, y = iris[0], iris[1] == 1
    fitted = clone(estimator).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    assert again.result_.primal == fitted.result_.primal


def test_data_frames_give_feature_names(iris):
    pandas = pytest.importorskip("pandas")
    X, y = iris
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    labels = pandas.Series(np.array(["x", "y", "z"])[y])
    fitted = MulticlassSVC().fit(frame, labels, sample_weight=pandas.Series(np.ones(len(y))))
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert fitted.classes_.tolist() == ["x", "y", "z"]
    np.testing.assert_array_equal(fitted.coef_, MulticlassSVC().fit(X, labels).coef_)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame.rename(columns={"a": "e"}))


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, -1, 7]),
        np.array([0.5, 1.0, 2.0]) * 2,
        np.array(["one", "two", "four"]),
        np.array(["one", "two", "four"], dtype=object),
    ],
    ids=["integers", "floats", "strings", "objects"],
)
def test_labels_of_any_type_come_back(iris, labels, tmp_path):
    X, y = iris
    fitted = MulticlassSVC().fit(X, labels[y])
    np.testing.assert_array_equal(fitted.classes_, np.sort(labels))
    predicted = fitted.predict(X)
    assert predicted.dtype == labels.dtype
    assert np.mean(predicted == labels[y]) > 0.9
    fitted.model_.save(tmp_path / "model")
    np.testing.assert_array_equal(load_model(tmp_path / "model").predict(X), predicted)


def test_truth_values_are_labels(iris):
    X, y = iris
    for estimator in (MulticlassSVC(), BinarySVC()):
        fitted = estimator.fit(X, y == 0)
        assert fitted.predict(X).dtype == bool
        np.testing.assert_array_equal(fitted.predict(X), fitted.decision_function(X) > 0)
        assert fitted.score(X, y == 0) == 1.0


def test_unfitted_estimators_say_so(iris):
    for estimator in (MulticlassSVC(), BinarySVC(), StructuralSVM(MulticlassTask())):
        with pytest.raises(NotFittedError):
            estimator.predict(iris[0])


def test_result_is_the_certificate(iris):
    fitted = MulticlassSVC().fit(*iris)
    result = fitted.result_
    assert result.certificate == "exact"
    assert result.stop_reason == "eps"
    assert result.dual <= result.primal
    assert 0 <= result.gap <= result.C * result.eps
    assert fitted.n_iter_ == result.n_rounds == len(result.history)
    assert fitted.model_ is result.model


def test_being_cut_short_is_a_warning(iris):
    with pytest.warns(ConvergenceWarning, match=r"stopped by max_rounds after 2 rounds .* gap"):
        fitted = MulticlassSVC(max_rounds=2).fit(*iris)
    assert fitted.n_iter_ == 2
    assert fitted.result_.certificate == "exact"


def test_solver_options_reach_the_training(iris):
    default = MulticlassSVC().fit(*iris)
    plain = MulticlassSVC(n_blocks=2, solver_options={"stabilise": 1.0}).fit(*iris)
    assert plain.n_iter_ != default.n_iter_
    gaps = default.result_.gap + plain.result_.gap
    assert abs(plain.result_.primal - default.result_.primal) <= gaps


def test_executors_and_workers_do_not_change_the_result(iris):
    X, y = iris
    serial = MulticlassSVC(executor="serial", n_shards=3).fit(X, y)
    threads = MulticlassSVC(executor="threads", n_workers=2, n_shards=3).fit(X, y)
    np.testing.assert_array_equal(serial.coef_, threads.coef_)


def test_generators_seed_and_paths_name_the_run_folder(iris, tmp_path):
    estimator = MulticlassSVC(random_state=np.random.RandomState(0), run_dir=tmp_path / "run")
    fitted = estimator.fit(*iris)
    model = load_model(tmp_path / "run" / "model")
    np.testing.assert_array_equal(model.w, fitted.model_.w)
    with pytest.raises(ValueError, match="has a run already"):
        estimator.fit(*iris)


def test_sparse_prediction_after_dense_training(iris):
    X, y = iris
    fitted = MulticlassSVC().fit(X, y)
    np.testing.assert_allclose(
        fitted.decision_function(sparse.csc_array(X)), fitted.decision_function(X), rtol=1e-12
    )


@pytest.mark.parametrize(
    "estimator", [BinarySVC, MulticlassSVC, SequenceTagger, TreeParser, StructuralSVM]
)
def test_every_estimator_takes_the_number_of_blocks(estimator):
    assert "n_blocks" in estimator._get_param_names()
