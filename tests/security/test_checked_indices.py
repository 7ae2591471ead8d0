"""Every array of indices that comes from a file is checked before compiled code gets it."""

import numpy as np
import pytest
from folders import CASES

from distsvm.data.shard_arrays import arrays_of, shard_of

WILD = [-2, 2**31 - 1, -(2**31)]
# What counts or measures and is no index, by name.
NO_INDEX = {"values", "weight", "loss", "y", "x_values", "x_names_bytes", "y_names_bytes"}
PACKED = ["classes", "sequence", "trees", "alignments"]


def oracle_of(name):
    case = CASES[name]()
    shard = case.task.shard(case.inputs, case.outputs)
    task = case.task.prepare(case.task.scan(shard))
    return task.oracle(shard, "margin"), shard


def indices(arrays):
    return [name for name in sorted(arrays) if name not in NO_INDEX and arrays[name].size]


def bent(arrays, name, wild):
    """The arrays with one number of one of them out of its range."""
    copies = []
    for place in (0, arrays[name].size // 2, -1):
        changed = arrays[name].astype(np.int64)
        changed[place] = wild
        copies.append(arrays | {name: changed})
    return copies


@pytest.mark.parametrize("wild", WILD)
@pytest.mark.parametrize("case", PACKED)
def test_packed_examples_of_a_task_are_checked(case, wild):
    oracle, _ = oracle_of(case)
    arrays = oracle.arrays()
    assert oracle.over(arrays, range(oracle.n)).n == oracle.n
    assert len(indices(arrays)) >= 1
    for name in indices(arrays):
        # Numbers of rows of trees go down to −3; below it nothing is known.
        for changed in bent(arrays, name, -4 if wild == -2 and case == "trees" else wild):
            with pytest.raises(ValueError, match=r"\w"):
                oracle.over(changed, range(oracle.n))


@pytest.mark.parametrize("wild", WILD)
@pytest.mark.parametrize("case", ["sequence"])
def test_packed_examples_of_a_file_are_checked(case, wild):
    _, shard = oracle_of(case)
    arrays, notes = arrays_of(shard)
    assert shard_of(arrays, notes).n == shard.n
    for name in indices(arrays):
        if not name.endswith("_ends"):  # these cut texts, in Python
            for changed in bent(arrays, name, wild):
                with pytest.raises(ValueError, match=r"\w"):
                    shard_of(changed, notes)


@pytest.mark.parametrize("wild", WILD)
@pytest.mark.parametrize("case", [*PACKED, "python"])
def test_planes_of_a_checkpoint_are_checked(case, wild):
    oracle, _ = oracle_of(case)
    view = oracle.view(np.zeros(oracle.task.dim))
    planes = oracle.separate(view, np.arange(oracle.n)).planes
    arrays = oracle.pack(planes)
    assert len(oracle.unpack(arrays)) == len(planes)
    for name in indices(arrays):
        if arrays[name].dtype.kind == "i":  # outputs of Python tasks are JSON
            for changed in bent(arrays, name, -4 if wild == -2 and case == "trees" else wild):
                with pytest.raises(ValueError, match=r"\w"):
                    oracle.unpack(changed)
