"""The sequential dual method: certified optima of each formulation, by every road."""

import itertools
import math
import multiprocessing
import os
import signal

import numpy as np
import pytest
from scipy import sparse

from distsvm import (
    BinaryTask,
    Callback,
    MulticlassSVC,
    MulticlassTask,
    SequenceTask,
    path,
    train,
)
from distsvm.data.features import as_rows
from distsvm.data.shard import Shard
from distsvm.data.synthetic import make_multiclass
from distsvm.errors import ConfigError, DataError
from distsvm.structures.classes import sequential_loops
from distsvm.structures.classes.kernels.dual_boxes import boxes_step
from distsvm.structures.classes.kernels.dual_simplex import simplex_step
from distsvm.structures.classes.sequential_form import form_of

FORMULATIONS = ("crammer-singer", "weston-watkins", "one-vs-rest")
SOLVER = {"solver": "sequential-dual", "executor": "serial"}
GAP = 1e-4


def problem(seed, k=4, n=40, d=5):
    X, y = make_multiclass(n, d, k, noise=0.4, seed=seed)
    y[:k] = np.arange(k)
    weight = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0], n, p=[0.1, 0.3, 0.3, 0.3])
    return X, y, weight


def risk(scores, y, formulation, loss=None, lib=np):
    """H of each example, from the scores of all classes, by NumPy or as cvxpy's expressions."""
    k = scores.shape[1]
    found = []
    for i, truth in enumerate(y):
        others = [c for c in range(k) if c != truth]
        q = [1.0 if loss is None else loss[truth, c] for c in others]
        margins = [q[a] + scores[i, c] - scores[i, truth] for a, c in enumerate(others)]
        if formulation == "one-vs-rest":
            margins = [1.0 + scores[i, c] for c in others] + [1.0 - scores[i, truth]]
        if lib is np:
            above = [max(0.0, margin) for margin in margins]
            found.append(max(above) if formulation == "crammer-singer" else sum(above))
        elif formulation == "crammer-singer":
            found.append(lib.maximum(0, *margins))
        else:
            found.append(sum(lib.pos(margin) for margin in margins))
    return found


def primal_of(result, X, y, weight, formulation, loss=None):
    """P from the weights, by NumPy alone."""
    V, bias = result.model.task.weights(result.model.w)
    hinges = np.array(risk(X @ V + bias, y, formulation, loss))
    w = result.model.w
    return 0.5 * w @ w + result.C * (weight @ hinges) / weight.sum()


def optimum(X, y, weight, C, formulation, loss=None):
    cp = pytest.importorskip("cvxpy", reason="cvxpy is not installed")
    rows = np.hstack([X, np.ones((len(y), 1))])
    W = cp.Variable((rows.shape[1], y.max() + 1))
    hinges = cp.hstack(risk(rows @ W, y, formulation, loss, cp))
    value = 0.5 * cp.sum_squares(W) + C * (weight / weight.sum()) @ hinges
    solved = cp.Problem(cp.Minimize(value))
    solved.solve(solver="CLARABEL")
    assert np.abs(W.value).max() > 0.05
    return solved.value


@pytest.mark.parametrize("n_blocks", [1, 3])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_bounds_hold_the_optimum_of_cvxpy(formulation, seed, n_blocks):
    X, y, weight = problem(seed)
    gap = GAP if n_blocks == 1 else 20 * GAP  # blocks of few examples hear of each other late
    result = train(
        MulticlassTask(), X, y, weight=weight, C=20.0, rel_gap=gap, n_blocks=n_blocks,
        formulation=formulation, max_rounds=2000, **SOLVER,
    )  # fmt: skip
    best = optimum(X, y, weight, 20.0, formulation)
    assert (result.stop_reason, result.certificate) == ("rel_gap", "exact")
    assert result.dual <= best * (1 + 1e-6)
    assert best * (1 - 1e-6) <= result.primal <= best * (1 + 2 * gap)
    own = primal_of(result, X, y, weight, formulation)
    assert math.isclose(own, result.primal, rel_tol=1e-9)


@pytest.mark.parametrize("loss", [None, "costs"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "mostly zeros", "float32"])
@pytest.mark.parametrize("k", [2, 3, 30])
def test_every_solver_brackets_the_same_optimum(k, kind, loss):
    X, y, weight = problem(3, k, n=90)
    if kind in ("sparse", "mostly zeros"):
        X[np.abs(X) < 0.8] = 0.0
    given = {"sparse": sparse.csr_matrix, "float32": np.float32}.get(kind, np.asarray)(X)
    costs = 1.0 + np.arange(k * k).reshape(k, k) % 3
    np.fill_diagonal(costs, 0.0)
    task = MulticlassTask(scale=True) if loss is None else MulticlassTask(losses=costs)
    settings = {"C": 30.0, "rel_gap": 1e-3, "executor": "serial", "weight": weight}
    found = [
        train(task, given, y, solver=solver, **settings)
        for solver in ("sequential-dual", "multi-plane", "one-slack")
    ]
    assert max(one.dual for one in found) <= min(one.primal for one in found) * (1 + 1e-9)
    assert all(one.gap <= 1e-3 * one.primal for one in found)


@pytest.mark.parametrize(
    ("seed", "executor"),
    [(20, "serial"), (21, "serial"), (22, "serial"), (21, "threads"), (22, "processes")],
)
def test_four_solvers_bracket_one_optimum_on_every_executor(seed, executor):
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(3, 9)), int(rng.integers(2, 12))
    X, y, weight = problem(seed, k, n=60, d=d)
    task = MulticlassTask(class_weight={0: 2.0, 1: 0.5})
    settings = {"C": float(10 ** rng.uniform(0, 2)), "rel_gap": 1e-3, "weight": weight}
    settings |= {"executor": executor, "n_workers": 1 if executor == "serial" else 2}
    found = [
        train(task, X, y, solver=solver, **settings)
        for solver in ("sequential-dual", "multi-plane", "one-slack", "n-slack")
    ]
    assert np.abs(found[0].model.w).max() > 0.05
    assert max(one.dual for one in found) <= min(one.primal for one in found) * (1 + 1e-9)
    assert all(one.gap <= 1e-3 * one.primal for one in found)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("k", [2, 6])
def test_rules_of_shrinking_bracket_one_optimum(k, formulation):
    X, y, weight = problem(14, k, n=150)
    settings = {"C": 50.0, "rel_gap": 1e-4, "weight": weight, "formulation": formulation, **SOLVER}
    found = {
        rule: train(MulticlassTask(), X, y, shrinking=rule, **settings)
        for rule in ("gap", "cooled", "fixed", "none")
    }
    assert max(one.dual for one in found.values()) <= min(one.primal for one in found.values())
    assert all(one.stop_reason == "rel_gap" for one in found.values())
    visits = {rule: one.history[-1].n_cache_hits for rule, one in found.items()}
    assert visits["none"] == 0
    assert all(visits[rule] > 0 for rule in ("gap", "cooled", "fixed"))


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("k", [2, 12])
def test_one_block_has_the_same_bits_on_several_threads(k, formulation, monkeypatch):
    monkeypatch.setattr(sequential_loops, "SCREEN_WORK", 100.0)
    X, y, _ = problem(15, k, n=200)
    settings = {"C": 20.0, "rel_gap": 1e-3, "solver": "sequential-dual", "n_blocks": 1}
    alone, shared = (
        train(MulticlassTask(), X, y, formulation=formulation, executor=executor, n_workers=n,
              **settings)
        for executor, n in (("serial", 1), ("threads", 3))
    )  # fmt: skip
    assert np.array_equal(alone.model.w, shared.model.w)
    assert (alone.primal, alone.dual) == (shared.primal, shared.dual)


@pytest.mark.parametrize("simplex", [True, False])
def test_free_examples_are_those_without_the_two_removal_rules(simplex):
    X, y, _ = problem(16, 4, n=60)
    shard = Shard(as_rows(X), y, None)
    oracle = MulticlassTask().prepare(MulticlassTask().scan(shard)).oracle(shard, "margin")
    form = form_of(oracle, FORMULATIONS[0 if simplex else 1], np.full(60, 2.0), False)
    output, alpha, filled = form.lists
    rng, wanted, values = np.random.default_rng(0), [], 0
    for i in range(60):
        own = rng.choice([0.5, 2.0], rng.integers(0, 3)) if not simplex else (
            [[], [2.0], [1.0], [0.5, 1.5], [0.5, 0.5]][rng.integers(5)]
        )  # fmt: skip
        filled[i], alpha[i, : len(own)] = len(own), own
        output[i, : len(own)] = [c for c in range(4) if c != y[i]][: len(own)]
        # All α at 0, or the truth's and one other at C: two α that are ±C.
        if any(a < 2.0 for a in own):
            wanted.append(i)
            values += 1 + (len(own) if simplex else sum(a < 2.0 for a in own))
    free = form.free(np.arange(60))
    assert free.tolist() == wanted
    assert form.n_values(free) == values


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_binary_brackets_the_same_optimum(rescaling):
    X, y, weight = problem(5, 2, n=90)
    settings = {"C": 30.0, "rel_gap": 1e-3, "executor": "serial", "weight": weight}
    for task in (BinaryTask(loss_scale=2.0), MulticlassTask(loss_scale=2.0)):
        found = [
            train(task, X, y, solver=solver, rescaling=rescaling, **settings)
            for solver in ("sequential-dual", "multi-plane")
        ]
        assert max(one.dual for one in found) <= min(one.primal for one in found)
        assert found[0].gap <= 1e-3 * found[0].primal


def test_two_classes_are_one_problem_in_every_formulation():
    X, y, weight = problem(6, 2)
    settings = {"rel_gap": 1e-6, "weight": weight, **SOLVER}
    crammer, weston, rest = (
        train(MulticlassTask(), X, y, C=20.0, formulation=name, **settings) for name in FORMULATIONS
    )
    assert math.isclose(crammer.primal, weston.primal, rel_tol=1e-5)
    binary = train(BinaryTask(), X, y, C=20.0, **settings)
    assert math.isclose(rest.primal, 2 * binary.primal, rel_tol=1e-5)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_same_bits_on_every_executor(formulation):
    X, y, _ = problem(7, 5, n=120)
    settings = {"C": 20.0, "rel_gap": 1e-2, "solver": "sequential-dual", "n_blocks": 2}
    runs = [
        train(MulticlassTask(), X, y, formulation=formulation, executor=executor, n_workers=n,
              **settings)
        for executor, n in (("serial", 1), ("threads", 2), ("processes", 2))
    ]  # fmt: skip
    assert all(np.array_equal(runs[0].model.w, one.model.w) for one in runs)
    assert all(runs[0].dual == one.dual for one in runs)


@pytest.mark.parametrize(("n_blocks", "shrinking"), [(1, "gap"), (1, "cooled"), (2, "gap")])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_resumed_run_has_the_same_bits(formulation, n_blocks, shrinking, tmp_path):
    X, y, _ = problem(8, 20, n=120)
    settings = {
        "C": 20.0, "eps": 1e-6, "formulation": formulation, "n_blocks": n_blocks,
        "shrinking": shrinking, **SOLVER,
    }  # fmt: skip
    whole = train(MulticlassTask(), X, y, max_rounds=9, **settings)
    train(MulticlassTask(), X, y, max_rounds=4, run_dir=tmp_path / "run", **settings)
    again = train(MulticlassTask(), X, y, max_rounds=9, run_dir=tmp_path / "run", resume=True,
                  **settings)  # fmt: skip
    assert np.array_equal(whole.model.w, again.model.w)
    assert (whole.primal, whole.dual) == (again.primal, again.dual)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_path_of_C_goes_on_from_scaled_duals(formulation):
    X, y, _ = problem(9, 5, n=120)
    settings = {"rel_gap": 1e-3, "formulation": formulation, **SOLVER}
    found = path(MulticlassTask(), X, y, Cs=[1.0, 10.0, 100.0], **settings)
    for point in found.points:
        alone = train(MulticlassTask(), X, y, C=point.C, **settings)
        assert max(alone.dual, point.dual) <= min(alone.primal, point.primal)
        assert point.gap <= 1e-3 * point.primal


class Kill(Callback):
    """Kills a worker process after a round."""

    def __init__(self, number):
        self.number, self.killed = number, False

    def on_round(self, record):
        if record.number == self.number:
            victim = multiprocessing.active_children()[0]
            os.kill(victim.pid, signal.SIGKILL)
            victim.join()
            self.killed = True


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("after", [1, 5])
def test_a_killed_worker_costs_no_certificate(formulation, after):
    X, y, _ = problem(13, 5, n=120)
    settings = {"C": 20.0, "rel_gap": 1e-3, "formulation": formulation, "n_blocks": 2}
    settings |= {"solver": "sequential-dual"}
    alone = train(MulticlassTask(), X, y, executor="serial", **settings)
    kill = Kill(after)
    result = train(
        MulticlassTask(), X, y, executor="processes", n_workers=2, callbacks=[kill], **settings
    )
    assert kill.killed
    assert result.history[-1].n_restarts == 1
    assert result.stop_reason == "rel_gap"
    assert max(alone.dual, result.dual) <= min(alone.primal, result.primal)


def test_a_start_is_asked_about_first():
    X, y, _ = problem(10)
    settings = {"C": 20.0, "rel_gap": 1e-3, **SOLVER}
    first = train(MulticlassTask(), X, y, **settings)
    again = train(MulticlassTask(), X, y, start=first.model, **settings)
    assert again.history[0].primal == pytest.approx(first.primal, rel=1e-9)


def test_certifying_rounds_are_made_when_the_target_is_near():
    X, y, _ = problem(11, 10, n=400, d=20)
    result = train(MulticlassTask(), X, y, C=10.0, rel_gap=1e-3, **SOLVER)
    certified = [record for record in result.history if record.kind == "fresh"]
    assert result.stop_reason == "rel_gap"
    assert len(certified) <= 2 + result.n_rounds / 11
    assert result.gap >= 1e-2 * 1e-3 * result.primal


def test_the_estimator_takes_a_formulation():
    X, y, _ = problem(12)
    for name in FORMULATIONS:
        model = MulticlassSVC(C=20.0, formulation=name, rel_gap=1e-3).fit(X, y)
        same = train(MulticlassTask(), X, y, C=20.0, formulation=name, rel_gap=1e-3,
                     solver=model.result_.history[-1].solver)  # fmt: skip
        assert np.array_equal(model.result_.model.w, same.model.w)
        assert model.score(X, y) > 0.5


COSTS = np.ones((4, 4)) - np.eye(4)


@pytest.mark.parametrize(
    ("task", "config", "told"),
    [
        (MulticlassTask(), {"formulation": "weston"}, "formulation"),
        (MulticlassTask(), {"shrinking": "cooling"}, "shrinking"),
        (MulticlassTask(losses=COSTS), {"formulation": "one-vs-rest"}, "a cost matrix is for"),
        (MulticlassTask(losses=COSTS), {"rescaling": "slack"}, "a cost matrix is for"),
        (MulticlassTask(codes=np.eye(4)), {}, "a weight vector each"),
        (BinaryTask(), {"formulation": "weston-watkins"}, "expected a multiclass task"),
        (MulticlassTask(), {"formulation": "one-vs-rest", "solver": "one-slack"}, "is for"),
        (SequenceTask(), {}, "SequenceTask does not have"),
        (SequenceTask(), {"formulation": "one-vs-rest", "solver": "auto"}, "does not have"),
        (MulticlassTask(), {"worker_memory_mb": 200.0}, "examples in memory"),
    ],
)
def test_what_it_cannot_do_is_refused_in_one_sentence(task, config, told):
    X, y, _ = problem(0)
    with pytest.raises(ConfigError, match=told) as caught:
        train(task, X, y, C=1.0, **{**SOLVER, **config})
    assert "\n" not in str(caught.value)


def test_one_class_is_refused():
    X, y, _ = problem(0)
    with pytest.raises(DataError, match="one class"):
        train(MulticlassTask(), X, 0 * y, C=1.0, **SOLVER)


# --- the steps --------------------------------------------------------------------------------


def best_on_simplex(value, alpha, rest, total, curvature):
    """By trying which of α and the truth's rest are above 0."""
    v, a = np.append(value, 0.0), np.append(alpha, rest)
    best = -np.inf
    for support in itertools.product([False, True], repeat=v.size):
        free = np.flatnonzero(support)
        if not free.size:
            continue
        t = curvature * a[free] + v[free]
        level = (t.sum() - curvature * total) / free.size
        new = np.zeros(v.size)
        new[free] = (t - level) / curvature
        if (new >= -1e-12).all():
            step = new - a
            best = max(best, step @ v - 0.5 * curvature * step @ step)
    return best


@pytest.mark.parametrize("seed", range(30))
def test_a_step_on_a_simplex_is_the_best_one(seed):
    rng = np.random.default_rng(seed)
    n, total, curvature = rng.integers(1, 6), rng.uniform(0.1, 2), rng.uniform(0.1, 10)
    shares = total * rng.dirichlet(np.ones(n + 1)) * (rng.random(n + 1) < 0.7)
    alpha, rest = shares[:-1], total - shares[:-1].sum()
    value, new = rng.normal(size=n), np.zeros(n)
    gain = simplex_step(value, alpha, n, rest, total, curvature, new)
    assert gain == pytest.approx(best_on_simplex(value, alpha, rest, total, curvature), abs=1e-9)
    assert new.min() >= 0
    assert new.sum() <= total * (1 + 1e-12)


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_a_step_in_boxes_is_the_best_one(seed, alone):
    rng = np.random.default_rng(seed)
    n, total, curvature = rng.integers(1, 6), rng.uniform(0.1, 2), rng.uniform(0.1, 10)
    alpha = total * np.clip(rng.uniform(-0.5, 1.5, n), 0, 1)
    value, new = rng.normal(size=n), np.zeros(n)
    gain = boxes_step(value, alpha, n, total, curvature, alone, new)
    step = new - alpha
    assert new.min() >= 0
    assert new.max() <= total
    moved = 0.0 if alone else step.sum()
    assert gain == pytest.approx(
        step @ value - 0.5 * curvature * (step @ step + moved**2), abs=1e-9
    )
    slope = value - curvature * (step + moved)  # no α may still want to go where it can
    assert (slope[new < total - 1e-9] <= 1e-7).all()
    assert (slope[new > 1e-9] >= -1e-7).all()
