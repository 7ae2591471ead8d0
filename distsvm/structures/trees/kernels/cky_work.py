"""How much work a chart is: steps tried, counted after the fact for benchmarks and costs."""

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
from distsvm.structures.trees.kernels.cky_rows import cell_of


@kernel
def count_relaxations(tables, weights, words, word_starts, out):
    """out[i] = binary steps (step, span, split) of sentence i with both children possible."""
    n_symbols = tables.n_tags + tables.n_phrases
    for s in range(out.size):
        sentence = words[word_starts[s] : word_starts[s + 1]]
        n_words = sentence.size
        n_cells = cell_of(0, n_words + 1)
        chart = make_chart(n_cells, n_cells, n_symbols, tables.n_phrases)
        labels = np.full(n_cells, -1, np.int64)
        count_slots(n_words, labels, False, chart.first)
        costs = Costs(0.0, 0.0, 0.0, 0.0, True)
        items, _ = fill(
            tables, weights, sentence, labels, costs, False, chart, make_items(1 << 16), 1 << 40
        )
        total = 0
        for j in range(2, n_words + 1):
            for i in range(j - 1):
                for k in range(i + 1, j):
                    left, right = cell_of(i, k), cell_of(k, j)
                    scores = chart.top[right]
                    for a in range(chart.n_active[left]):
                        symbol = chart.active[left, a]
                        for e in range(tables.row_starts[symbol], tables.row_starts[symbol + 1]):
                            total += scores[tables.step_right[e]] != -np.inf
                    for t in range(chart.item_start[left], chart.item_stop[left]):
                        symbol = items.symbol[t]
                        for e in range(tables.row_starts[symbol], tables.row_starts[symbol + 1]):
                            total += scores[tables.step_right[e]] != -np.inf
        out[s] = total
