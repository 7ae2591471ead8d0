"""Arrays on local disk that save a second reading and packing of files.

An entry is a folder named by a key. The key is the digest of everything that the arrays depend on:
the format number below, the reader with its options and byte ranges (the repr of a spec, which is a
frozen dataclass of plain values), the version of every file (or the digest of its bytes, where a
server sends no version), and the task, where examples are packed for one. A change gives another
key, so no entry is ever out of date.

An entry has .npy files, their digests and notes in manifest.json, and no pickle. It is written
aside and renamed, so an unfinished one is never read. The digests reveal a damaged entry, which is
made again with a warning.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from distsvm.data.files import file_version, opened
from distsvm.data.readers.lines import BLOCK_BYTES, Part
from distsvm.data.readers.pieces import TextSpec
from distsvm.errors import DAMAGE, ConfigError, DataError
from distsvm.storage import digest_of, read_manifest, write_json, written_aside
from distsvm.wording import Setting, message

log = logging.getLogger(__name__)

FORMAT = 2


@dataclass(frozen=True, eq=False)
class Packed:
    """An entry: its folder, the names of its arrays, and notes for JSON."""

    folder: Path
    names: tuple[str, ...]
    notes: dict[str, Any]

    def arrays(self, mapped: bool) -> dict[str, np.ndarray]:
        """Return the arrays, mapped from their files (pages are read on use) or read whole.

        Pages of a mapping stay in the process's memory as long as the mapping; an array that was
        read whole is freed with its last reference.
        """
        mode: Any = "r" if mapped else None
        with self.blamed():
            return {
                name: np.asarray(np.load(_file(self.folder, name), mode, allow_pickle=False))
                for name in self.names
            }

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Turn failures inside, which come from the arrays' values, into errors of this entry."""
        try:
            yield
        except DataError:
            raise
        except (OSError, *DAMAGE) as error:
            raise DataError(f"{self.folder}: packed data is damaged or removed: {error}") from error


@dataclass(frozen=True)
class PackedStore:
    """A folder of entries, on a disk of the worker's own machine."""

    folder: str

    def get(self, key: str) -> Packed | None:
        """Return the entry of a key, every byte checked; None if it is missing or damaged."""
        folder = Path(self.folder) / key
        if not folder.exists():
            return None
        try:
            manifest = read_manifest(folder / "manifest.json", "packed data", FORMAT, DataError)
            digests = manifest["digests"]
            for name, digest in digests.items():
                if not name.isidentifier() or digest_of(_file(folder, name)) != digest:
                    raise DataError(f"{name} has another digest than was written")
            return Packed(folder, tuple(digests), manifest["notes"])
        except (DataError, OSError, KeyError, TypeError, AttributeError) as error:
            log.warning("%s: packed data is damaged and is made again: %s", folder, error)
            shutil.rmtree(folder, ignore_errors=True)
            return None

    def put(self, key: str, arrays: dict[str, np.ndarray], notes: dict[str, Any]) -> Packed:
        """Write an entry, unless another process has written it meanwhile."""
        folder = Path(self.folder) / key
        try:
            with written_aside(folder) as aside:
                digests = {}
                for name, array in arrays.items():
                    np.save(_file(aside, name), array, allow_pickle=False)
                    digests[name] = digest_of(_file(aside, name))
                manifest = {"kind": "distsvm packed data", "format": FORMAT}
                write_json(
                    aside / "manifest.json", {**manifest, "digests": digests, "notes": notes}
                )
        except OSError as error:
            if not (folder / "manifest.json").exists():
                raise DataError(
                    message(
                        "{}: packed data cannot be written ({})",
                        Setting("cache_dir", str(self.folder)),
                        error,
                    )
                ) from error
        return Packed(folder, tuple(arrays), notes)


def key_of(spec: Any, *more: str) -> str:
    """Return the key of the arrays that a spec of files gives, made further by `more`."""
    text_file = isinstance(spec, TextSpec)
    facts = [
        (
            part.path,
            file_version(part.path) or _digest(part if text_file else Part(part.path, 0, None)),
        )
        for part in files_of(spec)
    ]
    text = "\n".join([f"format {FORMAT}", repr(spec), repr(facts), *more])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _digest(part: Part) -> str:
    """Return the digest of the bytes of a part."""
    state = hashlib.blake2b(digest_size=16)
    with opened(part.path) as file:
        file.seek(part.start)
        left = sys.maxsize if part.stop is None else part.stop - part.start
        while block := file.read(min(left, BLOCK_BYTES)):
            state.update(block)
            left -= len(block)
    return state.hexdigest()


def files_of(spec: Any) -> Sequence[Part]:
    """Return the parts of files that a spec reads; none for data in memory."""
    return getattr(spec, "parts", ())


def not_kept(spec: Any) -> str | None:
    """Return why the examples of a spec are not kept; None where they are."""
    if not files_of(spec):
        return "they are not in files"
    if not getattr(spec, "in_arrays", True):
        return "their reader gives Python objects, and only arrays are kept"
    return None


def packed_folder(cache_dir: str | None = None) -> str:
    """Return the folder, made if need be; by default one of this user among the temporary files.

    A folder where others can write is refused, because compiled code reads the files unchecked.
    """
    if cache_dir is None:
        folder = Path(tempfile.gettempdir()) / f"distsvm-packed-{os.getuid()}"
    else:
        folder = Path(os.path.realpath(cache_dir))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise ConfigError(f"{folder}: packed data cannot be written there ({error})") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise ConfigError(
            message("{} belongs to another user; give {cache_dir}, a folder of yours", folder)
        )
    if status.st_mode & 0o022:
        raise ConfigError(
            message(
                "{} can be written by others (mode {}); give {cache_dir}, a folder that only you "
                "can write in, such as a new one: {}",
                folder,
                f"{status.st_mode & 0o777:o}",
                folder / "packed",
            )
        )
    return str(folder)


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.npy"
