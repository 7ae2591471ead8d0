"""Arrays that a worker stores on a disk of its own machine."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from distsvm.errors import DataError
from distsvm.wording import Setting, message


class Shelf(Mapping[str, np.ndarray]):
    """Named arrays in a temporary file, in the order of `put`.

    The file has no name: no other process can open it, and the system frees its space when this
    object or its process ends, also after a crash.

    Parameters
    ----------
    folder : str
        A folder of the disk; it is made if it does not exist.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._places: dict[str, int] = {}
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            # Without a buffer arrays go to the file and come from it without a copy.
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise self._failed(error) from error
        weakref.finalize(self, self._file.close)

    @property
    def n_bytes(self) -> int:
        """Size of the file."""
        return self._file.seek(0, 2)

    def put(self, name: str, array: np.ndarray) -> None:
        """Add an array under a new name."""
        assert name not in self._places, name
        try:
            self._places[name] = self._file.seek(0, 2)
            np.save(self._file, array, allow_pickle=False)
        except OSError as error:
            raise self._failed(error) from error

    def __getitem__(self, name: str) -> np.ndarray:
        self._file.seek(self._places[name])
        return np.load(self._file, allow_pickle=False)

    def under(self, prefix: str) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the arrays whose names begin with the prefix, with the rest of their names."""
        for name in self:
            if name.startswith(prefix):
                yield name[len(prefix) :], self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def _failed(self, error: OSError) -> DataError:
        folder = Setting("cache_dir", str(self._folder))
        return DataError(message("{}: planes cannot be put aside ({})", folder, error))
