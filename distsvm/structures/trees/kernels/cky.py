"""The search for trees, many sentences in one call: the best, and the most violated."""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel
from distsvm.structures.trees.kernels.cky_chart import (
    Costs,
    count_slots,
    fill,
    make_chart,
    make_items,
)
from distsvm.structures.trees.kernels.cky_rows import (
    BRACKETS,
    F1,
    ZERO_ONE,
    cell_of,
    clear_row,
    loss_of,
    mark_labels,
)
from distsvm.structures.trees.kernels.cky_trees import best_change, extract, no_change

PREDICT = 0
MARGIN = 1
SLACK = 2

SLOT_NUMBERS = 3  # per slot: n_active, item_start, item_stop


def slot_bytes(n_symbols, n_phrases):
    """Memory of one slot of a chart."""
    return 16 * n_symbols + 8 * n_phrases + 8 * SLOT_NUMBERS


ITEM_BYTES = 12


@kernel
def search(
    tables, weights, words, word_starts, truth, truth_starts, true_scores, kind, scale, mode,
    max_slots, max_items, out, out_starts, found,
):  # fmt: skip
    """For each sentence the tree that maximises its score, or the value of its plane.

    Parameters
    ----------
    words, word_starts : the entries of the sentences' words, −1 for one without
    truth, truth_starts, true_scores : the sentences' true rows and their scores, not looked at for
        PREDICT
    kind, scale : the loss, and what it is multiplied by
    mode : PREDICT, MARGIN or SLACK
    max_slots, max_items : limits of the memory that one sentence takes
    out, out_starts : where the rows go
    found : bool of shape (m,), whether the sentence has a tree (another one than the truth, for
        zero-one loss)

    Returns
    -------
    The first sentence that takes more memory than the limits allow, −1 if none does.

    Notes
    -----
    Margin rescaling: zero-one takes the best tree that is not the truth; brackets and F1 split over
    spans, as the binary form has n − 1 spans of two words or more whatever the tree, so that
    F1 = matched/(n − 1). Slack rescaling of F1 goes through all numbers of matched spans; brackets
    with slack rescaling are not done.
    """
    m = found.size
    longest = 0
    for i in range(m):
        longest = max(longest, word_starts[i + 1] - word_starts[i])
    n_cells = cell_of(0, longest + 1)
    labels = np.empty(n_cells, np.int64)
    labels[:] = -1
    begin, end = np.empty(2 * longest, np.int64), np.empty(2 * longest, np.int64)
    stratified = mode == SLACK and kind == F1
    augmented = mode != PREDICT and kind != ZERO_ONE
    n_slots = n_cells
    if stratified:
        firsts = np.empty(n_cells + 1, np.int64)
        for i in range(m):
            y = truth[truth_starts[i] : truth_starts[i + 1]]
            mark_labels(y, tables, False, begin, end, labels)
            n_words = word_starts[i + 1] - word_starts[i]
            n_own = count_slots(n_words, labels, True, firsts)
            n_slots = max(n_slots, n_own)
            if n_own > max_slots:
                return i
    elif n_slots > max_slots:
        for i in range(m):
            if word_starts[i + 1] - word_starts[i] == longest:
                return i
    n_symbols = tables.n_tags + tables.n_phrases
    chart = make_chart(n_slots, n_cells, n_symbols, tables.n_phrases)
    items = make_items(2 * tables.row_starts.size)
    labels[:] = -1

    for i in range(m):
        sentence = words[word_starts[i] : word_starts[i + 1]]
        n_words = sentence.size
        row = out[out_starts[i] : out_starts[i + 1]]
        found[i] = False
        if not clear_row(sentence, row):
            continue
        y = truth[truth_starts[i] : truth_starts[i + 1]]
        costs = Costs(0.0, 0.0, 0.0, 0.0, True)
        if augmented:
            mark_labels(y, tables, kind == BRACKETS, begin, end, labels)
            if kind == BRACKETS:
                costs = Costs(scale, -scale, 0.0, 0.0, True)
            elif not stratified:
                step = scale / max(1, n_words - 1)
                costs = Costs(step, 0.0, step, 0.0, False)
        count_slots(n_words, labels, stratified, chart.first)
        items, n_items = fill(
            tables, weights, sentence, labels, costs, stratified, chart, items, max_items
        )
        if n_items < 0:
            return i
        matched = 0
        root = cell_of(0, n_words)
        if stratified:
            matched = _best_stratum(tables, chart, root, n_words, scale, true_scores[i])
            if matched < 0:
                continue
        elif chart.top[chart.first[root], tables.start] == -np.inf:
            continue
        extract(
            tables, weights, chart, items, n_words, matched, labels, costs, stratified,
            no_change(), row,
        )  # fmt: skip
        found[i] = True
        if mode != PREDICT and kind == ZERO_ONE and _equal(row, y):
            change = best_change(tables, weights, chart, items, sentence, row, begin, end)
            if change.span < 0:
                found[i] = False
            else:
                extract(
                    tables, weights, chart, items, n_words, 0, labels, costs, False, change, row
                )
    return -1


@kernel
def _best_stratum(tables, chart, root, n_words, scale, true_score):
    """The number of matched spans whose best tree has the largest value; −1 without a tree."""
    best = -1
    highest = -np.inf
    first = chart.first[root]
    for matched in range(chart.first[root + 1] - first):
        score = chart.top[first + matched, tables.start]
        if score == -np.inf:
            continue
        loss = scale * loss_of(F1, n_words, 0, 0, matched, False)
        value = loss * (1.0 - (true_score - score))
        if value > highest:
            highest = value
            best = matched
    return best


@kernel
def _equal(row, other):
    n_different = 0
    for e in range(row.size):
        n_different += row[e] != other[e]
    return n_different == 0
