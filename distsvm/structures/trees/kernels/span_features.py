"""Features of a span of words together with a rule: weights of rules that differ between spans.

A span (cell) of a sentence has one feature for each template, −1 where it has none that is known. A
pair of a feature and a rule has a weight; a node has, beside its rule's weight, those of the pairs
of its span's features and its rule. So the weights of rules depend on the span alone, and a search
takes those of weights_at in place of the grammar's, one span after another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.kernels.options import inner_kernel, kernel
from distsvm.structures.trees.kernels.cky_rows import (
    NO_TREE,
    best_chains,
    cell_of,
    find_spans,
)
from distsvm.structures.trees.kernels.cky_tables import Weights


class Spans(NamedTuple):
    """Pairs of features and rules, their weights, and the features of some sentences' spans.

    Feature f has the pairs pair_starts[f] … pair_starts[f + 1] − 1, in the order of their rules.
    Cell c of sentence i has the features values[starts[i] + c·n_templates] … Without pairs, all
    arrays are empty.
    """

    n_templates: int
    pair_starts: np.ndarray  # int64
    pair_rule: np.ndarray  # int32
    pair_weight: np.ndarray  # float64
    chain_rules: np.ndarray  # int32, of the grammar's chains
    chain_starts: np.ndarray  # int64
    step_rule: np.ndarray  # int32
    n_rules: int
    values: np.ndarray  # int32
    starts: np.ndarray  # int64


class Room(NamedTuple):
    """Memory for the weights of one span."""

    rule: np.ndarray
    weights: Weights


@inner_kernel
def room_for(weights, spans):
    n_rules, n_steps, n_chains, n_pairs = 0, 0, 0, 0
    if spans.pair_rule.size:
        n_rules, n_steps = spans.n_rules, weights.step.size
        n_chains, n_pairs = weights.chain.size, weights.best.size
    return Room(
        np.zeros(n_rules),
        Weights(
            np.empty(n_steps), np.empty(n_chains), np.empty(n_pairs, np.int32),
            np.empty(n_pairs, np.int32), weights.tag,
        ),
    )  # fmt: skip


@inner_kernel
def weights_at(tables, weights, spans, sentence, cell, room):
    """Return the weights that rules have at a cell of a sentence: the given ones without pairs."""
    if spans.pair_rule.size == 0:
        return weights
    first = spans.starts[sentence] + cell * spans.n_templates
    any_pair = False
    for t in range(first, first + spans.n_templates):
        f = spans.values[t]
        if f >= 0:
            for p in range(spans.pair_starts[f], spans.pair_starts[f + 1]):
                room.rule[spans.pair_rule[p]] += spans.pair_weight[p]
                any_pair = True
    if not any_pair:
        return weights
    own = room.weights
    for e in range(own.step.size):
        own.step[e] = weights.step[e]
        if spans.step_rule[e] >= 0:
            own.step[e] += room.rule[spans.step_rule[e]]
    for c in range(own.chain.size):
        own.chain[c] = weights.chain[c]
        for r in range(spans.chain_starts[c], spans.chain_starts[c + 1]):
            own.chain[c] += room.rule[spans.chain_rules[r]]
    best_chains(own.chain, tables.chain_pair, own.best, own.second)
    room.rule[:] = 0.0
    return own


@inner_kernel
def _pair_of(spans, feature, rule):
    """Return the number of the pair, −1 if there is none."""
    low, high = spans.pair_starts[feature], spans.pair_starts[feature + 1]
    while low < high:
        middle = (low + high) // 2
        if spans.pair_rule[middle] < rule:
            low = middle + 1
        else:
            high = middle
    found = low < spans.pair_starts[feature + 1] and spans.pair_rule[low] == rule
    return low if found else -1


@inner_kernel
def _add_pairs(spans, first, rule, out, n):
    for t in range(first, first + spans.n_templates):
        if spans.values[t] >= 0:
            pair = _pair_of(spans, spans.values[t], rule)
            if pair >= 0:
                out[n] = pair
                n += 1
    return n


@inner_kernel
def span_uses(row, spans, sentence, begin, end, out):
    """Write down the pair of every use in one tree; return how many there are."""
    if row[0] == NO_TREE:
        return 0
    find_spans(row, begin, end)
    n = 0
    for s in range(row.size // 2):
        chain, step = row[2 * s], row[2 * s + 1]
        first = spans.starts[sentence] + cell_of(begin[s], end[s]) * spans.n_templates
        if chain >= 0:
            for r in range(spans.chain_starts[chain], spans.chain_starts[chain + 1]):
                n = _add_pairs(spans, first, spans.chain_rules[r], out, n)
        if step >= 0 and spans.step_rule[step] >= 0:
            n = _add_pairs(spans, first, spans.step_rule[step], out, n)
    return n


@inner_kernel
def use_rooms(spans, starts):
    """Return room for begin, end and the uses of any of these rows."""
    most, longest = 0, 0
    for i in range(starts.size - 1):
        most = max(most, starts[i + 1] - starts[i])
    for c in range(spans.chain_starts.size - 1):
        longest = max(longest, spans.chain_starts[c + 1] - spans.chain_starts[c])
    n = (longest + 1) * most * spans.n_templates
    return np.empty(most, np.int64), np.empty(most, np.int64), np.empty(n, np.int64)


@kernel
def add_scores(spans, values, starts, out):
    """out[i] += the weights of the pairs in row i's tree; row i is of sentence i of the spans."""
    begin, end, uses = use_rooms(spans, starts)
    for i in range(out.size):
        n = span_uses(values[starts[i] : starts[i + 1]], spans, i, begin, end, uses)
        for u in range(n):
            out[i] += spans.pair_weight[uses[u]]


@kernel
def add_uses(spans, values, starts, coefficients, first_weight, out):
    """out[first_weight + pair] += coefficients[i] for every use of a pair in row i's tree."""
    begin, end, uses = use_rooms(spans, starts)
    for i in range(coefficients.size):
        if coefficients[i] == 0.0:
            continue
        n = span_uses(values[starts[i] : starts[i + 1]], spans, i, begin, end, uses)
        for u in range(n):
            out[first_weight + uses[u]] += coefficients[i]
