"""The arguments of the CKY kernels: a grammar and its weights as named tuples of arrays.

Symbols: tags 0 … T − 1, phrases T … T + P − 1, prefixes of rules from T + P on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Tables(NamedTuple):
    """A grammar: binary steps sorted by (left, right, result), and unary chains.

    step_left, step_right, step_result : int32 (n_steps,)
    row_starts : int64 (n_symbols + 1,), where the steps of each left symbol begin
    pair_base : int64 (T + P,), the place in pair_starts of each left tag or phrase with many steps,
        −1 for others
    pair_starts : int64, where the steps of each (left, right) begin, T + P + 1 places for each left
        symbol that has a pair_base
    reach_starts : int64 (T + P + 1,), where the (bottom, top) pairs of each bottom begin
    reach_top : int32 (n_pairs,)
    chain_top, chain_bottom, chain_pair : int32 (n_chains,)
    chain_starts : int64 (n_chains + 1,), where the symbols of each chain begin
    chain_symbols : int32, from the top to the bottom
    bottom_starts : int64 (T + P + 1,), where the chains of each bottom begin
    bottom_chains : int32 (n_chains,)
    chain_label : int32 (n_chains,), the chain itself or, above a tag, the lowest chain with the
        same phrases above some tag: a bracket's label does not say the tag
    chain_next : int32 (n_chains,), the next chain of the same label, −1 if there is none
    first : uint8 (T + P, T / 8), a bit for each tag that may be the first in the symbol
    follow_row : int32 (n_prefixes,), the row of follow of each prefix with many steps, −1 for
        others
    follow : uint8 (n_rows, T / 8), a bit for each tag that may come right after the prefix
    word_starts : int64 (n_entries + 1,), where the tags of each entry of the lexicon begin; where
        tags are given, each is an entry with itself as tag
    word_tags : int32 (n_pairs of entry and tag,), in increasing order for each entry
    """

    n_tags: int
    n_phrases: int
    start: int
    step_left: np.ndarray
    step_right: np.ndarray
    step_result: np.ndarray
    row_starts: np.ndarray
    pair_base: np.ndarray
    pair_starts: np.ndarray
    reach_starts: np.ndarray
    reach_top: np.ndarray
    chain_top: np.ndarray
    chain_bottom: np.ndarray
    chain_pair: np.ndarray
    chain_starts: np.ndarray
    chain_symbols: np.ndarray
    bottom_starts: np.ndarray
    bottom_chains: np.ndarray
    chain_label: np.ndarray
    chain_next: np.ndarray
    first: np.ndarray
    follow_row: np.ndarray
    follow: np.ndarray
    word_starts: np.ndarray
    word_tags: np.ndarray


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
