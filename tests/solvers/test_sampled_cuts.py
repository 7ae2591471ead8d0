"""Exact and sampled cuts with kernel functions: certificates, bits, checkpoints, faults."""

import multiprocessing
import os
import signal

import numpy as np
import pytest
from kernel_references import PROBLEMS, C, examples, optimum, primal_of
from sklearn.metrics.pairwise import rbf_kernel

from distsvm import BinaryTask, Callback, KernelBinaryTask, path, train
from distsvm.data.writers import write_svmlight
from distsvm.errors import ConfigError
from distsvm.risks import true_dual
from distsvm.risks.kernel_cut import KernelSet
from distsvm.solvers import sampled_cuts
from distsvm.solvers.sampled_state import SampledCutsOptions

METHODS = ["exact", "linear-time", "constant-time"]
SMALL = {"C": C, "eps": 0.01, "executor": "serial", "n_shards": 3}


def trained(task, data, method, sample=12, **more):
    own = {"method": method} if method == "exact" else {"method": method, "sample": sample}
    if method == "constant-time":
        own["certify"] = True
    X, y, weight = data
    return train(task, X, y, weight=weight, **SMALL | own | more)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_certificates_bracket_the_optimum(name, rescaling):
    task, k = PROBLEMS[name]
    for seed in range(2):
        data = examples(k=k, seed=seed)
        best = None
        for method in METHODS:
            result = trained(task, data, method, rescaling=rescaling, random_state=seed)
            if best is None:
                best = optimum(result.model.task, *data, rescaling)
            slack = 1e-6 * best
            assert result.certificate == "exact"
            assert result.dual - slack <= best <= result.primal + slack, (method, best, result)
            found = primal_of(result.model, *data, rescaling)
            assert found == pytest.approx(result.primal, rel=1e-9)
            if method == "exact":
                assert result.gap <= C * 0.01
                assert result.stop_reason == "eps"


def test_draws_of_as_many_as_there_are_make_cuts_of_all_and_reach_the_optimum():
    task, k = PROBLEMS["three classes"]
    data = examples(n=80, k=k)
    exact = trained(task, data, "exact")
    sampled = trained(task, data, "linear-time", sample=80)
    assert sampled.stop_reason == "eps"
    assert [r.primal for r in sampled.history] == [r.primal for r in exact.history]
    assert sampled.own["n_redraws"] == 0


def test_the_dual_value_of_the_qp_over_samples_is_never_shown():
    task, k = PROBLEMS["binary"]
    result = trained(task, examples(n=100, k=k), "linear-time")
    assert {record.dual for record in result.history[:-1]} == {0.0}
    assert 0 < result.dual <= result.primal


@pytest.mark.parametrize("name", ["three classes", "codes"])
def test_sweeps_in_blocks_raise_the_true_dual_value(name, monkeypatch):
    monkeypatch.setattr(true_dual, "BLOCK_PLANES", 7)
    task, k = PROBLEMS[name]
    data = examples(n=100, k=k)
    found = [trained(task, data, "linear-time", dual_sweeps=n) for n in (0, 1, 3, 30)]
    duals, best = [result.dual for result in found], optimum(found[0].model.task, *data, "margin")
    assert duals == sorted(duals)
    assert duals[-1] <= best * (1 + 1e-6)
    assert duals[-1] >= duals[0] + 0.2 * (best - duals[0])


def test_without_certify_the_end_is_an_estimate_whose_interval_holds_the_risk():
    task, _ = PROBLEMS["binary without intercept"]
    held = 0
    for seed in range(20):
        X, y, weight = examples(n=150, seed=seed)
        config = {"method": "constant-time", "sample": 30, "random_state": seed}
        result = train(task, X, y, weight=weight, **SMALL | config)
        assert result.certificate == "estimate"
        assert result.stop_reason == "own rule"
        assert result.dual == 0
        V = result.model.w.reshape(-1, 1)
        anchors = result.model.task.anchor_rows
        norm2 = float(
            np.sum((result.model.task.function.block(anchors, anchors) @ V[:-1]) * V[:-1])
        )
        risk = (primal_of(result.model, X, y, weight, "margin") - 0.5 * norm2) / C
        held += result.own["risk_low"] <= risk <= result.own["risk_high"]
        assert result.primal == pytest.approx(0.5 * norm2 + C * result.own["risk_high"])
    assert held >= 16  # 19 are expected; fewer than 16 have a probability of 0.003


def test_two_classes_have_the_objective_of_scikit_learns_svc_without_an_intercept():
    X, y, weight = examples(n=60)
    task = KernelBinaryTask(gamma=0.5, intercept_scaling=0.0)
    config = {"C_per_example": 2.0, "eps": 1e-5, "executor": "serial", "method": "exact"}
    result = train(task, X, y, weight=weight, **config)
    sign = 2 * y - 1
    beta = result.model.w[:-1]
    anchors = result.model.task.anchor_rows.values
    scores = rbf_kernel(X, anchors, gamma=0.5) @ beta
    norm2 = beta @ rbf_kernel(anchors, gamma=0.5) @ beta
    ours = 0.5 * norm2 + 2.0 * weight @ np.maximum(0, 1 - sign * scores)
    assert ours == pytest.approx(result.primal, rel=1e-9)
    # The dual of SVC without Σ y·α = 0, solved by projected coordinate steps.
    gram = rbf_kernel(X, gamma=0.5) * np.outer(sign, sign)
    alpha = np.zeros(len(X))
    for _ in range(1000):
        for i in range(len(X)):
            step = (1 - gram[i] @ alpha) / gram[i, i]
            alpha[i] = np.clip(alpha[i] + step, 0, 2.0 * weight[i])
    best = alpha.sum() - 0.5 * alpha @ gram @ alpha
    assert result.dual - 1e-6 * best <= best <= result.primal + 1e-6 * best
    assert result.gap <= 1e-4 * best


# --- bits, checkpoints, faults ----------------------------------------------------------------


def run(method, folder=None, **more):
    task, k = PROBLEMS["three classes"]
    more = {"max_rounds": 12, "eps": 1e-4} | more
    more |= {} if folder is None else {"run_dir": str(folder), "checkpoint_rounds": 2}
    return trained(task, examples(n=90, k=k), method, **more)


def bits(result, spent=True):
    """All that a run computes; without `spent`, kernel values may have been computed twice."""
    rounds = [
        (r.primal, r.dual, r.gap, r.w_norm, r.own | ({} if spent else {"n_kernel_values": 0}))
        for r in result.history
    ]
    return rounds, result.model.w.tobytes(), result.model.task.anchors.tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_all_executors_give_equal_bits(method):
    expected = bits(run(method))
    for executor, n_workers in [("threads", 2), ("processes", 2)]:
        assert bits(run(method, executor=executor, n_workers=n_workers)) == expected


@pytest.mark.ray
@pytest.mark.parametrize("method", METHODS)
def test_ray_gives_equal_bits(method, ray_session):
    assert bits(run(method, executor="ray", n_workers=2)) == bits(run(method))


@pytest.mark.parametrize("method", METHODS)
def test_seeds_decide_about_samples_and_nothing_else(method):
    one, other = run(method, random_state=1), run(method, random_state=2)
    assert bits(one) == bits(run(method, random_state=1))
    assert (bits(one) == bits(other)) == (method == "exact")


class StopAfter(Callback):
    def __init__(self, number):
        self.number = number

    def on_round(self, record):
        return record.number == self.number


@pytest.mark.parametrize("method", METHODS)
def test_a_resumed_run_has_the_bits_of_one_without_a_stop(method, tmp_path):
    expected = bits(run(method), spent=False)
    first = run(method, tmp_path / "run", callbacks=[StopAfter(5)])
    assert first.stop_reason == "interrupted"
    assert bits(run(method, tmp_path / "run", resume=True), spent=False) == expected


class Kill(Callback):
    """Kills a worker after some rounds."""

    def __init__(self, rounds):
        self.rounds = rounds

    def on_round(self, record):
        if record.number in self.rounds:
            os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)


@pytest.mark.parametrize("method", ["linear-time", "constant-time"])
def test_a_lost_worker_changes_no_bit(method):
    expected = bits(run(method), spent=False)
    kill = Kill({3, 7})
    result = run(method, executor="processes", n_workers=2, callbacks=[kill])
    assert sum(a.n_restarts for a in result.activity) >= 1
    assert bits(result, spent=False) == expected


@pytest.mark.parametrize("change", [
    ("cut_0_atom", lambda a: a + 10**9), ("cut_0_example", lambda a: a - 10**6),
    ("cut_0_codes", lambda a: a * np.nan), ("cut_0_starts", lambda a: a[::-1]),
    ("cut_0_number_of_atom", lambda a: a + 10**9), ("alpha", lambda a: a - 1.0),
    ("gram", lambda a: a[:-1]), ("cut_0_rows_dense", lambda a: a * np.inf),
    ("cut_0_weight", lambda a: -a), ("cut_0_explicit", lambda a: a[:, :-1]),
])  # fmt: skip
def test_a_damaged_working_set_is_refused(change):
    states = []
    kept = sampled_cuts.SampledCuts._record

    def record(self, risk, state, asked, kind):
        states.append((risk, state))
        return kept(self, risk, state, asked, kind)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampled_cuts.SampledCuts, "_record", record)
        run("linear-time", max_rounds=3)
    risk, state = states[-1]
    sizes = (risk.n_examples, risk.n_atoms, risk.n_codes, risk.n_explicit)
    arrays = state.working.arrays()
    KernelSet.restored(np.array([C]), arrays, *sizes)
    name, damage = change
    with np.errstate(invalid="ignore"), pytest.raises(ValueError):
        KernelSet.restored(np.array([C]), arrays | {name: damage(arrays[name])}, *sizes)


# --- limits and refusals ----------------------------------------------------------------------


def test_stored_products_are_counted_and_kept_within_a_workers_memory(tmp_path):
    task, _ = PROBLEMS["binary"]
    X, y, _ = examples(n=3000)
    write_svmlight(tmp_path / "train.svm", X, y)
    config = {"C": 50.0, "method": "linear-time", "sample": 50, "executor": "serial"}
    result = train(task, tmp_path / "train.svm", max_rounds=4, **config)
    assert result.history[-1].plane_bytes == 8 * 3000 * result.own["n_cuts"]
    with pytest.raises(ConfigError, match="worker_memory_mb"):
        train(task, tmp_path / "train.svm", worker_memory_mb=0.1, max_rounds=30, **config)


def test_validation_data_is_scored_with_the_kernel_function():
    task, _ = PROBLEMS["binary"]
    X, y, _ = examples(n=200)
    config = SMALL | {"method": "linear-time", "sample": 40}
    result = train(task, X[:120], y[:120], validation=(X[120:], y[120:]), patience=100, **config)
    found = np.mean(result.model.predict(X[120:]) != y[120:])
    assert result.best_validation["loss"] == pytest.approx(found)


def test_a_path_goes_on_from_the_cuts_of_the_last_C():
    task, _ = PROBLEMS["binary"]
    X, y, weight = examples(n=60)
    config = {"executor": "serial", "eps": 0.01, "method": "exact"}
    validation = (X[:20], y[:20])
    found = path(task, X, y, weight=weight, Cs=[1.0, 8.0], validation=validation, **config)
    for point in found.points:
        single = train(task, X, y, weight=weight, C=point.C, **config)
        best = optimum(single.model.task, X, y, weight, "margin", C=point.C)
        assert point.dual - 1e-6 * best <= best <= point.primal + 1e-6 * best
    wrong = np.mean(found.model.predict(X[:20]) != y[:20])
    assert found.points[found.best].validation_loss == pytest.approx(wrong)


@pytest.mark.parametrize(
    ("name", "value"), [("sample", 0), ("quiet_samples", 0), ("redraws", -1), ("method", "fast")]
)
def test_options_out_of_range_are_refused_by_name(name, value):
    with pytest.raises(ConfigError, match=name):
        SampledCutsOptions(**{name: value})


def test_other_solvers_and_settings_are_refused_in_a_sentence():
    task, _ = PROBLEMS["binary"]
    X, y, _ = examples(n=30)
    with pytest.raises(ConfigError, match=r"one-slack.*needs.*KernelBinaryTask"):
        train(task, X, y, solver="one-slack")
    with pytest.raises(ConfigError, match="penalty"):
        train(task, X, y, solver="sampled-cuts", penalty="quadratic")
    with pytest.raises(ConfigError, match="n_blocks"):
        train(task, X, y, n_blocks=2, n_shards=2, executor="serial")
    with pytest.raises(ConfigError, match=r"sampled-cuts.*kernel"):
        train(BinaryTask(), X, y, solver="sampled-cuts")
