"""Arrays whose length is known only when the last entry is read."""

from __future__ import annotations

import numpy as np

INT32_MAX = np.iinfo(np.int32).max


class Growing:
    """A one-dimensional array that is extended in place.

    Space is reserved for the estimated rest, so that memory stays near the final size. A list of
    parts would take twice that when it is joined.
    """

    def __init__(self, dtype: np.dtype | type) -> None:
        self._array = np.empty(0, dtype=dtype)
        self._size = 0

    def extend(self, part: np.ndarray, share: float) -> None:
        """Add a part; `share`, in (0, 1], estimates the share of the whole array so far."""
        size = self._size + part.size
        if size > self._array.size:
            room = max(size, int(1.05 * size / share), self._size + self._size // 4)
            if self._size:
                self._array.resize(room, refcheck=False)
            else:
                # resize would write zeros; pages that are never used cost nothing.
                self._array = np.empty(room, dtype=self._array.dtype)
        self._array[self._size : size] = part
        self._size = size

    def widen(self, dtype: np.dtype | type) -> None:
        self._array = self._array.astype(dtype)

    def finish(self) -> np.ndarray:
        self._array.resize(self._size, refcheck=False)
        return self._array


class GrowingRows:
    """Sparse rows (CSR) that are extended by whole rows."""

    def __init__(self, dtype: np.dtype | type) -> None:
        self.n_columns = 0
        self._n_entries = 0
        self._values = Growing(dtype)
        self._columns = Growing(np.int32)
        self._ends = Growing(np.int64)

    def extend(
        self, lengths: np.ndarray, columns: np.ndarray, values: np.ndarray, share: float
    ) -> None:
        """Add rows with these numbers of entries; columns is int64."""
        if columns.size:
            n_columns = int(columns.max()) + 1
            if self.n_columns - 1 <= INT32_MAX < n_columns - 1:
                self._columns.widen(np.int64)
            self.n_columns = max(self.n_columns, n_columns)
        self._columns.extend(columns, share)
        self._values.extend(values, share)
        self._ends.extend(self._n_entries + np.cumsum(lengths), share)
        self._n_entries += columns.size

    def finish(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Return values, columns, starts and n_columns.

        As in SciPy, columns and starts have one dtype, int32 if all fits: each combination of
        dtypes compiles kernels anew.
        """
        columns = self._columns.finish()
        starts = np.concatenate([[0], self._ends.finish()])
        if self._n_entries > INT32_MAX:
            columns = columns.astype(np.int64)
        return self._values.finish(), columns, starts.astype(columns.dtype), self.n_columns
