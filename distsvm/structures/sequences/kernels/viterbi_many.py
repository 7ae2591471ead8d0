"""The k best distinct paths of many sequences; chains and states as in kernels/viterbi.py.

The plain search comes first. Paths to a state are then ranked only where they are asked for: the
next path to a state goes either through the next path to the state that its last one came from, or
through another state (the recursive enumeration of Jiménez and Marzal). So a further path costs
T·L, not T·L², and the two best paths hardly more than the best.

Paths to a state are ranked by score, then by the lowest earlier label, then by their rank there:
ranks name different paths, and equal scores come in one order always.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import inner_kernel, kernel
from distsvm.structures.sequences.kernels.viterbi import (
    best_before,
    fill_scores,
    longest,
    price_of,
)


@inner_kernel
def rank_first(t, s, scores, ranked, came_from, n_ranked, table, opening, steps):
    """Make the best path to state s of token t known, if it is not."""
    if n_ranked[t, s] == 0:
        n_labels = table.shape[1]
        ranked[t, s, 0], n_ranked[t, s] = scores[t, s], 1
        if t:
            b, c = s // n_labels, s % n_labels
            came_from[t, s, 0] = best_before(scores[t - 1], table, opening, steps, t, b, c)


@inner_kernel
def times_used(came_from, i):
    """How many of these paths came from label i: the rank of the next one from there."""
    n = 0
    for q in range(came_from.size):
        n += came_from[q] == i
    return n


@inner_kernel
def rank_next(
    t, scores, ranked, n_ranked, came_from, own, table, opening, steps, b, c, counts
):  # fmt: skip
    """The score of one more path to the state b·L + c of token t, and the label i before it.

    `scores`, `ranked` and `n_ranked` are those of the token before, `came_from` the labels of the
    paths known so far, `own` the score of c, `counts` room for L numbers. −inf if there is no more.
    """
    n_blocks = table.shape[0]
    counts[:] = 0
    for q in range(came_from.size):
        counts[came_from[q]] += 1
    best, highest = 0, -np.inf
    for i in range(counts.size):
        state = i * n_blocks + b
        if counts[i] == 0:
            v = scores[state] + price_of(table, opening, steps, t, b, i, c)
        elif counts[i] < n_ranked[state]:
            v = ranked[state, counts[i]] + price_of(table, opening, steps, t, b, i, c)
        else:
            continue
        if v > highest:
            best, highest = i, v
    return highest + own, best


@inner_kernel
def extend(
    t, state, scores, ranked, came_from, n_ranked, emissions, table, opening, steps, back, counts
):  # fmt: skip
    """Rank one more path to `state` of token t than the best or than are known.

    `back` and `counts` are room for the states on the way back and for the labels.
    """
    n_blocks, n_labels = table.shape[0], table.shape[1]
    # The next path may go where the last one came from: its next path must be known before.
    u = t
    back[u] = state
    while True:
        s = back[u]
        rank_first(u, s, scores, ranked, came_from, n_ranked, table, opening, steps)
        n = n_ranked[u, s]
        if u == 0 or ranked[u, s, n - 1] == -np.inf:
            break
        i = came_from[u, s, n - 1]
        before = i * n_blocks + s // n_labels
        if n_ranked[u - 1, before] > times_used(came_from[u, s, :n], i):
            break
        u -= 1
        back[u] = before
    for v in range(u, t + 1):
        s = back[v]
        n = n_ranked[v, s]
        n_ranked[v, s] = n + 1
        if v == 0:
            ranked[v, s, n] = -np.inf  # a single path leads to a first label
        else:
            b, c = s // n_labels, s % n_labels
            ranked[v, s, n], came_from[v, s, n] = rank_next(
                v, scores[v - 1], ranked[v - 1], n_ranked[v - 1], came_from[v, s, :n],
                emissions[v, c], table, opening, steps, b, c, counts,
            )  # fmt: skip


@kernel
def many_best_paths(
    emissions, starts, table, opening, start, end, steps, n_best, output, score
):  # fmt: skip
    """The n_best best paths of each sequence, best first.

    Parameters
    ----------
    emissions, starts, table, opening, start, end, steps : as in best_paths
    n_best : int, at least 1
    output : int16 array of shape (n_best · n_tokens,), filled
        Path r of sequence m, of length T, begins at n_best·starts[m] + r·T.
    score : array of shape (m, n_best), filled
        −inf where a sequence has fewer paths; their outputs are 0s.
    """
    n_blocks, n_labels = table.shape[0], table.shape[1]
    n_states, most = n_blocks * n_labels, longest(starts)
    no_truth, no_costs = np.zeros(most, np.int16), np.zeros(most)
    scores = np.empty((most, n_states))
    # Of these only what is asked for is ever touched.
    ranked = np.empty((most, n_states, n_best))
    came_from = np.empty((most, n_states, n_best), np.int16)
    n_ranked, n_ended = np.empty((most, n_states), np.int32), np.empty(n_states, np.int64)
    back, counts = np.empty(most, np.int64), np.empty(n_labels, np.int64)
    output[:] = 0
    for m in range(starts.size - 1):
        first, length = starts[m], starts[m + 1] - starts[m]
        score[m] = -np.inf
        if length == 0:
            score[m, 0] = 0.0
            continue
        own, last = emissions[first : first + length], length - 1
        own_steps = steps[first : first + length]
        fill_scores(
            own, no_truth[:length], no_costs, table, opening, start, own_steps, scores
        )  # fmt: skip
        n_ranked[:length] = 0
        n_ended[:] = 0
        for r in range(n_best):
            state, highest = 0, -np.inf
            for s in range(n_states):
                n = n_ended[s]
                v = scores[last, s] if n == 0 else ranked[last, s, n]
                v += end[s % n_labels]
                if v > highest:
                    state, highest = s, v
            score[m, r] = highest
            if highest == -np.inf:
                break
            rank = n_ended[state]
            n_ended[state] += 1
            if r + 1 < n_best:
                extend(
                    last, state, scores, ranked, came_from, n_ranked, own, table, opening,
                    own_steps, back, counts,
                )  # fmt: skip
            place = n_best * first + r * length
            for t in range(last, -1, -1):
                output[place + t] = state % n_labels
                if t:
                    rank_first(
                        t, state, scores, ranked, came_from, n_ranked, table, opening, own_steps
                    )
                    i = came_from[t, state, rank]
                    rank = times_used(came_from[t, state, :rank], i)
                    state = i * n_blocks + state // n_labels
