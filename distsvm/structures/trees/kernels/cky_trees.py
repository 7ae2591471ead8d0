"""Trees from a full chart: the best one, and the second best one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.kernels.options import inner_kernel
from distsvm.structures.trees.kernels.cky_chart import bottom_at, bottoms_of, find_step
from distsvm.structures.trees.kernels.cky_rows import LEAF, PREFIX, cell_of, find_spans
from distsvm.structures.trees.kernels.span_features import weights_at


class Change(NamedTuple):
    """One span of a tree, by its place in the row, with another chain or step than the best."""

    span: int | np.int64
    chain: int | np.int64
    step: int | np.int64  # −1: the chart's best for the bottom of the chain
    split: int | np.int64


@inner_kernel
def no_change():
    return Change(-1, -1, -1, -1)


@inner_kernel
def extract(
    tables, weights, spans, sentence, room, chart, items, n_words, matched, labels, costs,
    stratified, change, row,
):  # fmt: skip
    """Write the best tree with `matched` matched spans as a row, after this change of a span."""
    n_chains = tables.chain_top.size
    n_symbols = tables.n_tags + tables.n_phrases
    stack = np.empty((n_words + 1, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, n_words, tables.start, matched
    depth = 1
    span = 0
    while depth:
        depth -= 1
        i, j, symbol, m = stack[depth]
        cell = cell_of(i, j)
        slot = chart.first[cell] + m
        label = labels[cell]
        counts = stratified and label >= 0 and j - i > 1
        chain = PREFIX
        result = symbol
        score = 0.0
        if symbol < n_symbols:
            chain = chart.chain[slot, symbol] if span != change.span else change.chain
            result = tables.chain_bottom[chain]
            m -= counts and chain == label
            if j - i > 1:
                score = chart.bottom[chart.first[cell] + m, result - tables.n_tags]
        else:
            hit = symbol - n_symbols + n_chains == label
            m -= counts and hit
            # The cost of the label is in the item's score, but not in the step's.
            score = -np.inf
            if (costs.prefix_hit if hit else costs.prefix_miss) == 0.0:
                score = item_score(chart, items, slot, symbol)
        step, split, left = LEAF, -1, 0
        if span == change.span and change.step >= 0:
            step, split = change.step, change.split
        elif j - i > 1:
            here = weights_at(tables, weights, spans, sentence, cell, room)
            step, split, left, _ = find_step(
                tables, here, chart, items, i, j, m, result, score, -1, -1
            )
        row[2 * span] = chain
        row[2 * span + 1] = step
        span += 1
        if step != LEAF:
            stack[depth, 0], stack[depth, 1] = split, j
            stack[depth, 2], stack[depth, 3] = tables.step_right[step], m - left
            depth += 1
            stack[depth, 0], stack[depth, 1] = i, split
            stack[depth, 2], stack[depth, 3] = tables.step_left[step], left
            depth += 1


@inner_kernel
def item_score(chart, items, slot, symbol):
    for t in range(chart.item_start[slot], chart.item_stop[slot]):
        if items.symbol[t] == symbol:
            return items.score[t]
    return -np.inf


@inner_kernel
def best_change(
    tables, weights, spans, sentence, room, chart, items, words, row, begin, end
):  # fmt: skip
    """Return the change from the best tree in `row` to the second best; span −1 if none.

    The second best tree differs in one span, which has another chain, bottom, step or split and the
    best trees below; more changes cost more. So only the spans of the best tree are looked at. Only
    for charts without slots or costs.
    """
    find_spans(row, begin, end)
    found = no_change()
    least = np.inf
    for s in range(row.size // 2):
        i, j = begin[s], end[s]
        slot = chart.first[cell_of(i, j)]
        here = weights_at(tables, weights, spans, sentence, cell_of(i, j), room)
        chain, step = row[2 * s], row[2 * s + 1]
        if chain != PREFIX:
            top = chart.top[slot, tables.chain_top[chain]]
            other, value = _other_chain(
                tables, here, chart, slot, words[i] if step == LEAF else -1, chain
            )
            if value != -np.inf and top - value < least:
                least = top - value
                found = Change(s, np.int64(other), -1, -1)
        if step == LEAF:
            continue
        result = np.int64(tables.step_result[step])
        if chain != PREFIX:
            score = chart.bottom[slot, result - tables.n_tags]
        else:
            score = item_score(chart, items, slot, result)
        other, split, _, value = find_step(
            tables, here, chart, items, i, j, 0, result, score, np.int64(step), end[s + 1]
        )
        if value != -np.inf and score - value < least:
            least = score - value
            found = Change(s, np.int64(chain), np.int64(other), np.int64(split))
    return found


@inner_kernel
def _other_chain(tables, weights, chart, slot, word, chain):
    """Return the best other chain to the same top, and its score."""
    top = tables.chain_top[chain]
    first, last = bottoms_of(tables, word)
    other = -1
    highest = -np.inf
    for place in range(first, last):
        y, score = bottom_at(tables, weights, chart, slot, word, place)
        if score == -np.inf:
            continue
        for p in range(tables.reach_starts[y], tables.reach_starts[y + 1]):
            if tables.reach_top[p] != top:
                continue
            c = weights.best[p]
            if c == chain:
                c = weights.second[p]
            if c >= 0 and score + weights.chain[c] > highest:
                highest = score + weights.chain[c]
                other = c
    return other, highest
