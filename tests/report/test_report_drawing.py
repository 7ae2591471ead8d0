"""Ticks, numbers and curves: small functions with properties."""

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distsvm.report.axes import (
    linear_axis,
    linear_ticks,
    log_axis,
    log_ticks,
    time_axis,
    whole_axis,
)
from distsvm.report.curves import placed, stepped, thinned
from distsvm.report.numbers import count, number, percent, resolved, seconds
from distsvm.report.plot import apart

finite = st.floats(-1e200, 1e200)
anything = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(1e-200, 1e200)


def is_round(value):
    """Whether a number is 1, 2 or 5 times a power of ten."""
    return f"{value:.6e}".partition("e")[0] in ("1.000000", "2.000000", "5.000000")


@given(finite, finite, st.integers(5, 12))
def test_linear_ticks_are_few_round_and_equally_spaced(a, b, n):
    lo, hi = min(a, b), max(a, b)
    span = hi - lo
    if not span > 1e-6 * max(abs(lo), abs(hi)) or span < 1e-200:
        return
    ticks = linear_ticks(lo, hi, n)
    assert 2 <= len(ticks) <= n + 1
    assert lo - 1e-8 * span <= ticks[0] < ticks[-1] <= hi + 1e-8 * span
    steps = np.diff(ticks)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
    assert is_round(float(f"{steps[0]:.3e}"))


@given(positive, st.floats(1.5, 1e90), st.integers(3, 10))
def test_log_ticks_are_few_increasing_and_round(lo, ratio, n):
    hi = lo * ratio
    ticks = log_ticks(lo, hi, n)
    assert 2 <= len(ticks) <= max(n, 7)
    assert all(lo * (1 - 1e-8) <= tick <= hi * (1 + 1e-8) for tick in ticks)
    assert all(a < b for a, b in itertools.pairwise(ticks))
    if ratio >= 1000:
        assert all(f"{tick:.6e}".startswith("1.000000") for tick in ticks)
        assert len({round(math.log10(b / a)) for a, b in itertools.pairwise(ticks)}) <= 1


@pytest.mark.parametrize(
    ("lo", "hi"), [(1, 1), (2, 1), (math.nan, 1), (0, math.inf), (-math.inf, 0), (-1e308, 1e308)]
)
def test_there_are_no_ticks_where_there_is_no_stretch(lo, hi):
    assert linear_ticks(lo, hi) == []
    assert log_ticks(lo, hi) == []


def test_ticks_one_expects():
    assert linear_ticks(0, 1) == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert linear_ticks(0, 0.3, 3) == [0, 0.1, 0.2, 0.3]
    assert linear_ticks(-7, 12, 4) == [-5, 0, 5, 10]
    assert log_ticks(1e-3, 1e2) == [0.001, 0.01, 0.1, 1, 10, 100]
    assert log_ticks(1e-3, 1e3) == [0.01, 1, 100]
    assert log_ticks(0.9, 12) == [1, 2, 5, 10]


@given(finite, finite)
def test_axes_hold_their_ends_and_label_every_tick(a, b):
    lo, hi = min(a, b), max(a, b)
    for axis in (linear_axis(lo, hi, round_ends=True), linear_axis(lo, hi, round_ends=False)):
        assert axis.lo <= lo + 1e-6 * (hi - lo)
        assert axis.hi >= hi - 1e-6 * (hi - lo)
        assert len(axis.ticks) == len(axis.labels) == len(set(axis.labels))


@given(anything, anything)
def test_no_float_is_too_much_for_an_axis(a, b):
    (lo, hi), (low, high) = sorted([a, b]), sorted([abs(a), abs(b)])
    for axis in (linear_axis(lo, hi, round_ends=True), log_axis(low, high), time_axis(high)[0]):
        assert math.isfinite(axis.lo)
        assert axis.lo < axis.hi < math.inf


@given(st.floats(1e-9, 1e15), st.floats(1e-6, 1))
def test_labels_tell_ticks_apart_far_from_zero(lo, share):
    labels = linear_axis(lo, lo * (1 + share), round_ends=False).labels
    assert 2 <= len(labels) == len(set(labels))


@given(positive, positive)
def test_log_axes_hold_their_ends_and_label_every_tick(a, b):
    axis = log_axis(min(a, b), max(a, b))
    assert axis.lo <= min(a, b) * (1 + 1e-8)
    assert axis.hi >= max(a, b) * (1 - 1e-8)
    assert 2 <= len(axis.ticks) == len(set(axis.labels))
    assert math.isnan(axis.at(0.0))
    assert math.isnan(axis.at(math.nan))


def test_labels_share_their_unit_and_decimals():
    assert linear_axis(0, 1, round_ends=True).labels == ("0", "0.2", "0.4", "0.6", "0.8", "1.0")
    assert linear_axis(0, 118_602, n=3, round_ends=True).labels == ("0", "50k", "100k", "150k")
    assert linear_axis(0, 2.5e6, n=3, round_ends=False).labels == ("0", "1M", "2M")
    assert log_axis(1e-5, 1).labels == ("10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "10⁰")
    assert whole_axis(1, 1, "round").labels == ("1",)
    assert whole_axis(1, 3, "round").labels == ("1", "2", "3")
    assert time_axis(7200.0)[0].title == "time in hours"
    assert time_axis(0.0)[0].title == "time in seconds"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (number(0.0), "0"), (number(1234.5), "1,234"), (number(0.012345), "0.0123"),
        (number(1.5e-7), "1.5×10⁻⁷"), (number(-2e9), "−2×10⁹"), (number(1e-5), "10⁻⁵"),
        (number(math.inf), "∞"), (number(-math.inf), "−∞"), (number(math.nan), "n/a"),
        (resolved(1234.56789, 7.7e-4), "1,234.56789"), (resolved(85.003, 9.8), "85.0"),
        (count(118602), "118,602"), (percent(0.4821), "48%"), (percent(0.0004), "<0.1%"),
        (percent(0.048), "4.8%"), (percent(0.0), "0%"), (seconds(0.0421), "42 ms"),
        (seconds(1.3356), "1.34 s"), (seconds(200.2), "3 min 20 s"), (seconds(7500), "2 h 5 min"),
        (seconds(99.96), "1 min 40 s"), (seconds(3599.9), "1 h 0 min"),
    ],
)  # fmt: skip
def test_numbers_are_rounded_as_people_do(text, expected):
    assert text == expected


@given(st.floats(), st.floats())
def test_any_float_has_a_short_text(value, step):
    texts = [number(value), percent(abs(value)), seconds(abs(value)), count(value)]
    assert all(len(text) <= 24 for text in texts)
    assert not re.search(r"nan|inf|e[+-]", " ".join([*texts, resolved(value, step)]))


@given(st.integers(1, 5000), st.integers(1, 50), st.integers(0, 2**32 - 1))
def test_thinned_curves_keep_ends_and_extremes(n, columns, seed):
    rng = np.random.default_rng(seed)
    x, y = np.sort(rng.random(n)), rng.normal(size=n)
    some = thinned(x, y, columns)
    assert len(some) <= max(4 * columns, 1)
    assert some[0] == 0
    assert some[-1] == n - 1
    assert y[some].min() == y.min()
    assert y[some].max() == y.max()
    assert (np.diff(some) > 0).all()


def test_a_curve_with_many_holes_stays_small():
    x, y = np.arange(20_000.0), np.where(np.arange(20_000) % 2, 1.0, math.nan)
    axis = linear_axis(0, 20_000, round_ends=False)
    stretches = placed(x, y, axis, linear_axis(0, 2, round_ends=True))
    assert sum(map(len, stretches)) <= 1000


def test_steps_hold_each_value_until_the_next():
    assert stepped([(0, 1), (2, 5)]) == [(0, 1), (2, 1), (2, 5)]
    assert stepped([]) == []


@given(st.lists(st.floats(-50, 250), max_size=6))
def test_labels_never_overlap(wanted):
    centres = apart(sorted(wanted), 29, 200)
    assert all(b - a >= 29 - 1e-9 for a, b in itertools.pairwise(centres))
    assert not centres or centres[-1] <= 200 - 14.5
