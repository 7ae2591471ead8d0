"""The planes of trees written out as sparse vectors of rules, for kernels/climb_sparse.py."""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import inner_kernel, kernel
from distsvm.structures.trees.kernels.cky_rows import LEAF, pair_of


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


@kernel
def flat_trees(
    truth, truth_starts, found, starts, words, word_starts, factor, tables, chain_rules,
    chain_starts, step_rule, tag_rule, dim,
):  # fmt: skip
    """factor·(rules of the true tree − rules of the found one) of each plane, as sparse vectors."""
    longest = 0
    for c in range(chain_starts.size - 1):
        longest = max(longest, chain_starts[c + 1] - chain_starts[c])
    most = 0
    for i in range(factor.size):
        most = max(most, starts[i + 1] - starts[i], truth_starts[i + 1] - truth_starts[i])
    rules = np.empty((longest + 2) * max(1, most), np.int64)
    counts = np.zeros(dim)
    index, value = np.empty(1024, np.int64), np.empty(1024)
    ends, n = np.zeros(factor.size + 1, np.int64), 0
    for i in range(factor.size):
        own = words[word_starts[i] : word_starts[i + 1]]
        y = truth[truth_starts[i] : truth_starts[i + 1]]
        tree = found[starts[i] : starts[i + 1]]
        given = (own, tables, chain_rules, chain_starts, step_rule, tag_rule)
        m = tree_rules(tree, *given, rules)
        for r in range(m):
            counts[rules[r]] -= 1.0
        m_true = tree_rules(y, *given, rules[m:])
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
