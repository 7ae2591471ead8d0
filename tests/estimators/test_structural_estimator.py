"""StructuralSVM: any task as an estimator."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from toy_tasks import ToyChain, all_planes, primal, toy_chains

from distsvm import BinaryTask, MulticlassSVC, MulticlassTask, StructuralSVM, Task
from distsvm.errors import ConfigError, DataError, TaskError


@pytest.fixture(scope="module")
def chains():
    return toy_chains(n=60, length=3)


def test_python_task_is_trained_to_its_certificate(chains):
    X, y = chains
    weight = np.linspace(0.5, 2.0, len(X))
    fitted = StructuralSVM(ToyChain(), C=5.0, rel_gap=1e-6, eps=0, executor="serial")
    fitted.fit(X, y, sample_weight=weight)
    planes = all_planes(ToyChain(), X, y, "margin")
    assert fitted.result_.primal == pytest.approx(primal(planes, fitted.w_, 5.0, weight), rel=1e-9)
    assert fitted.result_.gap <= 1e-6 * fitted.result_.primal
    assert fitted.task_.dim == fitted.w_.size
    assert fitted.n_iter_ == fitted.result_.n_rounds


def test_predictions_are_the_tasks_and_score_is_the_share_without_loss(chains):
    X, y = chains
    fitted = StructuralSVM(ToyChain(), executor="serial").fit(X, y)
    predicted = fitted.predict(X)
    assert predicted == [fitted.task_.decode(fitted.w_, x) for x in X]
    right = np.array([a == b for a, b in zip(predicted, y, strict=True)])
    assert 0.2 < fitted.score(X, y) == right.mean() < 1.0
    weight = np.arange(len(X))
    assert fitted.score(X, y, sample_weight=weight) == pytest.approx(weight @ right / weight.sum())


def test_grid_search_over_a_python_task(chains):
    X, y = chains
    estimator = StructuralSVM(ToyChain(), executor="serial", eps=0.02)
    search = GridSearchCV(estimator, {"C": [1e-3, 10.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"C": 10.0}
    assert len(search.predict(X)) == len(X)
    by_task = GridSearchCV(estimator, {"task": [ToyChain(), ToyChain(n_symbols=4)]}, cv=2)
    assert by_task.fit(X, y).best_estimator_.task.n_symbols in (3, 4)


def test_cross_val_score_with_slack_rescaling(chains):
    estimator = StructuralSVM(ToyChain(), executor="serial", rescaling="slack", eps=0.02)
    assert cross_val_score(estimator, *chains, cv=2).mean() > 0.2


def test_inputs_may_come_in_any_sequence(chains):
    inputs = [x for x in chains[0] if len(x) == 3]
    outputs = [y for y in chains[1] if len(y) == 3]
    expected = StructuralSVM(ToyChain(), executor="serial").fit(inputs, outputs)
    table = np.array(inputs)
    objects = np.empty(len(inputs), dtype=object)
    objects[:] = [list(x) for x in inputs]
    for X in (tuple(inputs), table, objects):
        fitted = StructuralSVM(ToyChain(), executor="serial").fit(X, outputs)
        np.testing.assert_array_equal(fitted.w_, expected.w_)
        assert fitted.predict(X) == expected.predict(inputs)


class OneByOne(Task):
    """Two classes of a row of features, whatever holds the row."""

    dim = 6

    def joint_features(self, x, y):
        row = x.toarray().ravel() if sparse.issparse(x) else np.asarray(x, dtype=float)
        return np.concatenate([row * (y == 0), row * (y == 1)])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, w, x):
        return int(w @ self.joint_features(x, 1) > w @ self.joint_features(x, 0))

    def separate(self, w, x, y, rescaling):
        return max((0, 1), key=lambda k: (k != y) + w @ self.joint_features(x, k))


@pytest.mark.parametrize("form", ["array", "sparse", "frame"])
def test_python_task_gets_the_rows_of_a_table(form):
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = (X[:, 0] > 0).astype(int)
    expected = StructuralSVM(OneByOne(), executor="serial").fit(list(X), list(y))
    if form == "sparse":
        X = sparse.csr_array(X)
    elif form == "frame":
        pandas = pytest.importorskip("pandas")
        X, y = pandas.DataFrame(X), pandas.Series(y, index=range(5, 25))
    fitted = StructuralSVM(OneByOne(), executor="serial").fit(X, y)
    np.testing.assert_allclose(fitted.w_, expected.w_, rtol=1e-12)
    assert fitted.score(X, y) == 1.0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.ndarray.tolist])
def test_tasks_of_classes_take_tables(form):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 80)
    X = rng.normal(size=(80, 4)) + 2 * np.eye(4)[y]
    names = np.array(["a", "b", "c"], dtype=object)[y]
    fitted = StructuralSVM(MulticlassTask()).fit(form(X), names)
    expected = MulticlassSVC().fit(X, names)
    np.testing.assert_allclose(fitted.w_, expected.model_.w, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(form(X)), expected.predict(X))
    assert fitted.score(form(X), names) == expected.score(X, names)
    assert fitted.n_features_in_ == 4
    with pytest.raises(DataError, match="'d' is not among the classes"):
        fitted.score(form(X), np.where(y == 0, "d", names))


def test_clone_and_pickle(chains):
    estimator = StructuralSVM(ToyChain(), executor="serial", C=2.0)
    assert clone(estimator).get_params()["C"] == 2.0
    fitted = clone(estimator).fit(*chains)
    assert pickle.loads(pickle.dumps(fitted)).predict(chains[0]) == fitted.predict(chains[0])


def test_bad_input_is_refused(chains):
    X, y = chains
    serial = {"executor": "serial"}
    with pytest.raises(ConfigError, match="expected a Task"):
        StructuralSVM("multiclass").fit(X, y)
    with pytest.raises(ConfigError, match="C=0"):
        StructuralSVM(ToyChain(), C=0, **serial).fit(X, y)
    with pytest.raises(ConfigError, match="rescaling"):
        StructuralSVM(OneByOne(), rescaling="slack", **serial).fit(X, y)
    with pytest.raises(DataError, match="59 outputs for 60 inputs"):
        StructuralSVM(ToyChain(), **serial).fit(X, y[:-1])
    with pytest.raises(DataError, match="no examples"):
        StructuralSVM(ToyChain(), **serial).fit([], [])
    with pytest.raises(DataError, match="requires y"):
        StructuralSVM(ToyChain(), **serial).fit(X, None)
    with pytest.raises(DataError, match="expected a sequence"):
        StructuralSVM(ToyChain(), **serial).fit(3, y)
    with pytest.raises(DataError, match="3 classes"):
        StructuralSVM(BinaryTask()).fit(np.eye(3), [0, 1, 2])


def test_an_error_in_the_task_names_the_example(chains):
    X, y = chains
    broken = [*X[:5], (99, 99), *X[6:]]
    outputs = [*y[:5], (0, 0), *y[6:]]
    with pytest.raises(TaskError, match="example 5"):
        StructuralSVM(ToyChain(), executor="serial").fit(broken, outputs)
