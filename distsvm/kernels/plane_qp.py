"""Block coordinate ascent over planes of many examples, each with its own cost of a slack.

The dual of planes (p, q) is Σ α·q − ½‖Σ α·p‖² − ½ Σ_i d_i·A_i², with A_i = Σ α of example i. The
linear penalty has A_i ≤ cap_i and d = 0, the quadratic one no cap and d > 0, a hard margin
neither. Planes of example i are order[first[i]] … order[first[i + 1] − 1]; p of plane j is at
entries starts[j] … starts[j + 1] − 1, with increasing index.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import inner_kernel, kernel

NOTHING = 1e-14
"""Part of a cap below which α is rounding."""
MAX_STEPS = 100
"""Steps within one visit of an example."""


@inner_kernel
def _inner(index, value, starts, j, w):
    total = 0.0
    for e in range(starts[j], starts[j + 1]):
        total += value[e] * w[index[e]]
    return total


@inner_kernel
def _add(index, value, starts, j, step, w):
    for e in range(starts[j], starts[j + 1]):
        w[index[e]] += step * value[e]


@inner_kernel
def _product(index, value, starts, j, k):
    """Return ⟨p_j, p_k⟩."""
    total = 0.0
    a, b = starts[j], starts[k]
    while a < starts[j + 1] and b < starts[k + 1]:
        if index[a] == index[b]:
            total += value[a] * value[b]
            a += 1
            b += 1
        elif index[a] < index[b]:
            a += 1
        else:
            b += 1
    return total


@kernel
def square_norms(value, starts, out):
    """out[j] = ‖p_j‖²."""
    for j in range(out.size):
        total = 0.0
        for e in range(starts[j], starts[j + 1]):
            total += value[e] * value[e]
        out[j] = total


@kernel
def values_of(index, value, starts, q, w, out):
    """out[j] = q_j − ⟨p_j, w⟩."""
    for j in range(out.size):
        out[j] = q[j] - _inner(index, value, starts, j, w)


@kernel
def sum_of(index, value, starts, alpha, w):
    """w = Σ α·p."""
    w[:] = 0.0
    for j in range(alpha.size):
        if alpha[j] != 0.0:
            _add(index, value, starts, j, alpha[j], w)


@inner_kernel
def _visit_capped(own, index, value, starts, q, norm, cap, tol, alpha, w, v):
    """Move α from the worst to the best of an example's planes and the truth; return the gain."""
    gained = 0.0
    for _ in range(MAX_STEPS):
        rest = cap
        for j in own:
            rest -= alpha[j]
        if rest < NOTHING * cap:
            rest = 0.0  # rounding, which no step could remove
        # The truth is the plane (0, 0), number −1, and has the rest of the cap.
        best, highest = -1, 0.0
        worst, lowest = -1, (0.0 if rest > 0.0 else np.inf)
        for j in own:
            v[j] = q[j] - _inner(index, value, starts, j, w)
            if v[j] > highest:
                best, highest = j, v[j]
            if alpha[j] > 0.0 and v[j] < lowest:
                worst, lowest = j, v[j]
        if best == worst or highest - lowest <= tol:
            break
        square = 0.0
        if best >= 0:
            square += norm[best]
        if worst >= 0:
            square += norm[worst]
        if best >= 0 and worst >= 0:
            square -= 2.0 * _product(index, value, starts, best, worst)
        most = rest if worst < 0 else alpha[worst]
        step = most
        if square > 0.0 and highest - lowest < most * square:
            step = (highest - lowest) / square
        if step <= 0.0:
            break
        if best >= 0:
            alpha[best] += step
            _add(index, value, starts, best, step, w)
        if worst >= 0:
            alpha[worst] = 0.0 if step == most else alpha[worst] - step
            _add(index, value, starts, worst, -step, w)
        gained += step * (highest - lowest) - 0.5 * step * step * square
    return gained


@inner_kernel
def _visit_free(own, index, value, starts, q, norm, d, tol, alpha, w):
    """Solve for one α after another of one example; return the gain of the dual."""
    gained, total = 0.0, 0.0
    for j in own:
        total += alpha[j]
    for _ in range(MAX_STEPS):
        largest = 0.0
        for j in own:
            slope = q[j] - _inner(index, value, starts, j, w) - d * total
            square = norm[j] + d
            if square <= 0.0 or (slope <= tol and (alpha[j] == 0.0 or slope >= -tol)):
                continue
            step = max(-alpha[j], slope / square)
            alpha[j] += step
            total += step
            _add(index, value, starts, j, step, w)
            gained += step * slope - 0.5 * step * step * square
            largest = max(largest, abs(slope))
        if largest <= tol or own.size == 1:
            break
    return gained


@inner_kernel
def _gap_of(order, first, q, cap, d, alpha, v):
    """Return the planes' duality gap at w = Σ α·p, from their values v; not for hard margins."""
    gap = 0.0
    for i in range(first.size - 1):
        highest, taken, total = 0.0, 0.0, 0.0
        for j in order[first[i] : first[i + 1]]:
            highest = max(highest, v[j])
            taken += alpha[j] * v[j]
            total += alpha[j]
        if d[i] > 0.0:
            gap += 0.5 * highest * highest / d[i] + 0.5 * d[i] * total * total - taken
        else:
            gap += cap[i] * highest - taken
    return gap


@inner_kernel
def _hard_gap(q, alpha, v):
    """Return the gap of a hard margin, relative to the primal value of the scaled w.

    Return inf if no multiple of w has all margins.
    """
    square, linear, ratio = 0.0, 0.0, np.inf
    for j in range(q.size):
        margin = q[j] - v[j]
        square += alpha[j] * margin
        linear += alpha[j] * q[j]
        if q[j] > 0.0:
            ratio = min(ratio, margin / q[j])
    if ratio <= 0.0:
        return np.inf
    if ratio == np.inf:
        return 0.0
    primal = 0.5 * square / (ratio * ratio)
    return (primal - (linear - 0.5 * square)) / primal if primal > 0.0 else 0.0


@kernel
def maximise(
    order, first, index, value, starts, q, norm, cap, d, hard, longest, tol, max_sweeps, alpha, w
):
    """Raise the dual until the planes' own gap is at most tol; α and w change in place.

    Sweeps leave out examples whose visit gained nothing (shrinking) until the others have little to
    gain; then they visit all again. Only a sweep over all ends the search. With a hard margin the
    gap is relative, and the search also ends if Σ α·q > longest·‖w‖: then no u with ‖u‖ ≤ longest
    has all margins.

    Returns
    -------
    the number of sweeps over examples, and the gap
    """
    n = first.size - 1
    v = np.zeros(q.size)
    waiting = np.empty(n, np.int64)
    gap = np.inf
    sweep = 0
    step_tol = 0.0
    while sweep < max_sweeps:
        # The gap of all examples, at a w without the rounding of many steps.
        sum_of(index, value, starts, alpha, w)
        values_of(index, value, starts, q, w, v)
        gap = _hard_gap(q, alpha, v) if hard else _gap_of(order, first, q, cap, d, alpha, v)
        if gap <= tol:
            break
        if hard:
            linear, square = 0.0, 0.0
            for j in range(q.size):
                linear += alpha[j] * q[j]
            for x in w:
                square += x * x
            if linear > longest * np.sqrt(square):
                break
        total = 0.0
        n_waiting = 0
        for i in range(n):
            own = order[first[i] : first[i + 1]]
            if hard or d[i] > 0.0:
                g = _visit_free(own, index, value, starts, q, norm, d[i], step_tol, alpha, w)
            else:
                g = _visit_capped(own, index, value, starts, q, norm, cap[i], step_tol, alpha, w, v)
            total += g
            if g > 0.0:
                waiting[n_waiting] = i
                n_waiting += 1
        sweep += 1
        if total <= 0.0:
            break
        before = total
        while n_waiting and sweep < max_sweeps:
            again, kept = 0.0, 0
            for place in range(n_waiting):
                i = waiting[place]
                own = order[first[i] : first[i + 1]]
                if hard or d[i] > 0.0:
                    g = _visit_free(own, index, value, starts, q, norm, d[i], step_tol, alpha, w)
                else:
                    g = _visit_capped(
                        own, index, value, starts, q, norm, cap[i], step_tol, alpha, w, v
                    )
                again += g
                if g > 0.0:
                    waiting[kept] = i
                    kept += 1
            n_waiting = kept
            sweep += 1
            if again <= 0.1 * before:
                break
    sum_of(index, value, starts, alpha, w)
    values_of(index, value, starts, q, w, v)
    gap = _hard_gap(q, alpha, v) if hard else _gap_of(order, first, q, cap, d, alpha, v)
    return sweep, gap


@kernel
def climb_rows(order, first, rows, index, value, starts, q, norm, cap, d, hard, alpha, w):
    """Raise the dual within each of these examples in turn, with the others' α fixed."""
    v = np.zeros(q.size)
    for i in rows:
        own = order[first[i] : first[i + 1]]
        if hard or d[i] > 0.0:
            _visit_free(own, index, value, starts, q, norm, d[i], 0.0, alpha, w)
        else:
            _visit_capped(own, index, value, starts, q, norm, cap[i], 0.0, alpha, w, v)
