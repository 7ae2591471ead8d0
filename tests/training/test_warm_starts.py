"""From one C to the next: scaled planes and cuts are feasible, and nothing is asked for that."""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from path_examples import PROBLEMS, SERIAL, SOLVERS, chains
from toy_tasks import ToyChain, all_planes, primal, toy_chains

from distsvm import path, train
from distsvm.blas import one_thread
from distsvm.training.config import TrainConfig
from distsvm.training.loaded import Given
from distsvm.training.trainer import Trainer
from distsvm.vectors import to_dense


@contextmanager
def run_at(C, solver, **config):
    """A run at this C that has ended."""
    task, X, y = chains()
    given = TrainConfig.from_dict({"solver": solver, "n_shards": 3, **SERIAL, **config})
    with Trainer(task, given, []) as trainer:
        run = trainer.begin(trainer.load(Given(X, y)), C=C)
        run.run()
        yield run


@pytest.mark.parametrize("max_rounds", [2, 3, 6, None])
@given(factor=st.floats(1.0, 50.0), C=st.floats(0.1, 20.0))
@settings(max_examples=8, deadline=None)
def test_scaled_planes_are_feasible_and_have_the_dual_of_the_formula(max_rounds, factor, C):
    with one_thread(), run_at(C, "multi-plane", max_rounds=max_rounds) as run:
        before = run.state
        linear, square, n_calls = before.linear, before.square, before.n_calls
        run.follow(factor * C)
        state, holdings = run.state, run.risk.holdings()
        blocks = run.loaded.executor._objects
    expected = factor * linear - 0.5 * factor**2 * square
    assert state.dual == pytest.approx(expected, rel=1e-9, abs=1e-12)
    w, b = sum(to_dense(held.a) for held in holdings), sum(held.b for held in holdings)
    np.testing.assert_allclose(w, state.w, rtol=1e-9, atol=1e-12)
    assert b == pytest.approx(state.linear, rel=1e-9, abs=1e-12)
    assert b - 0.5 * w @ w == pytest.approx(state.dual, rel=1e-9, abs=1e-12)
    assert state.n_calls == 0
    assert n_calls > 0
    for block in blocks:
        held = block.part.ascent.stock.held
        np.testing.assert_allclose(held.total, run.C / run.loaded.facts.weight)
        assert (held.alpha >= 0).all()
        assert (held.alpha.sum(axis=1) <= held.total * (1 + 1e-12)).all()


@given(factor=st.floats(1.0, 50.0), C=st.floats(0.1, 20.0))
@settings(max_examples=8, deadline=None)
def test_a_scaled_working_set_is_feasible_and_nothing_is_asked(factor, C):
    with one_thread(), run_at(C, "one-slack") as run:
        working = run.state.working
        working_dual = working.linear() - 0.5 * working.alpha @ working.gram @ working.alpha
        square = working.alpha @ working.gram @ working.alpha
        scaled = factor * working.linear() - 0.5 * factor**2 * square
        run.follow(factor * C)
    state = run.state
    assert state.n_calls == 0
    assert (state.working.alpha >= 0).all()
    assert state.working.alpha.sum() <= run.C * (1 + 1e-9)
    room = 1e-9 * (1 + abs(scaled))
    assert state.bounds.dual >= max(scaled, working_dual) - room


def test_bounds_at_another_C_hold_for_the_same_w():
    inputs, outputs = toy_chains(n=30, seed=3)
    planes = all_planes(ToyChain(), inputs, outputs, "margin")
    with one_thread(), run_at(2.0, "multi-plane", max_rounds=4) as run:
        run.follow(7.0)
    bounds = run.state.bounds
    assert bounds.primal == pytest.approx(primal(planes, bounds.w, 7.0), rel=1e-9)


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
