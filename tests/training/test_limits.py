"""A limit certifies the result, and leaves no trace in a run that goes on after it."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from run_examples import StopAfter, go, history, latest_checkpoint
from toy_tasks import toy_chains

from distsvm import Callback, SequenceTask
from distsvm.training import loaded, run, trainer
from distsvm.training.run_folder import RunFolder

LINES, TAGS = toy_chains(n=60)
SENTENCES = {
    "task": SequenceTask(),
    "inputs": [[[f"s{symbol}"] for symbol in line] for line in LINES],
    "outputs": [["AB"[tag] for tag in tags] for tags in TAGS],
}
CHECKS = list(zip(*toy_chains(n=40, seed=5), strict=True))
ROADS = {
    "one-slack with a cache": {"solver": "one-slack", "eps": 1e-3},
    "one-slack with partial refresh": {
        "solver": "one-slack", "cache_size": 0, "refresh_fraction": 0.3, "eps": 1e-2,
    },
    "multi-plane": {"solver": "multi-plane", "eps": 1e-2},
    "multi-plane, compiled": SENTENCES | {"solver": "multi-plane", "eps": 1e-3},
}  # fmt: skip
every_road = pytest.mark.parametrize("road", ROADS.values(), ids=ROADS)


class Later(Callback):
    """Sets the trainer's clock to a much later time after a given round."""

    def __init__(self, monkeypatch, number):
        self.number, self.now = number, 0.0
        clock = SimpleNamespace(perf_counter=lambda: self.now, time=time.time)
        for module in (trainer, loaded, run):
            monkeypatch.setattr(module, "time", clock)

    def on_round(self, record):
        self.now += 1e6 * (record.number == self.number)


def assert_same_run(result, whole):
    assert np.array_equal(result.model.w, whole.model.w)
    assert history(result) == history(whole)
    assert (result.primal, result.dual) == (whole.primal, whole.dual)


@pytest.mark.parametrize("limit", [1, 2, 5])
@every_road
def test_a_run_resumed_after_max_rounds_has_the_bits_of_one_without(tmp_path, road, limit):
    part = go(tmp_path / "part", max_rounds=limit, **road)
    assert (part.stop_reason, part.n_rounds) == ("max_rounds", limit)
    assert part.history[-1].kind == "fresh"
    result = go(tmp_path / "part", resume=True, **road)
    assert_same_run(result, go(tmp_path / "whole", **road))
    kept = SimpleNamespace(history=RunFolder(tmp_path / "part").history())
    assert history(kept) == history(result)


@every_road
def test_a_run_resumed_limit_by_limit_has_the_bits_of_one_without(tmp_path, road):
    go(tmp_path / "part", max_rounds=2, checkpoint_rounds=1, **road)
    for limit in (3, 5, 8):
        go(tmp_path / "part", resume=True, max_rounds=limit, **road)
    result = go(tmp_path / "part", resume=True, **road)
    assert_same_run(result, go(tmp_path / "whole", **road))


@every_road
def test_the_same_limit_again_gives_the_same_result(tmp_path, road):
    first = go(tmp_path / "run", max_rounds=5, **road)
    again = go(tmp_path / "run", resume=True, max_rounds=5, **road)
    assert_same_run(again, first)


def test_a_round_that_asks_all_without_the_limit_is_in_the_checkpoint(tmp_path):
    go(tmp_path / "run", solver="one-slack", cache_size=0, max_rounds=5)
    assert latest_checkpoint(tmp_path / "run").number == 5


@pytest.mark.parametrize("stop", ["seconds", "request"])
@every_road
def test_a_run_resumed_after_a_stop_has_the_bits_of_one_without(tmp_path, road, stop, monkeypatch):
    whole = go(tmp_path / "whole", **road)
    folder, limit = tmp_path / "part", {"max_seconds": 100.0} if stop == "seconds" else {}
    with monkeypatch.context() as patch:
        callback = Later(patch, 7) if limit else StopAfter(7)
        part = go(folder, callbacks=[callback], **limit, **road)
    assert part.stop_reason == ("max_seconds" if limit else "interrupted")
    assert part.n_rounds == 7 < whole.n_rounds
    assert_same_run(go(folder, resume=True, **road), whole)


@pytest.mark.parametrize("limit", [None, 7])
@pytest.mark.parametrize("solver", ["one-slack", "multi-plane"])
def test_a_run_resumed_after_validation_has_the_bits_of_one_without(tmp_path, solver, limit):
    # One block of the dual ascent would reach eps before the validation loss stands still.
    blocks = {"n_blocks": 5} if solver == "multi-plane" else {}
    road = {"solver": solver, "validation": CHECKS, "eps": 1e-3, **blocks}
    whole = go(tmp_path / "whole", patience=1000, **road)
    part = go(tmp_path / "part", patience=2, max_rounds=limit, **road)
    assert part.stop_reason in ("validation", "max_rounds")
    result = go(tmp_path / "part", resume=True, patience=1000, **road)
    assert_same_run(result, whole)
    assert result.best_validation == whole.best_validation
