"""The best path for every number of wrong labels; chains and states as in kernels/viterbi.py.

From it follows the most violated path of any loss that is a function of that number, which need
not split over tokens: slack rescaling of the Hamming loss, for one. A sequence of T tokens takes
T/2 times the work of the plain search, and 8·S·T·(T + 3)/2 bytes, S the number of states.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import inner_kernel, kernel
from distsvm.structures.sequences.kernels.viterbi import best_before, best_last, longest, relax


@inner_kernel
def layer(t):
    """Where the rows of token t begin: token t has rows for 0 … t + 1 wrong labels."""
    return t * (t + 3) // 2


@inner_kernel
def fill_counts(emissions, truth, table, opening, start, scores):
    """scores[layer(t) + h, s] = the best way to state s of token t with h wrong labels."""
    n_blocks, n_labels = table.shape[0], table.shape[1]
    before, reached = np.empty(n_labels), np.empty(n_labels)
    scores[:2] = -np.inf
    for c in range(n_labels):
        scores[1, c] = start[c] + emissions[0, c]
    y = truth[0]
    scores[0, y], scores[1, y] = scores[1, y], -np.inf
    for t in range(1, truth.size):
        y = truth[t]
        prices = opening if t == 1 else table
        earlier, here = layer(t - 1), layer(t)
        scores[here] = -np.inf
        for b in range(n_blocks):
            for h in range(t + 1):
                for i in range(n_labels):
                    before[i] = scores[earlier + h, i * n_blocks + b]
                relax(before, prices[b], reached)
                for c in range(n_labels):
                    scores[here + h + 1, b * n_labels + c] = reached[c] + emissions[t, c]
                # One more wrong label than before, but for the true one: it was put too high,
                # and the next h, or the line after the loop, writes over that.
                scores[here + h, b * n_labels + y] = reached[y] + emissions[t, y]
            scores[here + t + 1, b * n_labels + y] = -np.inf


@inner_kernel
def trace_counts(scores, truth, table, opening, h, state, output):
    """The path that ends in `state` with h wrong labels."""
    n_blocks, n_labels = table.shape[0], table.shape[1]
    for t in range(truth.size - 1, -1, -1):
        b, c = state // n_labels, state % n_labels
        output[t] = c
        if t:
            if c != truth[t]:
                h -= 1
            prices = opening if t == 1 else table
            earlier = scores[layer(t - 1) + h]
            state = best_before(earlier, prices[b], n_blocks, b, c) * n_blocks + b


@kernel
def best_paths_by_count(emissions, starts, truth, table, opening, start, end, output, score):
    """The best path of each sequence with exactly h wrong labels, h = 0 … T.

    Sequence m of length T has T + 1 scores from place starts[m] + m of `score` on (−inf where no
    path has that number), and its paths from the sum of T·(T + 1) of the sequences before it on.
    """
    n_states = table.shape[0] * table.shape[1]
    scores = np.empty((layer(longest(starts)), n_states))
    place = 0
    for m in range(starts.size - 1):
        first, stop = starts[m], starts[m + 1]
        length = stop - first
        if length == 0:
            score[first + m] = 0.0
            continue
        y = truth[first:stop]
        fill_counts(emissions[first:stop], y, table, opening, start, scores)
        for h in range(length + 1):
            state, highest = best_last(scores[layer(length - 1) + h], end)
            score[first + m + h] = highest
            path = output[place : place + length]
            path[:] = 0
            if highest > -np.inf:
                trace_counts(scores, y, table, opening, h, state, path)
            place += length


@kernel
def most_violated_by_count(
    emissions, starts, truth, losses, slack, table, opening, start, end, output
):
    """The most violated path of each sequence, Δ = losses[number of wrong labels].

    It maximises Δ + d or, for slack rescaling, Δ·(1 + d), with d = ⟨w, Ψ(x, ŷ) − Ψ(x, y)⟩. Of
    equals the one with fewer wrong labels is taken; the truth has value 0, so no other below.
    """
    n_states = table.shape[0] * table.shape[1]
    scores = np.empty((layer(longest(starts)), n_states))
    for m in range(starts.size - 1):
        first, stop = starts[m], starts[m + 1]
        length = stop - first
        if length == 0:
            continue
        y = truth[first:stop]
        fill_counts(emissions[first:stop], y, table, opening, start, scores)
        last = layer(length - 1)
        state, own = best_last(scores[last], end)
        count, highest = 0, 0.0
        for h in range(1, length + 1):
            s, v = best_last(scores[last + h], end)
            if v == -np.inf:
                continue
            value = losses[h] * (1.0 + (v - own)) if slack else losses[h] + (v - own)
            if value > highest:
                state, count, highest = s, h, value
        trace_counts(scores, y, table, opening, count, state, output[first:stop])
