"""The arguments of the CKY kernels: a grammar and its weights as named tuples of arrays.

Symbols: tags 0 … T − 1, phrases T … T + P − 1, prefixes of rules from T + P on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Tables(NamedTuple):
    """A grammar: binary steps sorted by (left, right, result), unary chains, and words.

    Starts and bases are int64, bits are uint8, all other arrays int32. "By x" means an array with
    one entry for each x, and one more at the end where they are starts.
    """

    n_tags: int
    n_phrases: int
    start: int
    step_left: np.ndarray  # by step
    step_right: np.ndarray
    step_result: np.ndarray
    row_starts: np.ndarray  # by left symbol: its steps
    pair_base: np.ndarray  # by tag or phrase: its place in pair_starts, −1 if it has few steps
    pair_starts: np.ndarray  # T + P + 1 entries a base: the steps of each (left, right)
    reach_starts: np.ndarray  # by bottom: its (bottom, top) pairs
    reach_top: np.ndarray  # by pair
    chain_top: np.ndarray  # by chain
    chain_bottom: np.ndarray
    chain_pair: np.ndarray
    chain_starts: np.ndarray  # by chain: its symbols, from the top to the bottom
    chain_symbols: np.ndarray
    bottom_starts: np.ndarray  # by bottom: its chains
    bottom_chains: np.ndarray
    chain_label: np.ndarray  # by chain: itself, or, above a tag, the lowest chain of these phrases
    chain_next: np.ndarray  # by chain: the next chain of the same label, −1 if none
    first: np.ndarray  # by tag or phrase: a bit for each tag that may be its first
    follow_row: np.ndarray  # by prefix: its row of follow, −1 if it has few steps
    follow: np.ndarray  # by row: a bit for each tag that may come right after the prefix
    word_starts: np.ndarray  # by entry of the lexicon, or by given tag: its tags
    word_tags: np.ndarray  # by (entry, tag), increasing for each entry


class Weights(NamedTuple):
    """One w in the grammar's terms.

    step : float64 (n_steps,)
    chain : float64 (n_chains,)
    best, second : int32 (n_pairs,), the chains of the largest and second largest weight of each
        (bottom, top) pair, −1 where there is none; ties go to the lowest chain
    tag : float64 (n_pairs of entry and tag,)
    """

    step: np.ndarray
    chain: np.ndarray
    best: np.ndarray
    second: np.ndarray
    tag: np.ndarray
