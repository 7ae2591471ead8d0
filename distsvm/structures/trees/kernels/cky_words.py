"""What the tags of words add to trees in rows: their weights, and their rules.

A row's leaf says its tag by its chain; which tag rule that is, the word's entry tells. A tag that
the word does not have has no rule. Only for grammars on words: where tags are given, they weigh
nothing.
"""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel
from distsvm.structures.trees.kernels.cky_rows import LEAF


@kernel
def pair_of(tables, word, chain):
    """The place among all (word, tag) pairs of this word with the chain's tag; −1 if none."""
    if word < 0 or chain < 0:
        return -1
    tag = tables.chain_bottom[chain]
    for e in range(tables.word_starts[word], tables.word_starts[word + 1]):
        if tables.word_tags[e] == tag:
            return e
    return -1


@kernel
def add_tag_scores(tables, words, word_starts, values, starts, tag_weight, out):
    """out[i] += the weights of the tags in row i, whose words are the i-th."""
    for i in range(out.size):
        place = word_starts[i]
        for e in range(starts[i], starts[i + 1], 2):
            if values[e + 1] == LEAF:
                pair = pair_of(tables, words[place], values[e])
                if pair >= 0:
                    out[i] += tag_weight[pair]
                place += 1


@kernel
def add_tag_rules(tables, words, word_starts, values, starts, coefficients, rule, out):
    """out += Σ_i coefficient_i · (how often row i's tree has each tag rule)."""
    for i in range(coefficients.size):
        coefficient = coefficients[i]
        if coefficient == 0.0:
            continue
        place = word_starts[i]
        for e in range(starts[i], starts[i + 1], 2):
            if values[e + 1] == LEAF:
                pair = pair_of(tables, words[place], values[e])
                if pair >= 0:
                    out[rule[pair]] += coefficient
                place += 1


@kernel
def add_square_norms(tables, words, word_starts, values, starts, rule, dim, out):
    """out[i] += the part of ‖Ψ‖² that the tag rules of the tree in row i make."""
    counts = np.zeros(dim)
    one, back = np.empty(1), np.empty(1)
    one[0], back[0] = 1.0, -1.0
    for i in range(out.size):
        own, row = word_starts[i : i + 2], starts[i : i + 2]
        add_tag_rules(tables, words, own, values, row, one, rule, counts)
        place = word_starts[i]
        for e in range(starts[i], starts[i + 1], 2):
            if values[e + 1] == LEAF:
                pair = pair_of(tables, words[place], values[e])
                if pair >= 0:  # Σ_r count_r² is the sum of count_r over all uses of rules
                    out[i] += counts[rule[pair]]
                place += 1
        add_tag_rules(tables, words, own, values, row, back, rule, counts)
