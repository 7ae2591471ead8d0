"""Training taggers: the same bits everywhere, the same optimum with a cache, models from files."""

import numpy as np
import pytest
from sequence_examples import chains, rules

from distsvm import Callback, load_model, train
from distsvm.structures.sequences.task import SequenceTask

INPUTS, OUTPUTS = chains(48)
CONFIG = {"C": 30.0, "eps": 0.02, "n_shards": 3}


def go(task=None, executor="serial", solver="auto", **more):
    config = CONFIG | {"n_blocks": 1 if solver == "n-slack" else 3, "solver": solver} | more
    return train(task or SequenceTask(), INPUTS, OUTPUTS, executor=executor, **config)


@pytest.mark.parametrize("solver", ["one-slack", "multi-plane", "n-slack"])
@pytest.mark.parametrize("task", [SequenceTask(), SequenceTask(order=2, losses="zero-one")])
def test_executors_give_the_same_bits(task, solver):
    expected = go(task, solver=solver)
    for executor, n_workers in (("threads", 2), ("processes", 2)):
        result = go(task, executor, n_workers=n_workers, solver=solver)
        assert np.array_equal(result.model.w, expected.model.w)
        assert result.n_rounds == expected.n_rounds


class StopAfter(Callback):
    def on_round(self, record):
        return record.number == 9


@pytest.mark.parametrize("solver", ["one-slack", "multi-plane", "n-slack"])
def test_a_resumed_run_has_the_bits_of_one_never_stopped(tmp_path, solver):
    whole = go(run_dir=str(tmp_path / "whole"), solver=solver)
    part = go(run_dir=str(tmp_path / "part"), callbacks=[StopAfter()], solver=solver)
    assert part.stop_reason == "interrupted"
    result = go(run_dir=str(tmp_path / "part"), resume=True, solver=solver)
    assert np.array_equal(result.model.w, whole.model.w)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("losses", ["hamming", "zero-one"])
def test_a_cache_leads_to_the_same_optimum_with_fewer_calls(rescaling, losses):
    task = SequenceTask(losses=losses)
    more = {"solver": "one-slack", "rescaling": rescaling, "eps": 0.005}
    plain, cached = go(task, cache_size=0, **more), go(task, cache_size=10, **more)
    assert plain.stop_reason == cached.stop_reason == "eps"
    assert abs(plain.primal - cached.primal) <= 30.0 * 0.005
    assert cached.n_oracle_calls < plain.n_oracle_calls


@pytest.mark.parametrize("hash_bits", [None, 8])
def test_a_model_from_a_file_predicts_the_same(tmp_path, hash_bits):
    model = go(SequenceTask(hash_bits=hash_bits, allowed=[("Z", "A")])).model
    model.save(tmp_path / "model")
    with np.load(tmp_path / "model" / "arrays.npz", allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file)
    loaded = load_model(tmp_path / "model")
    inputs, outputs = chains(30, seed=1)
    assert loaded.predict(inputs) == model.predict(inputs)
    assert loaded.predict(inputs, executor="processes", n_workers=2) == model.predict(inputs)
    score = loaded.evaluate(inputs, outputs)
    wrong = sum(
        a != b
        for y, z in zip(model.predict(inputs), outputs, strict=True)
        for a, b in zip(y, z, strict=True)
    )
    assert np.isclose(score.loss, wrong)


def test_training_learns_the_chain():
    inputs, outputs = chains(400, seed=0)
    model = train(SequenceTask(), inputs[:300], outputs[:300], C_per_example=0.5, eps=0.05).model
    test_x, test_y = inputs[300:], outputs[300:]
    n_tokens = sum(map(len, test_y))
    most = max(sum(y.count(tag) for y in test_y) for tag in "ABCD")
    assert model.evaluate(test_x, test_y).loss < 0.5 * (n_tokens - most)


@pytest.mark.parametrize("order", [1, 2])
def test_constrained_training_never_predicts_a_forbidden_pair(order):
    rng = np.random.default_rng(0)
    legal = rules("bio", None)
    inputs, outputs = [], []
    while len(inputs) < 40:
        y = rng.choice(["B-X", "I-X", "B-Y", "I-Y", "O"], rng.integers(1, 7)).tolist()
        if legal(y):
            noisy = [t if rng.random() < 0.6 else rng.choice(["B-X", "I-Y", "O"]) for t in y]
            inputs.append([[f"t={t}"] for t in noisy])
            outputs.append(y)
    found = train(
        SequenceTask(allowed="bio", order=order), inputs, outputs, C=30.0, eps=0.05
    ).model.predict([[[f"t={t}"] for t in rng.choice(["I-X", "I-Y", "O"], 5)] for _ in range(200)])
    assert all(legal(y) for y in found)
    assert any("I-X" in y for y in found)
