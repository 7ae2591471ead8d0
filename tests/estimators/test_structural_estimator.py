"""StructuralSVM: any task as an estimator."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from toy_tasks import ToyChain, all_planes, primal, toy_chains

from distsvm import BinarySVC, BinaryTask, MulticlassSVC, MulticlassTask, StructuralSVM, Task
from distsvm.errors import ConfigError, DataError, TaskError
from distsvm.structures.sequences.task import SequenceTask


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
    other = np.where(y == 0, "d", names)
    assert fitted.score(form(X), other) == np.mean(fitted.predict(form(X)) == other) < 0.9


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 90)
    return rng.normal(size=(90, 4)) + 1.5 * np.eye(4)[y], y


PAIRS = [(MulticlassTask, MulticlassSVC), (BinaryTask, BinarySVC)]


@pytest.mark.parametrize(("task", "peer"), PAIRS, ids=["multiclass", "binary"])
@pytest.mark.parametrize("kind", [int, float, object])
def test_tasks_of_classes_have_what_their_own_estimators_have(task, peer, kind, table):
    X, y = table
    if task is BinaryTask:
        X, y = X[y < 2], y[y < 2]
    y = np.array(["a", "b", "c"], dtype=object)[y] if kind is object else y.astype(kind)
    fitted = StructuralSVM(task(scale=True), executor="serial").fit(X, y)
    expected = peer(scale=True, executor="serial").fit(X, y)
    assert fitted.n_features_in_ == expected.n_features_in_ == 4
    for name in ("classes_", "coef_", "intercept_"):
        found, wanted = getattr(fitted, name), getattr(expected, name)
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(fitted.decision_function(X), expected.decision_function(X))
    np.testing.assert_array_equal(fitted.predict(X), expected.predict(X))
    assert fitted.predict(X).dtype == expected.predict(X).dtype


def test_classes_that_only_the_task_knows_are_classes_too(table):
    X, y = table
    fitted = StructuralSVM(MulticlassTask(classes=np.arange(5)), executor="serial").fit(X, y)
    np.testing.assert_array_equal(fitted.classes_, np.arange(5))
    assert fitted.decision_function(X).shape == (90, 5)
    assert fitted.coef_.shape == (5, 4)
    np.testing.assert_array_equal(fitted.predict(X), fitted.decision_function(X).argmax(axis=1))


def test_only_tasks_of_classes_have_a_decision_function(chains, table):
    fitted = StructuralSVM(ToyChain(), executor="serial").fit(*chains)
    for name in ("decision_function", "classes_", "coef_", "intercept_", "n_features_in_"):
        assert not hasattr(fitted, name)
    unfitted = StructuralSVM(MulticlassTask())
    assert hasattr(unfitted, "decision_function")
    with pytest.raises(NotFittedError):
        unfitted.decision_function(table[0])


COST = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [5.0, 1.0, 0.0]])


@pytest.mark.parametrize(
    "arguments",
    [
        {"loss": COST},
        {"loss_scale": 3.0},
        {"fit_intercept": False},
        {"fit_intercept": False, "intercept_scaling": 2.0},
        {"intercept_scaling": 5.0},
        {"class_weight": "balanced"},
        {"class_weight": {1: 9.0}},
    ],
    ids=str,
)
def test_arguments_of_the_task_mean_what_they_mean_for_classes(arguments, table):
    X, y = table[0][8:], table[1][8:]
    task = MulticlassTask()
    common = {"executor": "serial", "C": 10.0}
    plain = StructuralSVM(task, **common).fit(X, y)
    fitted = StructuralSVM(task, **common, **arguments).fit(X, y)
    expected = MulticlassSVC(**common, **arguments).fit(X, y)
    np.testing.assert_array_equal(fitted.w_, expected.model_.w)
    assert not np.array_equal(fitted.w_, plain.w_)
    assert fitted.task is task
    assert isinstance(task.losses, str)


@pytest.mark.parametrize(("own", "value"), [(0.0, 1.0), (4.0, 4.0)])
def test_an_intercept_that_is_asked_for_keeps_the_value_of_the_task(own, value, table):
    task = MulticlassTask(intercept_scaling=own)
    fitted = StructuralSVM(task, fit_intercept=True, executor="serial").fit(*table)
    assert fitted.task_.intercept_scaling == value
    assert StructuralSVM(task, executor="serial").fit(*table).task_.intercept_scaling == own


def test_arguments_are_set_where_the_task_has_their_field():
    X = [[["a"], ["b"]], [["b"], ["a"]]] * 5
    y = [["A", "B"], ["B", "A"]] * 5
    estimator = StructuralSVM(SequenceTask(), loss="zero-one", loss_scale=2.0, executor="serial")
    task = estimator.fit(X, y).task_
    assert (task.losses, task.loss_scale) == ("zero-one", 2.0)
    for name, value in {"fit_intercept": True, "class_weight": "balanced"}.items():
        with pytest.raises(ConfigError, match=rf"^{name}=.*SequenceTask has no field"):
            clone(estimator).set_params(**{name: value}).fit(X, y)


@pytest.mark.parametrize("task", [ToyChain(), OneByOne()], ids=lambda t: type(t).__name__)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss", "zero-one"),
        ("loss_scale", 2.0),
        ("fit_intercept", False),
        ("intercept_scaling", 2.0),
        ("class_weight", "balanced"),
    ],
)
def test_arguments_that_the_task_has_no_field_for_are_refused(task, name, value, chains):
    with pytest.raises(ConfigError, match=rf"^{name}=.*{type(task).__name__} has no field"):
        StructuralSVM(task, executor="serial", **{name: value}).fit(*chains)


def test_a_bad_intercept_scaling_is_refused(table):
    with pytest.raises(ConfigError, match="intercept_scaling=0: expected a number > 0"):
        StructuralSVM(MulticlassTask(), intercept_scaling=0, executor="serial").fit(*table)


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
