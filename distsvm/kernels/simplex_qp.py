"""An active-set method for a concave quadratic on a product of simplices.

The problem is `distsvm.qp.base.QPProblem`. Here the slack of block k is one more variable, m + k,
with a zero cut, so that every block is a simplex Σx = limit_k. One variable of each block is its
*reference*, the largest when it was chosen; the *free* variables move against it. So

    M_ij = ⟨a_i − a_r(i), a_j − a_r(j)⟩    (i, j free; r their blocks' references)

is positive definite, and U with UᵀU = M is kept up to date as variables come and go.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import inner_kernel, kernel
from distsvm.kernels.simplex_gap import EPS, block_slack, exact_gradient, gap_at, make_feasible

# A pivot below this part of its diagonal is rounding: the variable depends on the free ones.
DEPENDENT = 64 * EPS
# The largest rounding error of ∇, for each unit of |b| + |G|α.
NOISE = 4 * EPS
# Evaluations in a row without halving the gap, after which rounding is the cause.
PATIENCE = 10

OUT, REFERENCE, WAITING = -1, -2, -3  # states of variables without a place in the factor


@inner_kernel
def copy_into(out, values):
    """Set out[: len(values)] = values; numba's own code for it takes 1.5 s to compile."""
    for i in range(values.size):
        out[i] = values[i]


@inner_kernel
def _solve_lower(U, v):
    """v ← U⁻ᵀ v."""
    for k in range(v.size):
        row = U[k]
        x = v[k] / row[k]
        v[k] = x
        for j in range(k + 1, v.size):
            v[j] -= x * row[j]


@inner_kernel
def _solve_upper(U, v):
    """v ← U⁻¹ v."""
    for k in range(v.size - 1, -1, -1):
        row = U[k]
        # Four sums: additions to one sum would have to wait for one another.
        s0 = s1 = s2 = s3 = 0.0
        j = k + 1
        while j + 3 < v.size:
            s0 += row[j] * v[j]
            s1 += row[j + 1] * v[j + 1]
            s2 += row[j + 2] * v[j + 2]
            s3 += row[j + 3] * v[j + 3]
            j += 4
        while j < v.size:
            s0 += row[j] * v[j]
            j += 1
        v[k] = (v[k] - ((s0 + s1) + (s2 + s3))) / row[k]


@inner_kernel
def _delete(U, order, where, q):
    """Remove variable order[q] and its column from the factor; rotations restore U."""
    last = order.size - 1
    where[order[q]] = OUT
    for j in range(q, last):
        order[j] = order[j + 1]
        where[order[j]] = j
    for i in range(last + 1):
        row = U[i]
        for j in range(max(q, i - 1), last):
            row[j] = row[j + 1]
    for k in range(q, last):
        upper = U[k]
        lower = U[k + 1]
        length = np.hypot(upper[k], lower[k])
        c = upper[k] / length
        s = lower[k] / length
        for j in range(k, last):
            x = upper[j]
            y = lower[j]
            upper[j] = c * x + s * y
            lower[j] = c * y - s * x


@inner_kernel
def _difference(gram, i, j, r):
    """Return ⟨a_i, a_j − a_r⟩; the difference comes first, as it is exact for nearly equal cuts."""
    m = gram.shape[0]
    if i >= m:
        return 0.0
    return (gram[i, j] if j < m else 0.0) - (gram[i, r] if r < m else 0.0)


@inner_kernel
def _column(gram, owner, reference, order, p, out):
    """Set out_i = M_ip for the free variables i, and return M_pp."""
    r = reference[owner[p]]
    for i in range(order.size):
        v = order[i]
        out[i] = _difference(gram, v, p, r) - _difference(gram, reference[owner[v]], p, r)
    return _difference(gram, p, p, r) - _difference(gram, r, p, r)


@inner_kernel
def _append(U, column, pivot, order, where, p):
    """Put p at the end of the factor, `column` being U⁻ᵀ of its column of M."""
    place = column.size
    for i in range(place):
        U[i, place] = column[i]
    U[place, place] = np.sqrt(pivot)
    order[place] = p
    where[p] = place


@inner_kernel
def _residual(gradient, owner, reference, order, out):
    """Set `out` to the slope of D along each free variable and against its reference."""
    for i in range(order.size):
        out[i] = gradient[order[i]] - gradient[reference[owner[order[i]]]]


@inner_kernel
def _transfer(direction, amount, v, owner, reference):
    direction[v] += amount
    direction[reference[owner[v]]] -= amount


@inner_kernel
def _add_row(out, factor, row):
    for j in range(row.size):
        out[j] += factor * row[j]


@inner_kernel
def _move(gram, x, gradient, direction, longest):
    """Move along the direction, by at most `longest`, to the first bound; return its variable.

    Return −1 if no variable met its bound.
    """
    t = longest
    met = -1
    for v in range(x.size):
        if direction[v] < 0.0 and x[v] <= -t * direction[v]:
            t = x[v] / -direction[v]
            met = v
    for v in range(x.size):
        step = t * direction[v]
        if step != 0.0:
            x[v] = max(0.0, x[v] + step)
            if v < gram.shape[0]:
                _add_row(gradient, -step, gram[v])
    if met >= 0:
        x[met] = 0.0
    return met


@inner_kernel
def _rebuild(x, owner, reference, where, waiting, last):
    """Choose new references and empty the factor; all other variables > 0 wait, `last` at the end.

    Return the number of waiting variables.
    """
    for k in range(reference.size):
        reference[k] = -1
    for v in range(x.size - 1, -1, -1):
        where[v] = OUT
        if reference[owner[v]] < 0 or x[v] > x[reference[owner[v]]]:
            reference[owner[v]] = v
    for k in range(reference.size):
        where[reference[k]] = REFERENCE
    n_waiting = 0
    for i in range(-1, x.size):
        v = last if i < 0 else i  # `waiting` is a stack: the first one in is the last one out
        if v >= 0 and where[v] == OUT and (x[v] > 0.0 or v == last):
            where[v] = WAITING
            waiting[n_waiting] = v
            n_waiting += 1
    return n_waiting


@inner_kernel
def _settle(x, block, limit):
    """Add the rounding error of a block's sum to its slack, or else to its largest variable."""
    m = block.size
    largest = np.empty(limit.size, np.int64)
    for k in range(limit.size):
        largest[k] = m + k
    for j in range(m):
        if x[m + block[j]] == 0.0 and x[j] > x[largest[block[j]]]:
            largest[block[j]] = j
    rest = block_slack(x[:m], block, limit)
    for k in range(limit.size):
        if largest[k] >= m:
            x[m + k] = max(rest[k], 0.0)
        else:
            x[largest[k]] += rest[k]
    make_feasible(x[:m], block, limit)


@inner_kernel
def _rough_size(gram, b, alpha, size):
    """Set size ≥ |b| + |G|α by the Cauchy–Schwarz inequality, without a pass over G."""
    total = 0.0
    for j in range(b.size):
        size[j] = np.sqrt(max(gram[j, j], 0.0))
        total += size[j] * alpha[j]
    for j in range(b.size):
        size[j] = abs(b[j]) + size[j] * total


@inner_kernel
def _most_violated(gradient, size, owner, limit, reference, where):
    """Return the outside variable with the largest part of the gap; −1 if all are rounding."""
    chosen = -1
    most = 0.0
    for v in range(owner.size):
        if where[v] == OUT:
            k = owner[v]
            r = reference[k]
            violation = gradient[v] - gradient[r]
            if violation > NOISE * (size[v] + size[r]) and violation * limit[k] > most:
                most = violation * limit[k]
                chosen = v
    return chosen


@kernel
def maximise(gram, b, block, limit, start, tol):
    """Return a feasible α with gap ≤ tol, or the best in float64, and the number of steps.

    A step puts a waiting variable into the factor, or moves to the maximum over the free variables
    or to the first bound on the way, or lets in the most violated outside variable. D rises with
    each variable let in, so no set of free variables recurs (but for rounding).
    """
    m = b.size
    n = m + limit.size
    x = np.zeros(n)
    gradient = np.zeros(n)
    low = np.zeros(m)  # the low part of the gradient, once sums are exact
    owner = np.empty(n, np.int64)
    alpha = x[:m]
    copy_into(alpha, start)
    make_feasible(alpha, block, limit)
    copy_into(x[m:], block_slack(alpha, block, limit))
    for v in range(n):
        owner[v] = block[v] if v < m else v - m
    copy_into(gradient, b)
    for j in range(m):
        if alpha[j] > 0.0:
            _add_row(gradient, -alpha[j], gram[j])

    reference = np.empty(limit.size, np.int64)
    where = np.empty(n, np.int64)
    waiting = np.empty(n, np.int64)
    order = np.empty(n, np.int64)
    solution = np.empty(n)
    direction = np.zeros(n)
    U = np.empty((n, n))
    size = np.zeros(n)
    n_free = 0
    n_waiting = _rebuild(x, owner, reference, where, waiting, np.int64(-1))
    look = True
    exact = False
    best = np.inf
    best_alpha = alpha.copy()
    stalls = 0
    n_iter = 0

    while n_iter < 200 + 40 * n:
        n_iter += 1
        if look:
            if exact:
                _settle(x, block, limit)
                exact_gradient(gram, b, alpha, gradient, low, size)
            else:
                _rough_size(gram, b, alpha, size)
            gap = gap_at(alpha, block, limit, gradient, low)
            if not exact and gap <= tol:
                exact = True
                continue
            if exact:
                stalls = 0 if gap < 0.5 * best else stalls + 1
                if gap < best:
                    best = gap
                    copy_into(best_alpha, alpha)
                if best <= tol or stalls > PATIENCE:
                    break
                # Aim slightly below zero: if a limit does not bind, ξ is then 0, not rounding.
                for j in range(m):
                    if x[m + block[j]] > 0.0:
                        gradient[j] += NOISE * size[j]
            chosen = _most_violated(gradient, size, owner, limit, reference, where)
            if chosen >= 0:
                where[chosen] = WAITING
                waiting[n_waiting] = chosen
                n_waiting += 1
                r = reference[owner[chosen]]
                # Far above rounding the search cannot stall, and plain sums are enough.
                if gradient[chosen] - gradient[r] > 16 * NOISE * (size[chosen] + size[r]):
                    exact = False
                    stalls = 0
            elif n_iter > 1:  # the first step still has to improve the start itself
                exact = True
            look = False
            continue

        free = order[:n_free]
        found = solution[:n_free]
        if n_waiting > 0:
            p = waiting[n_waiting - 1]
            diagonal = _column(gram, owner, reference, free, p, found)
            _solve_lower(U, found)
            pivot = diagonal
            for i in range(n_free):
                pivot -= found[i] * found[i]
            if pivot > DEPENDENT * diagonal:
                _append(U, found, pivot, order, where, p)
                n_free += 1
                n_waiting -= 1
                continue
            # D is linear along the dependence: follow it uphill until some variable is 0.
            _solve_upper(U, found)
            slope = gradient[p] - gradient[reference[owner[p]]]
            for i in range(n_free):
                slope -= found[i] * (gradient[free[i]] - gradient[reference[owner[free[i]]]])
            sign = -1.0 if slope < 0.0 else 1.0
            _transfer(direction, sign, p, owner, reference)
            for i in range(n_free):
                _transfer(direction, -sign * found[i], free[i], owner, reference)
            longest = np.inf
        else:
            p = -1
            _residual(gradient, owner, reference, free, found)
            _solve_lower(U, found)
            _solve_upper(U, found)
            for i in range(n_free):
                _transfer(direction, found[i], free[i], owner, reference)
            longest = 1.0

        met = _move(gram, x, gradient, direction, longest)
        for v in range(n):
            direction[v] = 0.0
        if met < 0:
            look = True
        elif met == p:
            where[p] = OUT
            n_waiting -= 1
        elif where[met] == REFERENCE:
            n_waiting = _rebuild(x, owner, reference, where, waiting, p)
            n_free = 0
        else:
            _delete(U, free, where, where[met])
            n_free -= 1

    if best == np.inf:
        make_feasible(alpha, block, limit)
        copy_into(best_alpha, alpha)
    return best_alpha, n_iter
