"""The exact search for 1 − F1 over the brackets of the original trees: a reference.

Brackets are (label, first word, last word) of all phrases but TOP, as often as the tree has them.
Δ = 1 − 2·matched/(true + predicted) does not split over spans, and the number of brackets differs
between trees. So the search keeps the best score of every symbol, span and *stratum*, a pair of
numbers of matched and predicted brackets. That is exact, and fast enough for short sentences.

A chart is a list of items, cell by cell; within a cell by symbol, then by stratum. Ties go to the
first found, as in kernels/cky_chart.py, and to fewer matched, then fewer predicted brackets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.kernels.options import inner_kernel, kernel
from distsvm.structures.trees.kernels.cky_chart import may_follow
from distsvm.structures.trees.kernels.cky_rows import (
    F1_BRACKETS,
    LEAF,
    PREFIX,
    TOO_LARGE,
    cell_of,
    clear_row,
    count_brackets,
    count_matched,
    loss_of,
    mark_labels,
)
from distsvm.structures.trees.kernels.span_features import room_for, weights_at

# The columns of an item, besides its score.
SYMBOL, STRATUM, CHAIN, STEP, LEFT, RIGHT = 0, 1, 2, 3, 4, 5
KEY_BYTES = 56  # of the two tables that a cell is made in, for each symbol and stratum
ITEM_BYTES = 32


class Cell(NamedTuple):
    """Memory for one cell: by symbol·n_strata + stratum, the best score and its origin."""

    score: np.ndarray
    how: np.ndarray  # (n_keys, 3)
    touched: np.ndarray


@inner_kernel
def make_cell(n_keys):
    return Cell(
        np.full(n_keys, -np.inf), np.empty((n_keys, 3), np.int32), np.empty(n_keys, np.int64)
    )


@kernel
def search(
    tables, weights, spans, words, word_starts, truth, truth_starts, true_scores, scale, slack,
    max_keys, max_items, out, out_starts, found,
):  # fmt: skip
    """Write for each sentence the tree of the most violated plane; arguments as of cky.search.

    A sentence that needs more than max_keys or max_items is TOO_LARGE.
    """
    n_all = tables.row_starts.size - 1
    room = room_for(weights, spans)
    most = 1  # brackets of one span
    for chain in range(tables.chain_top.size):
        most = max(most, count_brackets(tables, chain, F1_BRACKETS))
    for i in range(found.size):
        y = truth[truth_starts[i] : truth_starts[i + 1]]
        sentence = words[word_starts[i] : word_starts[i + 1]]
        n_words = sentence.size
        row = out[out_starts[i] : out_starts[i + 1]]
        found[i] = 0
        if not clear_row(sentence, row):
            continue
        begin, end = np.empty(2 * n_words, np.int64), np.empty(2 * n_words, np.int64)
        gold = np.empty(cell_of(0, n_words + 1), np.int64)
        n_true = mark_labels(y, tables, F1_BRACKETS, begin, end, gold)
        width = most * (2 * n_words - 1) + 1  # one more than brackets can be predicted
        n_strata = width * (n_true + 1)
        if n_all * n_strata > max_keys:
            found[i] = TOO_LARGE
            continue
        items, scores, firsts, n_items = _fill(
            tables, weights, spans, i, room, sentence, gold, width, n_strata, max_items
        )
        if n_items < 0:
            found[i] = TOO_LARGE
            continue
        best, highest = -1, -np.inf
        root = cell_of(0, n_words)
        for item in range(firsts[root, tables.start], firsts[root, tables.start + 1]):
            matched, predicted = items[item, STRATUM] // width, items[item, STRATUM] % width
            loss = scale * loss_of(F1_BRACKETS, n_words, n_true, predicted, matched, False)
            margin = true_scores[i] - scores[item]
            value = loss * (1.0 - margin) if slack else loss - margin
            if value > highest:
                best, highest = item, value
        if best >= 0:
            found[i] = 1
            extract_item(items, best, row)


@inner_kernel
def _fill(
    tables, weights, spans, sentence, room, words, gold, width, n_strata, max_items
):  # fmt: skip
    """Return all items, their scores, where each cell's symbols begin, and their number.

    The number is −1 where there are more than max_items.
    """
    n_words = words.size
    n_symbols = tables.n_tags + tables.n_phrases
    n_all = tables.row_starts.size - 1
    made, closed = make_cell(n_all * n_strata), make_cell(n_symbols * n_strata)
    items, scores = np.empty((1024, 6), np.int32), np.empty(1024)
    firsts = np.zeros((cell_of(0, n_words + 1), n_symbols + 1), np.int64)
    stops = np.zeros(firsts.shape[0], np.int64)
    n_items = 0
    for j in range(1, n_words + 1):
        for i in range(j - 1, -1, -1):
            cell = cell_of(i, j)
            here = weights_at(tables, weights, spans, sentence, cell, room)
            n_made = 0
            if j - i == 1:
                n_made = _tag(tables, here, words[i], n_strata, made)
            for k in range(i + 1, j):
                n_made = _join(
                    tables, here, items, scores, firsts, stops, cell_of(i, k), cell_of(k, j),
                    n_strata, made, n_made,
                )  # fmt: skip
            keys = np.sort(made.touched[:n_made])
            n_closed = _close(
                tables, here, keys, gold[cell], i == 0 and j == n_words, width, n_strata, made,
                closed,
            )  # fmt: skip
            while n_items + n_made + n_closed > scores.size:
                if 2 * scores.size > max_items:
                    return items, scores, firsts, -1
                items, scores = longer(items, scores)
            n_items = keep_closed(
                np.sort(closed.touched[:n_closed]), n_symbols, n_strata, made, closed, items,
                scores, firsts[cell], n_items,
            )  # fmt: skip
            for key in keys:
                symbol = key // n_strata
                is_prefix = symbol >= n_symbols and j < n_words
                if is_prefix and may_follow(tables, symbol - n_symbols, words[j]):
                    items[n_items, SYMBOL], items[n_items, STRATUM] = symbol, key % n_strata
                    items[n_items, CHAIN] = PREFIX
                    items[n_items, STEP:] = made.how[key]
                    scores[n_items] = made.score[key]
                    n_items += 1
                made.score[key] = -np.inf
            stops[cell] = n_items
    return items, scores, firsts, n_items


@inner_kernel
def _offer(cell, key, value, a, b, c, n_touched):
    """Keep the value if it is the best so far; return the number of touched keys."""
    if value > cell.score[key]:
        if cell.score[key] == -np.inf:
            cell.touched[n_touched] = key
            n_touched += 1
        cell.score[key] = value
        cell.how[key, 0], cell.how[key, 1], cell.how[key, 2] = a, b, c
    return n_touched


@inner_kernel
def _tag(tables, weights, word, n_strata, made):
    n_made = 0
    for e in range(tables.word_starts[word], tables.word_starts[word + 1]):
        key = tables.word_tags[e] * n_strata
        n_made = _offer(made, key, weights.tag[e], LEAF, -1, -1, n_made)
    return n_made


@inner_kernel
def _join(
    tables, weights, items, scores, firsts, stops, left_cell, right_cell, n_strata, made, n_made
):
    for left in range(firsts[left_cell, 0], stops[left_cell]):
        symbol, stratum = items[left, SYMBOL], items[left, STRATUM]
        for e in range(tables.row_starts[symbol], tables.row_starts[symbol + 1]):
            first = tables.step_right[e]
            for right in range(firsts[right_cell, first], firsts[right_cell, first + 1]):
                # Adding strata adds both numbers: predicted brackets stay below `width`.
                key = tables.step_result[e] * n_strata + stratum + items[right, STRATUM]
                value = scores[left] + scores[right] + weights.step[e]
                n_made = _offer(made, key, value, e, left, right, n_made)
    return n_made


@inner_kernel
def _close(tables, weights, keys, gold, is_root, width, n_strata, made, closed):
    """Put every chain on every bottom."""
    n_symbols = tables.n_tags + tables.n_phrases
    n_closed = 0
    for key in keys:
        symbol = key // n_strata
        if symbol >= n_symbols:
            break
        for e in range(tables.bottom_starts[symbol], tables.bottom_starts[symbol + 1]):
            chain = tables.bottom_chains[e]
            top = tables.chain_top[chain]
            if top == tables.start and not is_root:
                continue
            stratum = key % n_strata + count_brackets(tables, chain, F1_BRACKETS)
            stratum += width * count_matched(tables, chain, gold, F1_BRACKETS)
            value = made.score[key] + weights.chain[chain]
            n_closed = _offer(
                closed, top * n_strata + stratum, value, chain, key // n_strata, key % n_strata,
                n_closed,
            )  # fmt: skip
    return n_closed


@inner_kernel
def keep_closed(keys, n_symbols, n_strata, made, closed, items, scores, firsts, n_items):
    """Make items of the closed symbols, write where each begins, and return the number of items."""
    symbol = 0
    for key in keys:
        while symbol <= key // n_strata:
            firsts[symbol] = n_items
            symbol += 1
        chain, bottom, stratum = closed.how[key]
        items[n_items, SYMBOL], items[n_items, STRATUM] = key // n_strata, key % n_strata
        items[n_items, CHAIN] = chain
        items[n_items, STEP:] = made.how[bottom * n_strata + stratum]
        scores[n_items] = closed.score[key]
        closed.score[key] = -np.inf
        n_items += 1
    firsts[symbol : n_symbols + 1] = n_items
    return n_items


@inner_kernel
def longer(items, scores):
    more_items, more_scores = np.empty((2 * scores.size, 6), np.int32), np.empty(2 * scores.size)
    more_items[: scores.size] = items
    more_scores[: scores.size] = scores
    return more_items, more_scores


@inner_kernel
def extract_item(items, root, row):
    """Write the tree of an item as a row."""
    stack = np.empty(row.size, np.int64)
    stack[0] = root
    depth, span = 1, 0
    while depth:
        depth -= 1
        item = stack[depth]
        row[2 * span], row[2 * span + 1] = items[item, CHAIN], items[item, STEP]
        span += 1
        if items[item, STEP] != LEAF:
            stack[depth], stack[depth + 1] = items[item, RIGHT], items[item, LEFT]
            depth += 2
