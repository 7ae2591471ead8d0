"""Visits of the sequential dual method for Crammer and Singer's SVM.

The hinge of an example is max_c (q_c + s_c − s_y) with the scores s and q_y = 0. Its α, one a class
but the truth's, are on a simplex: their sum and the truth's rest are its total.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel
from distsvm.structures.classes.kernels.dual_rows import add_row, all_scores, some_scores

# Of an example's total: what the truth is left with by rounding alone.
ROUNDING = 1e-12
# Classes that a visit adds to those with α > 0 where there is no room for all.
MOST_ADDED = 3


@kernel
def simplex_step(value, alpha, n, rest, total, curvature, new):
    """The α of n classes that are best on one simplex with the truth, whose value is 0.

    Max ⟨δ, value⟩ − ½·curvature·‖δ‖², δ the change of all α, the truth's `rest` included: a
    projection of curvature·α + value. Return the gain.
    """
    highest, best = curvature * rest, -1
    for a in range(n):
        new[a] = curvature * alpha[a] + value[a]
        if new[a] > highest:
            highest, best = new[a], a
    size = curvature * total
    if size <= ROUNDING * abs(highest):  # no more than the values' own rounding
        left = total if best < 0 else 0.0
        for a in range(n):
            new[a] = total if a == best else 0.0
    else:
        truth, level, count, own = curvature * rest - highest, -size, 0, 0
        while True:
            # What lies below a level that is too low lies below the true one.
            own, above = 0, 0.0
            if truth > level:
                own, above = 1, truth
            for a in range(n):
                if new[a] - highest > level:
                    own += 1
                    above += new[a] - highest
            if count > 0 and own >= count:  # more than before by rounding alone
                break
            level, count = (above - size) / own, own
        left = 0.0
        if truth > level:
            left = total if own == 1 else (truth - level) / curvature
        for a in range(n):
            t = new[a] - highest
            new[a] = 0.0
            if t > level:
                new[a] = total if own == 1 else (t - level) / curvature
    gain, square = 0.0, (left - rest) * (left - rest)
    for a in range(n):
        step = new[a] - alpha[a]
        gain += step * value[a]
        square += step * step
    return gain - 0.5 * curvature * square


@kernel
def visit_simplexes(rows, start, whole, entries, problem, duals, sigma, tol, Z):
    """Visit each of these rows from number `start` on: over all classes, or those with α > 0.

    Returns
    -------
    done : int
        The number of the next row: one whose classes have no room is not visited.
    gain, linear : float
        Of the dual, as far as the own changes go, and of Σ α·q.
    work : int
        Products with entries of rows.
    """
    values, columns, starts, dense, square = entries
    truth, zero_one, losses, norms = problem
    output, alphas, counts, totals, gaps, violations = duals
    k, room = Z.shape[1], output.shape[1]
    every = room >= k - 1
    score, own, alpha, new, change = (
        np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k + 1),
    )  # fmt: skip
    chosen, inside = np.zeros(k + 1, np.int32), np.zeros(k, np.bool_)
    gain, linear, work = 0.0, 0.0, 0
    for at in range(start, rows.size):
        i = rows[at]
        total, y, n = totals[i], truth[i], counts[i]
        first, stop = starts[i], starts[i + 1]
        if total <= 0.0:
            gaps[i] = violations[i] = 0.0
            continue
        rest = total
        for a in range(n):
            chosen[a], alpha[a] = output[i, a], alphas[i, a]
            rest -= alpha[a]
        if rest <= ROUNDING * total:
            rest = 0.0
        highest, shares = 0.0, 0.0
        lowest = 0.0 if rest > 0.0 else np.inf
        if whole:
            if not every and n + MOST_ADDED > room:
                return at, gain, linear, work
            all_scores(values, columns, first, stop, dense, Z, score)
            work += k * (stop - first)
            s = score[y]
            if zero_one > 0.0:
                for c in range(k):
                    score[c] += zero_one - s
            else:
                for c in range(k):
                    score[c] += losses[y, c] - s
            score[y] = 0.0
            for c in range(k):
                highest = max(highest, score[c])
            for a in range(n):
                own[a] = score[chosen[a]]
        else:
            chosen[n] = y
            some_scores(values, columns, first, stop, dense, Z, chosen, n + 1, score)
            work += (n + 1) * (stop - first)
            s = score[n]
            for a in range(n):
                q = zero_one if zero_one > 0.0 else losses[y, chosen[a]]
                own[a] = q + score[a] - s
                highest = max(highest, own[a])
        for a in range(n):
            lowest = min(lowest, own[a])
            shares += alpha[a] * own[a]
        gaps[i], violations[i] = total * highest - shares, highest - lowest
        if not highest - lowest > tol:
            continue
        m = n
        if whole:
            for a in range(n):
                inside[chosen[a]] = True
            inside[y] = True
            if every:
                for c in range(k):
                    if not inside[c]:
                        chosen[m], alpha[m], own[m] = c, 0.0, score[c]
                        m += 1
            else:
                for _ in range(MOST_ADDED):
                    best, largest = -1, 0.0
                    for c in range(k):
                        if score[c] > largest and not inside[c]:
                            best, largest = c, score[c]
                    if best < 0:
                        break
                    chosen[m], alpha[m], own[m] = best, 0.0, largest
                    inside[best] = True
                    m += 1
            for a in range(m):
                inside[chosen[a]] = False
            inside[y] = False
        gain += simplex_step(own, alpha, m, rest, total, sigma * norms[i], new)
        kept, moved, all_moved = 0, 0, 0.0
        for a in range(m):
            c, step = chosen[a], new[a] - alpha[a]
            if new[a] > 0.0:
                output[i, kept], alphas[i, kept] = c, new[a]
                kept += 1
            if step != 0.0:
                linear += step * (zero_one if zero_one > 0.0 else losses[y, c])
                chosen[moved], change[moved] = c, -sigma * step
                all_moved += step
                moved += 1
        counts[i] = kept
        if all_moved != 0.0:
            chosen[moved], change[moved] = y, sigma * all_moved
            moved += 1
        if moved > 0:
            add_row(values, columns, first, stop, dense, square, chosen, change, moved, Z)
            work += moved * (stop - first)
    return rows.size, gain, linear, work


@kernel
def judge_simplexes(rows, entries, problem, duals, Z, hinge):
    """Set the share of the gap and the hinge of each of these rows."""
    values, columns, starts, dense, _ = entries
    truth, zero_one, losses, _ = problem
    output, alphas, counts, totals, gaps, _ = duals
    k = Z.shape[1]
    score = np.zeros(k)
    for at in range(rows.size):
        i = rows[at]
        total, y = totals[i], truth[i]
        all_scores(values, columns, starts[i], starts[i + 1], dense, Z, score)
        s = score[y]
        if zero_one > 0.0:
            for c in range(k):
                score[c] += zero_one - s
        else:
            for c in range(k):
                score[c] += losses[y, c] - s
        score[y] = 0.0
        highest, shares = 0.0, 0.0
        for c in range(k):
            highest = max(highest, score[c])
        for a in range(counts[i]):
            shares += alphas[i, a] * score[output[i, a]]
        hinge[i] = highest
        gaps[i] = total * highest - shares
