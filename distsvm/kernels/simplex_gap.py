"""Feasibility, value and gap of a point of the dual QP, with sums in twice the precision.

For a large limit, α is large and Gα is a small sum of large terms: plain sums would be rounding.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import inner_kernel, kernel

EPS = 2.220446049250313e-16


@inner_kernel
def two_sum(a, b):
    """Return the rounded sum s of a and b, and e with s + e = a + b exactly."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@inner_kernel
def two_product(a, b):
    """Return the rounded product p of a and b, and e with p + e = a·b exactly."""
    c = 134217729.0 * a  # 2²⁷ + 1 splits a number into two halves whose products are exact
    a_high = c - (c - a)
    a_low = a - a_high
    c = 134217729.0 * b
    b_high = c - (c - b)
    b_low = b - b_high
    p = a * b
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


@inner_kernel
def exact_gradient(gram, b, alpha, high, low, size):
    """Set high + low = b − Gα to twice the working precision, and size = |b| + |G|α."""
    for j in range(b.size):
        high[j] = b[j]
        low[j] = 0.0
        size[j] = abs(b[j])
    for i in range(b.size):
        if alpha[i] > 0.0:
            row = gram[i]
            factor = -alpha[i]
            for j in range(b.size):
                p, e = two_product(factor, row[j])
                high[j], f = two_sum(high[j], p)
                low[j] += e + f
                size[j] += abs(p)
    for j in range(b.size):
        high[j], low[j] = two_sum(high[j], low[j])


@inner_kernel
def block_slack(alpha, block, limit):
    """Return limit − Σα of each block; the sign is right even if only rounding is left."""
    slack = limit.copy()
    low = np.zeros(limit.size)
    for j in range(block.size):
        k = block[j]
        slack[k], e = two_sum(slack[k], -alpha[j])
        low[k] += e
    for k in range(limit.size):
        slack[k] += low[k]
    return slack


@inner_kernel
def _some_below_zero(values):
    below = False
    for k in range(values.size):
        below = below or values[k] < 0.0
    return below


@kernel
def make_feasible(alpha, block, limit):
    """Change α in place, as little as needed, to α ≥ 0 with each block's exact sum ≤ its limit."""
    for j in range(block.size):
        if not alpha[j] > 0.0:
            alpha[j] = 0.0
    slack = block_slack(alpha, block, limit)
    if not _some_below_zero(slack):
        return
    largest = np.empty(limit.size, np.int64)
    largest[:] = -1
    for j in range(block.size):
        k = block[j]
        if slack[k] < -4 * EPS * limit[k]:
            alpha[j] *= limit[k] / (limit[k] - slack[k])
        if largest[k] < 0 or alpha[j] > alpha[largest[k]]:
            largest[k] = j
    # A few roundings are left: one subtraction removes them, a second the rounding of the first.
    for _ in range(4):
        slack = block_slack(alpha, block, limit)
        for k in range(limit.size):
            if slack[k] < 0.0 and largest[k] >= 0:
                less = np.nextafter(alpha[largest[k]] + slack[k], -np.inf)
                alpha[largest[k]] = max(0.0, less)
        if not _some_below_zero(slack):
            return


@inner_kernel
def gap_at(alpha, block, limit, high, low):
    """Return Σ_k limit_k·ξ_k − ⟨∇, α⟩ for ∇ = high + low, as a sum of terms ≥ 0."""
    slack = block_slack(alpha, block, limit)
    top_high = np.zeros(limit.size)
    top_low = np.zeros(limit.size)
    for j in range(block.size):
        k = block[j]
        if (high[j] - top_high[k]) + (low[j] - top_low[k]) > 0.0:
            top_high[k] = high[j]
            top_low[k] = low[j]
    gap = 0.0
    for k in range(limit.size):
        gap += slack[k] * top_high[k]
    for j in range(block.size):
        k = block[j]
        gap += alpha[j] * ((top_high[k] - high[j]) + (top_low[k] - low[j]))
    return gap


@inner_kernel
def value_at(b, alpha, high, low):
    """Return ⟨b, α⟩ − ½αᵀGα = ½⟨b + ∇, α⟩ for ∇ = high + low."""
    value = 0.0
    rest = 0.0
    for j in range(b.size):
        s, e = two_sum(b[j], high[j])
        p, f = two_product(0.5 * alpha[j], s)
        value, g = two_sum(value, p)
        rest += 0.5 * alpha[j] * (e + low[j]) + (f + g)
    return value + rest


@kernel
def certify(gram, b, block, limit, alpha):
    """Return the value and the gap of a feasible α, computed with twice the precision."""
    m = b.size
    high = np.empty(m)
    low = np.empty(m)
    exact_gradient(gram, b, alpha, high, low, np.empty(m))
    return value_at(b, alpha, high, low), gap_at(alpha, block, limit, high, low)
