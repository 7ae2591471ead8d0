"""A seeded treebank from a small grammar of English: equal arguments give equal trees."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from distsvm.structures.trees.tree import Tree

# The rules of a phrase depend on the phrase above it, which no context-free grammar over these
# labels expresses. So weights learnt for good parses differ from relative frequencies.
RULES: dict[str, list[tuple[float, str]]] = {
    "S": [(0.6, "NP VP ."), (0.15, "PP , NP VP ."), (0.1, "NP ADVP VP ."), (0.15, "S/C CC S/C .")],
    "NP/S": [(0.3, "DT NN"), (0.2, "PRP"), (0.2, "NNS"), (0.2, "NP PP"), (0.1, "NP CC NP")],
    "NP/VP": [(0.3, "DT NN"), (0.1, "DT JJ NN"), (0.2, "NNS"), (0.15, "NP SBAR"), (0.25, "NP PP")],
    "NP/PP": [
        (0.4, "DT NN"), (0.3, "NNS"), (0.1, "DT JJ NN NN"), (0.1, "NP PP"), (0.1, "NP CC NP"),
    ],
    "NP/NP": [(0.5, "DT NN"), (0.2, "JJ NNS"), (0.2, "NNS"), (0.1, "NP PP")],
    "VP": [
        (0.25, "VBD NP"), (0.3, "VBD NP PP"), (0.15, "VBD"), (0.15, "VBD SBAR"), (0.15, "VP PP"),
    ],
    "VP/VP": [(0.7, "VBD"), (0.3, "VBD NP")],
    "PP": [(1.0, "IN NP")],
    "SBAR": [(0.6, "WHNP S/C"), (0.4, "S/C")],
    "S/C": [(1.0, "NP VP")],
    "WHNP": [(1.0, "WDT")],
    "ADVP": [(1.0, "RB")],
}  # fmt: skip
WORDS = {
    "DT": "the a this every", "NN": "parser tree word cat river ship", "NNS": "dogs rules trees",
    "JJ": "old small green", "PRP": "she he it", "VBD": "saw read said found liked",
    "IN": "in with of near", "WDT": "that which", "RB": "often never",
    ".": ". !", ",": ",", "CC": "and or",
}  # fmt: skip


def make_treebank(n: int, *, max_length: int = 20, seed: int = 0) -> list[Tree]:
    """Return n trees of at most max_length words, with n-ary rules, unary chains and ambiguity."""
    if max_length < 4:
        raise ValueError(f"max_length={max_length}: expected at least 4")
    rng = np.random.default_rng(seed)
    trees: list[Tree] = []
    while len(trees) < n:
        tree = _grow(rng, "S", "", max_length)
        if tree is not None and len(tree.leaves()) <= max_length:
            trees.append(tree)
    return trees


def write_treebank(path: str | Path, trees: list[Tree]) -> None:
    """Write one tree a line, with the outer bracket of Penn's files."""
    Path(path).write_text("".join(f"( {tree} )\n" for tree in trees), encoding="utf-8")


def _grow(
    rng: np.random.Generator, symbol: str, above: str, room: int, depth: int = 0
) -> Tree | None:
    """Return a random phrase; None if it becomes too deep."""
    if symbol in WORDS:
        return Tree(symbol, word=str(rng.choice(WORDS[symbol].split())))
    if depth > room:
        return None
    label = symbol.split("/")[0]
    choices = RULES.get(f"{label}/{above}") or RULES[symbol]
    place = rng.choice(len(choices), p=[share for share, _ in choices])
    children = [_grow(rng, s, label, room, depth + 1) for s in choices[place][1].split()]
    kept = tuple(child for child in children if child is not None)
    return Tree(label, kept) if len(kept) == len(children) else None
