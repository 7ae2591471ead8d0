"""Losses whose wrong tags have weights, as sums that can be counted."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from distsvm.errors import ConfigError
from distsvm.wording import message

LARGEST = 1000
"""Of numerators and denominators of weights that are counted, in the smallest common unit."""


def counted(weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the weights as whole numbers, and the unit in which they count.

    A ConfigError where they have no common unit: sums of them then have too many values.
    """
    exact = [Fraction(weight).limit_denominator(LARGEST) for weight in weights.tolist()]
    below = math.lcm(*(one.denominator for one in exact))
    above = math.gcd(*(int(one * below) for one in exact))
    unit = Fraction(above, below)
    whole = np.array([int(one / unit) for one in exact] if unit else [0], np.int64)
    near = np.isclose([float(one) for one in exact], weights, rtol=1e-12, atol=0.0)
    if not near.all() or whole.min() < 1 or whole.max() > LARGEST:
        raise ConfigError(
            message(
                "slack rescaling and penalties other than the linear one count the sums of "
                "{tag_weight}, so that these have to be whole multiples of one unit (at most {} of "
                "them), such as 1 and 3; use other weights, or margin rescaling with the linear "
                "penalty",
                LARGEST,
            )
        )
    return whole, float(unit)
