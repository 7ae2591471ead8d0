"""The search for the best and the most violated trees, many sentences in one call."""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import inner_kernel, kernel
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
    TOO_LARGE,
    ZERO_ONE,
    cell_of,
    clear_row,
    loss_of,
    mark_labels,
    same_rows,
)
from distsvm.structures.trees.kernels.cky_trees import best_change, extract, no_change
from distsvm.structures.trees.kernels.span_features import room_for

PREDICT = 0
MARGIN = 1
SLACK = 2

LINEAR = 0
QUADRATIC = 1
HARD = 2

ITEM_BYTES = 12


def slot_bytes(n_symbols, n_phrases):
    """Return the memory of one slot of a chart; 3 numbers are n_active, item_start, item_stop."""
    return 16 * n_symbols + 8 * n_phrases + 8 * 3


@kernel
def search(
    tables, weights, spans, words, word_starts, truth, truth_starts, true_scores, kind, scale, mode,
    penalty, max_slots, max_items, out, out_starts, found,
):  # fmt: skip
    """Write for each sentence the tree of the largest score, or of the most violated plane.

    Parameters
    ----------
    spans : Spans, whose sentences are those of the words
    words, word_starts : the entries of the sentences' words, −1 for a word without an entry
    truth, truth_starts, true_scores : the sentences' true rows and their scores, unused by PREDICT
    kind, scale : the loss, and its factor
    mode : PREDICT, MARGIN or SLACK
    penalty : LINEAR, QUADRATIC or HARD, what q is of Δ: Δ, √Δ, or 1 where there is a loss
    max_slots, max_items : limits of the memory for one sentence
    out, out_starts : where the rows are written
    found : int8 of shape (m,), 1 where the sentence has a tree (for zero-one loss, one other than
        the truth), 0 where it has none, TOO_LARGE where the limits do not suffice

    Notes
    -----
    Margin rescaling: zero-one takes the best tree that is not the truth; brackets and F1 split over
    spans, as the binary form has n − 1 spans of two words or more whatever the tree, so that
    F1 = matched/(n − 1). Slack rescaling of F1, and every q of it but Δ, tries all numbers of
    matched spans; brackets have neither.
    """
    m = found.size
    longest = 0
    for i in range(m):
        n_words = word_starts[i + 1] - word_starts[i]
        if cell_of(0, n_words + 1) <= max_slots:  # every cell has a slot
            longest = max(longest, n_words)
    n_cells = cell_of(0, longest + 1)
    labels = np.empty(n_cells, np.int64)
    labels[:] = -1
    begin, end = np.empty(2 * longest, np.int64), np.empty(2 * longest, np.int64)
    stratified = kind == F1 and (mode == SLACK or (mode == MARGIN and penalty != LINEAR))
    augmented = mode != PREDICT and kind != ZERO_ONE
    n_symbols = tables.n_tags + tables.n_phrases
    chart = make_chart(min(n_cells, max_slots), n_cells, n_symbols, tables.n_phrases)
    items = make_items(2 * tables.row_starts.size)
    room = room_for(weights, spans)

    for i in range(m):
        sentence = words[word_starts[i] : word_starts[i + 1]]
        n_words = sentence.size
        row = out[out_starts[i] : out_starts[i + 1]]
        known = clear_row(sentence, row)
        found[i] = TOO_LARGE if n_words > longest else 0
        if n_words > longest or not known:
            continue
        y = truth[truth_starts[i] : truth_starts[i + 1]]
        costs = Costs(0.0, 0.0, 0.0, 0.0, True)
        if augmented:
            mark_labels(y, tables, kind, begin, end, labels)
            if kind == BRACKETS:
                costs = Costs(scale, -scale, 0.0, 0.0, True)
            elif not stratified:
                step = scale / max(1, n_words - 1)
                costs = Costs(step, 0.0, step, 0.0, False)
        n_slots = count_slots(n_words, labels, stratified, chart.first)
        if n_slots > max_slots:
            found[i] = TOO_LARGE
            continue
        if n_slots > chart.n_active.size:
            chart = make_chart(min(2 * n_slots, max_slots), n_cells, n_symbols, tables.n_phrases)
            count_slots(n_words, labels, stratified, chart.first)
        items, n_items = fill(
            tables, weights, spans, i, room, sentence, labels, costs, stratified, chart, items,
            max_items,
        )  # fmt: skip
        if n_items < 0:
            found[i] = TOO_LARGE
            continue
        matched = 0
        root = cell_of(0, n_words)
        if stratified:
            matched = _best_stratum(
                tables, chart, root, n_words, scale, true_scores[i], mode == SLACK, penalty
            )
            if matched < 0:
                continue
        elif chart.top[chart.first[root], tables.start] == -np.inf:
            continue
        extract(
            tables, weights, spans, i, room, chart, items, n_words, matched, labels, costs,
            stratified, no_change(), row,
        )  # fmt: skip
        found[i] = 1
        if mode != PREDICT and kind == ZERO_ONE and same_rows(y, row):
            change = best_change(
                tables, weights, spans, i, room, chart, items, sentence, row, begin, end
            )
            if change.span < 0:
                found[i] = 0
            else:
                extract(
                    tables, weights, spans, i, room, chart, items, n_words, 0, labels, costs,
                    False, change, row,
                )  # fmt: skip


@inner_kernel
def _best_stratum(tables, chart, root, n_words, scale, true_score, slack, penalty):
    """Return the number of matched spans whose best tree has the largest value; −1 if no tree."""
    best = -1
    highest = -np.inf
    first = chart.first[root]
    for matched in range(chart.first[root + 1] - first):
        score = chart.top[first + matched, tables.start]
        if score == -np.inf:
            continue
        q = scale * loss_of(F1, n_words, 0, 0, matched, False)
        if penalty == QUADRATIC:
            q = np.sqrt(q)
        elif penalty == HARD:
            q = 1.0 if q > 0.0 else 0.0
        margin = true_score - score
        value = q * (1.0 - margin) if slack else q - margin
        if value > highest:
            highest = value
            best = matched
    return best
