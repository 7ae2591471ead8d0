"""Exact steps of the dual over all classes of rows of features, without planes.

Where the classes are enumerated anyway, a visit is an oracle call: it scores all of them, and then
solves the dual over the one example's α. Weights are those of the features as they are; a feature's
scale comes in, squared, where they change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.kernels.climb import climb
from distsvm.kernels.codes import difference
from distsvm.kernels.options import kernel, summing_kernel
from distsvm.structures.classes.kernels.losses import Losses, losses_of
from distsvm.structures.classes.kernels.steps import (
    DENSE_VISIT,
    Coding,
    Scratch,
    add_dense_row,
    clear,
    moved_columns,
    product_with,
    scratch_for,
    spread_out,
)

# Of an example's total: what the truth is left with by rounding alone.
ROUNDING = 1e-12
MOST_NEW = 3
"""Classes that a step takes beside those with α > 0, where it is no exact step over all: with more
of them α spreads over more classes, and more passes are needed."""


class ClassProblem(NamedTuple):
    """The classes' planes."""

    coding: Coding
    losses: Losses
    norms: np.ndarray  # (n,): ‖x_i‖²


class Room(NamedTuple):
    """Room for one visit, of k classes and r columns."""

    score: np.ndarray  # (r,)
    value: np.ndarray  # (k,)
    q: np.ndarray  # (k,)
    step: np.ndarray  # (k,)
    change: np.ndarray  # (r,)
    columns: np.ndarray  # int64 (r,): which these are
    is_chosen: np.ndarray  # bool (k,), or less where no classes are chosen
    chosen: np.ndarray  # int64, as long
    scratch: Scratch


@kernel
def room_for(problem, k, r):
    """Room for the visits of one call."""
    m = 0 if has_exact_step(problem) else k
    return Room(
        np.zeros(r), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(r), np.zeros(r, np.int64),
        np.zeros(m, np.bool_), np.zeros(m, np.int64), scratch_for(problem.coding, r),
    )  # fmt: skip


@kernel
def has_exact_step(problem):
    """Whether every ⟨p, p'⟩ of an example is one number, and ‖p‖² twice that."""
    return problem.coding.unit and (not problem.coding.slack or problem.losses.zero_one > 0.0)


@kernel
def q_and_values(problem, i, room):
    """q, which is Δ, and q − ⟨p, w⟩ of every class of example i, from the scores of the columns."""
    coding = problem.coding
    y, k = coding.truth[i], room.value.size
    losses_of(problem.losses, y, room.q)
    if coding.unit:
        for c in range(k):
            room.value[c] = room.score[c]
    else:
        codes = coding.codes
        for c in range(k):
            total = 0.0
            for e in range(codes.starts[c], codes.starts[c + 1]):
                total += codes.values[e] * room.score[codes.columns[e]]
            room.value[c] = total
    own = room.value[y]
    for c in range(k):
        margin = own - room.value[c]
        room.value[c] = room.q[c] * (1.0 - margin) if coding.slack else room.q[c] - margin
    room.value[y] = 0.0


@kernel
def exact_step(value, truth, alpha, rest, curvature, step):
    """The α that are best for one example, where ⟨p, p'⟩ = curvature·(1 + [p = p']).

    Max ⟨step, value⟩ − ½·curvature·‖step‖² over steps, the truth's included, that leave all α ≥ 0
    and their sum as it is: curvature·α + value, projected to a simplex.

    Returns
    -------
    gain : float
    """
    k = value.size
    total, best = rest, -1
    highest = -np.inf
    for c in range(k):
        total += alpha[c]
        step[c] = curvature * (rest if c == truth else alpha[c]) + value[c]
        if step[c] > highest:
            best, highest = c, step[c]
    size = curvature * total
    if size <= ROUNDING * abs(highest):  # no more than the values' own rounding
        n, level = 1, -1.0
        for c in range(k):
            step[c] = 0.0 if c == best else -np.inf
    else:
        n, level = 0, -np.inf
        while True:
            # What lies below a level that is too low lies below the true one.
            left, total_left = 0, 0.0
            for c in range(k):
                above = step[c] - highest
                if above > level and above > -size:
                    left += 1
                    total_left += above
            level = (total_left - size) / left
            if left == n:
                break
            n = left
        for c in range(k):
            step[c] -= highest
    gain, moved = 0.0, 0.0
    for c in range(k):
        if c == truth:
            continue
        new = 0.0
        if step[c] > level:
            new = total if n == 1 else (step[c] - level) / curvature
        d = new - alpha[c]
        alpha[c] = new
        step[c] = d
        gain += d * value[c] - 0.5 * curvature * d * d
        moved += d
    step[truth] = 0.0  # its plane is (0, 0)
    return gain - 0.5 * curvature * moved * moved


@kernel
def choose(value, truth, alpha, room):
    """Write the classes of a step, by number: those with α > 0, and the highest values.

    How many they are. Where there are few classes it takes all of them but the truth.
    """
    n, top = 0, room.chosen
    for c in range(value.size):
        if c == truth or (n == MOST_NEW and not value[c] > value[top[n - 1]]):
            continue
        place = min(n, MOST_NEW - 1)
        while place > 0 and value[c] > value[top[place - 1]]:
            top[place] = top[place - 1]
            place -= 1
        top[place] = c
        n = min(n + 1, MOST_NEW)
    for a in range(n):
        room.is_chosen[top[a]] = True
    n = 0
    for c in range(value.size):
        if room.is_chosen[c] or alpha[c] > 0.0:
            top[n], room.is_chosen[c] = c, False
            n += 1
    return n


@kernel
def gram_of_chosen(problem, i, chosen, room):
    """⟨p, p'⟩ of these classes of example i."""
    coding, m = problem.coding, chosen.size
    y, gram = coding.truth[i], np.empty((m, m))
    for a in range(m):
        if not coding.unit:
            spread_out(coding, y, chosen[a], room.scratch)
        for b in range(a + 1):
            if coding.unit:
                total = 2.0 if a == b else 1.0
            else:
                total = product_with(coding, y, chosen[b], room.scratch)
            if coding.slack:
                total *= room.q[chosen[a]] * room.q[chosen[b]]
            gram[a, b] = gram[b, a] = total * problem.norms[i]
        if not coding.unit:
            clear(coding, y, chosen[a], room.scratch)
    return gram


@kernel
def climb_chosen(problem, i, alpha, total, sigma, max_steps, tol, room):
    """Raise the dual by steps among some classes of example i; the gain, and room.step."""
    chosen = room.chosen[: choose(room.value, problem.coding.truth[i], alpha, room)]
    value, own = np.empty(chosen.size), np.empty(chosen.size)
    step = np.empty(chosen.size)
    for a in range(chosen.size):
        value[a], own[a] = room.value[chosen[a]], alpha[chosen[a]]
    gram = gram_of_chosen(problem, i, chosen, room)
    gain = climb(value, gram, own, total, 0.0, sigma, max_steps, tol, step)
    room.step[:] = 0.0
    for a in range(chosen.size):
        alpha[chosen[a]], room.step[chosen[a]] = own[a], step[a]
    return gain


@kernel
def raise_example(problem, whole, i, sigma, max_steps, tol, room):
    """Visit example i, whose columns have these scores: whether it moved, what that gained.

    Returns
    -------
    moved : bool
    gain, linear : float
        Of the dual, as far as this example's own change goes, and of Σ α·q.
    """
    q_and_values(problem, i, room)
    slack, y = problem.coding.slack, problem.coding.truth[i]
    alpha, value = whole.alpha[i], room.value
    rest, highest, shares = whole.total[i], 0.0, 0.0
    lowest = np.inf
    for c in range(value.size):
        highest = max(highest, value[c])
        if alpha[c] > 0.0:
            lowest = min(lowest, value[c])
            shares += alpha[c] * value[c]
            rest -= alpha[c]
    whole.gap[i] = whole.total[i] * highest - shares
    if rest > ROUNDING * whole.total[i]:
        lowest = min(lowest, 0.0)
    else:
        rest = 0.0
    if not highest - lowest > tol:
        return False, 0.0, 0.0
    if has_exact_step(problem):
        curvature = sigma * problem.norms[i]
        if slack:
            curvature *= problem.losses.zero_one * problem.losses.zero_one
        gain = exact_step(value, y, alpha, rest, curvature, room.step)
    else:
        gain = climb_chosen(problem, i, alpha, whole.total[i], sigma, max_steps, tol, room)
    linear = 0.0
    for a in range(room.change.size):
        room.change[a], room.columns[a] = 0.0, a
    for c in range(value.size):
        if room.step[c] != 0.0:
            linear += room.step[c] * room.q[c]
            step = room.step[c] * (room.q[c] if slack else 1.0)
            add_change(problem.coding, y, c, step, room)
    return True, gain, linear


@kernel
def add_change(coding, y, c, step, room):
    """What the columns gain of x when the α of class c changes by this step."""
    if coding.unit:
        room.change[y] += step
        room.change[c] -= step
    else:
        columns, values = room.scratch.columns, room.scratch.values
        for e in range(difference(coding.codes, y, c, columns, values)):
            room.change[columns[e]] += step * values[e]


@summing_kernel
def scores_of(x, Z, bias, score):
    """score = Z @ x + bias, class by class."""
    for c in range(score.size):
        z, total = Z[c], 0.0
        for j in range(x.size):
            total += x[j] * z[j]
        score[c] = bias[c] + total


@kernel
def visit_dense_whole(rows, X, problem, whole, square, sigma, max_steps, tol, Z, bias):
    """Climb over each of these rows in turn: the gain of the dual and of Σ α·q, and the work.

    Parameters
    ----------
    square : array of shape (d + 1,)
        The features' scales, squared; last that of the constant one.
    Z : array of shape (r, d), changed
        The weights class by class, so that a row's products run along memory.
    bias : array of shape (r,), changed
    """
    d, r = X.shape[1], bias.size
    room, x = room_for(problem, whole.alpha.shape[1], r), np.empty(d)
    gain, linear, work = 0.0, 0.0, 0
    for i in rows:
        row = X[i]
        for j in range(d):
            x[j] = row[j]
        scores_of(x, Z, bias, room.score)
        work += r * d + DENSE_VISIT
        moved, raised, more = raise_example(problem, whole, i, sigma, max_steps, tol, room)
        if not moved:
            continue
        gain += raised
        linear += more
        n_moved = moved_columns(room.change, room.columns, r, sigma, square[d], bias)
        add_dense_row(x, square, room.change, room.columns, n_moved, Z)
        work += n_moved * d
    return gain, linear, work


@kernel
def visit_sparse_whole(
    rows, values, places, starts, problem, whole, square, sigma, max_steps, tol, Z, bias
):
    """As visit_dense_whole, for sparse rows with their features' places; Z has shape (d, r)."""
    d, r = Z.shape
    room = room_for(problem, whole.alpha.shape[1], r)
    score, change, columns = room.score, room.change, room.columns
    gain, linear, work = 0.0, 0.0, 0
    for i in rows:
        first, stop = starts[i], starts[i + 1]
        for a in range(r):
            score[a] = bias[a]
        e = first
        # Four entries at a time: rows of Z are short, and reading and writing would take longest.
        while e + 4 <= stop:
            x0, x1 = np.float64(values[e]), np.float64(values[e + 1])
            x2, x3 = np.float64(values[e + 2]), np.float64(values[e + 3])
            z0, z1, z2, z3 = Z[places[e]], Z[places[e + 1]], Z[places[e + 2]], Z[places[e + 3]]
            for a in range(r):
                score[a] += (x0 * z0[a] + x1 * z1[a]) + (x2 * z2[a] + x3 * z3[a])
            e += 4
        while e < stop:
            x0, z0 = np.float64(values[e]), Z[places[e]]
            for a in range(r):
                score[a] += x0 * z0[a]
            e += 1
        work += r * (stop - first)
        moved, raised, more = raise_example(problem, whole, i, sigma, max_steps, tol, room)
        if not moved:
            continue
        gain += raised
        linear += more
        n_moved = moved_columns(change, columns, r, sigma, square[d], bias)
        for e in range(first, stop):
            j = places[e]
            x = square[j] * values[e]
            for a in range(n_moved):
                Z[j, columns[a]] += change[a] * x
        work += n_moved * (stop - first)
    return gain, linear, work
