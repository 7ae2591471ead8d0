"""The chart of one sentence: the best score of every symbol over every span.

Cells are filled word by word, and from short to long within the words so far. A cell has a *slot*
for every number of matched spans that the trees below it can have, or one slot where these are not
counted. A slot has

- bottom: phrases from binary steps, before unary chains; top: tags and phrases after them, with the
  chain of each;
- items: the prefixes, as a run of one long list, because a cell has few of the many prefixes.

−inf means impossible. Ties go to the first found: the shorter left part, then the lower left symbol
(tags and phrases before prefixes) and the lower step; of chains the lower bottom, then the lower
chain; matched labels last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.kernels.options import inner_kernel
from distsvm.structures.trees.kernels.cky_rows import cell_of, pair_of
from distsvm.structures.trees.kernels.span_features import weights_at

WIDE_ROW = 3


class Chart(NamedTuple):
    """Memory for the cells of a sentence; rows of all arrays but `first` are slots."""

    first: np.ndarray  # of each cell, its first slot; last, the number of slots
    top: np.ndarray
    chain: np.ndarray
    active: np.ndarray  # the symbols whose top is finite
    n_active: np.ndarray
    bottom: np.ndarray
    item_start: np.ndarray
    item_stop: np.ndarray


class Items(NamedTuple):
    """Prefixes of all slots."""

    symbol: np.ndarray
    score: np.ndarray


class Costs(NamedTuple):
    """The terms that a loss adds to the score of a span, by its label: missed or matched."""

    chain_miss: float
    chain_hit: float
    prefix_miss: float
    prefix_hit: float
    words: bool  # whether spans of one word count


@inner_kernel
def make_chart(n_slots, n_cells, n_symbols, n_phrases):
    return Chart(
        np.zeros(n_cells + 1, np.int64),
        np.empty((n_slots, n_symbols)),
        np.empty((n_slots, n_symbols), np.int32),
        np.empty((n_slots, n_symbols), np.int32),
        np.zeros(n_slots, np.int64),
        np.empty((n_slots, n_phrases)),
        np.zeros(n_slots, np.int64),
        np.zeros(n_slots, np.int64),
    )


@inner_kernel
def make_items(size):
    return Items(np.empty(size, np.int32), np.empty(size))


@inner_kernel
def more_items(items, n_items):
    """Return a copy of the items with twice the capacity."""
    new = make_items(2 * items.symbol.size)
    for t in range(n_items):
        new.symbol[t], new.score[t] = items.symbol[t], items.score[t]
    return new


@inner_kernel
def count_slots(n_words, labels, stratified, first):
    """Write where each cell's slots begin, and return the number of slots.

    A cell has one slot more than labelled spans of the truth within it.
    """
    inside = np.zeros((n_words + 1, n_words + 1), np.int64)
    n_slots = 0
    for j in range(1, n_words + 1):
        for i in range(j - 1, -1, -1):
            if stratified and j - i > 1:
                inside[i, j] = inside[i + 1, j] + inside[i, j - 1] - inside[i + 1, j - 1]
                inside[i, j] += labels[cell_of(i, j)] >= 0
        for i in range(j):
            first[cell_of(i, j)] = n_slots
            n_slots += inside[i, j] + 1
    first[cell_of(0, n_words + 1)] = n_slots
    return n_slots


@inner_kernel
def fill(
    tables, weights, spans, sentence, room, words, labels, costs, stratified, chart, items,
    max_items,
):  # fmt: skip
    """Fill the chart; return the items, in a longer list if need be, and their number.

    The number is −1 where there are more than max_items.
    """
    n_words = words.size
    n_symbols = tables.n_tags + tables.n_phrases
    n_chains = tables.chain_top.size
    first = chart.first
    n_items = 0
    best = np.empty(tables.row_starts.size - 1)
    best[:] = -np.inf
    touched = np.empty(best.size, np.int64)
    pending = 0.0
    for j in range(1, n_words + 1):
        for i in range(j - 1, -1, -1):
            cell = cell_of(i, j)
            here = weights_at(tables, weights, spans, sentence, cell, room)
            label = labels[cell]
            counted = costs.words or j - i > 1
            gold_chain = label if 0 <= label < n_chains and counted else -1
            gold_prefix = label - n_chains + n_symbols if label >= n_chains else -1
            shift = stratified and label >= 0 and j - i > 1
            is_root = i == 0 and j == n_words
            begin, end = first[cell], first[cell + 1]
            waiting = False  # whether the truth's prefix (score: pending) goes to the next slot
            for slot in range(begin, end):
                chart.bottom[slot, :] = -np.inf
                chart.item_start[slot] = n_items
                while n_items + best.size > items.symbol.size:
                    if 2 * items.symbol.size > max_items:
                        return items, -1
                    items = more_items(items, n_items)
                if waiting:
                    items.symbol[n_items] = gold_prefix
                    items.score[n_items] = pending
                    n_items += 1
                    waiting = False
                if j - i > 1 and slot < end - shift:
                    n_touched = _join(tables, here, chart, items, best, touched, i, j, slot - begin)
                    for t in range(n_touched):
                        symbol = touched[t]
                        score = best[symbol]
                        best[symbol] = -np.inf
                        if symbol < n_symbols:
                            chart.bottom[slot, symbol - tables.n_tags] = score
                            continue
                        # A prefix must be continued, and the next word must allow that.
                        if j == n_words or not may_follow(tables, symbol - n_symbols, words[j]):
                            continue
                        hit = symbol == gold_prefix
                        score += costs.prefix_hit if hit else costs.prefix_miss
                        if hit and shift:
                            waiting = True
                            pending = score
                            continue
                        items.symbol[n_items] = symbol
                        items.score[n_items] = score
                        n_items += 1
                chart.item_stop[slot] = n_items
                gold_slot = -1
                if gold_chain >= 0:
                    gold_slot = slot - shift
                    if gold_slot < begin:
                        gold_slot = -1
                _close(
                    tables, here, chart, slot, gold_slot, gold_chain, costs, counted,
                    words[i] if j - i == 1 else -1, is_root,
                )  # fmt: skip
    return items, n_items


@inner_kernel
def may_follow(tables, prefix, word):
    """Whether some tag of the word may come right after the prefix."""
    row = tables.follow_row[prefix]
    if row >= 0:
        return _has_tag_of(tables, tables.follow[row], word)
    symbol = tables.n_tags + tables.n_phrases + prefix
    for e in range(tables.row_starts[symbol], tables.row_starts[symbol + 1]):
        if _has_tag_of(tables, tables.first[tables.step_right[e]], word):
            return True
    return False


@inner_kernel
def _has_tag_of(tables, bits, word):
    """Whether the bit of some tag of the word is set."""
    for e in range(tables.word_starts[word], tables.word_starts[word + 1]):
        tag = tables.word_tags[e]
        if bits[tag >> 3] >> (tag & 7) & 1:
            return True
    return False


@inner_kernel
def _join(tables, weights, chart, items, best, touched, i, j, matched):
    """best[symbol] = the best binary step to it with `matched` spans below; return their number.

    This loop takes nearly all the time, so it keeps no back pointers: find_step finds the few steps
    of the best tree again.
    """
    steps = (tables.step_right, tables.step_result, weights.step)
    row_starts, pair_starts = tables.row_starts, tables.pair_starts
    n_touched = 0
    for k in range(i + 1, j):
        left_cell, right_cell = cell_of(i, k), cell_of(k, j)
        left_first, right_first = chart.first[left_cell], chart.first[right_cell]
        n_left = chart.first[left_cell + 1] - left_first
        n_right = chart.first[right_cell + 1] - right_first
        for m in range(max(0, matched - n_right + 1), min(n_left, matched + 1)):
            left_slot, right_slot = left_first + m, right_first + matched - m
            n_active = chart.n_active[right_slot]
            if n_active == 0:
                continue
            scores = chart.top[right_slot]
            active = chart.active[right_slot]
            for a in range(chart.n_active[left_slot]):
                symbol = chart.active[left_slot, a]
                score = chart.top[left_slot, symbol]
                start, stop = row_starts[symbol], row_starts[symbol + 1]
                base = tables.pair_base[symbol]
                if base < 0 or stop - start <= WIDE_ROW * n_active:
                    n_touched = _try(steps, start, stop, score, scores, best, touched, n_touched)
                    continue
                for b in range(n_active):
                    pair = base + active[b]
                    start, stop = pair_starts[pair], pair_starts[pair + 1]
                    n_touched = _try(steps, start, stop, score, scores, best, touched, n_touched)
            for t in range(chart.item_start[left_slot], chart.item_stop[left_slot]):
                start, stop = row_starts[items.symbol[t]], row_starts[items.symbol[t] + 1]
                score = items.score[t]
                n_touched = _try(steps, start, stop, score, scores, best, touched, n_touched)
    return n_touched


@inner_kernel
def _try(steps, start, stop, score, scores, best, touched, n_touched):
    """Improve the results of the steps start … stop, whose left part has this score."""
    right, result, weight = steps
    for e in range(start, stop):
        value = score + scores[right[e]] + weight[e]
        r = result[e]
        if value > best[r]:
            if best[r] == -np.inf:
                touched[n_touched] = r
                n_touched += 1
            best[r] = value
    return n_touched


@inner_kernel
def find_step(tables, weights, chart, items, i, j, matched, result, score, step, split):
    """Return the first step and split to this result with this score, and the matches on the left.

    Given a step and split, return the best other one, and its score (only without slots).
    """
    found, found_split, found_left = -1, -1, 0
    highest = -np.inf
    for k in range(i + 1, j):
        left_cell, right_cell = cell_of(i, k), cell_of(k, j)
        left_first, right_first = chart.first[left_cell], chart.first[right_cell]
        n_left = chart.first[left_cell + 1] - left_first
        n_right = chart.first[right_cell + 1] - right_first
        for m in range(max(0, matched - n_right + 1), min(n_left, matched + 1)):
            left_slot, right_slot = left_first + m, right_first + matched - m
            if chart.n_active[right_slot] == 0:
                continue
            scores = chart.top[right_slot]
            n_active = chart.n_active[left_slot]
            n_items = chart.item_stop[left_slot] - chart.item_start[left_slot]
            for a in range(n_active + n_items):
                if a < n_active:
                    symbol = chart.active[left_slot, a]
                    base = chart.top[left_slot, symbol]
                else:
                    item = chart.item_start[left_slot] + a - n_active
                    symbol = items.symbol[item]
                    base = items.score[item]
                for e in range(tables.row_starts[symbol], tables.row_starts[symbol + 1]):
                    if tables.step_result[e] != result or (e == step and k == split):
                        continue
                    value = base + scores[tables.step_right[e]] + weights.step[e]
                    if value > highest:
                        highest = value
                        found, found_split, found_left = e, k, m
                        if step < 0 and value == score:  # equal sums have equal bits
                            return found, found_split, found_left, highest
    return found, found_split, found_left, highest


@inner_kernel
def bottoms_of(tables, word):
    """Return the places of the bottoms of chains: the tags of one word, else all phrases."""
    if word >= 0:
        return tables.word_starts[word], tables.word_starts[word + 1]
    return tables.n_tags, tables.n_tags + tables.n_phrases


@inner_kernel
def bottom_at(tables, weights, chart, slot, word, place):
    """Return the symbol at one of these places, and its score."""
    if word >= 0:
        return int(tables.word_tags[place]), weights.tag[place]
    return place, chart.bottom[slot, place - tables.n_tags]


@inner_kernel
def _close(
    tables, weights, chart, slot, gold_slot, gold_chain, costs, counted, word, is_root
):  # fmt: skip
    """top of a slot from its bottom by the best chains; for one word the bottom is its tags."""
    top, chain = chart.top[slot], chart.chain[slot]
    top[:] = -np.inf
    n_tags = tables.n_tags
    miss = costs.chain_miss if counted else 0.0
    hit = costs.chain_hit if counted else 0.0
    first, last = bottoms_of(tables, word)
    for place in range(first, last):
        y, score = bottom_at(tables, weights, chart, slot, word, place)
        if score == -np.inf:
            continue
        for p in range(tables.reach_starts[y], tables.reach_starts[y + 1]):
            x = tables.reach_top[p]
            if x == tables.start and not is_root:
                continue
            c = weights.best[p]
            if gold_chain >= 0 and c >= 0 and tables.chain_label[c] == gold_chain:
                c = weights.second[p]
            if c < 0:
                continue
            value = score + weights.chain[c]
            if c >= n_tags:
                value += miss
            if value > top[x]:
                top[x] = value
                chain[x] = c
    c = gold_chain if gold_slot >= 0 else -1
    while c >= 0:
        y = tables.chain_bottom[c]
        score = -np.inf
        if word >= 0:
            pair = pair_of(tables, word, c)
            score = weights.tag[pair] if pair >= 0 else -np.inf
        elif y >= n_tags:
            score = chart.bottom[gold_slot, y - n_tags]
        value = score + weights.chain[c] + hit
        x = tables.chain_top[c]
        if value > top[x] and (is_root or x != tables.start):
            top[x] = value
            chain[x] = c
        c = tables.chain_next[c]
    n_active = 0
    for x in range(top.size):
        if top[x] != -np.inf:
            chart.active[slot, n_active] = x
            n_active += 1
    chart.n_active[slot] = n_active
