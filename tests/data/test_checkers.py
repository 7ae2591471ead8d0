"""The Checkers problem."""

import numpy as np
import pytest

from distsvm.data.synthetic import make_checkers
from distsvm.errors import ConfigError


def colour(X, side):
    return np.where((X * side).astype(int).sum(axis=1) % 2, -1, 1)


def test_without_noise_labels_are_those_of_the_squares():
    X, y = make_checkers(2000, side=5, noise=0.0)
    assert np.array_equal(y, colour(X, 5))
    assert X.min() >= 0
    assert X.max() <= 1
    assert 0.4 < np.mean(y == 1) < 0.6


def test_noise_moves_points_and_keeps_labels():
    still, y = make_checkers(5000, noise=0.0, seed=3)
    moved, same = make_checkers(5000, noise=0.02, seed=3)
    assert np.array_equal(y, same)
    assert np.std(moved - still) == pytest.approx(0.02, rel=0.05)


def test_a_share_of_labels_is_flipped_and_seeds_are_kept():
    X, y = make_checkers(5000, flipped=0.1, seed=1)
    again, plain = make_checkers(5000, seed=1)
    assert np.array_equal(X, again)
    assert np.mean(y != plain) == pytest.approx(0.1, abs=0.02)
    assert not np.array_equal(X, make_checkers(5000, seed=2)[0])
    assert make_checkers(10, dtype=np.float32)[0].dtype == np.float32


@pytest.mark.parametrize("settings", [{"side": 0}, {"noise": -0.1}, {"flipped": 1.1}])
def test_bad_settings_are_refused_by_name(settings):
    (name,) = settings
    with pytest.raises(ConfigError, match=name):
        make_checkers(10, **settings)
