"""Lost workers and broken tasks: the same optimum, or an error that names the example."""

import multiprocessing
import os
import signal
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
import pytest
from run_examples import history
from toy_tasks import ToyChain, toy_chains

from distsvm import Callback, MulticlassTask, path, train
from distsvm.data.synthetic import make_multiclass, write_parts
from distsvm.errors import DataError, TaskError, WorkerLost
from distsvm.solvers.multi_plane import MultiPlane

INPUTS, OUTPUTS = toy_chains(n=40)
CONFIG = {"C": 20.0, "eps": 1e-3, "n_shards": 4, "n_workers": 2}

REMOTE = ["processes", pytest.param("ray", marks=pytest.mark.ray)]
ALL = ["serial", "threads", *REMOTE]


@pytest.fixture(autouse=True)
def ray_where_it_is_needed(request):
    if request.node.get_closest_marker("ray"):
        request.getfixturevalue("ray_session")


@dataclass(frozen=True)
class Deadly(ToyChain):
    """Kills its process at the oracle call that finds `marker` with nothing after it to say no."""

    marker: str = ""
    deaths: int = 1
    after: int = 100

    def separate(self, w, x, y, rescaling):
        count = os.path.join(self.marker, f"calls-{os.getpid()}")
        with open(count, "a") as file:
            file.write(".")
        if os.path.getsize(count) >= self.after:
            for i in range(self.deaths):
                try:  # whoever makes the file dies; nobody does twice
                    os.close(
                        os.open(os.path.join(self.marker, f"died-{i}"), os.O_CREAT | os.O_EXCL)
                    )
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
        return super().separate(w, x, y, rescaling)


@pytest.mark.parametrize("executor", REMOTE)
def test_killed_worker_without_cache_gives_the_same_bits(executor, tmp_path):
    expected = train(ToyChain(), INPUTS, OUTPUTS, cache_size=0, executor="serial", **{
        k: v for k, v in CONFIG.items() if k != "n_workers"
    })  # fmt: skip
    task = Deadly(marker=str(tmp_path))
    result = train(task, INPUTS, OUTPUTS, cache_size=0, executor=executor, **CONFIG)
    assert (tmp_path / "died-0").exists()
    assert np.array_equal(result.model.w, expected.model.w)
    assert history(result) == history(expected)
    assert result.history[-1].n_restarts == 1


@dataclass(frozen=True)
class DeadlyZeroOne(Deadly):
    """The same where every mistake costs the same: then it takes all penalties."""

    zero_one_loss = True

    def loss(self, y, y_hat):
        return float(tuple(y) != tuple(y_hat))


@pytest.mark.parametrize("executor", REMOTE)
@pytest.mark.parametrize(
    ("solver", "penalty"),
    [
        ("one-slack", "linear"), ("n-slack", "linear"), ("multi-plane", "linear"),
        ("n-slack", "quadratic"), ("multi-plane", "quadratic"),
    ],
)  # fmt: skip
def test_a_killed_worker_changes_no_optimum_of_any_solver(executor, solver, penalty, tmp_path):
    given = {"penalty": penalty, "solver": solver}
    given |= {"C": 20.0, "eps": 1e-3}
    data = INPUTS[:8], OUTPUTS[:8]
    quiet = DeadlyZeroOne(marker=str(tmp_path), deaths=0)
    expected = train(quiet, *data, executor="serial", n_shards=4, **given)
    task = DeadlyZeroOne(marker=str(tmp_path), deaths=2, after=8)
    result = train(task, *data, executor=executor, n_shards=4, n_workers=2, **given)
    assert (tmp_path / "died-1").exists()
    assert result.stop_reason == expected.stop_reason
    assert result.certificate == "exact"
    assert max(result.dual, expected.dual) <= min(result.primal, expected.primal) * (1 + 1e-9)
    assert result.history[-1].n_restarts == 2


@pytest.mark.parametrize("executor", REMOTE)
@pytest.mark.parametrize("road", [{}, {"refresh_fraction": 0.3}])
def test_killed_worker_with_a_cache_reaches_the_same_optimum(executor, road, tmp_path):
    expected = train(ToyChain(), INPUTS, OUTPUTS, executor="serial", C=20.0, eps=1e-3)
    task = Deadly(marker=str(tmp_path), deaths=2, after=25)
    result = train(task, INPUTS, OUTPUTS, executor=executor, **CONFIG, **road)
    assert (tmp_path / "died-1").exists()
    assert result.stop_reason == "eps"
    assert result.certificate == "exact"
    assert abs(result.primal - expected.primal) <= 20.0 * 1e-3
    assert result.history[-1].n_restarts == 2


@pytest.fixture
def duals(monkeypatch):
    """The dual value after every round of the dual ascent; records have the best so far."""
    seen, record = [], MultiPlane._record

    def watched(self, state, *rest):
        seen.append(state.dual)
        return record(self, state, *rest)

    monkeypatch.setattr(MultiPlane, "_record", watched)
    return seen


def never_fall(duals):
    return all(after >= before - 1e-9 * max(1.0, before) for before, after in pairwise(duals))


@pytest.mark.parametrize("executor", REMOTE)
@pytest.mark.parametrize("after", [25, 60])
def test_killed_worker_of_the_dual_ascent_loses_planes_but_no_dual_value(
    executor, after, tmp_path, duals
):
    expected = train(ToyChain(), INPUTS, OUTPUTS, executor="serial", C=20.0, eps=1e-3)
    task = Deadly(marker=str(tmp_path), deaths=2, after=after)
    result = train(task, INPUTS, OUTPUTS, solver="multi-plane", executor=executor, **CONFIG)
    assert (tmp_path / "died-1").exists()
    assert result.stop_reason == "eps"
    assert result.dual <= expected.primal
    assert expected.dual <= result.primal
    assert len(duals) == result.n_rounds
    assert never_fall(duals)
    norms = [record.w_norm for record in result.history]
    assert all(norm > 0 for norm in norms[1:])  # nothing was thrown away with the worker
    assert result.history[-1].n_restarts == 2


class KillOnce(Callback):
    """Kills a worker process when the second value of a path begins, or when the first ends."""

    def __init__(self, event):
        self.event, self.n_steps, self.killed, self.results = event, 0, False, []

    def on_step(self, step):
        self.n_steps += 1

    def on_start(self, start):
        if self.event == "start" and self.n_steps == 2:
            self.kill()

    def on_end(self, result):
        self.results.append(result)
        if self.event == "end" and self.n_steps == 1:
            self.kill()

    def kill(self):
        victim = multiprocessing.active_children()[0]
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        self.killed = True


@pytest.mark.parametrize("solver", ["one-slack", "multi-plane", "n-slack"])
@pytest.mark.parametrize("event", ["start", "end"])
def test_a_worker_killed_between_two_values_of_C_costs_no_certificate(event, solver, duals):
    killer = KillOnce(event)
    config = {"eps": 1e-3, "n_shards": 4, "solver": solver}
    found = path(ToyChain(), INPUTS, OUTPUTS, Cs=[2.0, 20.0, 60.0], executor="processes",
                 n_workers=2, callbacks=[killer], **config)  # fmt: skip
    assert killer.killed
    found_duals = iter(list(duals))
    for point, result in zip(found.points, killer.results, strict=True):
        alone = train(ToyChain(), INPUTS, OUTPUTS, executor="serial", C=point.C, **config)
        assert point.stop_reason == "eps"
        assert point.dual <= alone.primal
        assert alone.dual <= point.primal
        own = list(islice(found_duals, result.n_rounds))
        assert len(own) == (result.n_rounds if solver == "multi-plane" else 0)
        assert never_fall(own)
    assert killer.results[-1].history[-1].n_restarts == 1


def test_a_worker_that_dies_again_and_again_ends_the_run(tmp_path):
    task = Deadly(marker=str(tmp_path), deaths=99, after=1)
    with pytest.raises(WorkerLost, match="shards"):
        train(task, INPUTS, OUTPUTS, executor="processes", **CONFIG)


@dataclass(frozen=True)
class Broken(ToyChain):
    """Fails on one input; every call leaves a mark."""

    marker: str = ""

    def separate(self, w, x, y, rescaling):
        if x == (9, 9):
            with open(self.marker, "a") as file:
                file.write("x")
            raise ValueError("no such symbol")
        return super().separate(w, x, y, rescaling)

    def joint_features(self, x, y):
        return super().joint_features(x, y) if x != (9, 9) else {}


@pytest.mark.parametrize("executor", ALL)
def test_an_error_of_the_task_names_shard_and_example_and_is_not_tried_again(executor, tmp_path):
    inputs, outputs = list(INPUTS), list(OUTPUTS)
    inputs[27], outputs[27] = (9, 9), (0, 0)
    marker = tmp_path / "calls"
    config = CONFIG | {"n_workers": None if executor == "serial" else 2}
    with pytest.raises(
        TaskError, match=r"shard 2: example 27: .*separate: ValueError: no such symbol"
    ):
        train(Broken(marker=str(marker)), inputs, outputs, executor=executor, **config)
    assert marker.read_text() == "x"


@pytest.mark.parametrize("executor", ["serial", *REMOTE])
@pytest.mark.parametrize("kind", ["svmlight", "parquet"])
def test_training_from_files_reaches_the_optimum_of_training_from_memory(executor, kind, tmp_path):
    X, y = make_multiclass(600, 6, 3, noise=0.3, seed=0)
    write_parts(tmp_path, X, y, 3, kind)
    config = {"C": 50.0, "eps": 1e-4, "executor": executor}
    memory = train(MulticlassTask(), (X, y), C=50.0, eps=1e-4, executor="serial")
    files = train(MulticlassTask(), str(tmp_path), n_shards=5, **config)
    assert files.model.task.n_features == 6
    assert files.model.task.labels.tolist() == [0, 1, 2]
    assert abs(files.primal - memory.primal) <= 50.0 * 1e-4
    labels = files.model.predict(str(tmp_path), executor=executor)
    assert np.array_equal(labels, files.model.predict(X))
    score = files.model.evaluate(str(tmp_path), executor=executor)
    assert score.n_examples == 600
    assert np.isclose(score.accuracy, np.mean(labels == y))


def test_one_scan_fixes_index_base_dimension_and_labels_for_all_files(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1 3:2\n2 2:1\n")
    (tmp_path / "b.svm").write_text("3 5:1\n1 1:0.5\n")
    task = train(MulticlassTask(), str(tmp_path), executor="serial", n_shards=2).model.task
    assert (task.index_base, task.n_features, task.labels.tolist()) == (1, 5, [1, 2, 3])
    (tmp_path / "c.svm").write_text("2 0:1\n")
    model = train(MulticlassTask(), str(tmp_path), executor="serial", n_shards=3).model
    assert (model.task.index_base, model.task.n_features) == (0, 6)
    # A file alone may leave the base open; the model knows it.
    assert np.array_equal(
        model.predict(str(tmp_path / "b.svm")),
        model.predict(np.array([[0, 0, 0, 0, 0, 1.0], [0, 0.5, 0, 0, 0, 0]])),
    )


def test_bad_data_at_prediction_and_evaluation_is_an_error(tmp_path):
    X, y = make_multiclass(60, 4, 3, noise=0.3, seed=0)
    model = train(MulticlassTask(), (X, y), executor="serial").model
    with pytest.raises(DataError, match="5 features, expected 4"):
        model.predict(np.ones((2, 5)))
    with pytest.raises(DataError, match="is nan"):
        model.predict(np.full((2, 4), np.nan))
    with pytest.raises(DataError, match=r"label 'a' is not among the classes .*: one is text"):
        model.evaluate(X[:3], np.array(["a", "b", "c"]))
    (tmp_path / "bad.svm").write_text("1 1:1\n2 1:x\n")
    with pytest.raises(DataError, match=r"bad\.svm, line 2"):
        model.predict(str(tmp_path / "bad.svm"))
    (tmp_path / "wide.svm").write_text("1 9:1\n")
    with pytest.raises(DataError, match="features, expected 4"):
        model.evaluate(str(tmp_path / "wide.svm"))


@pytest.mark.parametrize("executor", ALL)
def test_bad_examples_stop_training_before_it_starts(executor, tmp_path):
    X, y = make_multiclass(200, 4, 3, noise=0.3, seed=0)
    X[150, 2] = np.inf
    config = {"executor": executor, "run_dir": str(tmp_path / "run"), "n_shards": 4}
    with pytest.raises(DataError, match=r"example 150: feature 2 is inf"):
        train(MulticlassTask(), (X, y), **config)
    assert not (tmp_path / "run").exists()
    X[150, 2] = 0
    for weight, message in (
        (np.ones(7), r"shape \(7,\)"),
        (np.r_[-1.0, np.ones(199)], "example 0 is -1"),
        (np.zeros(200), "weights are 0"),
    ):
        with pytest.raises(DataError, match=message):
            train(MulticlassTask(), (X, y), weight=weight, **config)


@dataclass(frozen=True)
class Leaving(ToyChain):
    """Task code that would end the process."""

    how: str = ""

    def separate(self, w, x, y, rescaling):
        raise {"exit": SystemExit, "close": GeneratorExit, "interrupt": KeyboardInterrupt}[
            self.how
        ](3)


@pytest.mark.parametrize("executor", ALL)
@pytest.mark.parametrize("how", ["exit", "close"])
def test_task_code_that_would_end_the_process_is_an_error_of_its_example(executor, how):
    config = CONFIG | {"n_workers": None if executor == "serial" else 2}
    with pytest.raises(TaskError, match=r"shard 0: example 0: .*separate: \w+Exit: 3"):
        train(Leaving(how=how), INPUTS, OUTPUTS, executor=executor, **config)


@pytest.mark.parametrize("executor", REMOTE)
def test_an_interrupt_of_a_task_s_own_is_not_tried_again(executor):
    with pytest.raises(TaskError, match=r"shard 0: KeyboardInterrupt"):
        train(Leaving(how="interrupt"), INPUTS, OUTPUTS, executor=executor, **CONFIG)
