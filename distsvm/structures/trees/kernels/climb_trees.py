"""The planes of trees written out as sparse vectors of rules, for kernels/climb_sparse.py."""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import inner_kernel, kernel
from distsvm.structures.trees.kernels.cky_rows import LEAF, pair_of
from distsvm.structures.trees.kernels.span_features import span_uses


@inner_kernel
def tree_rules(row, words, tables, chain_rules, chain_starts, step_rule, tag_rule, out):
    """Write down the rule of every use in one tree; how many there are. tag_rule may be empty."""
    n, place = 0, 0
    for e in range(0, row.size, 2):
        chain, step = row[e], row[e + 1]
        if chain >= 0:
            for r in range(chain_starts[chain], chain_starts[chain + 1]):
                out[n] = chain_rules[r]
                n += 1
        if step == LEAF:
            if tag_rule.size:
                pair = pair_of(tables, words[place], chain)
                if pair >= 0:
                    out[n] = tag_rule[pair]
                    n += 1
            place += 1
        elif step >= 0 and step_rule[step] >= 0:
            out[n] = step_rule[step]
            n += 1
    return n


@inner_kernel
def _pairs(row, spans, sentence, begin, end, first_pair, out):
    """Write down the weight of every pair's use in one tree; return how many there are."""
    if spans.pair_rule.size == 0 or row.size == 0:
        return 0
    n = span_uses(row, spans, sentence, begin, end, out)
    for u in range(n):
        out[u] += first_pair
    return n


@kernel
def flat_trees(
    truth, truth_starts, found, starts, words, word_starts, factor, tables, spans, chain_rules,
    chain_starts, step_rule, tag_rule, dim,
):  # fmt: skip
    """factor·(rules of the true tree − rules of the found one) of each plane, as sparse vectors.

    The weights of pairs of span features and rules come last.
    """
    longest = 0
    for c in range(chain_starts.size - 1):
        longest = max(longest, chain_starts[c + 1] - chain_starts[c])
    most = 0
    for i in range(factor.size):
        most = max(most, starts[i + 1] - starts[i], truth_starts[i + 1] - truth_starts[i])
    rules = np.empty((longest + 2) * max(1, most) * (1 + spans.n_templates), np.int64)
    begin, end = np.empty(max(1, most), np.int64), np.empty(max(1, most), np.int64)
    first_pair = dim - spans.pair_rule.size
    counts = np.zeros(dim)
    index, value = np.empty(1024, np.int64), np.empty(1024)
    ends, n = np.zeros(factor.size + 1, np.int64), 0
    for i in range(factor.size):
        own = words[word_starts[i] : word_starts[i + 1]]
        y = truth[truth_starts[i] : truth_starts[i + 1]]
        tree = found[starts[i] : starts[i + 1]]
        given = (own, tables, chain_rules, chain_starts, step_rule, tag_rule)
        m = tree_rules(tree, *given, rules)
        m += _pairs(tree, spans, i, begin, end, first_pair, rules[m:])
        for r in range(m):
            counts[rules[r]] -= 1.0
        m_true = tree_rules(y, *given, rules[m:])
        m_true += _pairs(y, spans, i, begin, end, first_pair, rules[m + m_true :])
        for r in range(m, m + m_true):
            counts[rules[r]] += 1.0
        if n + m + m_true > index.size:
            room = 2 * (n + m + m_true)
            more_index, more_value = np.empty(room, np.int64), np.empty(room)
            for e in range(n):
                more_index[e], more_value[e] = index[e], value[e]
            index, value = more_index, more_value
        for r in range(m + m_true):
            rule = rules[r]
            if counts[rule] != 0.0:
                index[n], value[n] = rule, factor[i] * counts[rule]
                counts[rule] = 0.0
                n += 1
        ends[i + 1] = n
    return index[:n].copy(), value[:n].copy(), ends
