"""Runs of taxonomies that are stopped, or lose a worker, end where others end."""

import json
import multiprocessing
import os
import signal

import numpy as np
import pytest

from distsvm import Callback, TaxonomyTask, resume, train
from distsvm.data.synthetic import make_taxonomy_data

OPTIONS = {"C": 50.0, "eps": 0.01, "n_shards": 4}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    X, y = make_taxonomy_data(120, 6, (3, 2), noise=1.5)
    path = tmp_path_factory.mktemp("taxonomy") / "train.jsonl"
    rows = zip(X.tolist(), y.tolist(), strict=True)
    path.write_text("".join(json.dumps({"x": x, "y": label}) + "\n" for x, label in rows))
    return path


@pytest.mark.parametrize("solver", ["one-slack", "n-slack", "multi-plane"])
def test_a_resumed_run_ends_with_the_bits_of_one_that_was_never_stopped(path, solver, tmp_path):
    task, options = TaxonomyTask(losses="tree"), OPTIONS | {"solver": solver, "executor": "serial"}
    whole = train(task, path, **options)
    train(task, path, **options, run_dir=tmp_path / "run", max_rounds=3, checkpoint_rounds=1)
    again = resume(tmp_path / "run", max_rounds=10_000)
    assert np.array_equal(again.model.w, whole.model.w)
    assert (again.primal, again.dual) == (whole.primal, whole.dual)


class Killer(Callback):
    """Kills a worker process after the second round."""

    def __init__(self):
        self.killed = False

    def on_round(self, record):
        if record.number == 2 and not self.killed:
            os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)
            self.killed = True


@pytest.mark.parametrize("solver", ["one-slack", "multi-plane"])
def test_a_killed_worker_costs_no_certificate(path, solver):
    task, options = TaxonomyTask(losses="tree"), OPTIONS | {"solver": solver}
    calm = train(task, path, executor="serial", **options)
    killer = Killer()
    result = train(task, path, executor="processes", n_workers=2, callbacks=[killer], **options)
    assert killer.killed
    assert result.certificate == calm.certificate == "exact"
    assert max(calm.dual, result.dual) <= min(calm.primal, result.primal)
