"""Metrics of Ray say what the rounds say, and never end a run."""

import sys
from types import ModuleType

import pytest
from run_examples import CONFIG, INPUTS, OUTPUTS, StopAfter, go
from toy_tasks import ToyChain

from distsvm import train
from distsvm.training.metrics import COUNTS, GAUGES, ROUND_SECONDS, RayMetrics, run_name


@pytest.fixture
def exported(monkeypatch):
    """Ray's metrics, as lists of what was done to each."""
    done = {}

    class Metric:
        def __init__(self, name, *_):
            self.name = name
            done.setdefault(name, [])

        def set(self, value, tags):
            assert tags == {"run": "mine"}
            done[self.name].append(value)

        observe = set

    module = ModuleType("ray.util.metrics")
    module.Gauge = module.Histogram = Metric
    monkeypatch.setitem(sys.modules, "ray.util.metrics", module)
    return done


def test_they_are_those_of_the_rounds(exported, tmp_path):
    result = go(tmp_path / "run", callbacks=[RayMetrics("mine"), StopAfter(6)])
    assert set(exported) == {*GAUGES, *COUNTS, ROUND_SECONDS}
    assert exported["distsvm_gap"] == [r.gap for r in result.history if r.gap < float("inf")]
    assert exported["distsvm_dual"] == [r.dual for r in result.history]
    for name in COUNTS:
        assert exported[name][0] == 0  # before the first round
        assert len(exported[name]) == 1 + result.n_rounds
    assert exported["distsvm_oracle_calls"][-1] == result.n_oracle_calls
    assert exported["distsvm_cache_hits"][-1] == result.n_cache_hits
    assert exported["distsvm_worker_restarts"][-1] == 0
    assert len(exported[ROUND_SECONDS]) == result.n_rounds - 1
    # The earlier session's calls were counted by the earlier session.
    again = go(tmp_path / "run", callbacks=[RayMetrics("mine")], resume=True)
    first = again.history[6].n_oracle_calls
    assert exported["distsvm_oracle_calls"][-1] == again.n_oracle_calls - first


def test_a_failure_is_logged_once_and_the_run_continues(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "ray.util.metrics", None)
    result = train(ToyChain(), INPUTS, OUTPUTS, callbacks=[RayMetrics("mine")], **CONFIG)
    assert result.stop_reason == "eps"
    assert caplog.text.count("no metrics of this run are exported") == 1


def test_the_name_is_that_of_the_folder_or_the_job(monkeypatch):
    monkeypatch.delenv("DISTSVM_JOB", raising=False)
    assert run_name("/runs/spam") == "spam"
    assert run_name(None).startswith("process-")
    monkeypatch.setenv("DISTSVM_JOB", "spam-7")
    assert run_name(None) == "spam-7"


@pytest.mark.ray
def test_a_run_on_ray_exports_them_without_a_word(ray_session, caplog):
    config = CONFIG | {"executor": "ray", "n_workers": 2, "max_rounds": 3}
    train(ToyChain(), INPUTS, OUTPUTS, **config)
    assert "metrics" not in caplog.text
