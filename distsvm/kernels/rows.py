"""Products of feature rows with weights, and weighted sums of rows: dense and sparse by rows.

V has shape (d, r), feature by feature, so that one feature's r weights are one run of memory.
Rows may have any real dtype; all sums are float64.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.codes import difference, widest
from distsvm.kernels.options import kernel

PIECE = 256


@kernel
def dense_products(X, rows, V, bias, out):
    """out[i] = X[rows[i]] @ V + bias."""
    d = X.shape[1]
    buffer = np.empty((PIECE, d))
    for start in range(0, rows.size, PIECE):
        stop = min(start + PIECE, rows.size)
        # The copy is float64 for any dtype, and it is in the cache when BLAS reads it.
        for i in range(start, stop):
            x = X[rows[i]]
            copy = buffer[i - start]
            for j in range(d):
                copy[j] = x[j]
        np.dot(buffer[: stop - start], V, out[start:stop])
        for i in range(start, stop):
            z = out[i]
            for c in range(z.size):
                z[c] += bias[c]


@kernel
def sparse_products(values, columns, starts, rows, V, bias, out):
    """out[i] = x_i @ V + bias, x_i the sparse row rows[i]."""
    r = V.shape[1]
    z = np.empty(r)  # the compiler must assume that `out` aliases V; z cannot
    for i in range(rows.size):
        for c in range(r):
            z[c] = bias[c]
        e, stop = starts[rows[i]], starts[rows[i] + 1]
        # Four entries at a time: rows of V are short, and most time goes into z.
        while e + 4 <= stop:
            x0, x1 = np.float64(values[e]), np.float64(values[e + 1])
            x2, x3 = np.float64(values[e + 2]), np.float64(values[e + 3])
            v0, v1, v2, v3 = V[columns[e]], V[columns[e + 1]], V[columns[e + 2]], V[columns[e + 3]]
            for c in range(r):
                z[c] += (x0 * v0[c] + x1 * v1[c]) + (x2 * v2[c] + x3 * v3[c])
            e += 4
        while e < stop:
            x0, v0 = np.float64(values[e]), V[columns[e]]
            for c in range(r):
                z[c] += x0 * v0[c]
            e += 1
        for c in range(r):
            out[i, c] = z[c]


@kernel
def dense_sums(X, rows, scale, from_code, to_code, coefficients, codes, unit, out):
    """out[j, :] += Σ_i coefficient_i · scale[j] · X[rows[i], j] · (Λ(from) − Λ(to)).

    `out` has one more row than X has columns: the constant feature, whose scale is scale[d].
    With `unit`, Λ is the identity: `codes` are not read, and two columns change. Else those change
    in which Λ(from) and Λ(to) differ.
    """
    d = X.shape[1]
    r = out.shape[1]
    changed, apart = np.empty(widest(codes), np.int64), np.empty(widest(codes))
    # `inner` is class by class, so that the inner loop runs along one row of memory.
    inner = np.zeros((r, d + 1))
    for i in range(rows.size):
        a, b = from_code[i], to_code[i]
        if a == b or coefficients[i] == 0.0:
            continue
        x = X[rows[i]]
        if unit:
            up, down = inner[a], inner[b]
            k = coefficients[i]
            for j in range(d):
                up[j] += k * x[j]
            for j in range(d):
                down[j] -= k * x[j]
            up[d] += k
            down[d] -= k
            continue
        for c in range(difference(codes, a, b, changed, apart)):
            k = coefficients[i] * apart[c]
            target = inner[changed[c]]
            for j in range(d):
                target[j] += k * x[j]
            target[d] += k
    for j in range(d + 1):
        for c in range(r):
            out[j, c] += scale[j] * inner[c, j]


@kernel
def sparse_sums(
    values, columns, starts, rows, scale, from_code, to_code, coefficients, codes, unit, out
):
    """Add the same sums as dense_sums, for sparse rows."""
    d = out.shape[0] - 1
    changed, apart = np.empty(widest(codes), np.int64), np.empty(widest(codes))
    for i in range(rows.size):
        a, b = from_code[i], to_code[i]
        k = coefficients[i]
        if a == b or k == 0.0:
            continue
        if unit:
            for e in range(starts[rows[i]], starts[rows[i] + 1]):
                j = columns[e]
                x = k * scale[j] * values[e]
                out[j, a] += x
                out[j, b] -= x
            out[d, a] += k * scale[d]
            out[d, b] -= k * scale[d]
        else:
            n = difference(codes, a, b, changed, apart)
            for e in range(starts[rows[i]], starts[rows[i] + 1]):
                j = columns[e]
                for c in range(n):
                    out[j, changed[c]] += k * apart[c] * scale[j] * values[e]
            for c in range(n):
                out[d, changed[c]] += k * apart[c] * scale[d]


@kernel
def sparse_square_norms(values, columns, starts, scale, out):
    """out[i] = Σ_j (scale[j]·x_ij)², without the constant feature."""
    for i in range(out.size):
        total = 0.0
        for e in range(starts[i], starts[i + 1]):
            x = scale[columns[e]] * values[e]
            total += x * x
        out[i] = total


@kernel
def dense_square_norms(X, scale, out):
    """out[i] = Σ_j (scale[j]·x_ij)², without the constant feature."""
    for i in range(out.size):
        total = 0.0
        for j in range(X.shape[1]):
            x = scale[j] * X[i, j]
            total += x * x
        out[i] = total
