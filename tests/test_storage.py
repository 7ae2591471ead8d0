"""JSON that is written is strict; what JSON lacks becomes null."""

import json
import math

import numpy as np
import pytest

from distsvm.oracles.outputs import from_json, to_json
from distsvm.storage import json_text, read_json, write_json


def refused(name):
    raise AssertionError(f"{name} is not JSON")


def strict(text):
    return json.loads(text, parse_constant=refused)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_numbers_that_json_lacks_become_null(value, tmp_path):
    data = {"gap": value, "inside": [1.5, (value, {"deep": value})], "name": "Infinity"}
    expected = {"gap": None, "inside": [1.5, [None, {"deep": None}]], "name": "Infinity"}
    assert strict(json_text(data)) == expected
    write_json(tmp_path / "a.json", data)
    assert read_json(tmp_path / "a.json", ValueError) == expected


def test_finite_json_is_as_json_writes_it():
    data = {"a": [1, 0.1, "é", None, True]}
    assert json_text(data, indent=2) == json.dumps(data, indent=2)


def test_an_output_that_is_not_finite_comes_back_from_strict_json():
    value = (math.inf, [-math.inf, 2.0], {"k": np.float32(math.inf)})
    assert from_json(strict(json.dumps(to_json(value)))) == value
    assert math.isnan(from_json(strict(json.dumps(to_json(math.nan)))))
    array = np.array([[1.0, math.inf], [math.nan, 2.0]])
    back = from_json(strict(json.dumps(to_json(array))))
    assert back.dtype == array.dtype
    assert np.array_equal(back, array, equal_nan=True)
    old = {"array": [1.0, math.inf], "dtype": "<f8"}
    assert from_json(json.loads(json.dumps(old))).tolist() == [1.0, math.inf]
