"""Trees as rows of numbers: their spans, weights, rules and losses.

A sentence of n words has 2n − 1 spans in the binary form of its tree. Row: (chain, step) of each
span, parents before children, left before right, so 2·(2n − 1) numbers. chain is PREFIX where the
span's label is the prefix that the step gives; step is LEAF for one word. The leaves determine the
shape of the tree. UNSEEN is a chain or step outside the grammar, which the truth may have in
evaluation; a row of NO_TREE is a sentence without a tree.

The tag of a word is the bottom of its leaf's chain. Tag rules exist only in grammars over words.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import inner_kernel, kernel

PREFIX = -1
LEAF = -1
UNSEEN = -2
NO_TREE = -3

TOO_LARGE = -1  # of what a search has found: it needs more memory than its limits

ZERO_ONE = 0
BRACKETS = 1
F1 = 2
F1_BRACKETS = 3


@kernel
def chain_weights(w, rules, starts, pair, n_pairs):
    """Return each chain's weight, and the best and second best chain of each pair."""
    weight = np.zeros(starts.size - 1)
    best, second = np.empty(n_pairs, np.int32), np.empty(n_pairs, np.int32)
    for c in range(weight.size):
        for e in range(starts[c], starts[c + 1]):
            weight[c] += w[rules[e]]
    best_chains(weight, pair, best, second)
    return weight, best, second


@inner_kernel
def best_chains(weight, pair, best, second):
    """Write the best and second best chain of each pair; −1 where there is none."""
    best[:], second[:] = -1, -1
    for c in range(weight.size):
        if weight[c] == -np.inf:
            continue
        p = pair[c]
        if best[p] < 0 or weight[c] > weight[best[p]]:
            second[p] = best[p]
            best[p] = c
        elif second[p] < 0 or weight[c] > weight[second[p]]:
            second[p] = c


@inner_kernel
def clear_row(words, row):
    """Write the row of a sentence without a tree; return whether every word has an entry."""
    row[:] = NO_TREE
    n_without = 0
    for place in range(words.size):
        n_without += words[place] < 0
    return n_without == 0


@inner_kernel
def pair_of(tables, word, chain):
    """Return the place of (word, the chain's tag) among all such pairs; −1 if none."""
    if word < 0 or chain < 0:
        return -1
    tag = tables.chain_bottom[chain]
    for e in range(tables.word_starts[word], tables.word_starts[word + 1]):
        if tables.word_tags[e] == tag:
            return e
    return -1


@kernel
def scores(tables, words, word_starts, values, starts, chain_weight, step_weight, tag_weight, out):
    """out[i] = ⟨w, Ψ⟩ of the tree in row i; −inf without a tree. tag_weight may be empty."""
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
        if tag_weight.size and total != -np.inf:
            place = word_starts[i]
            for e in range(starts[i], starts[i + 1], 2):
                if values[e + 1] == LEAF:
                    pair = pair_of(tables, words[place], values[e])
                    if pair >= 0:
                        total += tag_weight[pair]
                    place += 1
        out[i] = total


@kernel
def add_rules(
    tables, words, word_starts, values, starts, coefficients, chain_rules, chain_starts, step_rule,
    tag_rule, out,
):  # fmt: skip
    """out += Σ_i coefficient_i · (how often row i's tree has each rule). tag_rule may be empty."""
    for i in range(coefficients.size):
        coefficient = coefficients[i]
        if coefficient == 0.0:
            continue
        place = word_starts[i]
        for e in range(starts[i], starts[i + 1], 2):
            chain, step = values[e], values[e + 1]
            if chain >= 0:
                for r in range(chain_starts[chain], chain_starts[chain + 1]):
                    out[chain_rules[r]] += coefficient
            if step >= 0 and step_rule[step] >= 0:
                out[step_rule[step]] += coefficient
            if step == LEAF and tag_rule.size:
                pair = pair_of(tables, words[place], chain)
                if pair >= 0:
                    out[tag_rule[pair]] += coefficient
                place += 1


@kernel
def find_spans(row, begin, end):
    """Write begin[s], end[s] of every span of a row, which covers the words begin … end − 1."""
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


@inner_kernel
def cell_of(i, j):
    """Return the number of the cell of words i … j − 1."""
    return j * (j - 1) // 2 + i


@inner_kernel
def label_of(chain, step, tables, kind):
    """Return a span's label for this loss, −1 if it has none.

    F1_BRACKETS: the chain. Others: the chain (of one word, the lowest chain with the same phrases
    above a tag), or the number of chains plus the number of the prefix. For BRACKETS, prefixes and
    bare tags have no label; for F1, spans of one word have none.
    """
    if kind == F1_BRACKETS:
        return chain
    n_tags = tables.n_tags
    if step == LEAF:
        return tables.chain_label[chain] if kind == BRACKETS and chain >= n_tags else -1
    if chain >= 0:
        return chain
    if chain == PREFIX and step >= 0 and kind != BRACKETS:
        return tables.chain_top.size + tables.step_result[step] - n_tags - tables.n_phrases
    return -1


@inner_kernel
def count_brackets(tables, chain, kind):
    """Return the number of brackets of a span; a chain outside the grammar is one.

    F1_BRACKETS counts all phrases of the chain but TOP; the other losses count the chain once.
    """
    if kind != F1_BRACKETS or chain == UNSEEN:
        return int(chain >= tables.n_tags or chain == UNSEEN)
    n = 0
    if chain >= 0:
        for e in range(tables.chain_starts[chain], tables.chain_starts[chain + 1]):
            symbol = tables.chain_symbols[e]
            n += symbol >= tables.n_tags and symbol != tables.start
    return n


@inner_kernel
def count_matched(tables, label, other, kind):
    """Return the number of brackets, or labels, that two labels of one span share.

    F1_BRACKETS counts a phrase as often as both chains have it.
    """
    if kind != F1_BRACKETS or label < 0 or other < 0:
        return int(label >= 0 and label == other)
    n = 0
    start, stop = tables.chain_starts[label], tables.chain_starts[label + 1]
    for e in range(start, stop):
        symbol = tables.chain_symbols[e]
        if symbol < tables.n_tags or symbol == tables.start:
            continue
        earlier = 0
        for f in range(start, e):
            earlier += tables.chain_symbols[f] == symbol
        here = 0
        for f in range(tables.chain_starts[other], tables.chain_starts[other + 1]):
            here += tables.chain_symbols[f] == symbol
        n += earlier < here
    return n


@inner_kernel
def mark_labels(row, tables, kind, begin, end, labels):
    """labels[cell] = the label of the row's span there, −1 elsewhere; return the row's brackets."""
    n_words = (row.size // 2 + 1) // 2
    labels[: cell_of(0, n_words + 1)] = -1
    find_spans(row, begin, end)
    n_brackets = 0
    for s in range(row.size // 2):
        chain, step = row[2 * s], row[2 * s + 1]
        labels[cell_of(begin[s], end[s])] = label_of(chain, step, tables, kind)
        n_brackets += count_brackets(tables, chain, kind)
    return n_brackets


@inner_kernel
def loss_of(kind, n_words, n_truth, n_found, n_matched, same):
    """Return Δ before scaling, from counts of brackets, or of matched spans (F1)."""
    if same:
        return 0.0
    if kind == ZERO_ONE:
        return 1.0
    if kind == BRACKETS:
        return float(n_truth + n_found - 2 * n_matched)
    if kind == F1_BRACKETS:
        return 1.0 - 2.0 * n_matched / (n_truth + n_found) if n_truth + n_found else 0.0
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


@inner_kernel
def same_rows(truth, found):
    """Return whether two rows of one sentence are the same tree; UNSEEN matches nothing."""
    n_different = 0
    for e in range(truth.size):
        n_different += truth[e] != found[e] or truth[e] == UNSEEN
    return n_different == 0


@inner_kernel
def _loss(kind, tables, y, found, labels, begin, end):
    same = same_rows(y, found)
    if same or kind == ZERO_ONE:
        return 0.0 if same else 1.0
    n_words = (y.size // 2 + 1) // 2
    n_truth = mark_labels(y, tables, kind, begin, end, labels)
    n_found = 0
    n_matched = 0
    if found[0] != NO_TREE:
        find_spans(found, begin, end)
        for s in range(found.size // 2):
            chain, step = found[2 * s], found[2 * s + 1]
            n_found += count_brackets(tables, chain, kind)
            gold = labels[cell_of(begin[s], end[s])]
            n_matched += count_matched(tables, label_of(chain, step, tables, kind), gold, kind)
    return loss_of(kind, n_words, n_truth, n_found, n_matched, False)
