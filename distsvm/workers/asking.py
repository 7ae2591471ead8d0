"""Oracle calls from a team of threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from distsvm.oracles.oracle import Oracle
from distsvm.oracles.search import Separation
from distsvm.team import Team

LEAST_WORK = 1e5
"""Least work of a piece, in the unit of Oracle.call_work: below it, threads cost more than they
save."""


def asked(
    team: Team, oracle: Oracle, view: Any, pieces: Iterable[np.ndarray], size: int
) -> Iterator[Separation]:
    """Yield the oracle's result for each of these pieces of `size` rows, until the time limit.

    The last result may be of the first rows of its piece only. Threads begin at once, so the view
    must not change before the last result is taken.
    """
    if size * oracle.call_work() < LEAST_WORK:
        team = Team()

    def ask(piece: np.ndarray) -> tuple[int, Separation | None]:
        return piece.size, None if oracle.is_late() else oracle.separate(view, piece)

    return _until_late(team.map(ask, pieces))


def _until_late(answers: Iterator[tuple[int, Separation | None]]) -> Iterator[Separation]:
    for n_rows, answer in answers:
        if answer is None:
            return
        yield answer
        if len(answer.planes) < n_rows:
            return
