"""Steps of the dual over the held classes of rows of features; see kernels/climb.py.

Only the columns of the truth and of the held classes are read and changed. Weights are those of the
features as they are; a feature's scale comes in, squared, where they change.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.climb import raise_dual
from distsvm.kernels.codes import difference
from distsvm.kernels.options import kernel
from distsvm.structures.classes.kernels.steps import (
    DENSE_VISIT,
    add_dense_row,
    clear,
    moved_columns,
    product_with,
    scratch_for,
    spread_out,
)


@kernel
def columns_of(coding, i, outputs, columns, place, scratch):
    """The columns of w that example i's planes touch; how many there are.

    place[c], where codes are not unit, is the place of column c among them, and else −1.
    """
    y = coding.truth[i]
    if coding.unit:
        columns[0] = y
        for k in range(outputs.size):
            columns[1 + k] = outputs[k]
        return 1 + outputs.size
    n = 0
    for k in range(outputs.size):
        for e in range(difference(coding.codes, y, outputs[k], scratch.columns, scratch.values)):
            c = scratch.columns[e]
            if place[c] < 0:
                place[c], columns[n] = n, c
                n += 1
    return n


@kernel
def forget_columns(coding, columns, n, place):
    """Make `place` as it was before columns_of."""
    if not coding.unit:
        for a in range(n):
            place[columns[a]] = -1


@kernel
def values_of(coding, i, outputs, q, score, value, place, scratch):
    """q − ⟨p, w⟩ of each plane, from the scores of the columns that columns_of gave."""
    y = coding.truth[i]
    for k in range(outputs.size):
        margin = 0.0
        if coding.unit:
            margin = score[0] - score[1 + k]
        else:
            n = difference(coding.codes, y, outputs[k], scratch.columns, scratch.values)
            for e in range(n):
                margin += scratch.values[e] * score[place[scratch.columns[e]]]
        value[k] = q[k] * (1.0 - margin) if coding.slack else q[k] - margin


@kernel
def changes_of(coding, i, outputs, q, step, change, place, scratch):
    """What each of those columns gains of x when each α changes by its step."""
    y = coding.truth[i]
    change[:] = 0.0
    for k in range(outputs.size):
        c = step[k] * (q[k] if coding.slack else 1.0)
        if coding.unit:
            change[0] += c
            change[1 + k] -= c
        elif c != 0.0:
            n = difference(coding.codes, y, outputs[k], scratch.columns, scratch.values)
            for e in range(n):
                change[place[scratch.columns[e]]] += c * scratch.values[e]


@kernel
def raise_row(
    coding, held, i, outputs, score, sigma, max_steps, tol, value, step, change, place, scratch
):
    """Visit one row whose columns have these scores: the gain of the dual and of Σ α·q."""
    m, q = outputs.size, held.q[i]
    values_of(coding, i, outputs, q, score, value, place, scratch)
    gain = raise_dual(held, i, value[:m], sigma, max_steps, tol, step[:m])
    linear = 0.0
    if gain != 0.0:
        for k in range(m):
            linear += step[k] * q[k]
        changes_of(coding, i, outputs, q, step, change, place, scratch)
    return gain, linear


@kernel
def visit_dense(rows, X, coding, held, outputs, square, sigma, max_steps, tol, Z, bias):
    """Climb over each of these rows in turn: the gain of the dual and of Σ α·q, and the work.

    Parameters
    ----------
    square : array of shape (d + 1,)
        The features' scales, squared; last that of the constant one.
    Z : array of shape (r, d), changed
        The weights class by class, so that a row's products run along memory.
    bias : array of shape (r,), changed
    """
    size, d = held.q.shape[1], X.shape[1]
    columns = np.empty(max(1 + size, bias.size), np.int64)
    score, change = np.empty(columns.size), np.empty(columns.size)
    place, scratch = np.full(bias.size, -1, np.int64), scratch_for(coding, bias.size)
    value, step, x = np.empty(size), np.empty(size), np.empty(d)
    gain, linear, work = 0.0, 0.0, 0
    for i in rows:
        m = held.count[i]
        if m == 0:
            continue
        own = outputs[i * size : i * size + m]
        n = columns_of(coding, i, own, columns, place, scratch)
        row = X[i]
        for j in range(d):
            x[j] = row[j]
        for a in range(n):
            score[a] = bias[columns[a]] + np.dot(x, Z[columns[a]])
        raised, more = raise_row(
            coding, held, i, own, score, sigma, max_steps, tol, value, step, change, place, scratch
        )
        forget_columns(coding, columns, n, place)
        work += n * d + DENSE_VISIT
        if raised == 0.0:
            continue
        gain += raised
        linear += more
        n_moved = moved_columns(change, columns, n, sigma, square[d], bias)
        add_dense_row(x, square, change, columns, n_moved, Z)
        work += n_moved * d
    return gain, linear, work


@kernel
def visit_sparse_rows(
    rows, values, places, starts, coding, held, outputs, square, sigma, max_steps, tol,
    V, Z, changed, bias,
):  # fmt: skip
    """As visit_dense, for sparse rows with their features' places; V, Z have shape (d, r).

    Z holds the features' weights that were changed, `changed` says which; V has all others.
    """
    size, d = held.q.shape[1], V.shape[0]
    columns = np.empty(max(1 + size, bias.size), np.int64)
    score, change = np.empty(columns.size), np.empty(columns.size)
    place, scratch = np.full(bias.size, -1, np.int64), scratch_for(coding, bias.size)
    value, step = np.empty(size), np.empty(size)
    gain, linear, work = 0.0, 0.0, 0
    for i in rows:
        m = held.count[i]
        if m == 0:
            continue
        own = outputs[i * size : i * size + m]
        n = columns_of(coding, i, own, columns, place, scratch)
        first, stop = starts[i], starts[i + 1]
        for a in range(n):
            score[a] = bias[columns[a]]
        for e in range(first, stop):
            x, j = np.float64(values[e]), places[e]
            if changed[j]:
                for a in range(n):
                    score[a] += x * Z[j, columns[a]]
            else:
                for a in range(n):
                    score[a] += x * V[j, columns[a]]
        raised, more = raise_row(
            coding, held, i, own, score, sigma, max_steps, tol, value, step, change, place, scratch
        )
        forget_columns(coding, columns, n, place)
        work += n * (stop - first)
        if raised == 0.0:
            continue
        gain += raised
        linear += more
        n_moved = moved_columns(change, columns, n, sigma, square[d], bias)
        for e in range(first, stop):
            j = places[e]
            if not changed[j]:
                changed[j] = True
                Z[j] = V[j]
            x = square[j] * values[e]
            for a in range(n_moved):
                Z[j, columns[a]] += change[a] * x
        work += n_moved * (stop - first)
    return gain, linear, work


@kernel
def gram_of_classes(rows, slots, coding, n_columns, held, outputs, norms):
    """Fill the rows and columns of the examples' Gram matrices that belong to these slots.

    ⟨p, p'⟩ = ‖x‖²·⟨Λ(y) − Λ(ŷ), Λ(y) − Λ(ŷ')⟩, with q·q' for slack rescaling.
    """
    size, scratch = held.q.shape[1], scratch_for(coding, n_columns)
    for r in range(rows.size):
        i, slot = rows[r], slots[r]
        y, a = coding.truth[i], outputs[i * size + slot]
        if not coding.unit:
            spread_out(coding, y, a, scratch)
        for k in range(held.count[i]):
            b = outputs[i * size + k]
            if coding.unit:
                total = (2.0 if a == b else 1.0) * norms[i]
            else:
                total = product_with(coding, y, b, scratch) * norms[i]
            if coding.slack:
                total *= held.q[i, slot] * held.q[i, k]
            held.gram[i, slot, k] = held.gram[i, k, slot] = total
        if not coding.unit:
            clear(coding, y, a, scratch)


@kernel
def changed_products(values, columns, entries, tokens, V, Z, changed, share, out):
    """out[j] = x_t @ (V + share·(Z − V)), t = tokens[j]."""
    r = V.shape[1]
    z = np.empty(r)
    for j in range(tokens.size):
        z[:] = 0.0
        for e in range(entries[tokens[j]], entries[tokens[j] + 1]):
            x, row = np.float64(values[e]), columns[e]
            u = V[row]
            if changed[row]:
                v = Z[row]
                for c in range(r):
                    z[c] += x * (u[c] + share * (v[c] - u[c]))
            else:
                for c in range(r):
                    z[c] += x * u[c]
        for c in range(r):
            out[j, c] = z[c]
