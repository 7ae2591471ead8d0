"""A cache of blocks of values with a bound on its memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

import numpy as np


class BlockCache:
    """Blocks by key, least recently used out first; several threads may use it.

    Parameters
    ----------
    max_bytes : int
        The most that all blocks take; a larger block is computed but not kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes, self.n_bytes = max_bytes, 0
        self.n_found = self.n_made = 0
        self._blocks: OrderedDict[Hashable, np.ndarray] = OrderedDict()
        self._lock = threading.Lock()

    def block(self, key: Hashable, make: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the block of this key, read-only; it is made if it is not here."""
        with self._lock:
            found = self._blocks.get(key)
            if found is not None:
                self._blocks.move_to_end(key)
                self.n_found += 1
                return found
            self.n_made += 1
        made = make().view()
        made.flags.writeable = False
        with self._lock:
            if key not in self._blocks and made.nbytes <= self.max_bytes:
                self._blocks[key] = made
                self.n_bytes += made.nbytes
                while self.n_bytes > self.max_bytes:
                    self.n_bytes -= self._blocks.popitem(last=False)[1].nbytes
        return made

    def clear(self) -> None:
        """Forget all blocks."""
        with self._lock:
            self._blocks.clear()
            self.n_bytes = 0
