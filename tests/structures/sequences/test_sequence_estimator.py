"""SequenceTagger: scikit-learn's manners, files, n-best, scores and bad input."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from distsvm import SequenceTagger, load_model, train
from distsvm.data import PairData
from distsvm.data.synthetic import make_tagged_sentences, write_conll
from distsvm.data.templates import Templates
from distsvm.errors import ConfigError, DataError
from distsvm.structures.sequences.tag_scores import score_tags
from distsvm.structures.sequences.task import SequenceTask
from distsvm.vectors import dot

TEXT = "bias; word[-1..+1]; suffix(1..2)"
SENTENCES = make_tagged_sentences(90, n_tags=4, seed=0, length=7)
X = [Templates.parse(TEXT).features(words) for words, _ in SENTENCES]
Y = [tags for _, tags in SENTENCES]
X_TRAIN, Y_TRAIN, X_TEST, Y_TEST = X[:60], Y[:60], X[60:], Y[60:]
QUICK = {"executor": "serial", "C_per_example": 0.1, "rel_gap": 0.1}


@pytest.fixture(scope="module")
def fitted():
    return SequenceTagger(**QUICK).fit(X_TRAIN, Y_TRAIN)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    home = tmp_path_factory.mktemp("sentences")
    write_conll(home / "train.conll", SENTENCES[:60])
    write_conll(home / "test.conll", SENTENCES[60:])
    return str(home / "train.conll"), str(home / "test.conll")


def test_it_trains_what_train_trains(fitted):
    task, data = SequenceTask(), PairData(X_TRAIN, Y_TRAIN)
    result = train(task, data, **QUICK)
    np.testing.assert_array_equal(fitted.w_, result.model.w)
    assert fitted.result_.certificate == "exact"
    assert fitted.n_iter_ == result.n_rounds
    assert fitted.classes_.tolist() == ["T0", "T1", "T2", "T3"]
    assert fitted.predict(X_TEST) == result.model.predict(X_TEST)


def test_features_may_be_dicts(fitted):
    as_dicts = [[dict.fromkeys(token, 1.0) for token in x] for x in X_TRAIN]
    again = clone(fitted).fit(as_dicts, Y_TRAIN)
    np.testing.assert_array_equal(again.w_, fitted.w_)


def test_the_arguments_reach_the_task():
    arguments = {
        "loss": "zero-one", "loss_scale": 2.0, "order": 2, "allowed": [("T0", "T3")],
        "min_count": 2, "unfit": "drop",
    }  # fmt: skip
    estimator = SequenceTagger(**QUICK, **arguments)
    assert estimator.get_params()["order"] == 2
    task = clone(estimator).fit(X_TRAIN, Y_TRAIN).task_
    assert (task.losses, task.loss_scale, task.order) == ("zero-one", 2.0, 2)
    assert (task.allowed, task.min_count, task.unfit) == ([("T0", "T3")], 2, "drop")
    assert SequenceTagger(**QUICK, hash_bits=6).fit(X_TRAIN, Y_TRAIN).task_.n_features == 64


def test_grid_search_takes_lists_of_sequences():
    search = GridSearchCV(SequenceTagger(**QUICK), {"C_per_example": [1e-6, 0.1]}, cv=2)
    search.fit(X_TRAIN, Y_TRAIN)
    assert search.best_params_ == {"C_per_example": 0.1}
    assert 0.5 < search.best_score_ <= 1.0


def test_a_pickled_tagger_predicts_the_same(fitted):
    assert pickle.loads(pickle.dumps(fitted)).predict(X_TEST) == fitted.predict(X_TEST)


def test_files_and_memory_give_the_same_tagger(fitted, files, tmp_path):
    options = {"templates": TEXT}
    tagger = SequenceTagger(**QUICK, data_options=options).fit(files[0])
    np.testing.assert_array_equal(tagger.w_, fitted.w_)
    # The templates are remembered: by the estimator, and by the model when it is loaded.
    assert tagger.predict(files[1]) == fitted.predict(X_TEST)
    assert tagger.score(files[1]) == fitted.score(X_TEST, Y_TEST)
    assert tagger.evaluate([files[1]]) == fitted.evaluate(X_TEST, Y_TEST)
    assert tagger.predict_n_best(files[1], 2) == fitted.predict_n_best(X_TEST, 2)
    assert tagger.predict(X_TEST) == fitted.predict(X_TEST)
    tagger.model_.save(tmp_path / "model")
    assert load_model(tmp_path / "model").predict(files[1]) == fitted.predict(X_TEST)


def test_a_weight_of_two_is_the_sequence_twice():
    weight = np.where(np.arange(60) < 20, 2.0, 1.0)
    C = {"C": 5.0, "executor": "serial", "eps": 0.01}
    weighted = SequenceTagger(**C).fit(X_TRAIN, Y_TRAIN, sample_weight=weight)
    twice = SequenceTagger(**C).fit(X_TRAIN[:20] + X_TRAIN, Y_TRAIN[:20] + Y_TRAIN)
    # One problem in two forms: each certified value bounds the other's optimum.
    assert weighted.result_.dual <= twice.result_.primal + 1e-9
    assert twice.result_.dual <= weighted.result_.primal + 1e-9


def test_the_score_is_the_share_of_tokens(fitted):
    predicted = fitted.predict(X_TEST)
    pairs = zip(predicted, Y_TEST, strict=True)
    right = [sum(a == b for a, b in zip(*pair, strict=True)) for pair in pairs]
    lengths = [len(y) for y in Y_TEST]
    assert fitted.score(X_TEST, Y_TEST) == pytest.approx(sum(right) / sum(lengths))
    weight = np.arange(1.0, 1.0 + len(lengths))
    expected = np.dot(weight, right) / np.dot(weight, lengths)
    assert fitted.score(X_TEST, Y_TEST, weight) == pytest.approx(expected)
    scores = fitted.evaluate(X_TEST, Y_TEST)
    assert scores == score_tags(Y_TEST, predicted)
    assert scores.entities is None


def test_bio_tags_are_scored_by_entities():
    y = [["B-X", "I-X", "O"], ["O", "B-Y"]] * 10
    x = [[[f"w={tag}"] for tag in tags] for tags in y]
    scores = SequenceTagger(**QUICK, allowed="bio").fit(x, y).evaluate(x, y)
    assert (scores.entities.f1, scores.entities.n_gold) == (1.0, 20)


def test_the_best_few_begin_with_the_prediction(fitted):
    ranked = fitted.predict_n_best(X_TEST, 4)
    assert [found[0][0] for found in ranked] == fitted.predict(X_TEST)
    for x, found in zip(X_TEST, ranked, strict=True):
        scores = [score for _, score in found]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(tags) for tags, _ in found}) == len(found) == min(4, 4 ** len(x))
        tags, score = found[-1]
        features = fitted.task_.joint_features(x, tags)
        assert score == pytest.approx(dot(features, fitted.w_))


def test_bad_input_is_refused(fitted, files, tmp_path):
    (tmp_path / "table.svm").write_text("1 1:1\n")
    with pytest.raises(DataError, match=r"table\.svm.*rows of features, expected sequences"):
        SequenceTagger(**QUICK).fit(tmp_path / "table.svm")
    with pytest.raises(NotFittedError):
        SequenceTagger().predict(X)
    with pytest.raises(DataError, match="requires y"):
        SequenceTagger(**QUICK).fit(X_TRAIN)
    with pytest.raises(DataError, match="example 3: 1 tags for"):
        SequenceTagger(**QUICK).fit(X_TRAIN, [*Y_TRAIN[:3], ["T0"], *Y_TRAIN[4:]])
    with pytest.raises(DataError, match="59 outputs for 60 inputs"):
        SequenceTagger(**QUICK).fit(X_TRAIN, Y_TRAIN[1:])
    bad = [*X_TRAIN[:2], [{"a": float("nan")}] * len(Y_TRAIN[2]), *X_TRAIN[3:]]
    with pytest.raises(DataError, match="example 2: feature 'a' is nan"):
        SequenceTagger(**QUICK).fit(bad, Y_TRAIN)
    with pytest.raises(DataError, match=r"example 0: tag 'T\d' after 'T\d' is not allowed"):
        SequenceTagger(**QUICK, allowed=[tuple(Y_TRAIN[0][:2])]).fit(X_TRAIN, Y_TRAIN)
    with pytest.raises(ConfigError, match="order=3"):
        SequenceTagger(**QUICK, order=3).fit(X_TRAIN, Y_TRAIN)
    with pytest.raises(ConfigError, match="data_options"):
        SequenceTagger(**QUICK, data_options="pos").fit(files[0])
    with pytest.raises(ConfigError, match="sample_weight"):
        SequenceTagger(**QUICK).fit(files[0], sample_weight=[1.0])
    with pytest.raises(DataError, match="y must be None"):
        SequenceTagger(**QUICK).fit(files[0], Y_TRAIN)
    with pytest.raises(ConfigError, match="k=0"):
        fitted.predict_n_best(X_TEST, 0)
    with pytest.raises(DataError, match="outputs y are missing"):
        fitted.score(X_TEST)


def test_sequences_that_break_the_constraints_are_left_out_on_request():
    pair = tuple(Y_TRAIN[0][:2])
    tagger = SequenceTagger(**QUICK, allowed=[pair], unfit="drop").fit(X_TRAIN, Y_TRAIN)
    broken = sum(pair in pairwise(y) for y in Y_TRAIN)
    assert tagger.result_.n_dropped == broken > 0
