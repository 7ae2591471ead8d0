"""Training gives what earlier code gave: w, history and predictions of each case of digests.py."""

import functools
import json

import pytest
from comparing import bounds_agree, other_arithmetic, same_numbers
from digests import CASES, STORED, run

serial = functools.cache(functools.partial(run, executor="serial"))


def is_short(case):
    one_a_structure = case.problem in ("multiclass", "sequence", "parse", "python")
    return one_a_structure and case.rescaling == "margin" and "blocks" in case.setting


every_case = pytest.mark.parametrize("case", CASES, ids=str)
# Starting workers takes seconds: the others are drills.
with_workers = pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[] if is_short(case) else [pytest.mark.drill]) for case in CASES],
    ids=str,
)


@pytest.fixture(scope="module")
def stored():
    return json.loads(STORED.read_text())


def test_every_case_is_stored_and_no_other(stored):
    assert list(stored) == ["arithmetic", *map(str, CASES)]


def last_bounds(floats):
    return floats["best_primal"][-1], floats["dual"][-1]


@every_case
def test_the_first_primal_and_the_bounds_agree_with_those_of_earlier_code(case, stored):
    found, expected = serial(case).floats, stored[str(case)]["floats"]
    assert same_numbers(found["primal"][:1], expected["primal"][:1])
    assert bounds_agree(last_bounds(found), last_bounds(expected))


@every_case
def test_w_history_and_predictions_are_those_of_earlier_code(case, stored):
    if reason := other_arithmetic(stored["arithmetic"]):
        pytest.skip(reason)
    found, expected = serial(case).stored(), stored[str(case)]
    for part in ("kinds", "integers", "predictions"):
        assert found[part] == expected[part]
    assert found["floats"].keys() == expected["floats"].keys()
    for name, numbers in expected["floats"].items():
        assert same_numbers(found["floats"][name], numbers), name
    assert same_numbers(found["w"], expected["w"])


@every_case
def test_threads_give_the_bits_of_serial(case):
    assert run(case, "threads").digests() == serial(case).digests()


@pytest.mark.slow
@with_workers
def test_processes_give_the_bits_of_serial(case):
    assert run(case, "processes").digests() == serial(case).digests()


@pytest.mark.ray
@pytest.mark.slow
@with_workers
def test_ray_gives_the_bits_of_serial(case, ray_session):
    assert run(case, "ray").digests() == serial(case).digests()
