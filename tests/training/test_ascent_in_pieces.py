"""The dual ascent on shards larger than memory: the optimum of memory, and the bits of anywhere."""

import multiprocessing
import os
import signal
from itertools import pairwise

import numpy as np
import pytest
from pieced import CASES, MEMORY_MB, write
from run_examples import StopAfter, history

from distsvm import Callback, path, resume, train
from distsvm.data import open_data
from distsvm.data.keeping import Keeping

# Easy problems: a round in pieces reads all of them.
RUN = {"C": 2.0, "rel_gap": 0.1, "n_shards": 2, "solver": "multi-plane", "executor": "serial"}


@pytest.fixture
def limited(tmp_path):
    """Worked through in pieces, a file each."""
    return {"worker_memory_mb": MEMORY_MB, "cache_dir": tmp_path / "packed"}


def agree(one, two):
    """Both intervals hold the optimum."""
    assert one.certificate == two.certificate == "exact"
    assert max(one.dual, two.dual) <= min(one.primal, two.primal)


@pytest.mark.parametrize("case", CASES)
def test_pieces_lead_to_the_optimum_of_memory_and_of_one_slack(tmp_path, limited, case):
    task, data = write(tmp_path, case)
    keeping = Keeping(str(tmp_path / "packed"), MEMORY_MB)
    for spec in open_data(data, tables=task.tables).specs(2):
        assert len(keeping.pieces(spec)) == 3
    pieces = train(task, data, **RUN, **limited)
    assert pieces.stop_reason in ("rel_gap", "eps")
    assert pieces.n_support_planes > 0
    agree(pieces, train(task, data, **RUN))
    agree(pieces, train(task, data, **RUN | {"solver": "one-slack"}))


@pytest.mark.parametrize("case", CASES)
def test_auto_is_what_it_is_in_memory(tmp_path, limited, case):
    task, data = write(tmp_path, case)
    run = RUN | {"solver": "auto", "max_rounds": 2}
    planes = [train(task, data, **run, **more).n_support_planes > 0 for more in ({}, limited)]
    assert planes == [case in ("sequences", "trees")] * 2


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("executor", "n_workers"),
    [("threads", 1), ("threads", 3), ("processes", 1), ("processes", 2),
     pytest.param("ray", 2, marks=pytest.mark.ray)],
)  # fmt: skip
def test_same_bits(tmp_path, limited, case, executor, n_workers, request):
    if executor == "ray":
        request.getfixturevalue("ray_session")
    task, data = write(tmp_path, case)
    run = RUN | {"max_rounds": 12, "n_shards": 3, "n_blocks": 3}
    expected = train(task, data, **run, **limited)
    found = train(
        task, data, **run | {"executor": executor, "n_workers": n_workers}, **limited
    )  # fmt: skip
    assert expected.dual > 0
    np.testing.assert_array_equal(found.model.w, expected.model.w)
    assert history(found) == history(expected)


@pytest.mark.parametrize("case", CASES)
def test_a_resumed_run_has_the_same_bits(tmp_path, limited, case):
    task, data = write(tmp_path, case)
    run = RUN | {"max_rounds": 14, "rel_gap": None, "eps": 0.0}
    whole = train(task, data, run_dir=tmp_path / "whole", **run, **limited)
    train(task, data, run_dir=tmp_path / "cut", callbacks=[StopAfter(7)], **run, **limited)
    found = resume(tmp_path / "cut", executor="threads", n_workers=2, task=type(task))
    assert not found.notes
    np.testing.assert_array_equal(found.model.w, whole.model.w)
    assert history(found) == history(whole)


class KillAfter(Callback):
    """Kills a worker process after a given round."""

    def __init__(self, number):
        self.number, self.duals = number, []

    def on_round(self, record):
        self.duals.append(record.dual)
        if record.number == self.number:
            victim = multiprocessing.active_children()[0]
            os.kill(victim.pid, signal.SIGKILL)
            victim.join()


def test_a_killed_worker_loses_no_dual_value_and_leaves_nothing_on_disk(tmp_path, limited):
    task, data = write(tmp_path, "sequences")
    run = RUN | {"executor": "processes", "n_workers": 2}
    killer = KillAfter(5)
    found = train(task, data, callbacks=[killer], **run, **limited)
    assert found.history[-1].n_restarts == 1
    assert all(after >= before for before, after in pairwise(killer.duals))
    agree(found, train(task, data, **RUN))
    assert all((entry / "manifest.json").exists() for entry in (tmp_path / "packed").iterdir())


@pytest.mark.parametrize("case", CASES)
def test_a_path_of_C_continues_from_the_planes_on_disk(tmp_path, limited, case):
    task, data = write(tmp_path, case)
    run = {k: v for k, v in RUN.items() if k not in ("C", "rel_gap")} | {"eps": 0.2}
    found = path(task, data, Cs=[2.0, 20.0], **run, **limited)
    for point in found.points:
        agree_with = train(task, data, C=point.C, **run)
        assert point.stop_reason == agree_with.stop_reason == "eps"
        assert max(point.dual, agree_with.dual) <= min(point.primal, agree_with.primal)


def test_validation_data_is_looked_at_in_pieces(tmp_path, limited):
    task, data = write(tmp_path, "sequences")
    found = train(task, data, validation=data, **RUN, **limited)
    score = found.model.evaluate(data)
    assert found.best_validation is not None
    assert found.best_validation["loss"] == pytest.approx(score.mean_loss)
