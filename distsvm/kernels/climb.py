"""Steps of the dual over one example's planes, which move α from low values to high ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.kernels.options import kernel


class Held(NamedTuple):
    """The planes that a shard holds, at most `size` for each of n examples.

    Example i has the planes 0 … count[i] − 1; the truth, (0, 0), has the rest of its α. It has only
    arrays that kernels read: one more array, of Δ, made visits of label paths 17% slower.

    With the linear penalty the sum of all α of example i, the truth's included, is total[i]. With
    the quadratic one (`squared`) Σ α of its planes has no limit and costs (Σ α)²/(2·total[i]) of
    the dual.
    """

    count: np.ndarray  # type: ignore[assignment]  # int32 (n,); hides tuple.count, which is unused
    q: np.ndarray  # (n, size)
    alpha: np.ndarray  # (n, size)
    gram: np.ndarray  # (n, size, size): ⟨p, p'⟩
    idle: np.ndarray  # int16 (n, size): visits in a row with α = 0
    total: np.ndarray  # (n,): c_i·C / Σc
    gap: np.ndarray  # (n,): the example's share of the gap at its last visit
    squared: bool = False


class Whole(NamedTuple):
    """The α of all k outputs of n examples; the truth has the rest, and 0 in its own place."""

    alpha: np.ndarray  # (n, k)
    total: np.ndarray  # (n,): the sum of all α of the example, the truth's included
    gap: np.ndarray  # (n,): the example's share of the gap at its last visit


@kernel
def climb(value, gram, alpha, total, cost, sigma, max_steps, tol, step):
    """Raise the dual over one example's planes, with the other examples' α fixed.

    Exact steps move α from the plane with α > 0 and the lowest value to the plane with the highest
    value, until these values differ by no more than `tol`.

    Parameters
    ----------
    value : array of shape (m,), changed
        q − ⟨p, w⟩ − cost·Σα of each plane; the truth's is 0.
    gram : array of shape (m, m) or more
    alpha : array of shape (m,) or more, changed
    total : float
        The sum of all α, the truth's included; inf for no limit.
    cost : float
        The dual has −cost·(Σα)²/2 of the planes' α.
    sigma : float
        Factor of a change in w: 1, or more if other blocks change w at the same time.
    step : array of shape (m,), filled
        The change of each α.

    Returns
    -------
    gain : float
        Gain of the dual from this example's own change.
    """
    m = value.size
    rest = total
    for k in range(m):
        rest -= alpha[k]
        step[k] = 0.0
    rest = max(rest, 0.0)
    gain = 0.0
    for _ in range(max_steps):
        up, down = -1, -1
        highest = 0.0
        lowest = 0.0 if rest > 0.0 else np.inf
        for k in range(m):
            if value[k] > highest:
                up, highest = k, value[k]
            if alpha[k] > 0.0 and value[k] < lowest:
                down, lowest = k, value[k]
        difference = highest - lowest
        if not difference > tol:  # also if no plane has any α
            break
        square = 0.0
        if up >= 0:
            square += gram[up, up]
        if down >= 0:
            square += gram[down, down]
        if up >= 0 and down >= 0:
            square -= 2.0 * gram[up, down]
        own = cost if up < 0 or down < 0 else 0.0  # between planes Σ α stays as it is
        room = alpha[down] if down >= 0 else rest
        d = room
        if difference < room * (sigma * square + own):
            d = difference / (sigma * square + own)
        if up >= 0:
            alpha[up] += d
            step[up] += d
        else:
            rest += d
        if down >= 0:
            alpha[down] = 0.0 if d == room else alpha[down] - d
            step[down] -= d
        else:
            rest = 0.0 if d == room else rest - d
        # The matrix is symmetric: read rows, because columns are scattered over memory.
        if up >= 0:
            for k in range(m):
                value[k] -= sigma * d * gram[up, k]
        if down >= 0:
            for k in range(m):
                value[k] += sigma * d * gram[down, k]
        if own > 0.0:
            dearer = d * own if up >= 0 else -d * own
            for k in range(m):
                value[k] -= dearer
        gain += d * difference - 0.5 * sigma * d * d * square - 0.5 * d * d * own
    return gain


@kernel
def raise_dual(held, i, value, sigma, max_steps, tol, step):
    """Call climb() for example i, whose planes have these values, and update gap and idle counts.

    gap[i] is its share of the gap before the steps, over its own planes.
    """
    m = value.size
    limit, cost = held.total[i], 0.0
    highest, total, taken = 0.0, 0.0, 0.0
    for k in range(m):
        highest = max(highest, value[k])
        total += held.alpha[i, k] * value[k]
        taken += held.alpha[i, k]
    if held.squared and limit > 0.0:
        limit, cost = np.inf, 1.0 / limit
        held.gap[i] = 0.5 * (highest * highest / cost + cost * taken * taken) - total
        for k in range(m):
            value[k] -= cost * taken
    else:
        held.gap[i] = limit * highest - total
    gain = climb(value, held.gram[i], held.alpha[i], limit, cost, sigma, max_steps, tol, step)
    for k in range(m):
        held.idle[i, k] = 0 if held.alpha[i, k] > 0.0 else held.idle[i, k] + 1
    return gain
