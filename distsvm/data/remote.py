"""Files named by a URI, through fsspec: http, s3, memory, and every other driver that it has.

Each process opens the files that it reads; see distsvm.uris.
"""

from __future__ import annotations

import io
import re
from typing import Any, BinaryIO, cast

from distsvm.errors import DataError
from distsvm.uris import errors_of, store_of

READ_AHEAD = 4 << 20
# The names under which stores give stamps of a file's content.
STAMPS = (
    "ETag", "etag", "md5Hash", "content_md5", "Content-MD5", "Digest", "LastModified",
    "last_modified", "Last-Modified", "mtime", "updated", "created",
)  # fmt: skip


def find_uris(uri: str) -> list[str]:
    """Return the files that a URI names: itself, those of a folder, or the matches of a pattern.

    The folders in a folder count too, but not on the web, where links lead anywhere.
    """
    filesystem, path = store_of(uri)
    web = "http" in filesystem.protocol
    with errors_of(uri, DataError):
        filesystem.invalidate_cache()
        if re.search(r"[*\[]" if web else r"[*?\[]", path):
            found, nothing = filesystem.glob(path, detail=True), "no file matches this pattern"
        # A page of the web is a folder only if its address ends with a slash.
        elif path.endswith("/") if web else filesystem.info(path)["type"] == "directory":
            if web:
                found = {entry["name"]: entry for entry in filesystem.ls(path, detail=True)}
            else:
                found = filesystem.find(path, detail=True)
            found = {name: entry for name, entry in found.items() if _shown(name, path)}
            nothing = "the folder has no files"
        else:
            filesystem.info(path)
            return [uri]
        names = [name for name, entry in found.items() if entry["type"] != "directory"]
        if not names:
            raise DataError(f"{uri}: {nothing}")
        # Sorted by the names of folders and files, as on a disk.
        names.sort(key=lambda name: name.split("/"))
        return [filesystem.unstrip_protocol(name) for name in names]


def open_uri(uri: str, read_ahead: int = READ_AHEAD) -> BinaryIO:
    """Open the file for reading and seeking; `read_ahead` bytes are fetched at a time."""
    filesystem, path = store_of(uri)
    with errors_of(uri, DataError):
        file = filesystem.open(path, "rb", block_size=read_ahead)
    return cast(BinaryIO, io.BufferedReader(_NamedFile(uri, file), min(read_ahead, 1 << 17)))


def uri_facts(uri: str) -> tuple[int, str]:
    """Return the size in bytes, and a stamp of the content; empty where the store has none."""
    filesystem, path = store_of(uri)
    with errors_of(uri, DataError):
        filesystem.invalidate_cache()
        info = filesystem.info(path)
    if info.get("size") is None:
        raise DataError(f"{uri}: the server does not send the size of the file")
    stamps = [f"{name}={info[name]}" for name in STAMPS if info.get(name) is not None]
    return int(info["size"]), ", ".join(stamps)


def _shown(name: str, folder: str) -> bool:
    """Return whether the file and all folders between this one and it are visible."""
    name, folder = name.rstrip("/"), folder.rstrip("/") + "/"
    below = name.removeprefix(folder) if name.startswith(folder) else name.rpartition("/")[2]
    return all(part[:1] not in ("", ".", "_", "?") for part in below.split("/"))


class _NamedFile(io.RawIOBase):
    """A file behind a URI; its failures name the URI."""

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
                "which workers cannot read their own; copy the file to a disk, or compress it"
            ) from error

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        with errors_of(self._uri, DataError):
            block = self._file.read(len(buffer))
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        self._file.close()
        super().close()
