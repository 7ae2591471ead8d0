"""All trees of a small grammar by recursion, losses from their definitions, and what must hold."""

from collections import Counter
from functools import cache
from itertools import pairwise

import numpy as np

from distsvm.structures.trees.grammar import Grammar, chains_of, constituents, rules_of
from distsvm.structures.trees.tree import TOP, Tree
from distsvm.vectors import to_dense

CASES = [
    ("zero-one", "margin"),
    ("zero-one", "slack"),
    ("brackets", "margin"),
    ("f1", "margin"),
    ("f1", "slack"),
    ("f1-brackets", "margin"),
    ("f1-brackets", "slack"),
]


def grammar_of(trees):
    """Return the grammar of all rules and chains that these trees have."""
    rules = [rule for tree in trees for rule in rules_of(tree)]
    return Grammar.of(rules, [chain for tree in trees for chain in chains_of(tree)])


def read_rule(rule):
    lhs, _, *rhs = rule.split()
    return lhs, tuple(rhs)


def allowed_chains(rules, given, max_chain):
    """{top: [chain, …]}: simple chains of up to max_chain ≥ 1 rules, and the given."""
    unary = {}
    for lhs, rhs in map(read_rule, rules):
        if len(rhs) == 1:
            unary.setdefault(lhs, []).append(rhs[0])
    found = set()

    def grow(chain):
        found.add(chain)
        for child in unary.get(chain[-1], []) if len(chain) <= max_chain else []:
            if child not in chain:
                grow((*chain, child))

    for lhs in unary:
        grow((lhs,))
    found.update(tuple(text.split(" => ")) for text in given)
    return [chain for chain in found if len(chain) > 1]


def all_trees(rules, given, max_chain, tags, words=None):
    """Every tree of the sentence, each once; tags[i] are those that word i can have."""
    words = words or [f"w{i}" for i in range(len(tags))]
    chains = allowed_chains(rules, given, max_chain)
    longer = [read_rule(rule) for rule in rules if len(read_rule(rule)[1]) > 1]

    @cache
    def bottoms(symbol, i, j):
        if symbol[0] == "'":
            own = j == i + 1 and symbol[1:-1] in tags[i]
            return (Tree(symbol[1:-1], word=words[i]),) if own else ()
        return tuple(
            Tree(symbol, children)
            for lhs, rhs in longer
            if lhs == symbol
            for children in rows_of(rhs, i, j)
        )

    @cache
    def rows_of(symbols, i, j):
        if len(symbols) == 1:
            return tuple((tree,) for tree in wholes(symbols[0], i, j))
        return tuple(
            (first, *rest)
            for k in range(i + 1, j - len(symbols) + 2)
            for first in wholes(symbols[0], i, k)
            for rest in rows_of(symbols[1:], k, j)
        )

    @cache
    def wholes(symbol, i, j):
        found = list(bottoms(symbol, i, j))
        for chain in chains:
            if chain[0] == symbol:
                for tree in bottoms(chain[-1], i, j):
                    for upper, _ in reversed(list(pairwise(chain))):
                        if upper != TOP:
                            tree = Tree(upper, (tree,))
                    found.append(tree)
        return tuple(found)

    return list(wholes(TOP, 0, len(tags)))


def labelled_spans(tree, n_words):
    """{(start, stop): label} of the binary form, and the set of (start, stop, chain) brackets."""
    binary, brackets = {}, set()
    place = 0  # words before the node, as parents come before children
    for chain, bottom in constituents(tree):
        begin, width = place, len(bottom.leaves())
        if bottom.is_word:
            place += 1
        if not (bottom.is_word and len(chain) == 1):
            phrases = chain[:-1] if bottom.is_word else chain  # tags are no part of a bracket
            brackets.add((begin, begin + width, phrases))
        if width > 1:
            binary[begin, begin + width] = chain
            stop = begin
            prefix = []
            for child in bottom.children[:-1]:
                stop += len(child.leaves())
                prefix.append((child.label, child.is_word))
                if len(prefix) > 1:
                    binary[begin, stop] = tuple(prefix), "prefix"
    assert len(binary) == n_words - 1
    return binary, brackets


def loss(kind, y, y_hat, n_words):
    if y == y_hat:
        return 0.0
    if kind == "f1-brackets":
        one, two = (Counter(b for b in tree.spans() if b[0] != TOP) for tree in (y, y_hat))
        n = one.total() + two.total()
        return 1.0 - 2.0 * (one & two).total() / n if n else 0.0
    if kind == "zero-one":
        return 1.0
    (binary, brackets), (binary_hat, brackets_hat) = (
        labelled_spans(tree, n_words) for tree in (y, y_hat)
    )
    if kind == "brackets":
        return float(len(brackets ^ brackets_hat))
    if n_words == 1:
        return 0.0
    matched = sum(binary_hat.get(span) == label for span, label in binary.items())
    return 1.0 - matched / (n_words - 1)


def weights(seed, dim, kind):
    """Small integers for ties, a normal distribution, or integers with some −inf."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(dim) if kind == "normal" else rng.integers(-2, 3, dim) / 2.0
    if kind == "holes":
        w[rng.choice(dim, 1 + dim // 5)] = -np.inf
    w.flags.writeable = False
    return w


def score(task, w, tree):
    psi = task.joint_features(None, tree)
    return float(psi.value @ w[psi.index])


def check_best(task, w, x, trees):
    """decode finds a tree of the largest score, the same again, or tells that there is none."""
    scores = [score(task, w, tree) for tree in trees]
    found = task.decode(w, x)
    assert found == task.decode(w, x)
    if max(scores, default=-np.inf) == -np.inf:
        assert found.label == TOP
        assert all(child.is_word for child in found.children)
        return
    assert len(set(trees)) == len(trees)
    assert np.isclose(scores[trees.index(found)], max(scores))


def check_most_violated(task, w, x, trees, rescaling, seed, penalty="linear"):
    """The oracle's planes are those of the largest value, for three truths in one call."""
    scores = np.array([score(task, w, tree) for tree in trees])
    possible = np.flatnonzero(scores > -np.inf)
    if not possible.size:
        return
    truths = [trees[i] for i in np.random.default_rng(seed).choice(possible, 3)]
    oracle = task.oracle(task.shard([x] * 3, truths), rescaling)
    assert not oracle.unfit()
    oracle.penalise(penalty)
    rows = np.array([2, 0, 1])
    view = oracle.view(w)
    answer = oracle.separate(view, rows)
    outputs = oracle.public(answer.planes.output)
    total = np.zeros(task.dim)
    for i, row in enumerate(rows):
        y = truths[row]
        delta = task.loss_scale * np.array([loss(task.losses, y, tree, len(x)) for tree in trees])
        margin = score(task, w, y) - scores[possible]
        q = delta
        if penalty == "quadratic":
            q = np.sqrt(delta)
        elif penalty == "hard" and rescaling == "slack":
            q = (delta > 0) * 1.0
        own = q[possible]
        values = own * (1 - margin) if rescaling == "slack" else own - margin
        chosen = trees.index(outputs[i])
        reached = values[possible.tolist().index(chosen)]
        assert np.isclose(values.max(), answer.value[i], rtol=1e-9, atol=1e-9)
        assert np.isclose(reached, answer.value[i], rtol=1e-9, atol=1e-9)
        assert np.isclose(answer.planes.loss[i], delta[chosen])
        assert np.isclose(answer.planes.q[i], q[chosen])
        if delta[chosen] > 0 and penalty == "hard":
            assert 0 < oracle.least_losses(rows)[i] <= delta[chosen] + 1e-12
        assert np.isclose(task.loss(y, outputs[i]), delta[chosen])
        p = to_dense(task.joint_features(x, y)) - to_dense(task.joint_features(x, outputs[i]))
        total += (i + 1) * (q[chosen] * p if rescaling == "slack" else p)
    out = np.zeros(task.dim)
    oracle.accumulate(answer.planes, np.arange(1.0, 4.0), out)
    np.testing.assert_allclose(out, total, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        oracle.values(view, answer.planes), answer.value, rtol=1e-9, atol=1e-9
    )
