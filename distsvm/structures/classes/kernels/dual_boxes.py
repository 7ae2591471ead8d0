"""Visits of the sequential dual method where each class of an example has a hinge of its own.

- Weston and Watkins: Σ_{c≠y} max(0, q + s_c − s_y), s the scores and y the truth;
- one versus rest: Σ_c max(0, q ∓ s_c), − for the truth and + for the others.

Each α is in a box, from 0 to the example's total.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel
from distsvm.structures.classes.kernels.dual_rows import add_row, all_scores, some_scores
from distsvm.structures.classes.kernels.dual_simplex import ROUNDING

# Steps towards the root of a piecewise linear function, which takes a few.
MAX_ROOT_STEPS = 100


@kernel
def boxes_step(value, alpha, n, total, curvature, alone, new):
    """The α of n classes, each in [0, total], that are best for one example. Return the gain.

    Max ⟨δ, value⟩ − ½·curvature·(‖δ‖² + (Σδ)²), δ the change, the last term only where they are not
    `alone`: δ = clip(value / curvature − S, −α, total − α) with S = Σδ, or 0 where they are alone.
    """
    largest = 0.0
    for a in range(n):
        largest = max(largest, abs(value[a]))
    S = 0.0
    if curvature * total <= ROUNDING * largest:
        for a in range(n):
            new[a] = total if value[a] > 0.0 else 0.0
    else:
        if not alone:
            S = _common(value, alpha, n, total, curvature)
        for a in range(n):
            new[a] = min(total, max(0.0, alpha[a] + value[a] / curvature - S))
    gain, square, moved = 0.0, 0.0, 0.0
    for a in range(n):
        step = new[a] - alpha[a]
        gain += step * value[a]
        square += step * step
        moved += step
    return gain - 0.5 * curvature * (square + (0.0 if alone else moved * moved))


@kernel
def _common(value, alpha, n, total, curvature):
    """The S that is Σ clip(value / curvature − S, −α, total − α), by Newton's method."""
    low, high, S = -np.inf, np.inf, 0.0
    for _ in range(MAX_ROOT_STEPS):
        free, known = 0, 0.0
        for a in range(n):
            wish = value[a] / curvature
            if wish - S <= -alpha[a]:
                known -= alpha[a]
            elif wish - S >= total - alpha[a]:
                known += total - alpha[a]
            else:
                free += 1
                known += wish
        excess = known - (1.0 + free) * S
        if excess > 0.0:
            low = S
        elif excess < 0.0:
            high = S
        root = known / (1.0 + free)
        if root == S or excess == 0.0:
            break
        if not low < root < high:
            root = 0.5 * (low + high)
            if not low < root < high:
                break
        S = root
    return S


@kernel
def values_of_all(y, q, alone, score):
    """Make of all scores the values q − ⟨p, w⟩; the truth's is 0 where it has no hinge."""
    s = score[y]
    if alone:
        for c in range(score.size):
            score[c] += q
        score[y] = q - s
    else:
        for c in range(score.size):
            score[c] += q - s
        score[y] = 0.0


@kernel
def visit_boxes(rows, whole, alone, entries, problem, duals, sigma, tol, Z):
    """Visit each of these rows: over all classes, or over those with 0 < α < total.

    `alone` says that a class's weights are in no other class's hinge: one versus rest.

    Returns
    -------
    gain, linear : float
        Of the dual, as far as the own changes go, and of Σ α·q.
    work : int
        Products with entries of rows.
    """
    values, columns, starts, dense, square = entries
    truth, q, _, norms = problem
    output, alphas, counts, totals, gaps, violations = duals
    k = Z.shape[1]
    score, own, alpha, new, change, held = (
        np.zeros(k + 1), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k + 1), np.zeros(k),
    )  # fmt: skip
    chosen = np.zeros(k + 1, np.int32)
    gain, linear, work = 0.0, 0.0, 0
    for i in rows:
        total, y, n = totals[i], truth[i], counts[i]
        first, stop = starts[i], starts[i + 1]
        if total <= 0.0:
            gaps[i] = violations[i] = 0.0
            continue
        m, gap, violation = 0, 0.0, 0.0
        if whole:
            all_scores(values, columns, first, stop, dense, Z, score[:k])
            work += k * (stop - first)
            values_of_all(y, q, alone, score[:k])
            for a in range(n):
                held[output[i, a]] = alphas[i, a]
            for c in range(k):
                v, old = score[c], held[c]
                held[c] = 0.0
                gap += total * max(0.0, v) - old * v
                if old < total:
                    violation = max(violation, v)
                if old > 0.0:
                    violation = max(violation, -v)
                # Alone, a class without α and without violation stays as it is.
                if (old == 0.0 and v <= 0.0) if alone else c == y:
                    continue
                chosen[m], alpha[m], own[m] = c, old, v
                m += 1
        else:
            for a in range(n):
                if alphas[i, a] < total:
                    chosen[m], alpha[m] = output[i, a], alphas[i, a]
                    m += 1
            n_scores = m
            if m > 0 and not alone:
                chosen[m] = y
                n_scores += 1
            some_scores(values, columns, first, stop, dense, Z, chosen, n_scores, score)
            work += n_scores * (stop - first)
            for a in range(m):
                if alone:
                    own[a] = q - score[a] if chosen[a] == y else q + score[a]
                else:
                    own[a] = q + score[a] - score[m]
                gap += total * max(0.0, own[a]) - alpha[a] * own[a]
                violation = max(violation, abs(own[a]))
        gaps[i], violations[i] = gap, violation
        if not violation > tol:
            continue
        gain += boxes_step(own, alpha, m, total, sigma * norms[i], alone, new)
        kept, moved, all_moved = 0, 0, 0.0
        if not whole:
            for a in range(n):
                if alphas[i, a] >= total:  # was not chosen
                    output[i, kept], alphas[i, kept] = output[i, a], alphas[i, a]
                    kept += 1
        for a in range(m):
            c, step = chosen[a], new[a] - alpha[a]
            if new[a] > 0.0:
                output[i, kept], alphas[i, kept] = c, new[a]
                kept += 1
            if step != 0.0:
                linear += step * q
                chosen[moved] = c
                change[moved] = sigma * step if alone and c == y else -sigma * step
                all_moved += step
                moved += 1
        counts[i] = kept
        if moved > 0 and not alone:
            chosen[moved], change[moved] = y, sigma * all_moved
            moved += 1
        if moved > 0:
            add_row(values, columns, first, stop, dense, square, chosen, change, moved, Z)
            work += moved * (stop - first)
    return gain, linear, work


@kernel
def judge_boxes(rows, alone, entries, problem, duals, Z, hinge):
    """Set the share of the gap and the sum of the hinges of each of these rows."""
    values, columns, starts, dense, _ = entries
    truth, q, _, _ = problem
    output, alphas, counts, totals, gaps, _ = duals
    k = Z.shape[1]
    score = np.zeros(k)
    for at in range(rows.size):
        i = rows[at]
        all_scores(values, columns, starts[i], starts[i + 1], dense, Z, score)
        values_of_all(truth[i], q, alone, score)
        upper, shares = 0.0, 0.0
        for c in range(k):
            upper += max(0.0, score[c])
        for a in range(counts[i]):
            shares += alphas[i, a] * score[output[i, a]]
        hinge[i] = upper
        gaps[i] = totals[i] * upper - shares
