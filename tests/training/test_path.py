"""Paths of C: every value's certificate holds, the warm start is free, and the choice is right."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from toy_tasks import ToyChain, all_planes, primal, toy_chains

from distsvm import Callback, MulticlassTask, path, train
from distsvm.blas import one_thread
from distsvm.data.dataset import PairData, TableData
from distsvm.data.folds import folds
from distsvm.data.synthetic import make_multiclass, make_tagged_sentences
from distsvm.data.templates import Templates
from distsvm.errors import ConfigError
from distsvm.tasks.sequence import SequenceTask
from distsvm.training.config import TrainConfig
from distsvm.training.path import FACTORS
from distsvm.training.path_result import PathPoint, lowest_loss
from distsvm.training.trainer import Trainer
from distsvm.vectors import to_dense

SOLVERS = ["one-slack", "multi-plane"]
SERIAL = {"executor": "serial"}


def classes():
    return MulticlassTask(), *make_multiclass(120, 6, 3, noise=0.4, seed=0)


def sequences():
    features = Templates.parse("bias; word; suffix(1..2)").features
    made = [(features(words), tags) for words, tags in make_tagged_sentences(24, seed=1)]
    return SequenceTask(), [x for x, _ in made], [y for _, y in made]


def chains():
    return ToyChain(), *toy_chains(n=30, seed=3)


PROBLEMS = {make.__name__: make for make in (classes, sequences, chains)}


# --- certificates --------------------------------------------------------------------------


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.drill), True])
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_point_holds_the_optimum_that_a_cold_run_finds(solver, problem, weighted, rescaling):
    task, X, y = PROBLEMS[problem]()
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(y)) if weighted else None
    config = {"solver": solver, "rescaling": rescaling, "n_shards": 3, "eps": 0.05, **SERIAL}
    if rescaling not in task.rescalings:
        pytest.skip(f"{problem} has no {rescaling} rescaling")
    base = train(task, X, y, weight=weight, max_rounds=1, **config).C
    Cs = [base * factor for factor in (0.01, 0.1, 0.3, 1.0)]
    found = path(task, X, y, Cs=Cs, weight=weight, **config)
    assert [point.C for point in found.points] == Cs
    for point in found.points:
        alone = train(task, X, y, C=point.C, weight=weight, **config)
        assert (point.certificate, point.stop_reason) == ("exact", "eps")
        assert point.gap <= point.C * alone.eps
        # Two intervals with one optimum in common overlap.
        room = 1e-9 * abs(alone.primal)
        assert point.dual <= alone.primal + room
        assert alone.dual <= point.primal + room


class Models(Callback):
    def __init__(self):
        self.found = []

    def on_end(self, result):
        self.found.append(result)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_primal_of_every_value_is_that_of_its_own_model(solver):
    inputs, outputs = toy_chains(n=30, seed=3)
    planes, models = all_planes(ToyChain(), inputs, outputs, "margin"), Models()
    path(ToyChain(), inputs, outputs, Cs=[0.1, 0.12, 1, 30], solver=solver, callbacks=[models],
         **SERIAL)  # fmt: skip
    for result in models.found:
        own = primal(planes, result.model.w, result.C)
        assert math.isclose(own, result.primal, rel_tol=1e-9)


# --- the warm start ------------------------------------------------------------------------


def trainer_at(C, solver, **config):
    task, X, y = chains()
    trainer = Trainer(task, TrainConfig(solver=solver, n_shards=3, **SERIAL, **config), [])
    trainer.load(X, y, None, {}, None)
    trainer.begin(C=C)
    trainer.run()
    return trainer


@pytest.mark.parametrize("max_rounds", [2, 3, 6, None])
@given(factor=st.floats(1.0, 50.0), C=st.floats(0.1, 20.0))
@settings(max_examples=8, deadline=None)
def test_scaled_planes_are_feasible_and_have_the_dual_of_the_formula(max_rounds, factor, C):
    with one_thread():
        trainer = trainer_at(C, "multi-plane", max_rounds=max_rounds)
        before = trainer.state
        linear, square, n_calls = before.linear, before.square, before.n_calls
        trainer.follow(factor * C)
    state = trainer.state
    expected = factor * linear - 0.5 * factor**2 * square
    assert state.dual == pytest.approx(expected, rel=1e-9, abs=1e-12)
    holdings = trainer.risk.holdings()
    w, b = sum(to_dense(held.a) for held in holdings), sum(held.b for held in holdings)
    np.testing.assert_allclose(w, state.w, rtol=1e-9, atol=1e-12)
    assert b == pytest.approx(state.linear, rel=1e-9, abs=1e-12)
    assert b - 0.5 * w @ w == pytest.approx(state.dual, rel=1e-9, abs=1e-12)
    assert state.n_calls == 0
    assert n_calls > 0
    for block in trainer.executor._objects:
        held = block.ascent.stock.held
        np.testing.assert_allclose(held.total, trainer.C / trainer.facts.weight)
        assert (held.alpha >= 0).all()
        assert (held.alpha.sum(axis=1) <= held.total * (1 + 1e-12)).all()
    trainer.close()


@given(factor=st.floats(1.0, 50.0), C=st.floats(0.1, 20.0))
@settings(max_examples=8, deadline=None)
def test_a_scaled_working_set_is_feasible_and_nothing_is_asked(factor, C):
    with one_thread():
        trainer = trainer_at(C, "one-slack")
        working = trainer.state.working
        working_dual = working.linear() - 0.5 * working.alpha @ working.gram @ working.alpha
        square = working.alpha @ working.gram @ working.alpha
        scaled = factor * working.linear() - 0.5 * factor**2 * square
        trainer.follow(factor * C)
    state = trainer.state
    assert state.n_calls == 0
    assert (state.working.alpha >= 0).all()
    assert state.working.alpha.sum() <= trainer.C * (1 + 1e-9)
    room = 1e-9 * (1 + abs(scaled))
    assert state.bounds.dual >= max(scaled, working_dual) - room
    trainer.close()


def test_bounds_at_another_C_hold_for_the_same_w():
    inputs, outputs = toy_chains(n=30, seed=3)
    planes = all_planes(ToyChain(), inputs, outputs, "margin")
    with one_thread():
        trainer = trainer_at(2.0, "multi-plane", max_rounds=4)
        trainer.follow(7.0)
    bounds = trainer.state.bounds
    assert bounds.primal == pytest.approx(primal(planes, bounds.w, 7.0), rel=1e-9)
    trainer.close()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("problem", ["classes", "sequences"])
def test_a_path_asks_less_than_cold_runs_do(solver, problem):
    task, X, y = PROBLEMS[problem]()
    config = {"solver": solver, "n_shards": 2, "rel_gap": 0.05, **SERIAL}
    default = train(task, X, y, max_rounds=1, **SERIAL).C
    found = path(task, X, y, Cs=default * np.logspace(-2, 0.5, 6), **config)
    alone = [train(task, X, y, C=point.C, **config).n_oracle_calls for point in found.points]
    assert found.n_oracle_calls < sum(alone)
    assert all(point.n_oracle_calls >= len(y) for point in found.points)  # each is certified


def test_the_default_values_lie_around_the_default_C():
    task, X, y = classes()
    default = train(task, X, y, max_rounds=1, **SERIAL).C
    found = path(task, X, y, max_rounds=1, **SERIAL)
    assert [point.C for point in found.points] == pytest.approx(default * FACTORS)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("executor", "n_workers"),
    [("threads", 3), ("processes", 2), pytest.param("ray", 2, marks=pytest.mark.ray)],
)
def test_every_executor_gives_the_same_bits(solver, executor, n_workers, request):
    if executor == "ray":
        request.getfixturevalue("ray_session")
    task, X, y = chains()
    config = {"Cs": [0.1, 1.0, 10.0], "solver": solver, "n_shards": 4, "validation": (X, y)}
    config["validation"] = list(zip(X, y, strict=True))
    one, many = Models(), Models()
    a = path(task, X, y, executor="serial", callbacks=[one], **config)
    b = path(task, X, y, executor=executor, n_workers=n_workers, callbacks=[many], **config)
    for first, second in zip(one.found, many.found, strict=True):
        assert np.array_equal(first.model.w, second.model.w)
    assert timeless(a) == timeless(b)
    assert np.array_equal(a.model.w, b.model.w)


def timeless(result):
    points = result.summary()["points"]
    return [{k: v for k, v in point.items() if k != "seconds"} for point in points]


def test_limits_hold_for_each_value():
    task, X, y = chains()
    found = path(task, X, y, Cs=[1.0, 10.0, 100.0], eps=0.0, max_rounds=3, **SERIAL)
    assert [(p.n_rounds, p.stop_reason) for p in found.points] == [(3, "max_rounds")] * 3
    found = path(task, X, y, Cs=[1.0, 10.0], solver="multi-plane", max_rounds=1, **SERIAL)
    assert [p.certificate for p in found.points] == ["exact", "exact"]


# --- the choice ----------------------------------------------------------------------------


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


# --- folds ---------------------------------------------------------------------------------


@given(n=st.integers(2, 30), n_folds=st.integers(2, 30), seed=st.integers(0, 3))
@settings(deadline=None)
def test_every_example_is_held_out_once(n, n_folds, seed):
    data = PairData(list(range(n)), list(range(n)))
    if n_folds > n:
        with pytest.raises(ConfigError, match=f"only {n} examples"):
            list(folds(data, n_folds, seed))
        return
    held_out = []
    for rest, part in folds(data, n_folds, seed):
        assert sorted([*rest.shard.x, *part.shard.x]) == list(range(n))
        assert part.shard.n in (n // n_folds, n // n_folds + 1)
        assert part.shard.x == part.shard.y
        held_out += part.shard.x
    assert sorted(held_out) == list(range(n))


def test_folds_of_tables_keep_rows_labels_and_weights_together():
    rng = np.random.default_rng(0)
    X = sparse.random(23, 7, 0.4, format="csr", random_state=1)
    y, weight = np.arange(23), rng.uniform(1, 2, 23)
    for form in (X, X.toarray()):
        for rest, part in folds(TableData(form, y, weight), 4):
            for data in (rest, part):
                for spec in data.specs(3):
                    shard = spec.load()
                    assert np.array_equal(shard.weight, weight[shard.y])
                    dense = dense_of(shard.x)
                    assert np.array_equal(dense, X.toarray()[shard.y])


def dense_of(rows):
    if hasattr(rows, "columns"):
        return sparse.csr_matrix(rows.arrays(), shape=(rows.n_rows, rows.n_columns)).toarray()
    return rows.values


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
    from distsvm.data.readers.conll import ConllData

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


# --- stopping and refusing -----------------------------------------------------------------


class StopIn(Callback):
    """Asks to stop in the first round of one of the steps."""

    def __init__(self, number, fold=0):
        self.wanted = (number, fold)
        self.at = None

    def on_step(self, step):
        self.at = (step.number, step.fold)

    def on_round(self, record):
        return self.at == self.wanted


def test_an_interrupted_path_keeps_what_it_has():
    task, X, y = classes()
    found = path(task, (X, y), validation=(X, y), callbacks=[StopIn(3)], eps=1e-5, **SERIAL)
    assert [p.stop_reason for p in found.points][1:] == ["eps", "interrupted"]
    assert found.model is not None


@pytest.mark.parametrize("fold", [1, 2, 3])
def test_interrupted_folds_choose_nothing_and_an_interrupted_refit_has_no_model(fold):
    task, X, y = classes()
    stop = StopIn(1, fold)
    found = path(task, (X, y), Cs=[1.0, 1000.0], cv=2, callbacks=[stop], **SERIAL)
    assert found.model is None or found.best == 0
    assert (found.best is None) == (fold < 2)
    assert len(found.points) == {1: 0, 2: 1, 3: 2}[fold]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"Cs": []}, "Cs is empty"),
        ({"Cs": [1.0, -2.0]}, "Cs holds -2.0"),
        ({"Cs": [0.0]}, "Cs holds 0.0"),
        ({"Cs": [math.inf]}, "Cs holds inf"),
        ({"Cs": [math.nan, 1.0]}, "Cs holds nan"),
        ({"Cs": ["a"]}, "expected numbers > 0"),
        ({"Cs": 3.0}, "expected numbers > 0"),
        ({"cv": 1}, "cv=1: expected a whole number ≥ 2"),
        ({"cv": 2.5}, "cv=2.5"),
        ({"cv": True}, "cv=True"),
        ({"cv": 31}, "cv=31: there are only 30 examples"),
        ({"cv": 3, "validation": toy_chains(5)}, "cv and validation are both given"),
        ({"C": 1.0}, "C=1.0: a path takes its values as Cs"),
        ({"C_per_example": 1.0}, "C_per_example=1.0"),
        ({"run_dir": "r"}, "run_dir='r': a path keeps no run folder"),
        ({"depth": 3}, "unknown parameter 'depth'"),
    ],
)
def test_bad_input_is_refused(wrong, message):
    task, X, y = chains()
    with pytest.raises(ConfigError) as error:
        path(task, X, y, **SERIAL | wrong)
    assert message in str(error.value)


def test_no_task_is_refused():
    with pytest.raises(ConfigError, match="expected an instance"):
        path(ToyChain, *toy_chains(5), Cs=[1.0], **SERIAL)


def test_values_are_taken_in_increasing_order_and_once():
    task, X, y = chains()
    found = path(task, X, y, Cs=(10, 1, 10.0, 3), max_rounds=1, **SERIAL)
    assert [point.C for point in found.points] == [1.0, 3.0, 10.0]
