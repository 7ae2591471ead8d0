"""Best label paths of many sequences, first and second order: one program for both.

A *state* at token t says all that the next step must know: the last label (first order), or the
last two (second order). With L labels there are B·L states, B = 1 or L, and state s = b·L + c has
last label c. From state i·B + b a label c leads to state b·L + c, at the price table[b, i, c]:

    first order    B = 1    table[0, i, c]    label c after label i
    second order   B = L    table[b, i, c]    label c after the labels i, b

At the first token the state is the label alone (b = 0); the step to the second token takes its
prices from `opening`, of the same shape: opening[b, 0, c] is label c after the first label b in
second order, and for first order `opening` is `table` once more.

A chain is (table, opening, start, end, steps), all float64; −inf is impossible. `steps` has no
rows, or one a token: steps[t, a, c] is what the inputs at token t add to the price of the step from
label a there to label c. Sequence m of a call has the tokens starts[m] … starts[m + 1] − 1, with
scores emissions[t, c]. Of equally good last states,
and then of equally good earlier labels, going back from the end, the lowest is taken.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import inner_kernel, kernel


@inner_kernel
def larger(a, b):
    """max(a, b), in the form that becomes one instruction."""
    return a if a > b else b


@kernel
def relax(before, prices, out):
    """out[c] = max_i before[i] + prices[i, c].

    The labels to come are the inner loop, side by side in memory, and eight earlier labels are
    taken at a time, since the time goes into reading and writing `out`. Which label was the best
    is not kept: a path asks that once a token, and this loop L² times.
    """
    n, width = before.size, out.size
    for c in range(width):
        out[c] = -np.inf
    i = 0
    while i + 8 <= n:
        s0, s1, s2, s3 = before[i], before[i + 1], before[i + 2], before[i + 3]
        s4, s5, s6, s7 = before[i + 4], before[i + 5], before[i + 6], before[i + 7]
        p0, p1, p2, p3 = prices[i], prices[i + 1], prices[i + 2], prices[i + 3]
        p4, p5, p6, p7 = prices[i + 4], prices[i + 5], prices[i + 6], prices[i + 7]
        for c in range(width):
            low = larger(larger(s0 + p0[c], s1 + p1[c]), larger(s2 + p2[c], s3 + p3[c]))
            high = larger(larger(s4 + p4[c], s5 + p5[c]), larger(s6 + p6[c], s7 + p7[c]))
            out[c] = larger(out[c], larger(low, high))
        i += 8
    while i + 4 <= n:
        s0, s1, s2, s3 = before[i], before[i + 1], before[i + 2], before[i + 3]
        p0, p1, p2, p3 = prices[i], prices[i + 1], prices[i + 2], prices[i + 3]
        for c in range(width):
            low = larger(larger(s0 + p0[c], s1 + p1[c]), larger(s2 + p2[c], s3 + p3[c]))
            out[c] = larger(out[c], low)
        i += 4
    while i < n:
        s0, p0 = before[i], prices[i]
        for c in range(width):
            out[c] = larger(out[c], s0 + p0[c])
        i += 1


@inner_kernel
def price_of(table, opening, steps, t, b, i, c):
    """The price of label c at token t ≥ 1 after the labels i, b, in first order after label i."""
    price = opening[b, i, c] if t == 1 else table[b, i, c]
    if steps.shape[0]:
        price += steps[t - 1, i if table.shape[0] == 1 else b, c]
    return price


@inner_kernel
def prices_of(table, opening, steps, t, b, room):
    """All prices of price_of at token t for this b, in `room` where they are the token's own."""
    prices = opening[b] if t == 1 else table[b]
    if steps.shape[0] == 0:
        return prices
    for i in range(room.shape[0]):
        for c in range(room.shape[1]):
            room[i, c] = prices[i, c] + steps[t - 1, i if table.shape[0] == 1 else b, c]
    return room


@inner_kernel
def room_for(table, steps):
    """Room for prices_of."""
    n_labels = table.shape[1] if steps.shape[0] else 0
    return np.empty((n_labels, n_labels))


@inner_kernel
def best_before(scores, table, opening, steps, t, b, c):
    """The lowest i of the best states i·B + b of token t − 1 to come from, when label c is next."""
    n_blocks = table.shape[0]
    best, highest = 0, -np.inf
    for i in range(table.shape[1]):
        v = scores[i * n_blocks + b] + price_of(table, opening, steps, t, b, i, c)
        if v > highest:
            best, highest = i, v
    return best


@inner_kernel
def longest(starts):
    """The number of tokens of the longest sequence."""
    most = 0
    for m in range(starts.size - 1):
        most = max(most, starts[m + 1] - starts[m])
    return most


@inner_kernel
def fill_scores(emissions, truth, costs, table, opening, start, steps, scores):
    """scores[t, s] = the best way to state s of token t, with costs[t] for an untrue label."""
    n_blocks, n_labels = table.shape[0], table.shape[1]
    before, reached, own = np.empty(n_labels), np.empty(n_labels), np.empty(n_labels)
    room = room_for(table, steps)
    for s in range(n_labels, n_blocks * n_labels):
        scores[0, s] = -np.inf
    for t in range(truth.size):
        y, cost = truth[t], costs[t]
        for c in range(n_labels):
            own[c] = emissions[t, c] + cost
        own[y] = emissions[t, y]
        if t == 0:
            for c in range(n_labels):
                scores[0, c] = start[c] + own[c]
            continue
        for b in range(n_blocks):
            for i in range(n_labels):
                before[i] = scores[t - 1, i * n_blocks + b]
            relax(before, prices_of(table, opening, steps, t, b, room), reached)
            for c in range(n_labels):
                scores[t, b * n_labels + c] = reached[c] + own[c]


@inner_kernel
def best_last(row, end):
    """The lowest of the best states to end in, and its score with the end."""
    state, highest = 0, -np.inf
    for s in range(row.size):
        v = row[s] + end[s % end.size]
        if v > highest:
            state, highest = s, v
    return state, highest


@kernel
def best_paths(
    emissions, starts, truth, costs, table, opening, start, end, steps, output, score
):  # fmt: skip
    """The best path of each sequence, where every label but the true one brings its cost more.

    max_ŷ ⟨w, Ψ(x, ŷ)⟩ + Σ_t costs_t·[ŷ_t ≠ y_t]: the most violated path under margin
    rescaling and Hamming loss, or with costs 0 the prediction (`truth` is then of no effect).

    Parameters
    ----------
    emissions : array of shape (n_tokens, L)
    starts : int64 array of shape (m + 1,)
    truth : int16 array of shape (n_tokens,)
    costs : array of shape (n_tokens,)
    table, opening, start, end, steps : the chain
    output : int16 array of shape (n_tokens,), filled
    score : array of shape (m,), filled
        The maximum, costs included; −inf where no path is possible, and then its output is 0s.
    """
    n_blocks, n_labels = table.shape[0], table.shape[1]
    scores = np.empty((longest(starts), n_blocks * n_labels))
    for m in range(starts.size - 1):
        first, stop = starts[m], starts[m + 1]
        if first == stop:
            score[m] = 0.0
            continue
        own_steps = steps[first:stop]
        fill_scores(
            emissions[first:stop], truth[first:stop], costs[first:stop], table, opening, start,
            own_steps, scores,
        )  # fmt: skip
        state, score[m] = best_last(scores[stop - first - 1], end)
        if score[m] == -np.inf:
            output[first:stop] = 0
            continue
        for t in range(stop - first - 1, -1, -1):
            b, c = state // n_labels, state % n_labels
            output[first + t] = c
            if t:
                before = best_before(scores[t - 1], table, opening, own_steps, t, b, c)
                state = before * n_blocks + b
