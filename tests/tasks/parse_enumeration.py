"""All trees of a small grammar by plain recursion, and losses straight from their definitions."""

from functools import cache
from itertools import pairwise

from distsvm.data.grammar import constituents
from distsvm.data.trees import TOP, Tree


def read_rule(rule):
    lhs, _, *rhs = rule.split()
    return lhs, tuple(rhs)


def allowed_chains(rules, given, max_chain):
    """{top: [chain, …]}: simple chains of up to max_chain rules, single rules, and the given."""
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

    for lhs, children in unary.items():
        grow((lhs,))
        found.update((lhs, child) for child in children)
    found.update(tuple(text.split(" => ")) for text in given)
    return [chain for chain in found if len(chain) > 1]


def all_trees(rules, given, max_chain, tags):
    """Every tree of the sentence, each once."""
    chains = allowed_chains(rules, given, max_chain)
    longer = [read_rule(rule) for rule in rules if len(read_rule(rule)[1]) > 1]

    @cache
    def bottoms(symbol, i, j):
        if symbol[0] == "'":
            own = j == i + 1 and symbol == f"'{tags[i]}'"
            return (Tree(tags[i], word=f"w{i}"),) if own else ()
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
            brackets.add((begin, begin + width, chain))
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
