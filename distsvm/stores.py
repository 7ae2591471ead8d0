"""Files and folders of object stores, under the names that pathlib.Path has for them."""

from __future__ import annotations

import io
import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, cast

from distsvm.errors import ConfigError, StoreError
from distsvm.uris import check_secretless, errors_of, store_of

log = logging.getLogger(__name__)

WAITS_S = (1.0, 2.0, 4.0)
"""Waits between attempts to write: stores fail now and then."""
IN_MEMORY = 1 << 24
# The names under which stores give the time of writing.
TIMES = ("mtime", "LastModified", "last_modified", "modified", "updated", "created")
# Errors that another attempt does not mend.
LASTING = (
    FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, NotImplementedError,
    PermissionError,
)  # fmt: skip


@dataclass(frozen=True)
class Status:
    """The size and time of a file, under the names of os.stat_result."""

    st_size: int | None
    st_mtime: float


@dataclass(frozen=True, order=True)
class StorePath:
    """A place in a store. Stores have no links or locks, and no file is renamed or appended to.

    A file is written whole or not at all, if the store promises that. Reading a missing file raises
    FileNotFoundError; all other failures are StoreErrors that name the URI. A failed write is tried
    again a few times.
    """

    uri: str

    def __post_init__(self) -> None:
        if not self.uri.endswith("://"):
            object.__setattr__(self, "uri", self.uri.rstrip("/"))

    @classmethod
    def given(cls, uri: str) -> StorePath:
        """Return the place of a user's URI, refused if no file can have it."""
        check_secretless(uri)
        if set("?#*[") & set(uri):
            named = uri.partition("?")[0]
            raise ConfigError(f"{named}: the URI of a run or model must not have any of ?, #, *, [")
        store_of(uri)
        return cls(uri)

    def __str__(self) -> str:
        return self.uri

    def __truediv__(self, name: str) -> StorePath:
        return StorePath(f"{self.uri}/{name}")

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.uri.split("/"))

    @property
    def name(self) -> str:
        return self.parts[-1]

    @property
    def parent(self) -> StorePath:
        return StorePath(self.uri.rpartition("/")[0])

    @property
    def in_memory(self) -> bool:
        """Whether only this process sees the file."""
        return self.uri.startswith("memory:")

    def absolute(self) -> StorePath:
        return self

    resolve = absolute

    def exists(self) -> bool:
        return self._kind() is not None

    def is_dir(self) -> bool:
        return self._kind() == "directory"

    def is_file(self) -> bool:
        return self._kind() == "file"

    def is_symlink(self) -> bool:
        return False

    def stat(self) -> Status:
        info = self._info()
        return Status(info.get("size"), _written_s(info))

    def iterdir(self) -> Iterator[StorePath]:
        with self._asked() as (store, path):
            found = store.ls(path, detail=False)
        inside = (name.rstrip("/") for name in found if name.strip("/") != path.strip("/"))
        return (self / name.rpartition("/")[2] for name in inside)

    def _kind(self) -> str | None:
        try:
            return str(self._info()["type"])
        except FileNotFoundError:
            return None

    def _info(self) -> dict[str, Any]:
        with self._asked() as (store, path):
            return store.info(path)

    def open(self, limit: int | None = None) -> BinaryIO:
        """Open a copy of the file for reading; refused if it has more bytes than the limit."""
        size = self.stat().st_size
        if limit is not None and size is not None and size > limit:
            raise OSError(f"it has {size:,} bytes")
        with self._asked() as (store, path):
            if size is not None and size <= IN_MEMORY:
                return io.BytesIO(store.cat_file(path))
            with tempfile.NamedTemporaryFile(prefix="distsvm-") as file:
                store.get_file(path, file.name)
                return cast(BinaryIO, open(file.name, "rb"))  # deleted when it is closed

    def write(self, data: bytes) -> None:
        self._put(lambda store, path: store.pipe_file(path, data))

    def upload(self, file: str) -> None:
        """Make a local file's content this file's."""
        self._put(lambda store, path: store.put_file(file, path))

    def create(self, data: bytes) -> bool:
        """Make the file if there is none, and return whether; of two writers only one should."""
        if self.exists():
            return False
        store, path = self._writable()
        try:
            store.pipe_file(path, data, mode="create")
        except Exception as error:
            if self.exists():
                return False
            log.debug("%s: no exclusive write (%s: %s)", self, type(error).__name__, error)
            self.write(data)
        return True

    def touch(self) -> None:
        self.write(b"")

    def unlink(self, missing_ok: bool = False) -> None:
        try:
            with self._asked("deleted") as (store, path):
                store.rm_file(path)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def remove(self) -> None:
        """Delete a folder with its files, if there is one."""
        with suppress(FileNotFoundError), self._asked("deleted") as (store, path):
            store.rm(path, recursive=True)

    def try_writing(self) -> None:
        """Write and delete a file in this folder; raise the error if that fails."""
        trial = self / ".trial"
        trial.touch()
        trial.unlink()

    def _put(self, send: Callable[[Any, str], None]) -> None:
        store, path = self._writable()
        for wait_s in (*WAITS_S, None):
            try:
                with errors_of(self.uri, StoreError, "written"):
                    _sent(store, path, send)
                return
            except StoreError as error:
                if wait_s is None or isinstance(error.__cause__, LASTING):
                    raise
                log.info("%s; tried again in %g s", error, wait_s)
                time.sleep(wait_s)

    def _writable(self) -> tuple[Any, str]:
        store, path = store_of(self.uri)
        if "http" in store.protocol:
            raise StoreError(f"{self}: files on the web can only be read")
        return store, path

    @contextmanager
    def _asked(self, what: str = "read") -> Iterator[tuple[Any, str]]:
        """Give the store, whose cache is cleared, and the path there."""
        try:
            with errors_of(self.uri, StoreError, what):
                store, path = store_of(self.uri)
                store.invalidate_cache()
                yield store, path
        except StoreError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise FileNotFoundError(str(error)) from error
            raise


def _sent(store: Any, path: str, send: Callable[[Any, str], None]) -> None:
    try:
        send(store, path)
    except FileNotFoundError:
        # Some stores need their folders to be made; a missing bucket is an error.
        top = path[: path.find("/", 1)] if "/" in path[1:] else path
        if not store.exists(top):
            raise
        store.makedirs(path.rpartition("/")[0], exist_ok=True)
        send(store, path)


def _written_s(info: dict[str, Any]) -> float:
    for name in TIMES:
        value = info.get(name)
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, (int, float)):
            return float(value)
    return time.time()
