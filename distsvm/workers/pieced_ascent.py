"""The dual ascent of a block whose examples are on disk: a piece after another, on one change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from itertools import groupby
from operator import add
from typing import TypeVar

import numpy as np

from distsvm.messages import Ascended, Ascent, Holding
from distsvm.vectors import compact
from distsvm.workers.ascent import BlockAscent
from distsvm.workers.pieces import PiecedOracle
from distsvm.workers.shelf import Shelf
from distsvm.workers.support import MOST_TOLD, SupportTable

LOAD_WORK = 1.0
"""Of a byte of a piece that comes from disk, in products of a climber: a round over planes that
bring little does not pay if all of them have to be read for it."""

Found = TypeVar("Found")


class PiecedAscent:
    """A BlockAscent with one piece's examples and planes in memory; others are on a shelf on disk.

    In a round each piece continues from the changes of the pieces before it. The shelf has the
    planes after the last complete round; a round that fails half-way does not change it.

    Parameters
    ----------
    folder : str
        A folder on a disk of this machine, for the planes.
    memory_mb : float
        Limit of the memory for the planes of one piece.
    weight, C_share, seed, block, n_apart :
        As BlockAscent has them.
    """

    def __init__(
        self, oracle: PiecedOracle, folder: str, weight: np.ndarray, C_share: float,
        memory_mb: float, seed: int = 0, block: int = 0, n_apart: int = 1,
    ) -> None:  # fmt: skip
        self.oracle, self.weight, self.number = oracle, weight, 0
        self._folder, self._C_share = folder, C_share
        self._given = memory_mb, seed, block, n_apart
        # Those of the whole block, so that a change has the same meaning for all pieces.
        self._shares = oracle.feature_shares() if n_apart > 1 else None
        self._shelf: Shelf | None = None

    def round(self, w: np.ndarray, point: np.ndarray | None, todo: Ascent) -> Ascended:
        """Do a round; see BlockAscent.round."""
        total: Ascended | None = None

        def climb(ascent: BlockAscent) -> Ascended:
            nonlocal total
            if total is None:
                total = ascent.round(w, point, todo)
            else:
                answer = ascent.round(w, point, todo, begun=total.u)
                most = max(total.n_bytes, answer.n_bytes)  # one piece is in memory at a time
                total = replace(total + answer, n_bytes=most)
            return total

        *_, total = self._each(climb)
        self.number = todo.number
        assert self._shelf is not None
        n_bytes = self.oracle.all_bytes + self._shelf.n_bytes
        return replace(total, u=compact(total.u), work=total.work + LOAD_WORK * n_bytes)

    def rescale(self, C_share: float, factor: float, taken: float) -> None:
        """Continue at another C; see BlockAscent.rescale."""
        self._all(lambda ascent: ascent.rescale(C_share, factor, taken))
        self._C_share = C_share

    def fall_behind(self) -> None:
        """Continue with earlier α; see BlockAscent.fall_behind."""
        self._all(BlockAscent.fall_behind)
        self.number = 0

    def holding(self) -> Holding:
        """Return the block's values before the last changes; see BlockAscent.holding."""
        return reduce(add, self._each(BlockAscent.holding))

    def support(self, taken: float) -> SupportTable:
        """As BlockAscent.support."""
        found: SupportTable | None = None
        for table in self._each(lambda ascent: ascent.support(taken)):
            tables = [table] if found is None else [found, table]
            found = SupportTable.joined(tables).largest(MOST_TOLD)
        assert found is not None
        return found

    # --- pieces ----------------------------------------------------------------------------

    def _each(self, act: Callable[[BlockAscent], Found]) -> Iterator[Found]:
        """Yield act(piece) of every piece in turn; the changes count once all are done."""
        shelf = Shelf(self._folder)
        shelf.put("pieces", self.oracle.sizes)
        for number in range(self.oracle.sizes.size):
            yield self._visited(number, act, shelf)
        self._shelf = shelf

    def _all(self, act: Callable[[BlockAscent], Found]) -> list[Found]:
        return list(self._each(act))

    def _visited(self, number: int, act: Callable[[BlockAscent], Found], shelf: Shelf) -> Found:
        # All that it reads is released when it returns, before the next piece is read.
        oracle, rows = self.oracle.part(number)
        ascent = BlockAscent(oracle, self.weight[rows], self._C_share, *self._given, self._shares)
        if self._shelf is not None:
            ascent.restore(self._shelf.under(f"{number}."))
        found = act(ascent)
        for name, array in ascent.state().items():
            shelf.put(f"{number}.{name}", array)
        return found

    # --- checkpoints -----------------------------------------------------------------------

    changed = None
    """The whole shelf is written each time."""

    def state(self, rows: np.ndarray | None = None) -> Mapping[str, np.ndarray]:
        """Return the state as BlockAscent.state, of all examples; an array is read on its use."""
        if self._shelf is None:
            self._all(lambda ascent: None)
        assert self._shelf is not None
        return self._shelf

    def restore(self, named: Iterable[tuple[str, np.ndarray]]) -> bool:
        """Restore the result of `state`, whose arrays may come one by one."""
        named = iter(named)
        name, sizes = next(named, ("", np.zeros(0)))
        if name != "pieces" or not np.array_equal(sizes, self.oracle.sizes):
            return False
        parts = groupby(named, key=lambda pair: pair[0].partition(".")[0])

        def take_up(ascent: BlockAscent) -> int:
            _, part = next(parts, ("", iter(())))
            ascent.restore((name.partition(".")[2], array) for name, array in part)
            return ascent.number

        (self.number,) = set(self._all(take_up))
        return True
