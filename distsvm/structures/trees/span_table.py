"""The pairs of span features and rules that have weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from distsvm.data.features import frozen
from distsvm.structures.trees.grammar import constituents, symbol_of
from distsvm.structures.trees.span_templates import SpanTemplates
from distsvm.structures.trees.tree import Tree

MARK = "\t"
"""Begins the text of a pair: no rule and no label has one, nor has a word."""


def pair_text(feature: str, rule: str) -> str:
    """Return the text that stands for a pair."""
    return f"{MARK}{feature}{MARK}{rule}"


def split_pair(text: str) -> tuple[str, str]:
    """Return the feature and the rule of a pair's text."""
    _, feature, rule = text.split(MARK)
    return feature, rule


def pairs_of(tree: Tree, templates: SpanTemplates) -> Iterator[str]:
    """Yield the text of every use of a pair: each rule with each feature of its node's span."""
    sentence, place = tree.sentence(), 0  # words before the node, as parents come before children
    for chain, bottom in constituents(tree):
        n = len(bottom.leaves())
        symbols = [f"'{label}'" if is_tag else label for label, is_tag in chain]
        rules = [f"{a} -> {b}" for a, b in pairwise(symbols)]
        if not bottom.is_word:
            rules.append(f"{bottom.label} -> {' '.join(map(symbol_of, bottom.children))}")
        for feature in templates.features(sentence, place, place + n) if rules else ():
            for rule in rules:
                yield pair_text(feature, rule)
        if bottom.is_word:
            place += 1


@dataclass(frozen=True, eq=False)
class SpanTable:
    """Features by name, and for each of them the rules that it has a weight with.

    Attributes
    ----------
    texts : tuple of str
        The pairs in the order of their weights: by feature, then by rule.
    number : dict of str to int, of each feature
    pair_starts : int64 array of shape (n_features + 1,)
    pair_rule : int32 array
    """

    texts: tuple[str, ...]
    number: dict[str, int]
    pair_starts: np.ndarray
    pair_rule: np.ndarray

    @classmethod
    def of(cls, texts: list[str], rule_number: Mapping[str, int]) -> SpanTable:
        """Return the table of these pairs; a ValueError where a rule is unknown."""
        split = [split_pair(text) for text in texts]
        unknown = [rule for _, rule in split if rule not in rule_number]
        if unknown:
            raise ValueError(f"span features name the rule {unknown[0]!r}, which is not there")
        names = sorted({feature for feature, _ in split})
        number = {name: i for i, name in enumerate(names)}
        pairs = sorted({(number[feature], rule_number[rule]) for feature, rule in split})
        rules = {place: rule for rule, place in rule_number.items()}
        feature, rule = np.array(pairs, np.int64).reshape(-1, 2).T
        return cls(
            tuple(pair_text(names[f], rules[r]) for f, r in pairs),
            number,
            frozen(np.searchsorted(feature, np.arange(len(names) + 1))),
            frozen(rule.astype(np.int32)),
        )

    @classmethod
    def none(cls) -> SpanTable:
        """Return the table without features."""
        return cls((), {}, frozen(np.zeros(1, np.int64)), frozen(np.zeros(0, np.int32)))


def to_bytes(texts: list[str]) -> np.ndarray:
    """Return texts without line ends as one array of bytes."""
    return np.frombuffer("\n".join(texts).encode("utf-8", "surrogatepass"), np.uint8)


def from_bytes(data: np.ndarray) -> list[str]:
    """Return the texts of to_bytes."""
    text = data.tobytes().decode("utf-8", "surrogatepass")
    return text.split("\n") if text else []
