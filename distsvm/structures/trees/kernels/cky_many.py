"""The k best trees of sentences: each cell keeps the k best ways to every symbol.

A chart is the list of items of kernels/cky_brackets.py, with the rank among the ways to a symbol in
the place of a stratum. A tree has one binary form, and a way names its chain, its step, and the
items of both parts: so different ways are different trees, and none is listed twice.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import inner_kernel, kernel
from distsvm.structures.trees.kernels.cky_brackets import (
    CHAIN,
    STEP,
    STRATUM,
    SYMBOL,
    extract_item,
    keep_closed,
    longer,
    make_cell,
)
from distsvm.structures.trees.kernels.cky_chart import may_follow
from distsvm.structures.trees.kernels.cky_rows import (
    LEAF,
    PREFIX,
    TOO_LARGE,
    cell_of,
    clear_row,
)
from distsvm.structures.trees.kernels.span_features import room_for, weights_at


@kernel
def search(
    tables, weights, spans, words, word_starts, n_best, max_keys, max_items, out, out_starts, score,
    found,
):  # fmt: skip
    """Write the n_best best trees of each sentence, best first.

    Parameters
    ----------
    words, word_starts, max_keys, max_items : as of cky_brackets.search
    out, out_starts : where the rows are written, n_best for each sentence
    score : array of shape (m, n_best), filled; −inf where a sentence has fewer trees
    found : as of cky.search
    """
    n_all = tables.row_starts.size - 1
    room = room_for(weights, spans)
    for i in range(found.size):
        sentence = words[word_starts[i] : word_starts[i + 1]]
        score[i] = -np.inf
        found[i] = 0
        known = True
        for rank in range(n_best):
            place = i * n_best + rank
            known = clear_row(sentence, out[out_starts[place] : out_starts[place + 1]])
        if not known:
            continue
        if n_all * n_best > max_keys:
            found[i] = TOO_LARGE
            continue
        items, scores, firsts, n_items = _fill(
            tables, weights, spans, i, room, sentence, n_best, max_items
        )
        if n_items < 0:
            found[i] = TOO_LARGE
            continue
        root = cell_of(0, sentence.size)
        first = firsts[root, tables.start]
        for item in range(first, firsts[root, tables.start + 1]):
            place = i * n_best + item - first
            score[i, item - first] = scores[item]
            extract_item(items, item, out[out_starts[place] : out_starts[place + 1]])
            found[i] = 1


@inner_kernel
def _fill(tables, weights, spans, sentence, room, words, n_best, max_items):
    """Return all items, their scores, where each cell's symbols begin, and their number.

    The number is −1 where there are more than max_items.
    """
    n_words = words.size
    n_symbols = tables.n_tags + tables.n_phrases
    n_all = tables.row_starts.size - 1
    made, closed = make_cell(n_all * n_best), make_cell(n_symbols * n_best)
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
                for e in range(tables.word_starts[words[i]], tables.word_starts[words[i] + 1]):
                    n_made = _offer(
                        made, tables.word_tags[e], n_best, here.tag[e], LEAF, -1, -1, n_made
                    )
            for k in range(i + 1, j):
                n_made = _join(
                    tables, here, items, scores, firsts, stops, cell_of(i, k), cell_of(k, j),
                    n_best, made, n_made,
                )  # fmt: skip
            keys = np.sort(made.touched[:n_made])
            n_closed = _close(tables, here, keys, i == 0 and j == n_words, n_best, made, closed)
            while n_items + n_made + n_closed > scores.size:
                if 2 * scores.size > max_items:
                    return items, scores, firsts, -1
                items, scores = longer(items, scores)
            n_items = keep_closed(
                np.sort(closed.touched[:n_closed]), n_symbols, n_best, made, closed, items,
                scores, firsts[cell], n_items,
            )  # fmt: skip
            for key in keys:
                symbol = key // n_best
                is_prefix = symbol >= n_symbols and j < n_words
                if is_prefix and may_follow(tables, symbol - n_symbols, words[j]):
                    items[n_items, SYMBOL], items[n_items, STRATUM] = symbol, key % n_best
                    items[n_items, CHAIN] = PREFIX
                    items[n_items, STEP:] = made.how[key]
                    scores[n_items] = made.score[key]
                    n_items += 1
                made.score[key] = -np.inf
            stops[cell] = n_items
    return items, scores, firsts, n_items


@inner_kernel
def _offer(cell, symbol, n_best, value, a, b, c, n_touched):
    """Keep the value if it is among the best of the symbol; return the number of touched keys.

    Of equal values the first stays before the later.
    """
    base = symbol * n_best
    place = base + n_best - 1
    if not value > cell.score[place]:
        return n_touched
    rank = 0
    while cell.score[base + rank] >= value:
        rank += 1
    while place > base + rank:
        if cell.score[place - 1] != -np.inf:
            if cell.score[place] == -np.inf:
                cell.touched[n_touched] = place
                n_touched += 1
            cell.score[place] = cell.score[place - 1]
            for column in range(3):
                cell.how[place, column] = cell.how[place - 1, column]
        place -= 1
    if cell.score[place] == -np.inf:
        cell.touched[n_touched] = place
        n_touched += 1
    cell.score[place] = value
    cell.how[place, 0], cell.how[place, 1], cell.how[place, 2] = a, b, c
    return n_touched


@inner_kernel
def _join(
    tables, weights, items, scores, firsts, stops, left_cell, right_cell, n_best, made, n_made
):
    for left in range(firsts[left_cell, 0], stops[left_cell]):
        symbol = items[left, SYMBOL]
        for e in range(tables.row_starts[symbol], tables.row_starts[symbol + 1]):
            first, result = tables.step_right[e], np.int64(tables.step_result[e])
            for right in range(firsts[right_cell, first], firsts[right_cell, first + 1]):
                value = scores[left] + scores[right] + weights.step[e]
                if not value > made.score[(result + 1) * n_best - 1]:
                    break  # the further ones are no better
                n_made = _offer(made, result, n_best, value, e, left, right, n_made)
    return n_made


@inner_kernel
def _close(tables, weights, keys, is_root, n_best, made, closed):
    """Put every chain on every way to a bottom."""
    n_symbols = tables.n_tags + tables.n_phrases
    n_closed = 0
    for key in keys:
        symbol = key // n_best
        if symbol >= n_symbols:
            break
        for e in range(tables.bottom_starts[symbol], tables.bottom_starts[symbol + 1]):
            chain = tables.bottom_chains[e]
            top = np.int64(tables.chain_top[chain])
            if top == tables.start and not is_root:
                continue
            value = made.score[key] + weights.chain[chain]
            n_closed = _offer(closed, top, n_best, value, chain, symbol, key % n_best, n_closed)
    return n_closed
