"""A solver of another package: its optimum, its options, its bound, and where it goes on from."""

from itertools import pairwise

import numpy as np
import pytest
from distsvm_example.frank_wolfe import FrankWolfe
from extension_problems import problem

import distsvm
from distsvm import registry
from distsvm.errors import ConfigError
from distsvm.solvers.base import check_needs
from distsvm.training.config import TrainConfig

RUN = {"C": 5.0, "executor": "serial", "solver": "frank-wolfe"}


def test_the_registry_finds_the_solver():
    assert registry.solvers()["frank-wolfe"] is FrankWolfe
    with pytest.raises(
        ConfigError,
        match=r"one of auto, one-slack, .*n-slack, sampled-cuts, frank-wolfe",
    ):
        TrainConfig(solver="frank-wolf")


@pytest.mark.parametrize("n_blocks", [1, 2])
@pytest.mark.parametrize("step", ["exact", "harmonic"])
@pytest.mark.parametrize("name", ["ring", "multiclass", "sequence"])
def test_the_certified_interval_holds_the_optimum_of_one_slack(name, step, n_blocks):
    given = problem(name)
    best = distsvm.train(
        given.task, given.inputs, given.outputs, C=5.0, eps=1e-6, executor="serial",
        solver="one-slack",
    )  # fmt: skip
    found = distsvm.train(
        given.task, given.inputs, given.outputs, rel_gap=0.1, step=step, n_shards=2,
        n_blocks=n_blocks, **RUN,
    )  # fmt: skip
    assert (found.stop_reason, found.certificate) == ("rel_gap", "exact")
    assert found.dual <= best.primal + 1e-9
    assert found.primal >= best.dual - 1e-9


def test_the_exact_step_raises_the_dual_in_every_round():
    given = problem("ring")
    found = distsvm.train(given.task, given.inputs, given.outputs, max_rounds=30, eps=0.0, **RUN)
    duals = [record.dual for record in found.history]
    assert all(after >= before for before, after in pairwise(duals))
    assert all(0 <= record.own["step"] <= 1 for record in found.history)


def test_the_gap_is_reached_within_the_rounds_that_theory_says():
    given = problem("multiclass")
    for rescaling in ("margin", "slack"):
        found = distsvm.train(
            given.task, given.inputs, given.outputs, eps=0.5, rescaling=rescaling, **RUN
        )
        assert found.stop_reason == "eps"
        assert found.n_rounds <= found.bound_on_rounds


def test_an_option_of_its_own_chooses_the_solver_and_is_checked():
    given = problem("ring")
    run = {"C": 5.0, "executor": "serial", "max_rounds": 2}
    found = distsvm.train(given.task, given.inputs, given.outputs, step="harmonic", **run)
    assert found.history[-1].solver == "frank-wolfe"
    with pytest.raises(ConfigError, match="step='big': expected one of exact, harmonic"):
        TrainConfig.from_dict({"step": "big"})


def test_a_path_of_C_goes_on_from_the_state_before():
    given = problem("ring")
    found = distsvm.path(
        given.task, given.inputs, given.outputs, Cs=[1.0, 5.0], rel_gap=0.1, executor="serial",
        solver="frank-wolfe",
    )  # fmt: skip
    for point in found.points:
        alone = distsvm.train(
            given.task, given.inputs, given.outputs, rel_gap=0.1, **RUN | {"C": point.C}
        )
        assert max(point.dual, alone.dual) <= min(point.primal, alone.primal)


def test_a_start_is_asked_about_first():
    given = problem("ring")
    first = distsvm.train(given.task, given.inputs, given.outputs, rel_gap=0.2, **RUN)
    again = distsvm.train(
        given.task, given.inputs, given.outputs, rel_gap=0.2, start=first.model, **RUN
    )
    assert again.history[0].primal == pytest.approx(first.primal)
    assert np.isfinite(again.model.w).all()


def test_a_task_that_lacks_what_the_solver_needs_is_refused_in_one_sentence():
    class Without(type(problem("ring").task)):
        capabilities = frozenset({"steps"})

    with pytest.raises(ConfigError, match=r"frank-wolfe.*sums of planes.*Without"):
        check_needs(FrankWolfe, Without())
