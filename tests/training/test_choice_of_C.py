"""The C of the lowest loss is chosen, on validation data or by folds of the data."""

import json

import numpy as np
import pytest
from path_examples import PROBLEMS, SERIAL, SOLVERS, Models, StopIn, chains, classes, sequences

from distsvm import path
from distsvm.data.dataset import PairData, TableData
from distsvm.data.folds import folds
from distsvm.data.synthetic import make_multiclass, make_tagged_sentences
from distsvm.data.templates import Templates
from distsvm.structures.sequences.task import SequenceTask
from distsvm.training.path_result import PathPoint, lowest_loss


def test_validation_chooses_the_lowest_loss_and_gives_its_model():
    task, X, y = classes()
    X_check, y_check = make_multiclass(80, 6, 3, noise=0.4, seed=0)
    models = Models()
    found = path(task, (X, y), validation=(X_check, y_check), callbacks=[models], **SERIAL)
    losses = [point.validation_loss for point in found.points]
    assert found.best == int(np.argmin(losses))
    assert found.C == found.points[found.best].C == found.model.facts["C"]
    assert np.array_equal(found.model.w, models.found[found.best].model.w)
    score = found.model.evaluate(X_check, y_check)
    assert score.mean_loss == losses[found.best]
    assert score.accuracy == found.points[found.best].validation_accuracy
    assert found.chosen_by == "validation"


def test_of_equal_losses_the_smaller_C_is_taken():
    def point(C, loss):
        return PathPoint(C, 0.1, "exact", 1.0, 1.0, 0.0, "eps", 1, 1, 0.0, loss, 1 - loss)

    assert lowest_loss([point(1, 0.5), point(2, 0.25), point(3, 0.25), point(4, 0.3)]) == 1
    assert lowest_loss([]) is None
    task, X, y = classes()
    found = path(task, (X, y), Cs=[5000, 5000.001], validation=(X, y), **SERIAL)
    assert found.points[0].validation_loss == found.points[1].validation_loss
    assert found.best == 0


def test_without_validation_nothing_is_chosen():
    task, X, y = chains()
    found = path(task, X, y, Cs=[1.0, 2.0], **SERIAL)
    assert (found.best, found.model, found.C, found.chosen_by) == (None, None, None, None)
    assert [point.validation_loss for point in found.points] == [None, None]


def test_the_summary_is_json():
    task, X, y = classes()
    found = path(task, (X, y), Cs=[1.0, 2.0], cv=2, **SERIAL)
    told = json.loads(json.dumps(found.summary()))
    assert told["n_oracle_calls"] == found.n_oracle_calls
    assert [p["C"] for p in told["points"]] == [1.0, 2.0]
    assert len(told["points"][0]["folds"]) == 2
    assert told["C"] == found.C


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_folds_are_trained_and_scored_as_by_hand(solver, problem):
    task, X, y = PROBLEMS[problem]()
    config = {"Cs": [0.5, 5.0, 50.0], "solver": solver, "rel_gap": 0.1, **SERIAL}
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    found = path(task, X, y, weight=weight, cv=3, **config)
    task = task.prepare(found.model.task.scan(found.model.task.shard(X, y)))
    opened = (TableData if problem == "classes" else PairData)(X, y, weight)
    for k, (rest, part) in enumerate(folds(opened, 3)):
        own = path(task, rest, validation=part, **config)
        for point, fold in zip(own.points, (p.folds[k] for p in found.points), strict=True):
            assert (point.primal, point.dual) == (fold.primal, fold.dual)
            assert point.validation_loss == fold.validation_loss
    for point in found.points:
        losses = [fold.validation_loss for fold in point.folds]
        assert point.validation_loss == pytest.approx(np.mean(losses))
        assert point.loss_error == pytest.approx(np.std(losses, ddof=1) / np.sqrt(3))
    assert found.best == int(np.argmin([point.validation_loss for point in found.points]))
    assert found.chosen_by == "3 folds"


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_refit_is_the_path_on_all_data_up_to_the_chosen_C(solver):
    task, X, y = classes()
    config = {"Cs": [1.0, 10.0, 100.0, 1000.0], "solver": solver, **SERIAL}
    found = path(task, (X, y), cv=4, **config)
    models = Models()
    whole = path(task, (X, y), callbacks=[models], **config)
    assert [p.primal for p in found.refit] == [p.primal for p in whole.points[: found.best + 1]]
    assert np.array_equal(found.model.w, models.found[found.best].model.w)
    assert found.model.facts["C"] == found.C
    without = path(task, (X, y), cv=4, refit=False, **config)
    assert (without.model, without.refit, without.best) == (None, [], found.best)


def test_folds_of_files_are_those_of_the_same_examples_in_memory(tmp_path):
    from distsvm.data.writers import write_svmlight

    task, X, y = classes()
    write_svmlight(tmp_path / "a.svm", X, y)
    config = {"Cs": [1.0, 100.0], "cv": 3, "n_shards": 2, **SERIAL}
    read, held = path(task, str(tmp_path / "a.svm"), **config), path(task, (X, y), **config)
    for a, b in zip(read.points, held.points, strict=True):
        assert a.validation_loss == b.validation_loss
        assert a.primal == pytest.approx(b.primal)


def test_folds_of_sentences_in_files_are_those_in_memory(tmp_path):
    from distsvm.structures.sequences.readers.conll import ConllData

    made, templates = make_tagged_sentences(24, seed=1), "bias; word; suffix(1..2)"
    blocks = ["".join(f"{w}\t{t}\n" for w, t in zip(*one, strict=True)) for one in made]
    (tmp_path / "a.conll").write_text("\n".join(blocks), encoding="utf-8")
    features = Templates.parse(templates).features
    held = [(features(words), tags) for words, tags in made]
    config = {"Cs": [1.0, 5.0], "cv": 3, "n_shards": 2, "rel_gap": 0.1, **SERIAL}
    read = path(SequenceTask(), ConllData(tmp_path / "a.conll", templates=templates), **config)
    for a, b in zip(read.points, path(SequenceTask(), held, **config).points, strict=True):
        assert a.gap <= 0.1 * a.primal
        assert a.dual <= b.primal
        assert b.dual <= a.primal
        assert a.validation_loss == pytest.approx(b.validation_loss)


def test_a_rare_tag_may_be_missing_from_a_fold():
    task, X, y = sequences()
    y = [list(tags) for tags in y]
    y[7][0] = "rare"
    found = path(task, X, y, Cs=[1.0], cv=4, **SERIAL)
    assert "rare" in found.model.task.tags()
    assert len(found.points[0].folds) == 4


@pytest.mark.parametrize("fold", [1, 2, 3])
def test_interrupted_folds_choose_nothing_and_an_interrupted_refit_has_no_model(fold):
    task, X, y = classes()
    stop = StopIn(1, fold)
    found = path(task, (X, y), Cs=[1.0, 1000.0], cv=2, callbacks=[stop], **SERIAL)
    assert found.model is None or found.best == 0
    assert (found.best is None) == (fold < 2)
    assert len(found.points) == {1: 0, 2: 1, 3: 2}[fold]
