"""Feasibility, value and gap of a point of the dual QP, with sums in twice the precision.

Where a limit is large, α is large and Gα = Σ ± large is small: plain sums would report rounding.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel

EPS = 2.220446049250313e-16


@kernel
def two_sum(a, b):
    """s + e = a + b exactly, s the rounded sum."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel
def exact_gradient(gram, b, alpha, high, low, size):
    """high + low = b − Gα to twice the working precision; size = |b| + |G|α, of its terms."""
    m = b.size
    for j in range(m):
        high[j] = b[j]
        low[j] = 0.0
        size[j] = abs(b[j])
    for i in range(m):
        if alpha[i] == 0.0:
            continue
        row = gram[i]
        y = -alpha[i]
        c = 134217729.0 * y  # 2²⁷ + 1 splits a number in two halves whose products are exact
        y_high = c - (c - y)
        y_low = y - y_high
        for j in range(m):
            g = row[j]
            c = 134217729.0 * g
            g_high = c - (c - g)
            g_low = g - g_high
            p = g * y
            e = ((g_high * y_high - p) + g_high * y_low + g_low * y_high) + g_low * y_low
            s = high[j] + p
            t = s - high[j]
            low[j] += ((high[j] - (s - t)) + (p - t)) + e
            high[j] = s
            size[j] += abs(p)
    for j in range(m):
        high[j], low[j] = two_sum(high[j], low[j])


@kernel
def block_slack(alpha, block, limit):
    """limit − Σα of each block; the sign is right even where only rounding is left."""
    high = limit.copy()
    low = np.zeros(limit.size)
    for j in range(block.size):
        k = block[j]
        high[k], e = two_sum(high[k], -alpha[j])
        low[k] += e
    return high + low


@kernel
def make_feasible(alpha, block, limit):
    """Change α in place as little as makes α ≥ 0 and the exact sum of each block ≤ its limit."""
    for j in range(block.size):
        if not alpha[j] > 0.0:
            alpha[j] = 0.0
    slack = block_slack(alpha, block, limit)
    largest = np.full(limit.size, -1)
    for j in range(block.size):
        k = block[j]
        if slack[k] < -4 * EPS * limit[k]:
            alpha[j] *= limit[k] / (limit[k] - slack[k])
        if largest[k] < 0 or alpha[j] > alpha[largest[k]]:
            largest[k] = j
    while np.any(slack < 0.0):
        slack = block_slack(alpha, block, limit)
        for k in range(limit.size):
            if slack[k] < 0.0:
                top = largest[k]
                alpha[top] = max(0.0, np.nextafter(alpha[top] + slack[k], -np.inf))


@kernel
def gap_at(alpha, block, limit, high, low):
    """Σ_k limit_k·ξ_k − ⟨∇, α⟩ for ∇ = high + low, as a sum of terms ≥ 0: nothing cancels."""
    slack = block_slack(alpha, block, limit)
    top_high = np.zeros(limit.size)
    top_low = np.zeros(limit.size)
    for j in range(block.size):
        k = block[j]
        if (high[j] - top_high[k]) + (low[j] - top_low[k]) > 0.0:
            top_high[k] = high[j]
            top_low[k] = low[j]
    gap = np.sum(slack * top_high)
    for j in range(block.size):
        k = block[j]
        gap += alpha[j] * ((top_high[k] - high[j]) + (top_low[k] - low[j]))
    return gap


@kernel
def value_at(b, alpha, high, low):
    """⟨b, α⟩ − ½αᵀGα = ½⟨b + ∇, α⟩ for ∇ = high + low."""
    value = 0.0
    rest = 0.0
    for j in range(b.size):
        value, e = two_sum(value, 0.5 * alpha[j] * (b[j] + high[j]))
        rest += e + 0.5 * alpha[j] * low[j]
    return value + rest


@kernel
def certify(gram, b, block, limit, alpha):
    """The value and the gap of a feasible α, as good as if computed with twice the digits."""
    m = b.size
    high = np.empty(m)
    low = np.empty(m)
    exact_gradient(gram, b, alpha, high, low, np.empty(m))
    return value_at(b, alpha, high, low), gap_at(alpha, block, limit, high, low)
