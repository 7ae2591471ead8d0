"""n-slack and the three penalties against all constraints, other solvers and other executors."""

import numpy as np
import pytest
from penalty_references import STRUCTURES, optimum, planes_of, value

from distsvm import MulticlassTask, train
from distsvm.data.synthetic import make_multiclass
from distsvm.errors import ConfigError, DataError

ALL = [(name, kind) for name in STRUCTURES for kind in ("margin", "slack")]


SOLVERS = {
    "linear": ("n-slack", "one-slack", "multi-plane"),
    "quadratic": ("n-slack", "multi-plane"),
}
EXECUTORS = ("serial", "threads")


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("name", "rescaling"), ALL)
@pytest.mark.parametrize("penalty", SOLVERS)
def test_all_solvers_bracket_the_optimum_over_all_constraints(name, rescaling, penalty, seed):
    task, inputs, outputs, every = STRUCTURES[name](seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(inputs)).astype(float)
    weight[:2] = 1.0, 2.5
    C = 6.0
    planes = planes_of(task, inputs, outputs, every, rescaling, penalty)
    best = optimum(planes, C, weight, penalty)
    room = 1e-6 * best
    for number, solver in enumerate(SOLVERS[penalty]):
        own = {"n-slack": {"n_shards": 3, "batch": 4}, "multi-plane": {"n_blocks": 1 + seed}}
        eps = 1e-5 if solver == "n-slack" else 1e-3
        result = train(
            task, inputs, outputs, weight=weight, C=C, rescaling=rescaling, penalty=penalty,
            solver=solver, eps=eps, executor=EXECUTORS[(number + seed) % 2], **own.get(solver, {}),
        )  # fmt: skip
        assert result.stop_reason == "eps"
        assert result.model.w.any()  # the optimum is not w = 0
        assert result.dual <= best + room
        assert best <= result.primal + room
        assert np.isclose(result.primal, value(planes, result.model.w, C, weight, penalty))
        assert result.gap <= C * eps


@pytest.mark.parametrize("ascent", ["full", "subspace"])
@pytest.mark.parametrize("batch", [1, 7, 100])
@pytest.mark.parametrize("penalty", ["linear", "quadratic"])
def test_both_ascents_and_all_batches_reach_it(penalty, batch, ascent):
    task, inputs, outputs, every = STRUCTURES["tags"](3)
    planes = planes_of(task, inputs, outputs, every, "margin", penalty)
    best = optimum(planes, 4.0, np.ones(len(inputs)), penalty)
    result = train(
        task, inputs, outputs, C=4.0, penalty=penalty, solver="n-slack", rel_gap=1e-4,
        executor="serial", batch=batch, ascent=ascent,
    )  # fmt: skip
    assert result.stop_reason == "rel_gap"
    assert result.dual - 1e-6 <= best <= result.primal + 1e-6


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("name", STRUCTURES)
def test_a_hard_margin(name, rescaling):
    task, inputs, outputs, every = STRUCTURES[name](4)
    # With features of its own every example can be separated from all others.
    inputs, outputs = list(inputs)[:4], list(outputs)[:4]
    if "python" in name and rescaling == "margin" and not task.zero_one_loss:
        with pytest.raises(ConfigError, match="smallest loss"):
            train(task, inputs, outputs, penalty="hard", executor="serial")
        return
    planes = planes_of(task, inputs, outputs, every, rescaling, "hard")
    best = optimum(planes, None, None, "hard")
    given = {"penalty": "hard", "rescaling": rescaling, "executor": "serial", "rel_gap": 1e-4}
    if not np.isfinite(best):
        with pytest.raises(DataError, match="contradict"):
            train(task, inputs, outputs, **given)
        return
    result = train(task, inputs, outputs, **given)
    assert result.solver == "n-slack"
    assert result.stop_reason == "rel_gap"
    assert result.dual * (1 - 1e-6) <= best <= result.primal * (1 + 1e-6)
    assert value(planes, result.model.w, None, None, "hard") <= result.primal * (1 + 1e-9)


def test_a_hard_margin_names_the_examples_that_contradict_one_another():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [2.0, 2.0]])
    y = [0, 1, 0, 1]
    with pytest.raises(DataError, match=r"2 examples contradict .*: example 2, example 3;"):
        train(MulticlassTask(), X, y, penalty="hard", executor="serial")


def noisy():
    return MulticlassTask(), *make_multiclass(150, 6, 4, noise=0.4, seed=5)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_three_solvers_bracket_one_optimum(rescaling):
    given = {"C": 20.0, "rel_gap": 1e-3, "rescaling": rescaling, "executor": "serial"}
    results = [
        train(*noisy(), solver=solver, **given)
        for solver in ("n-slack", "one-slack", "multi-plane")
    ]
    assert max(r.dual for r in results) <= min(r.primal for r in results) * (1 + 1e-9)


def test_a_path_of_C_goes_on_from_the_working_set():
    from distsvm import path

    task, X, y = noisy()
    given = {"rel_gap": 1e-3, "solver": "n-slack", "executor": "serial", "penalty": "quadratic"}
    points = path(task, X, y, Cs=[1.0, 5.0], **given).points
    for point in points:
        alone = train(task, X, y, C=point.C, **given)
        assert max(point.dual, alone.dual) <= min(point.primal, alone.primal) * (1 + 1e-9)


OWN = {"n-slack": {"n_shards": 5, "batch": 20}, "multi-plane": {"n_blocks": 2}}


@pytest.mark.parametrize("executor", ["threads", "processes"])
@pytest.mark.parametrize(
    ("solver", "penalty"),
    [("n-slack", "linear"), ("n-slack", "quadratic"), ("multi-plane", "quadratic")],
)
def test_every_executor_gives_the_same_bits(executor, solver, penalty):
    given = {"C": 20.0, "rel_gap": 1e-3, "solver": solver, "penalty": penalty, **OWN[solver]}
    alone = train(*noisy(), executor="serial", **given)
    others = train(*noisy(), executor=executor, n_workers=2, **given)
    assert np.array_equal(alone.model.w, others.model.w)
    assert (alone.primal, alone.dual, alone.n_rounds) == (
        others.primal,
        others.dual,
        others.n_rounds,
    )


@pytest.mark.parametrize("cut", [1, 3, 6])
@pytest.mark.parametrize(
    ("solver", "penalty"),
    [("n-slack", "linear"), ("n-slack", "quadratic"), ("multi-plane", "quadratic")],
)
def test_a_resumed_run_has_the_same_bits(tmp_path, solver, penalty, cut):
    given = {
        "C": 20.0, "eps": 1e-4, "solver": solver, "penalty": penalty, "executor": "serial",
        "checkpoint_rounds": 1, **OWN[solver],
    }  # fmt: skip
    whole = train(*noisy(), **given)
    assert whole.n_rounds > cut
    train(*noisy(), max_rounds=cut, run_dir=tmp_path / "run", **given)
    resumed = train(*noisy(), run_dir=tmp_path / "run", resume=True, **given)
    assert np.array_equal(whole.model.w, resumed.model.w)
    assert (whole.primal, whole.dual, whole.n_rounds) == (
        resumed.primal,
        resumed.dual,
        resumed.n_rounds,
    )


def test_the_bound_of_theorem_18_holds():
    result = train(*noisy(), C=5.0, eps=0.05, solver="n-slack", executor="serial", batch=1)
    assert 0 < result.own["n_added"] <= result.own["theorem_18"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"penalty": "cubic"}, "penalty"),
        ({"penalty": "hard", "C": 1.0}, "a hard margin has no C"),
        ({"penalty": "hard", "C_per_example": 1.0}, "a hard margin has no C"),
        ({"penalty": "hard", "eps": 0.1}, "rel_gap"),
        ({"penalty": "quadratic", "solver": "one-slack"}, "sums of planes do not bound"),
        ({"penalty": "quadratic", "solver": "sequential-dual"}, "exact steps are those of the lin"),
        ({"penalty": "hard", "solver": "multi-plane"}, "need a slack; expected linear, quadratic"),
        ({"solver": "n-slack", "batch": 0}, "batch"),
        ({"solver": "n-slack", "n_blocks": 2}, "no blocks"),
        ({"solver": "n-slack", "worker_memory_mb": 500}, "examples in memory"),
        ({"solver": "n-slack", "working_set_mb": 1e-4}, "working_set_mb"),
    ],
)
def test_bad_input(given, text):
    with pytest.raises(ConfigError, match=text):
        train(*noisy(), executor="serial", **given)


def test_outputs_that_no_w_tells_apart_contradict_each_other():
    """Two trees with the same rules: ψ = 0, and yet a margin is asked for."""
    task, inputs, _, every = STRUCTURES["trees"](0)

    def has_twin(x, y):
        ((P, q),) = planes_of(task, [x], [y], every, "margin", "hard")
        return ((q > 0) & ~P.any(axis=1)).any()

    x, y = next((x, y) for x in inputs for y in every(x) if has_twin(x, y))
    with pytest.raises(DataError, match="The outputs of 1 example contradict"):
        train(task, [x], [y], penalty="hard", executor="serial")


@pytest.mark.parametrize("solver", ["n-slack", "multi-plane"])
def test_a_task_that_cannot_search_roots_is_refused(solver):
    from toy_tasks import ToyChain, toy_chains

    given = {"penalty": "quadratic", "solver": solver, "executor": "serial"}
    with pytest.raises(ConfigError, match="ToyChain can do linear"):
        train(ToyChain(), *toy_chains(n=10), **given)
