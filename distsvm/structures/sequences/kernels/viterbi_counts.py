"""The best path for every number of wrong labels; chains and states as in kernels/viterbi.py.

From it follows the most violated path of any loss that is a function of that number, which need
not split over tokens: slack rescaling of the Hamming loss, for one. A sequence of T tokens takes
T/2 times the work of the plain search, and 8·S·T·(T + 3)/2 bytes, S the number of states.

A wrong label at token t counts units[t] times, a whole number from 1 on: "wrong labels" below is
the sum of these units. Work and memory grow with their mean.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import inner_kernel, kernel
from distsvm.structures.sequences.kernels.viterbi import (
    best_before,
    best_last,
    longest,
    prices_of,
    relax,
    room_for,
)


@inner_kernel
def find_layers(units, layer):
    """layer[t] = where the rows of token t begin: a row for each count up to Σ units[: t + 1]."""
    most = 0
    layer[0] = 0
    for t in range(units.size):
        most += units[t]
        layer[t + 1] = layer[t] + most + 1


@inner_kernel
def rooms(units, starts):
    """Room for the layers, and for the scores' rows, of any of these sequences."""
    n_rows, layer = 0, np.zeros(longest(starts) + 1, np.int64)
    for m in range(starts.size - 1):
        find_layers(units[starts[m] : starts[m + 1]], layer)
        n_rows = max(n_rows, layer[starts[m + 1] - starts[m]])
    return layer, n_rows


@inner_kernel
def fill_counts(emissions, truth, units, table, opening, start, steps, layer, scores):
    """scores[layer[t] + h, s] = the best way to state s of token t with h wrong labels."""
    n_blocks, n_labels = table.shape[0], table.shape[1]
    before, reached = np.empty(n_labels), np.empty(n_labels)
    room = room_for(table, steps)
    find_layers(units, layer)
    unit, y = units[0], truth[0]
    scores[: unit + 1] = -np.inf
    for c in range(n_labels):
        scores[unit, c] = start[c] + emissions[0, c]
    scores[0, y], scores[unit, y] = scores[unit, y], -np.inf
    for t in range(1, truth.size):
        unit, y = units[t], truth[t]
        earlier, here = layer[t - 1], layer[t]
        n_earlier = here - earlier
        scores[here : here + unit] = -np.inf
        for b in range(n_blocks):
            prices = prices_of(table, opening, steps, t, b, room)
            for h in range(n_earlier):
                for i in range(n_labels):
                    before[i] = scores[earlier + h, i * n_blocks + b]
                relax(before, prices, reached)
                for c in range(n_labels):
                    scores[here + h + unit, b * n_labels + c] = reached[c] + emissions[t, c]
                # More wrong labels than before, but for the true one: it was put too high,
                # and a later h, or the loop after this one, writes over that.
                scores[here + h, b * n_labels + y] = reached[y] + emissions[t, y]
            for h in range(n_earlier, n_earlier + unit):
                scores[here + h, b * n_labels + y] = -np.inf


@inner_kernel
def trace_counts(
    scores, truth, units, table, opening, steps, layer, h, state, output
):  # fmt: skip
    """The path that ends in `state` with h wrong labels."""
    n_blocks, n_labels = table.shape[0], table.shape[1]
    for t in range(truth.size - 1, -1, -1):
        b, c = state // n_labels, state % n_labels
        output[t] = c
        if t:
            if c != truth[t]:
                h -= units[t]
            earlier = scores[layer[t - 1] + h]
            state = best_before(earlier, table, opening, steps, t, b, c) * n_blocks + b


@kernel
def best_paths_by_count(
    emissions, starts, truth, table, opening, start, end, steps, output, score
):  # fmt: skip
    """The best path of each sequence with exactly h wrong labels, h = 0 … T, of one unit each.

    Sequence m of length T has T + 1 scores from place starts[m] + m of `score` on (−inf where no
    path has that number), and its paths from the sum of T·(T + 1) of the sequences before it on.
    """
    n_states = table.shape[0] * table.shape[1]
    units = np.ones(truth.size, np.int64)
    layer, n_rows = rooms(units, starts)
    scores = np.empty((n_rows, n_states))
    place = 0
    for m in range(starts.size - 1):
        first, stop = starts[m], starts[m + 1]
        length = stop - first
        if length == 0:
            score[first + m] = 0.0
            continue
        y, own_units, own_steps = truth[first:stop], units[first:stop], steps[first:stop]
        fill_counts(
            emissions[first:stop], y, own_units, table, opening, start, own_steps, layer, scores
        )
        for h in range(length + 1):
            state, highest = best_last(scores[layer[length - 1] + h], end)
            score[first + m + h] = highest
            path = output[place : place + length]
            path[:] = 0
            if highest > -np.inf:
                trace_counts(scores, y, own_units, table, opening, own_steps, layer, h, state, path)
            place += length


@kernel
def most_violated_by_count(
    emissions, starts, truth, units, losses, slack, table, opening, start, end, steps, output
):  # fmt: skip
    """The most violated path of each sequence, Δ = losses[sum of the wrong labels' units].

    It maximises Δ + d or, for slack rescaling, Δ·(1 + d), with d = ⟨w, Ψ(x, ŷ) − Ψ(x, y)⟩. Of
    equals the one with fewer wrong labels is taken; the truth has value 0, so no other below.
    """
    n_states = table.shape[0] * table.shape[1]
    layer, n_rows = rooms(units, starts)
    scores = np.empty((n_rows, n_states))
    for m in range(starts.size - 1):
        first, stop = starts[m], starts[m + 1]
        length = stop - first
        if length == 0:
            continue
        y, own_units, own_steps = truth[first:stop], units[first:stop], steps[first:stop]
        fill_counts(
            emissions[first:stop], y, own_units, table, opening, start, own_steps, layer, scores
        )
        last = layer[length - 1]
        state, own = best_last(scores[last], end)
        count, highest = 0, 0.0
        for h in range(1, layer[length] - last):
            s, v = best_last(scores[last + h], end)
            if v == -np.inf:
                continue
            value = losses[h] * (1.0 + (v - own)) if slack else losses[h] + (v - own)
            if value > highest:
                state, count, highest = s, h, value
        trace_counts(
            scores, y, own_units, table, opening, own_steps, layer, count, state,
            output[first:stop],
        )  # fmt: skip
