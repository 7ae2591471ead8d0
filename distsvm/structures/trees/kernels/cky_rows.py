"""Trees as rows of numbers: their spans, weights, rules and losses.

A sentence of n words has 2n − 1 spans in the binary form of its tree. Row: (chain, step) of each
span, parents before children, left before right, so 2·(2n − 1) numbers. chain is PREFIX where the
span's label is the prefix that the step gives; step is LEAF for one word. The shape of the tree
follows from which spans are leaves. UNSEEN stands for what the grammar does not have, as a truth in
evaluation may need it; a row of NO_TREE is a sentence without a tree.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel

PREFIX = -1
LEAF = -1
UNSEEN = -2
NO_TREE = -3

ZERO_ONE = 0
BRACKETS = 1
F1 = 2
F1_BRACKETS = 3


@kernel
def chain_weights(w, rules, starts, pair, n_pairs):
    """Each chain's weight, and the best and second best chain of each pair."""
    weight = np.zeros(starts.size - 1)
    best, second = np.empty(n_pairs, np.int32), np.empty(n_pairs, np.int32)
    best[:], second[:] = -1, -1
    for c in range(weight.size):
        for e in range(starts[c], starts[c + 1]):
            weight[c] += w[rules[e]]
        if weight[c] == -np.inf:
            continue
        p = pair[c]
        if best[p] < 0 or weight[c] > weight[best[p]]:
            second[p] = best[p]
            best[p] = c
        elif second[p] < 0 or weight[c] > weight[second[p]]:
            second[p] = c
    return weight, best, second


@kernel
def clear_row(words, row):
    """Make it the row of a sentence without a tree; whether every word has an entry."""
    row[:] = NO_TREE
    n_without = 0
    for place in range(words.size):
        n_without += words[place] < 0
    return n_without == 0


@kernel
def scores(values, starts, chain_weight, step_weight, out):
    """out[i] = ⟨w, Ψ⟩ of the tree in row i; −inf without a tree."""
    for i in range(out.size):
        total = 0.0
        for e in range(starts[i], starts[i + 1], 2):
            chain, step = values[e], values[e + 1]
            if chain == NO_TREE:
                total = -np.inf
                break
            if chain >= 0:
                total += chain_weight[chain]
            if step >= 0:
                total += step_weight[step]
        out[i] = total


@kernel
def add_rules(values, starts, coefficients, chain_rules, chain_starts, step_rule, out):
    """out += Σ_i coefficient_i · (how often row i's tree has each rule)."""
    for i in range(coefficients.size):
        coefficient = coefficients[i]
        if coefficient == 0.0:
            continue
        for e in range(starts[i], starts[i + 1], 2):
            chain, step = values[e], values[e + 1]
            if chain >= 0:
                for r in range(chain_starts[chain], chain_starts[chain + 1]):
                    out[chain_rules[r]] += coefficient
            if step >= 0 and step_rule[step] >= 0:
                out[step_rule[step]] += coefficient


@kernel
def square_norms(values, starts, chain_rules, chain_starts, step_rule, dim, out):
    """out[i] = ‖Ψ‖² of the tree in row i."""
    counts = np.zeros(dim)
    one, back = np.empty(1), np.empty(1)
    one[0], back[0] = 1.0, -1.0
    for i in range(out.size):
        row = starts[i : i + 2]
        add_rules(values, row, one, chain_rules, chain_starts, step_rule, counts)
        total = 0.0
        for e in range(starts[i], starts[i + 1], 2):
            chain, step = values[e], values[e + 1]
            # Σ_r count_r² is the sum of count_r over all uses of rules.
            if chain >= 0:
                for r in range(chain_starts[chain], chain_starts[chain + 1]):
                    total += counts[chain_rules[r]]
            if step >= 0 and step_rule[step] >= 0:
                total += counts[step_rule[step]]
        out[i] = total
        add_rules(values, row, back, chain_rules, chain_starts, step_rule, counts)


@kernel
def find_spans(row, begin, end):
    """begin[s], end[s] of every span of a row: it covers the words begin … end − 1."""
    n_spans = row.size // 2
    stack = np.empty(n_spans, np.int64)
    depth = 0
    for s in range(n_spans - 1, -1, -1):
        length = 1
        if row[2 * s + 1] != LEAF:
            length = stack[depth - 1] + stack[depth - 2]
            depth -= 2
        stack[depth] = length
        depth += 1
        end[s] = length
    n_words = 0
    for s in range(n_spans):
        begin[s] = n_words
        end[s] += n_words
        if row[2 * s + 1] == LEAF:
            n_words += 1


@kernel
def cell_of(i, j):
    """The number of the cell of words i … j − 1."""
    return j * (j - 1) // 2 + i


@kernel
def label_of(chain, step, tables, brackets):
    """A span's label for a loss, −1 if it has none.

    A chain's number (of one word, that of the lowest chain with the same phrases above a tag), or
    the number of chains plus that of the prefix. For brackets prefixes have no label and neither
    have bare tags; for F1 one word has none.
    """
    n_tags = tables.n_tags
    n_chains = tables.chain_top.size
    if step == LEAF:
        return tables.chain_label[chain] if brackets and chain >= n_tags else -1
    if chain >= 0:
        return chain
    if chain == PREFIX and step >= 0 and not brackets:
        return n_chains + tables.step_result[step] - n_tags - tables.n_phrases
    return -1


@kernel
def is_bracket(chain, step, n_tags):
    """Whether the span is a constituent of its own, known to the grammar or not."""
    return (chain >= n_tags) or chain == UNSEEN


@kernel
def mark_labels(row, tables, brackets, begin, end, labels):
    """labels[cell] = the label of the row's span there, −1 elsewhere; how many brackets it has."""
    n_words = (row.size // 2 + 1) // 2
    labels[: cell_of(0, n_words + 1)] = -1
    find_spans(row, begin, end)
    n_brackets = 0
    for s in range(row.size // 2):
        chain, step = row[2 * s], row[2 * s + 1]
        labels[cell_of(begin[s], end[s])] = label_of(chain, step, tables, brackets)
        n_brackets += is_bracket(chain, step, tables.n_tags)
    return n_brackets


@kernel
def loss_of(kind, n_words, n_truth, n_found, n_matched, same):
    """Δ before scaling, from counts of brackets (BRACKETS) or of matched spans (F1)."""
    if same:
        return 0.0
    if kind == ZERO_ONE:
        return 1.0
    if kind == BRACKETS:
        return float(n_truth + n_found - 2 * n_matched)
    return 0.0 if n_words < 2 else 1.0 - n_matched / (n_words - 1)


@kernel
def losses(kind, scale, tables, truth, truth_starts, values, starts, out):
    """out[i] = Δ(truth row i, row i)."""
    longest = 0
    for i in range(out.size):
        longest = max(longest, (starts[i + 1] - starts[i] + 2) // 4)
    labels = np.empty(cell_of(0, longest + 1), np.int64)
    begin, end = np.empty(2 * longest, np.int64), np.empty(2 * longest, np.int64)
    for i in range(out.size):
        y = truth[truth_starts[i] : truth_starts[i + 1]]
        found = values[starts[i] : starts[i + 1]]
        out[i] = scale * _loss(kind, tables, y, found, labels, begin, end)


@kernel
def _loss(kind, tables, y, found, labels, begin, end):
    same = True
    for e in range(y.size):
        # What the grammar does not have is never found.
        if y[e] != found[e] or y[e] == UNSEEN:
            same = False
            break
    if same or kind == ZERO_ONE:
        return 0.0 if same else 1.0
    n_words = (y.size // 2 + 1) // 2
    brackets = kind == BRACKETS
    n_truth = mark_labels(y, tables, brackets, begin, end, labels)
    n_found = 0
    n_matched = 0
    if found[0] != NO_TREE:
        find_spans(found, begin, end)
        for s in range(found.size // 2):
            chain, step = found[2 * s], found[2 * s + 1]
            label = label_of(chain, step, tables, brackets)
            n_found += is_bracket(chain, step, tables.n_tags)
            n_matched += label >= 0 and labels[cell_of(begin[s], end[s])] == label
    return loss_of(kind, n_words, n_truth, n_found, n_matched, False)
