"""Many names in one array of bytes, which 64-bit keys find and merge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from distsvm.data.features import frozen
from distsvm.data.ragged import offsets, spread
from distsvm.errors import DataError
from distsvm.structures.sequences.kernels import name_bytes

PIECE = 1 << 16  # names at a time, so that temporaries stay at a few MB


@dataclass(frozen=True, eq=False)
class Names:
    """n names in UTF-8: name i is data[starts[i] : starts[i + 1]]."""

    data: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, names: Iterable[str]) -> Names:
        texts = list(map(str, names))
        letters = "".join(texts)  # encoded at once, in a tenth of the time
        data = np.frombuffer(letters.encode("utf-8", "surrogatepass"), np.uint8)
        starts = offsets(np.fromiter(map(len, texts), np.int64, len(texts)))
        if data.size > len(letters):
            first_bytes = np.flatnonzero((data & 0xC0) != 0x80)
            starts = np.append(first_bytes, data.size)[starts]
        return cls(data, starts)

    @classmethod
    def _of(cls, encoded: list[bytes]) -> Names:
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets(lengths))

    def __len__(self) -> int:
        return self.starts.size - 1

    def __getitem__(self, which: np.ndarray) -> Names:
        lengths = np.diff(self.starts)[which]
        starts, first = offsets(lengths), self.starts[:-1][which]
        data = np.empty(starts[-1], dtype=np.uint8)
        for a, b in _pieces(which.size):
            data[starts[a] : starts[b]] = self.data[spread(first[a:b], lengths[a:b])]
        return Names(data, starts)

    def __getstate__(self) -> dict[str, Any]:
        # Keys made by a worker save the driver time; the index is not worth its bytes.
        return {name: value for name, value in vars(self).items() if name != "_index"}

    def name(self, i: int) -> str:
        return (
            self.data[self.starts[i] : self.starts[i + 1]]
            .tobytes()
            .decode("utf-8", "surrogatepass")
        )

    def tolist(self) -> list[str]:
        return [raw.decode("utf-8", "surrogatepass") for raw in self.raw()]

    def raw(self) -> list[bytes]:
        """The bytes of each name."""
        data, starts = self.data.tobytes(), self.starts.tolist()
        return [data[a:b] for a, b in pairwise(starts)]

    def in_order(self) -> Names:
        """Return the names sorted by their bytes, which is the order of their letters' numbers."""
        return self._of(sorted(self.raw()))

    @cached_property
    def keys(self) -> np.ndarray:
        """An int64 for each name, equal in all processes."""
        keys = np.empty(len(self), dtype=np.uint64)
        name_bytes.fill_keys(frozen(self.data), frozen(self.starts), keys)
        return keys.view(np.int64)

    @cached_property
    def _index(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.keys, kind="stable")
        return self.keys[order], order

    def find(self, names: Names) -> np.ndarray:
        """Return the place of each of the others among these names, −1 where it is missing."""
        keys, order = self._index
        if not keys.size:
            return np.full(len(names), -1)
        given = np.argsort(names.keys)  # in order they are found several times as fast
        place = np.minimum(np.searchsorted(keys, names.keys[given]), keys.size - 1)
        found = np.empty(len(names), dtype=np.int64)
        found[given] = np.where(keys[place] == names.keys[given], order[place], -1)
        here = np.flatnonzero(found >= 0)
        found[here[~equal_names(names, here, self, found[here])]] = -1
        return found


@dataclass(frozen=True, eq=False)
class NameCounts:
    """Different names, and the number of times of each."""

    names: Names
    counts: np.ndarray

    def __len__(self) -> int:
        return len(self.names)


def merged(parts: Sequence[NameCounts]) -> NameCounts:
    """Return all different names of the parts with the sums of their counts, in any order."""
    if len(parts) == 1:
        return parts[0]
    data = np.concatenate([np.zeros(0, np.uint8), *(part.names.data for part in parts)])
    lengths = [np.diff(part.names.starts) for part in parts]
    every = Names(data, offsets(np.concatenate([np.zeros(0, np.int64), *lengths])))
    keys = np.concatenate([np.zeros(0, np.int64), *(part.names.keys for part in parts)])
    counts = np.concatenate([np.zeros(0, np.int64), *(part.counts for part in parts)])
    own, first, group = np.unique(keys, return_index=True, return_inverse=True)
    other = np.flatnonzero(first[group] != np.arange(keys.size))
    same = equal_names(every, other, every, first[group[other]])
    if not same.all():  # about one chance in 10⁸ for a million names
        i = int(other[~same][0])
        a, b = every.name(i), every.name(int(first[group[i]]))
        raise DataError(f"the features {a!r} and {b!r} have the same key; rename one of them")
    sums = np.bincount(group, counts, first.size).astype(np.int64)
    names = every[first]
    vars(names)["keys"] = own  # known already
    return NameCounts(names, sums)


def equal_names(a: Names, i: np.ndarray, b: Names, j: np.ndarray) -> np.ndarray:
    """Return for each n whether name i[n] of a is name j[n] of b."""
    same = np.empty(i.size, dtype=bool)
    name_bytes.fill_same(
        frozen(a.data), frozen(a.starts), frozen(i), frozen(b.data), frozen(b.starts), frozen(j),
        same,
    )  # fmt: skip
    return same


def _pieces(n: int) -> Iterator[tuple[int, int]]:
    for start in range(0, n, PIECE):
        yield start, min(start + PIECE, n)
