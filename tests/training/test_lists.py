"""Lists as rows of features, wherever a task takes tables."""

import numpy as np
import pytest

from distsvm import BinaryTask, MulticlassTask, path, train
from distsvm.data import PairData, TableData, open_data
from distsvm.errors import DataError

ROWS = [[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.1, 0.9]]
LABELS = ["a", "b", "a", "b"]
QUICK = {"executor": "serial", "C": 10.0}


@pytest.mark.parametrize("task", [MulticlassTask(), BinaryTask()])
@pytest.mark.parametrize(
    "data",
    [
        ((ROWS, LABELS),),
        (ROWS, LABELS),
        (tuple(map(tuple, ROWS)), tuple(LABELS)),
        (list(zip(ROWS, LABELS, strict=True)),),
        ([np.array(row) for row in ROWS], LABELS),
    ],
    ids=["tuple of both", "two lists", "two tuples", "pairs", "list of arrays"],
)
def test_lists_of_rows_train_as_arrays_do(task, data):
    expected = train(task, np.array(ROWS), np.array(LABELS), **QUICK).model
    model = train(task, *data, **QUICK).model
    np.testing.assert_array_equal(model.w, expected.w)
    assert model.predict(ROWS).tolist() == LABELS
    assert model.evaluate(*data).accuracy == 1


def test_a_path_takes_lists_of_rows():
    found = path(MulticlassTask(), (ROWS * 2, LABELS * 2), cv=2, Cs=[10.0], executor="serial")
    assert found.model.predict(ROWS).tolist() == LABELS


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0], [1.0, 2.0]], "rows of features are not equally long"),
        (["a", "b"], r"features have shape \(2,\), expected \(examples, columns\)"),
        ([["a"], ["b"]], "expected real numbers"),
    ],
)
def test_lists_that_are_no_rows_of_numbers_are_refused(rows, message):
    with pytest.raises(DataError, match=message):
        train(MulticlassTask(), (rows, LABELS[:2]), **QUICK)


def test_inputs_that_are_no_rows_are_refused_as_such():
    with pytest.raises(DataError, match="the inputs are no rows of features"):
        train(MulticlassTask(), PairData(ROWS, LABELS), **QUICK)
    model = train(MulticlassTask(), (ROWS, LABELS), **QUICK).model
    with pytest.raises(DataError, match="the inputs are no rows of features"):
        model.predict(PairData(ROWS))


def test_only_a_task_that_takes_tables_makes_rows_of_lists():
    assert isinstance(open_data(ROWS, LABELS, tables=True), TableData)
    for tables in (None, False):
        assert isinstance(open_data(ROWS, LABELS, tables=tables), PairData)
