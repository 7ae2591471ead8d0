"""w as arguments of the Viterbi kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsvm.data.features import frozen

Tables = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""table, opening, start and end of kernels/viterbi.py: the parts of a chain that w alone makes."""


class Chain(NamedTuple):
    """Weights of the labels' order; pairs and triples are empty at order 1."""

    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray
    pairs: np.ndarray
    triples: np.ndarray
    steps: np.ndarray


class View(NamedTuple):
    """The emissions' weights V, which are not copied, and the chain's tables, which are small.

    U has the prices of input features on transitions, shape (their number, L²).
    """

    V: np.ndarray
    chain: Tables
    U: np.ndarray


def chain_view(
    parts: Chain, forbidden: tuple[np.ndarray, np.ndarray, np.ndarray], scale: float
) -> Tables:
    """Return the chain's weights, times their features' scale, as tables, −inf where forbidden."""
    n = parts.start.size
    if scale != 1:
        parts = Chain(*[scale * part for part in parts])
    pairs, first, last = forbidden
    start = np.where(first, -np.inf, parts.start)
    end = np.where(last, -np.inf, parts.end)
    steps = np.where(pairs, -np.inf, parts.transitions)
    if parts.pairs.size == 0:
        table = opening = frozen(steps[None])
    else:
        table = frozen(steps[:, None, :] + parts.triples.transpose(1, 0, 2))
        opening = frozen(np.broadcast_to((steps + parts.pairs)[:, None, :], (n, n, n)))
    return table, opening, frozen(start), frozen(end)
