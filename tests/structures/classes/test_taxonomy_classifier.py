"""TaxonomyClassifier keeps scikit-learn's contract, and its scores are those of hiclass."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from distsvm import TaxonomyClassifier
from distsvm.data.synthetic import make_taxonomy_data
from distsvm.errors import ConfigError, DataError
from distsvm.structures.classes.taxonomies.measures import tree_counts


@parametrize_with_checks([TaxonomyClassifier()])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    X, y = make_taxonomy_data(160, 6, (3, 2), noise=1.5)
    return X[:80], y[:80], X[80:], y[80:]


@pytest.fixture(scope="module")
def fitted(data):
    return TaxonomyClassifier(C=50.0, loss="tree").fit(*data[:2])


def levels_of(paths):
    return np.array([path.split("/") for path in paths])


def test_the_certificate_can_be_computed_from_the_nodes_weights(fitted, data):
    X, y, *_ = data
    tree, nodes = fitted.taxonomy_, fitted.node_coef_
    scores = fitted.decision_function(X)
    for number, label in enumerate(fitted.classes_):
        way = [z - 1 for z in tree.ancestors(tree.find(label))]
        np.testing.assert_allclose(
            fitted.coef_[number], nodes[way].sum(axis=0) / np.sqrt(len(way)), atol=1e-12
        )
    truth = np.searchsorted(fitted.classes_, y)
    first = np.char.partition(fitted.classes_, "/")[:, 0]
    loss = np.where(first[truth][:, None] == first, 1.0, 2.0)
    loss[np.arange(len(y)), truth] = 0.0
    hinge = (loss - (scores[np.arange(len(y)), truth][:, None] - scores)).max(axis=1)
    w = fitted.model_.w
    assert 0.5 * w @ w + 50.0 * hinge.mean() == pytest.approx(fitted.result_.primal)
    np.testing.assert_allclose(scores, X @ fitted.coef_.T + fitted.intercept_, atol=1e-9)


def test_columns_of_levels_are_the_paths_of_labels(fitted, data):
    X, y, X_new, y_new = data
    levels = levels_of(y)
    other = TaxonomyClassifier(C=50.0, loss="tree").fit(X, levels.astype(object))
    found = other.predict(X_new)
    assert np.array_equal(found, levels_of(fitted.predict(X_new)))
    assert other.score(X_new, levels_of(y_new)) == fitted.score(X_new, y_new)
    short = np.array([["a", ""], ["a", "b"], ["c", None]], dtype=object)
    small = TaxonomyClassifier().fit(np.eye(3), short)
    assert small.predict(np.eye(3)).tolist() == [["a", ""], ["a", "b"], ["c", ""]]
    for wrong, message in (([["", "a"], ["b", "c"]], "behind an empty one"),
                           ([["a/b", "c"], ["d", "e"]], "has '/' in it")):  # fmt: skip
        with pytest.raises(DataError, match=message):
            TaxonomyClassifier().fit(np.eye(2), np.array(wrong))
    with pytest.raises(DataError, match="several columns of numbers"):
        TaxonomyClassifier().fit(np.eye(2), np.eye(2))


def test_scores_are_those_of_hiclass(fitted, data):
    metrics = pytest.importorskip("hiclass.metrics", reason="hiclass is not installed")
    _, _, X_new, y_new = data
    y_new = np.where(np.arange(len(y_new)) % 7, y_new, "a1/unseen")
    found, scores = fitted.predict(X_new), fitted.scores(X_new, y_new)
    # hiclass tells nodes apart by name alone, so that each gets its path as name.
    pair = [np.stack([np.char.partition(paths, "/")[:, 0], paths], axis=1)
            for paths in (y_new, found)]  # fmt: skip
    for average, prefix in (("micro", ""), ("macro", "macro_")):
        for name in ("precision", "recall", "f1"):
            want = getattr(metrics, name)(*pair, average=average)
            assert scores[f"{prefix}h_{name}"] == pytest.approx(want)
    assert scores["accuracy"] == pytest.approx((y_new == found).mean())
    levels = [(np.char.partition(y_new, "/")[:, 0] == np.char.partition(found, "/")[:, 0]).mean()]
    assert scores["accuracy_by_level"] == pytest.approx([*levels, scores["accuracy"]])


def test_scores_by_hand():
    X, y = np.eye(4), np.array(["a/b/c", "a/b/d", "a/e", "f"])
    task = TaxonomyClassifier(C=100.0).fit(X, y).model_.task
    number = {label: n for n, label in enumerate(task.labels.tolist())}
    # true: a/b/c, a/e, f, and a/g, of which the taxonomy knows a
    truth = np.array([number["a/b/c"], number["a/e"], number["f"], 4])
    predicted = np.array([number[label] for label in ("a/b/d", "a/b/c", "f", "a/e")])
    found = tree_counts(task, truth, ["a/g"], predicted).scores()
    assert found["h_precision"] == (2 + 1 + 1 + 1) / (3 + 3 + 1 + 2)
    assert found["h_recall"] == (2 + 1 + 1 + 1) / (3 + 2 + 1 + 2)
    assert found["macro_h_precision"] == pytest.approx((2 / 3 + 1 / 3 + 1 + 1 / 2) / 4)
    assert found["macro_h_recall"] == pytest.approx((2 / 3 + 1 / 2 + 1 + 1 / 2) / 4)
    assert found["macro_h_f1"] == pytest.approx((2 / 3 + 2 / 5 + 1 + 1 / 2) / 4)
    assert found["tree_loss"] == (1 + 2 + 0 + 2) / 4
    assert found["accuracy_by_level"] == [1.0, 1 / 3, 0.0]


def test_sparse_rows_weights_and_pipelines_are_taken(data):
    X, y, X_new, y_new = data
    dense = TaxonomyClassifier(C=10.0, eps=1e-4).fit(X, y)
    rows = TaxonomyClassifier(C=10.0, eps=1e-4).fit(sparse.csr_matrix(X), y)
    assert rows.result_.primal == pytest.approx(dense.result_.primal, rel=1e-3)
    piped = make_pipeline(StandardScaler(), TaxonomyClassifier(C=10.0)).fit(X, y)
    assert piped.score(X_new, y_new) > 0.3
    weight = np.arange(len(y)) % 2 + 0.0
    part = TaxonomyClassifier(C=10.0, eps=1e-4).fit(X, y, sample_weight=weight)
    half = TaxonomyClassifier(C=10.0, eps=1e-4, taxonomy=part.taxonomy_).fit(X[1::2], y[1::2])
    assert part.result_.primal == pytest.approx(half.result_.primal, rel=1e-3)
    assert part.score(X, y, weight) == pytest.approx(part.score(X[1::2], y[1::2]))


def test_bad_arguments_are_refused_by_name(data):
    X, y, *_ = data
    with pytest.raises(TypeError, match=r"taxnomy.*taxonomy"):
        TaxonomyClassifier(taxnomy={})
    with pytest.raises(ConfigError, match="class_features='leafy'"):
        TaxonomyClassifier(class_features="leafy").fit(X, y)
    with pytest.raises(DataError, match="example 0: label 'a0/b0' is no node"):
        TaxonomyClassifier(taxonomy={"x": ["y", "z"]}).fit(X, y)
    with pytest.raises(DataError, match="'nothing' is not among the classes"):
        TaxonomyClassifier().fit(X, y).paths(["nothing"])
