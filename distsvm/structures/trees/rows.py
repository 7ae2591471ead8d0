"""Conversion of trees to rows of numbers and back; kernels/cky_rows.py describes rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from distsvm import checks
from distsvm.data.ragged import Ragged
from distsvm.errors import DataError
from distsvm.structures.trees.grammar import Grammar, constituents
from distsvm.structures.trees.kernels.cky_rows import LEAF, NO_TREE, PREFIX, UNSEEN
from distsvm.structures.trees.tree import TOP, Tree

_NO_WORD = re.compile(r"[\s()]")

Sentence = tuple[tuple[str, str], ...]
"""((word, tag), …)."""


@dataclass(frozen=True, eq=False)
class TreeRows(Ragged):
    """Rows of trees, and the number of each one's sentence in its shard."""

    sentence: np.ndarray

    def __getitem__(self, which: np.ndarray) -> TreeRows:
        rows = super().__getitem__(which)
        return TreeRows(rows.values, rows.starts, self.sentence[which])


def as_sentence(x: Any, words: bool = False) -> Sentence:
    """Return words with tags; a tag alone is its own word.

    With `words`, an item alone is a word, and all tags become blank.
    """
    alone = "word" if words else "tag"
    if isinstance(x, str) or not isinstance(x, Sequence | np.ndarray) or not len(x):
        raise DataError(f"a sentence is {x!r}, expected a list of (word, tag), or of {alone}s")
    sentence = []
    for item in x:
        if isinstance(item, str):
            pair = (str(item), str(item))
        elif isinstance(item, tuple | list) and len(item) == 2:
            pair = (str(item[0]), str(item[1]))
        else:
            raise DataError(f"a sentence has the item {item!r}, expected (word, tag), or a {alone}")
        if not pair[0] or _NO_WORD.search(pair[0]):
            raise DataError(
                f"the word {pair[0]!r} is blank or has spaces or brackets, which no tree can have; "
                "treebanks write -LRB- and -RRB- for brackets"
            )
        sentence.append((pair[0], "") if words else pair)
    return tuple(sentence)


def as_tree(y: Any) -> Tree:
    """Return a tree unchanged, or parse its text in brackets, as in JSON and tables."""
    if isinstance(y, str):
        return Tree.parse(y)
    if not isinstance(y, Tree):
        raise DataError(f"the output is {y!r}, expected a Tree or its text in brackets")
    return y


def check_leaves(sentence: Sentence, tree: Tree, words: bool = False) -> None:
    """Refuse a tree whose words or tags are not the sentence's; with `words`, tags may be any."""
    leaves = tree.sentence()
    if len(leaves) != len(sentence):
        raise DataError(f"the tree has {len(leaves)} words, the sentence {len(sentence)}")
    for place, (leaf, given) in enumerate(zip(leaves, sentence, strict=True)):
        # A tag alone is its own word.
        same_word = leaf[0] == given[0] or (not words and given[0] == given[1])
        if not same_word or (not words and leaf[1] != given[1]):
            shown = (leaf[0], given[0]) if words else (leaf, given)
            raise DataError(
                f"word {place} is {shown[0]!r} in the tree, {shown[1]!r} in the sentence"
            )


def row_length(n_words: Any) -> Any:
    """Return the length of the row of a sentence with n_words words; also for an array."""
    return 2 * (2 * n_words - 1)


def encode(grammar: Grammar, tree: Tree) -> list[int]:
    """Return the tree as a row, with UNSEEN for chains and steps outside the grammar."""
    row: list[int] = []
    for symbols, node in constituents(tree):
        numbers = tuple(grammar.symbol(symbol) for symbol in symbols)
        chain = grammar.chain_number.get(numbers, UNSEEN)  # type: ignore[arg-type]
        if node.is_word:
            # A bare tag is no constituent, also outside the grammar.
            row += [PREFIX if len(symbols) == 1 and chain == UNSEEN else chain, LEAF]
            continue
        bottom = numbers[-1]
        children = [grammar.symbol((child.label, child.is_word)) for child in node.children]
        prefixes = children[:1]
        for child in children[1:-1]:
            prefixes.append(grammar.prefix_number.get((prefixes[-1], child)))  # type: ignore[arg-type]
        # The steps come from the last to the first, as parents come before children.
        results = [*prefixes[1:], bottom]
        for i in range(len(prefixes) - 1, -1, -1):
            key = (prefixes[i], children[i + 1], results[i])
            step = grammar.step_number.get(key, UNSEEN)  # type: ignore[arg-type]
            row += [chain if i == len(prefixes) - 1 else PREFIX, step]
    return row


def unknown_labels(grammar: Grammar, tree: Tree) -> list[str]:
    """Return the tree's labels of phrases and tags outside the grammar, one for each use."""
    symbols = [symbol for chain, _ in constituents(tree) for symbol in chain]
    return [symbol[0] for symbol in symbols if grammar.symbol(symbol) is None]


def decode(grammar: Grammar, row: Sequence[int], sentence: Sentence) -> Tree:
    """Return the tree of a row; for NO_TREE a flat one under TOP, with the sentence's tags."""
    if row[0] == NO_TREE:
        return Tree(TOP, tuple(Tree(tag, word=word) for word, tag in sentence))
    words = list(sentence)
    # From the end, so that children are made before their parents.
    stack: list[list[Tree]] = []
    for place in range(len(row) - 2, -1, -2):
        chain, step = row[place], row[place + 1]
        if step == LEAF:
            word, tag = words.pop()
            tag = grammar.label(grammar.chains[chain][-1]) if chain >= 0 else tag
            children = [Tree(tag, word=word)]
        else:
            children = stack.pop() + stack.pop()
        stack.append(children if chain == PREFIX else [_raised(grammar, chain, children)])
    return stack[0][0]


def _raised(grammar: Grammar, chain: int, children: list[Tree]) -> Tree:
    """Return the chain's nodes above the children, without TOP unless it is the bottom."""
    symbols = grammar.chains[chain]
    node = children[0]
    if symbols[-1] >= len(grammar.tags):
        node = Tree(grammar.label(symbols[-1]), tuple(children))
    for upper, _ in reversed(list(pairwise(symbols))):
        if grammar.label(upper) != TOP:
            node = Tree(grammar.label(upper), (node,))
    return node


def check_rows(rows: Ragged, n_chains: int, n_steps: int) -> None:
    """Refuse rows that are no trees."""
    checks.within("chain", rows.values[::2], NO_TREE, n_chains)
    checks.within("step", rows.values[1::2], NO_TREE, n_steps)
    firsts, ends = rows.starts[:-1] // 2, rows.starts[1:] // 2
    # A leaf ends one of the open spans; any other span opens two and ends one.
    change = np.where(rows.values[1::2] == LEAF, -1, 1)
    sums = np.concatenate([[0], np.cumsum(change)])
    lengths = ends - firsts
    missing = 1 + sums[1:] - np.repeat(sums[firsts], lengths)
    last = np.zeros(missing.size, dtype=bool)
    last[ends - 1] = True
    none = np.repeat(rows.values[rows.starts[:-1]] == NO_TREE, lengths)
    blank = (rows.values.reshape(-1, 2) == NO_TREE).all(axis=1)
    if not np.where(none, blank, np.where(last, missing == 0, missing > 0)).all():
        raise ValueError("a row of spans is no tree")
