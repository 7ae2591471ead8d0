"""A compiled structure needs a search, a flat map and little more: all else are defaults."""

import numpy as np
import pytest
from bits_task import CompiledBits, EnumeratedBits, bits

from distsvm import train
from distsvm.errors import DataError
from distsvm.testing import check_task
from distsvm.training.callbacks import Callback

INPUTS, OUTPUTS = bits()
DATA = list(zip(INPUTS, OUTPUTS, strict=True))


def oracle(rescaling="margin"):
    task = CompiledBits()
    return task.oracle(task.shard(INPUTS, OUTPUTS), rescaling)


def test_it_keeps_the_contracts():
    check_task(CompiledBits(), DATA[:8], outputs=CompiledBits().outputs)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("solver", ["one-slack", "multi-plane"])
def test_it_trains_to_the_optimum_of_the_enumeration(solver, rescaling):
    options = {
        "C": 5.0, "eps": 1e-7, "solver": solver, "rescaling": rescaling, "n_shards": 3,
        "executor": "serial",
    }  # fmt: skip
    if solver == "one-slack":
        options["cache_size"] = 3
    one = train(CompiledBits(), INPUTS, OUTPUTS, **options)
    two = train(EnumeratedBits(), INPUTS, OUTPUTS, **options | {"solver": "one-slack"})
    assert one.stop_reason == two.stop_reason == "eps"
    assert one.dual <= two.primal * (1 + 1e-12)
    assert two.dual <= one.primal * (1 + 1e-12)
    np.testing.assert_allclose(one.model.w, two.model.w, atol=1e-2)


class EndAfterThree(Callback):
    def on_round(self, record):
        return record.number == 3


@pytest.mark.parametrize("solver", ["one-slack", "multi-plane"])
def test_a_run_goes_on_from_its_checkpoint_with_the_same_bits(solver, tmp_path):
    options = {
        "C": 5.0, "eps": 1e-6, "solver": solver, "n_shards": 2, "executor": "serial",
        "checkpoint_rounds": 1,
    }  # fmt: skip
    given = CompiledBits(), INPUTS, OUTPUTS
    whole = train(*given, run_dir=tmp_path / "whole", **options)
    train(*given, run_dir=tmp_path / "part", callbacks=[EndAfterThree()], **options)
    again = train(*given, run_dir=tmp_path / "part", resume=True, **options)
    assert len(whole.history) > 3
    assert np.array_equal(again.model.w, whole.model.w)


def test_packed_examples_are_the_examples():
    made = oracle()
    again = made.over(made.arrays(), made.names)
    assert again.fingerprint() == made.fingerprint()
    w = np.array([1.0, -2.0, 0.5])
    rows = np.arange(made.n)
    one, two = made.separate(w, rows), again.separate(w, rows)
    assert np.array_equal(one.value, two.value)
    some = made.take(np.array([4, 2]))
    assert some.n == 2
    assert some.public(some.decode(w, np.arange(2))) == made.public(
        made.decode(w, np.array([4, 2]))
    )
    assert some.n_bytes < made.n_bytes


@pytest.mark.parametrize(
    ("name", "place", "wild"),
    [("truth", 0, 2), ("truth_starts", 1, 99), ("items", 3, np.nan), ("items_starts", -1, 1)],
)
def test_packed_examples_that_do_not_fit_are_refused(name, place, wild):
    arrays = {key: array.copy() for key, array in oracle().arrays().items()}
    arrays[name][place] = wild
    with pytest.raises(ValueError, match=r"\w"):
        oracle().over(arrays, oracle().names)


def test_examples_without_outputs_are_predicted_and_not_trained_on():
    task = CompiledBits()
    blind = task.oracle(task.shard(INPUTS), "margin")
    w = np.ones(3)
    assert len(blind.decode(w, np.arange(5))) == 5
    with pytest.raises(DataError, match="no true outputs"):
        blind.separate(w, np.arange(5))
