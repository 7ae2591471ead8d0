"""Saved planes are checked before kernels see them: what was bent is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parse_enumeration import grammar_of

from distsvm.data.ragged import Ragged
from distsvm.messages import Planes
from distsvm.structures.classes.task import MulticlassTask
from distsvm.structures.sequences.task import SequenceTask
from distsvm.structures.trees.kernels.cky_rows import LEAF
from distsvm.structures.trees.rows import check_rows, encode
from distsvm.structures.trees.synthetic import make_treebank

TREES = make_treebank(12, max_length=8, seed=3)
GRAMMAR = grammar_of(TREES)
SIZES = len(GRAMMAR.chains), GRAMMAR.step_rule.size


def rows() -> Ragged:
    return Ragged.of([encode(GRAMMAR, tree) for tree in TREES], np.int32)


def test_rows_of_trees_are_accepted():
    check_rows(rows(), *SIZES)


@given(st.data())
def test_a_leaf_that_is_none_or_a_number_out_of_range_is_refused(data):
    bent = rows()
    place = data.draw(st.integers(0, bent.values.size // 2 - 1))
    if data.draw(st.booleans()):
        step = bent.values[2 * place + 1]
        bent.values[2 * place + 1] = 0 if step == LEAF else LEAF
    else:
        bent.values[2 * place] = data.draw(st.sampled_from([-4, SIZES[0], 2**31 - 1, -(2**31)]))
    with pytest.raises(ValueError):
        check_rows(bent, *SIZES)


def oracles():
    rng = np.random.default_rng(0)
    classes = MulticlassTask()
    shard = classes.shard(rng.normal(size=(4, 2)), np.array([0, 1, 2, 0]))
    task = classes.prepare(classes.scan(shard))
    yield task.oracle(shard, "margin"), np.array([1, 2, 0], np.int32)
    sequences = SequenceTask()
    shard = sequences.shard([[["a"], ["b"]], [["b"]]], [["X", "Y"], ["Y"]])
    task = sequences.prepare(sequences.scan(shard))
    yield task.oracle(shard, "margin"), Ragged(np.array([0, 1, 1], np.int16), np.array([0, 2, 3]))


@pytest.mark.parametrize(("oracle", "output"), list(oracles()), ids=["classes", "sequence"])
@pytest.mark.parametrize("wild", [-1, 9, 2**15 - 1])
@pytest.mark.parametrize("name", ["row", "output"])
def test_numbers_that_no_example_or_label_has_are_refused(oracle, output, wild, name):
    row = np.arange(2) if isinstance(output, Ragged) else np.arange(3)
    packed = oracle.pack(Planes.linear(row, output, np.ones(row.size)))
    assert len(oracle.unpack(packed)) == row.size
    packed[name] = packed[name].copy()
    packed[name][-1] = wild
    with pytest.raises(ValueError, match=name):
        oracle.unpack(packed)
