"""Files named by a URI, through fsspec: http, s3, memory, and whatever else it has drivers for.

Credentials are fsspec's business (its configuration, the environment, the cloud's own files) and
never pass through here. A file is opened by whoever reads it, so a URI must mean the same to every
worker; memory:// means nothing outside the process that wrote it.
"""

from __future__ import annotations

import io
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from distsvm.errors import ConfigError, DataError, DistSVMError

READ_AHEAD = 4 << 20
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# What stores tell of a file's content, the surest first.
STAMPS = (
    "ETag", "etag", "md5Hash", "content_md5", "LastModified", "last_modified", "mtime", "updated",
    "created",
)  # fmt: skip


def is_uri(path: str) -> bool:
    """Whether a path names a file by a scheme other than file://."""
    return bool(SCHEME.match(path)) and not path.lower().startswith("file://")


def find_uris(uri: str) -> list[str]:
    """The files that a URI means: itself, those of a folder, or the matches of a pattern."""
    filesystem, path = _store(uri)
    web = "http" in filesystem.protocol
    with _told(uri):
        filesystem.invalidate_cache()
        if re.search(r"[*\[]" if web else r"[*?\[]", path):
            found, nothing = filesystem.glob(path, detail=True), "no file matches this pattern"
        # A page of the web is a folder only if its address says so.
        elif path.endswith("/") if web else filesystem.info(path)["type"] == "directory":
            entries = filesystem.ls(path, detail=True)
            found, nothing = {entry["name"]: entry for entry in entries}, "the folder has no files"
            found = {name: entry for name, entry in found.items() if _shown(name)}
        else:
            filesystem.info(path)
            return [uri]
        names = [name for name, entry in sorted(found.items()) if entry["type"] != "directory"]
        if not names:
            raise DataError(f"{uri}: {nothing}")
        return [filesystem.unstrip_protocol(name) for name in names]


def open_uri(uri: str, read_ahead: int = READ_AHEAD) -> BinaryIO:
    """The file's bytes, which can be sought in; `read_ahead` are fetched at a time."""
    filesystem, path = _store(uri)
    with _told(uri):
        file = filesystem.open(path, "rb", block_size=read_ahead)
    return cast(BinaryIO, io.BufferedReader(_Told(uri, file), min(read_ahead, 1 << 17)))


def uri_facts(uri: str) -> tuple[int, str]:
    """Size in bytes, and a text that changes with the content, as far as the store knows."""
    filesystem, path = _store(uri)
    with _told(uri):
        filesystem.invalidate_cache()
        info = filesystem.info(path)
    if info.get("size") is None:
        raise DataError(f"{uri}: the server does not say how large the file is")
    told = [f"{name}={info[name]}" for name in STAMPS if info.get(name) is not None]
    return int(info["size"]), told[0] if told else ""


def _shown(name: str) -> bool:
    return name.rstrip("/").rpartition("/")[2][:1] not in ("", ".", "_", "?")


def _store(uri: str) -> tuple[Any, str]:
    """The file system of a URI, and the path there."""
    if urlsplit(uri).password:
        raise ConfigError(
            "a URI with a password in it: leave it out and give it to fsspec, whose configuration "
            "is in ~/.config/fsspec and the environment"
        )
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ConfigError(f'{uri}: URIs need fsspec: pip install "distsvm[remote]"') from error
    try:
        return url_to_fs(uri)
    except ImportError as error:
        raise ConfigError(f'{uri}: {error}; pip install "distsvm[remote]"') from error
    except ValueError as error:
        raise ConfigError(f"{uri}: {error}") from error


@contextmanager
def _told(uri: str) -> Iterator[None]:
    """What fails inside is a DataError with the URI: stores raise errors of many kinds."""
    try:
        yield
    except DistSVMError:
        raise
    except FileNotFoundError as error:
        if uri.startswith("memory:"):
            raise DataError(
                f"{uri}: not in the memory of this process; memory:// is for executors serial and "
                "threads, processes and Ray need files that every worker can open"
            ) from error
        why = f" ({error.__cause__})" if error.__cause__ else ""
        raise DataError(
            f"{uri}: no such file, folder or bucket, asked from {_here()}{why}"
        ) from error
    except PermissionError as error:
        raise DataError(f"{uri}: access was refused to {_here()} ({error})") from error
    except Exception as error:
        kind = type(error).__name__
        raise DataError(f"{uri}: cannot be read from {_here()} ({kind}: {error})") from error


def _here() -> str:
    return platform.node()


class _Told(io.RawIOBase):
    """A file whose failures name its URI."""

    def __init__(self, uri: str, file: Any) -> None:
        self._uri, self._file = uri, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        try:
            return self._file.seek(offset, whence)
        except ValueError as error:
            raise DataError(
                f"{self._uri}: the server does not send parts of files (HTTP ranges), without "
                "which workers cannot read their own; copy the file to a disk, or pack it"
            ) from error

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        with _told(self._uri):
            block = self._file.read(len(buffer))
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        self._file.close()
        super().close()
