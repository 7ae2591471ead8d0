"""max_seconds ends a run within one call of a slow search, certified as far as it can be."""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from run_examples import INPUTS, OUTPUTS, go, history, latest_checkpoint
from toy_tasks import ToyChain, toy_chains

from distsvm import SequenceTask, path, train
from distsvm.oracles import bound
from distsvm.training import loaded, run, trainer

N = len(INPUTS)
SOLVERS = ["one-slack", "multi-plane"]
OPTIONS = {"C": 20.0, "eps": 1e-3, "executor": "serial", "n_shards": 3}
NOW = [0.0]


@dataclass(frozen=True)
class SlowChain(ToyChain):
    """Every search takes a second of the tests' clock."""

    def separate(self, w, x, y, rescaling):
        NOW[0] += 1
        return super().separate(w, x, y, rescaling)

    def decode(self, w, x):
        NOW[0] += 1
        return super().decode(w, x)


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    NOW[0] = 0.0
    stopped = SimpleNamespace(perf_counter=lambda: NOW[0], time=lambda: NOW[0])
    for module in (bound, trainer, loaded, run):
        monkeypatch.setattr(module, "time", stopped)


def slow(limit, solver, **more):
    NOW[0] = 0.0
    config = OPTIONS | {"max_seconds": limit, "solver": solver} | more
    return train(SlowChain(), INPUTS, OUTPUTS, **config)


@pytest.fixture(scope="module")
def optimum():
    result = train(ToyChain(), INPUTS, OUTPUTS, **OPTIONS | {"eps": 1e-7})
    return result.dual, result.primal


@pytest.mark.parametrize("limit", [1, 8, N - 1, N + 5, 3 * N + 7])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_slow_search_ends_with_the_call_in_which_the_time_is_over(solver, limit, optimum):
    result = slow(limit, solver)
    assert (result.stop_reason, NOW[0]) == ("max_seconds", limit)
    assert result.n_oracle_calls == limit
    assert result.dual <= optimum[1] + 1e-9
    assert result.primal >= optimum[0] - 1e-9
    # A part of the examples says something, too. D of the dual ascent is that before the round.
    assert (result.dual > 0) == (solver == "one-slack" or limit > N)
    if limit < N:
        assert (result.certificate, result.gap) == ("none", math.inf)
        assert "none" in result.in_words
        assert result.model.w.any() == (solver == "one-slack")
    else:
        assert result.certificate == "exact"


def test_a_round_asked_in_parts_ends_too(optimum):
    result = slow(2 * N + 4, "one-slack", refresh_fraction=0.2, cache_size=3)
    assert (result.stop_reason, NOW[0]) == ("max_seconds", 2 * N + 4)
    assert result.primal >= optimum[0] - 1e-9 >= result.dual - 1e-8


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_compiled_task_without_one_whole_round_has_the_bound_of_the_largest_loss(
    solver, monkeypatch
):
    monkeypatch.setattr(bound, "time", SimpleNamespace(time=lambda: 1.0))
    sentences = [[[f"s{symbol}"] for symbol in line] for line in INPUTS]
    tags = [["AB"[tag] for tag in own] for own in OUTPUTS]
    result = train(
        SequenceTask(), sentences, tags, **OPTIONS | {"solver": solver, "max_seconds": 0.5}
    )
    assert (result.stop_reason, result.n_oracle_calls) == ("max_seconds", 0)
    assert not result.model.w.any()
    longest = max(map(len, tags))
    assert 20.0 <= result.primal <= 20.0 * longest
    assert (result.certificate, result.dual) == ("upper bound", 0.0)


@pytest.mark.parametrize("limit", [8, N + 9, 2 * N + 5])
@pytest.mark.parametrize("solver", [*SOLVERS, "n-slack"])
def test_a_run_resumed_after_the_time_limit_has_the_bits_of_one_without(tmp_path, solver, limit):
    road = {"task": SlowChain(), "solver": solver, "eps": 1e-3, "n_shards": 3}
    whole = go(tmp_path / "whole", **road)
    NOW[0] = 0.0
    part = go(tmp_path / "part", max_seconds=limit, **road)
    assert part.stop_reason == "max_seconds"
    result = go(tmp_path / "part", resume=True, **road)
    assert np.array_equal(result.model.w, whole.model.w)
    assert history(result) == history(whole)


def test_what_was_done_before_a_long_round_is_kept(tmp_path):
    part = go(
        tmp_path / "run", task=SlowChain(), solver="one-slack", cache_size=0, max_seconds=5 * N + 11
    )
    assert part.n_rounds == 6
    assert latest_checkpoint(tmp_path / "run").number == 5


def test_validation_ends_too_and_a_look_at_a_part_is_none():
    checks = list(zip(*toy_chains(n=40, seed=5), strict=True))
    result = slow(N + 10, "one-slack", validation=checks)
    assert (result.stop_reason, NOW[0]) == ("max_seconds", N + 10)
    assert result.best_validation is None
    result = slow(N + 40 + 1, "one-slack", validation=checks)
    assert result.best_validation["round"] == 1


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_value_of_a_path_has_its_time_and_its_certificate(solver):
    Cs = [1.0, 5.0, 20.0]
    config = OPTIONS | {"solver": solver, "max_seconds": 2 * N + 7}
    del config["C"]
    found = path(SlowChain(), INPUTS, OUTPUTS, Cs=Cs, **config)
    for C, point in zip(Cs, found.points, strict=True):
        best = train(ToyChain(), INPUTS, OUTPUTS, **OPTIONS | {"C": C, "eps": 1e-7})
        assert point.dual <= best.primal + 1e-9
        assert point.primal >= best.dual - 1e-9
    assert [point.stop_reason for point in found.points][-1] == "max_seconds"


def test_workers_in_other_processes_end_too():
    result = train(
        ToyChain(), INPUTS, OUTPUTS, C=20.0, executor="processes", n_workers=2, max_seconds=1e-9
    )
    assert (result.stop_reason, result.n_oracle_calls, result.n_rounds) == ("max_seconds", 0, 1)
    assert (result.certificate, result.primal) == ("none", math.inf)
