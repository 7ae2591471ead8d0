"""What the CKY kernels take: a grammar and its weights as arrays, with names.

Symbols: tags 0 … T − 1, phrases T … T + P − 1, prefixes of rules from T + P on. A tuple with names
is all that a kernel sees; there are no methods.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Tables(NamedTuple):
    """A grammar: binary steps sorted by (left, right, result), and unary chains.

    step_left, step_right, step_result : int32 (n_steps,)
    row_starts : int64 (n_symbols + 1,), where the steps of each left symbol begin
    pair_starts : int64 ((T + P)² + 1,), where those of each (left, right) begin, left a tag or
        phrase
    reach_starts : int64 (T + P + 1,), where the (bottom, top) pairs of each bottom begin
    reach_top : int32 (n_pairs,)
    chain_top, chain_bottom, chain_pair : int32 (n_chains,)
    follow : bool (n_prefixes, T), whether the tag may come right after the prefix
    """

    n_tags: int
    n_phrases: int
    start: int
    step_left: np.ndarray
    step_right: np.ndarray
    step_result: np.ndarray
    row_starts: np.ndarray
    pair_starts: np.ndarray
    reach_starts: np.ndarray
    reach_top: np.ndarray
    chain_top: np.ndarray
    chain_bottom: np.ndarray
    chain_pair: np.ndarray
    follow: np.ndarray


class Weights(NamedTuple):
    """One w in the grammar's terms.

    step : float64 (n_steps,)
    chain : float64 (n_chains,)
    best, second : int32 (n_pairs,), the chains of the largest and second largest weight of each
        (bottom, top) pair, −1 where there is none; ties go to the lowest chain
    """

    step: np.ndarray
    chain: np.ndarray
    best: np.ndarray
    second: np.ndarray
