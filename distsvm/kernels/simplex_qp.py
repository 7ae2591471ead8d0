"""An active-set method for a concave quadratic on a product of simplices.

The problem is `distsvm.qp.base.QPProblem`. Here the slack of block k is one more variable, m + k,
with a zero cut, so that every block is a simplex Σx = limit_k. One variable of each block is its
*reference*, the largest when it was chosen; the *free* variables move against it. So

    M_ij = ⟨a_i − a_r(i), a_j − a_r(j)⟩    (i, j free; r their blocks' references)

is positive definite, and U with UᵀU = M is kept up to date as variables come and go.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel
from distsvm.kernels.simplex_gap import EPS, block_slack, exact_gradient, gap_at, make_feasible

# A pivot below this part of its diagonal is rounding: the variable depends on the free ones.
DEPENDENT = 64 * EPS
# Evaluations in a row that may pass without halving the gap before it counts as rounding's floor.
PATIENCE = 10

OUT, REFERENCE, WAITING = -1, -2, -3  # where a variable is; else its place in the factor


@kernel
def _solve_lower(U, n_free, v):
    """v ← U⁻ᵀ v."""
    for k in range(n_free):
        row = U[k]
        x = v[k] / row[k]
        v[k] = x
        for j in range(k + 1, n_free):
            v[j] -= x * row[j]


@kernel
def _solve_upper(U, n_free, v):
    """v ← U⁻¹ v."""
    for k in range(n_free - 1, -1, -1):
        row = U[k]
        # four sums: one alone would wait for each addition to end before the next can start
        s0 = s1 = s2 = s3 = 0.0
        j = k + 1
        while j + 3 < n_free:
            s0 += row[j] * v[j]
            s1 += row[j + 1] * v[j + 1]
            s2 += row[j + 2] * v[j + 2]
            s3 += row[j + 3] * v[j + 3]
            j += 4
        while j < n_free:
            s0 += row[j] * v[j]
            j += 1
        v[k] = (v[k] - ((s0 + s1) + (s2 + s3))) / row[k]


@kernel
def _delete(U, n_free, q):
    """Take the q-th variable out: its column goes, rotations make U triangular again."""
    for i in range(n_free):
        row = U[i]
        for j in range(max(q, i - 1), n_free - 1):
            row[j] = row[j + 1]
    for k in range(q, n_free - 1):
        upper = U[k]
        lower = U[k + 1]
        length = np.hypot(upper[k], lower[k])
        c = upper[k] / length
        s = lower[k] / length
        for j in range(k, n_free - 1):
            x = upper[j]
            y = lower[j]
            upper[j] = c * x + s * y
            lower[j] = c * y - s * x


@kernel
def _difference(gram, i, j, r):
    """⟨a_i, a_j − a_r⟩; taken first, because it is exact where two cuts are nearly the same."""
    m = gram.shape[0]
    if i >= m:
        return 0.0
    return (gram[i, j] if j < m else 0.0) - (gram[i, r] if r < m else 0.0)


@kernel
def _column(gram, owner, reference, order, n_free, p, out):
    """out_i = M_ip for the free variables i; returns M_pp."""
    r = reference[owner[p]]
    for i in range(n_free):
        v = order[i]
        out[i] = _difference(gram, v, p, r) - _difference(gram, reference[owner[v]], p, r)
    return _difference(gram, p, p, r) - _difference(gram, r, p, r)


@kernel
def _move(gram, x, gradient, direction, longest):
    """Go along the direction, by at most `longest`, to the first bound; the variable met, or −1."""
    m = gram.shape[0]
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
            if v < m:
                _add(gradient, -step, gram[v])
    if met >= 0:
        x[met] = 0.0
    return met


@kernel
def _add(out, factor, row):
    """out += factor·row, over the length of the row."""
    for j in range(row.size):
        out[j] += factor * row[j]


@kernel
def _rebuild(x, owner, reference, where, waiting, last):
    """Choose references anew and let all others > 0 wait for an empty factor; `last` comes last."""
    reference[:] = -1
    for v in range(x.size - 1, -1, -1):
        where[v] = OUT
        if reference[owner[v]] < 0 or x[v] > x[reference[owner[v]]]:
            reference[owner[v]] = v
    for v in reference:
        where[v] = REFERENCE
    n_waiting = 0
    if last >= 0 and where[last] == OUT:
        n_waiting = _push(last, where, waiting, n_waiting)
    for v in range(x.size):
        if x[v] > 0.0 and where[v] == OUT:
            n_waiting = _push(v, where, waiting, n_waiting)
    return n_waiting


@kernel
def _push(v, where, waiting, n_waiting):
    where[v] = WAITING
    waiting[n_waiting] = v
    return n_waiting + 1


@kernel
def _settle(x, block, limit, reference):
    """What rounding took from or gave to a block's sum goes to its slack, or to its reference."""
    m = block.size
    rest = block_slack(x[:m], block, limit)
    for k in range(limit.size):
        if x[m + k] > 0.0:
            x[m + k] = max(rest[k], 0.0)
        elif reference[k] < m:
            x[reference[k]] += rest[k]
    make_feasible(x[:m], block, limit)


@kernel
def _rough_size(gram, b, alpha, size):
    """size ≥ |b| + |G|α by Cauchy and Schwarz, without a pass over G."""
    total = 0.0
    for j in range(b.size):
        size[j] = np.sqrt(max(gram[j, j], 0.0))
        total += size[j] * alpha[j]
    for j in range(b.size):
        size[j] = abs(b[j]) + size[j] * total


@kernel
def _most_violated(gradient, owner, limit, reference, where, noise):
    """The variable outside that weighs most in the gap, or −1 if all violations are noise."""
    chosen = -1
    most = 0.0
    for v in range(owner.size):
        if where[v] == OUT:
            k = owner[v]
            violation = gradient[v] - gradient[reference[k]]
            if violation > noise[k] and violation * limit[k] > most:
                most = violation * limit[k]
                chosen = v
    return chosen


@kernel
def maximise(gram, b, block, limit, start, tol):
    """A feasible α with gap ≤ tol, or the best that float64 can hold, and the steps it took.

    A step puts a waiting variable into the factor, or goes to the maximum over the free variables
    or to the first bound on the way, or lets in the variable outside that is violated most. D rises
    with each variable let in, so no set of free variables comes twice (but for rounding).
    """
    m = b.size
    n = m + limit.size
    owner = np.empty(n, np.int64)
    owner[:m] = block
    owner[m:] = np.arange(limit.size)
    x = np.zeros(n)
    alpha = x[:m]
    alpha[:] = start
    make_feasible(alpha, block, limit)
    x[m:] = block_slack(alpha, block, limit)
    gradient = np.zeros(n)
    low = np.zeros(m)  # ∇ = gradient + low once sums are exact
    gradient[:m] = b
    for j in range(m):
        if alpha[j] > 0.0:
            _add(gradient, -alpha[j], gram[j])

    reference = np.empty(limit.size, np.int64)
    where = np.empty(n, np.int64)
    waiting = np.empty(n, np.int64)
    order = np.empty(n, np.int64)
    U = np.empty((n, n))
    solution = np.empty(n)
    direction = np.empty(n)
    size = np.empty(m)
    noise = np.empty(limit.size)
    n_free = 0
    n_waiting = _rebuild(x, owner, reference, where, waiting, -1)
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
                _settle(x, block, limit, reference)
                exact_gradient(gram, b, alpha, gradient, low, size)
            else:
                _rough_size(gram, b, alpha, size)
            gap = gap_at(alpha, block, limit, gradient, low)
            if not exact and gap <= tol:
                exact = True
                continue
            noise[:] = 0.0
            for j in range(m):
                noise[block[j]] = max(noise[block[j]], 4 * EPS * size[j])
            if exact:
                stalls = 0 if gap < 0.5 * best else stalls + 1
                if gap < best:
                    best = gap
                    best_alpha[:] = alpha
                if best <= tol or stalls > PATIENCE:
                    break
                # Aim a hair below zero: where a limit does not bind, ξ is then 0, not rounding.
                gradient[m:] = -noise
            chosen = _most_violated(gradient, owner, limit, reference, where, noise)
            if chosen >= 0:
                n_waiting = _push(chosen, where, waiting, n_waiting)
                k = owner[chosen]
                if gradient[chosen] - gradient[reference[k]] > 16 * noise[k]:
                    exact = False
                    stalls = 0
            elif n_iter > 1:
                exact = True
            look = False
            continue

        p = -1
        longest = 1.0
        if n_waiting > 0:
            p = waiting[n_waiting - 1]
            diagonal = _column(gram, owner, reference, order, n_free, p, solution)
            _solve_lower(U, n_free, solution)
            pivot = diagonal
            for i in range(n_free):
                pivot -= solution[i] * solution[i]
            if pivot > DEPENDENT * diagonal:
                U[:n_free, n_free] = solution[:n_free]
                U[n_free, n_free] = np.sqrt(pivot)
                order[n_free] = p
                where[p] = n_free
                n_free += 1
                n_waiting -= 1
                continue
            # D is linear along the dependence: follow it uphill until some variable is 0.
            solution[:n_free] *= -1
            longest = np.inf
        else:
            for i in range(n_free):
                v = order[i]
                solution[i] = gradient[v] - gradient[reference[owner[v]]]
            _solve_lower(U, n_free, solution)
        _solve_upper(U, n_free, solution)

        direction[:] = 0.0
        for i in range(n_free):
            direction[order[i]] += solution[i]
            direction[reference[owner[order[i]]]] -= solution[i]
        if p >= 0:
            direction[p] += 1.0
            direction[reference[owner[p]]] -= 1.0
            if np.sum(direction * gradient) < 0.0:
                direction *= -1
        met = _move(gram, x, gradient, direction, longest)
        if met < 0:
            look = True
            continue
        if met == p:
            where[p] = OUT
            n_waiting -= 1
        elif where[met] == REFERENCE:
            n_waiting = _rebuild(x, owner, reference, where, waiting, p)
            n_free = 0
        else:
            q = where[met]
            where[met] = OUT
            _delete(U, n_free, q)
            n_free -= 1
            for i in range(q, n_free):
                order[i] = order[i + 1]
                where[order[i]] = i
    if best == np.inf:
        make_feasible(alpha, block, limit)
        best_alpha[:] = alpha
    return best_alpha, n_iter
