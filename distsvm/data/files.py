"""Find the files that paths name, and open them so that every failure names its file."""

from __future__ import annotations

import bz2
import glob
import gzip
import lzma
import os
import platform
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, TypeAlias

from distsvm.data.remote import READ_AHEAD, find_uris, open_uri, uri_facts
from distsvm.errors import DataError
from distsvm.uris import is_uri, local_path

Paths: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
COMPRESSED: dict[str, Callable[[Any], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def find_files(paths: Paths, endings: tuple[str, ...] | None = None) -> list[str]:
    """Return the absolute paths, or URIs, of all named files, in order.

    A path is a file, a folder (all its files and those of its folders in the order of their names,
    except names that begin with a dot or an underscore), or a glob pattern (its matches, sorted). A
    URI such as s3://bucket/folder/*.svm works alike. A file that is named twice is refused: its
    examples would count twice.

    Parameters
    ----------
    endings : tuple of str, optional
        Of a folder, only files with one of these endings, before .gz, .bz2 or .xz, are taken.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise DataError("an empty list of files was given, expected at least one path")
    files: dict[str, str] = {}
    given_by: dict[str, str] = {}
    for path in given:
        for file in _expand(whole_path(path), endings):
            same = file if is_uri(file) else os.path.realpath(file)
            if same in files:
                raise DataError(
                    f"{file} is given twice: by {given_by[same]}"
                    f"{'' if files[same] == file else f', as {files[same]},'} and by {path}"
                )
            files[same], given_by[same] = file, os.fspath(path)
    return list(files.values())


def whole_path(path: str | os.PathLike[str]) -> str:
    """Return the absolute path, without ~ or file://; a URI is unchanged.

    A worker may run in another folder than the driver, so the path is absolute.
    """
    text = os.fspath(path)
    if is_uri(text):
        return text
    return os.path.abspath(os.path.expanduser(local_path(text)))


def _expand(path: str, endings: tuple[str, ...] | None) -> list[str]:
    if is_uri(path):
        found = find_uris(path)
        folder = not glob.has_magic(path) and found != [path]
        nothing = ""  # find_uris raises its own error
    elif folder := os.path.isdir(path):
        found, nothing = list(_files_below(path)), f"{path}: the folder has no files"
    elif os.path.exists(path):
        found, nothing = [path], f"{path}: not a file"
    elif glob.has_magic(path):
        matches = sorted(glob.glob(path, recursive=True))
        found = [match for match in matches if not os.path.isdir(match)]
        nothing = f"{path}: no file matches this pattern"
    else:
        raise DataError(f"{path}: no such file or folder")
    if not found:
        raise DataError(nothing)
    if folder and endings is not None:
        found = [file for file in found if plain_name(file).endswith(endings)]
        if not found:
            raise DataError(f"{path}: the folder has no {', '.join(endings)} files")
    for file in found:
        if os.path.exists(file) and not os.path.isfile(file):
            raise DataError(f"{file}: a pipe or device, expected a regular file, which has an end")
    return found


def _files_below(folder: str, above: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the files of a folder and of its folders, in the order of their names.

    `above` are the folders around this one; a link that leads back to one of them is skipped.
    """
    above = (*above, os.path.realpath(folder))
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name[0] in "._":
            continue
        if not os.path.isdir(path):
            yield path
        elif os.path.realpath(path) not in above:
            yield from _files_below(path, above)


def compression(path: str) -> str | None:
    """Return the ending of a compressed file's name; None for other files."""
    return next((ending for ending in COMPRESSED if path.lower().endswith(ending)), None)


def plain_name(path: str) -> str:
    """Return the name in lower case, without the ending of a compressed file."""
    return path.lower().removesuffix(compression(path) or "")


def file_facts(path: str) -> tuple[int, str]:
    """Return the size in bytes, and a stamp of the content: the time of writing, or an ETag."""
    if is_uri(path):
        return uri_facts(path)
    try:
        status = os.stat(path)
    except FileNotFoundError as error:
        raise _not_found(path) from error
    return status.st_size, f"mtime={status.st_mtime_ns}"


def file_version(path: str) -> str:
    """Return a text that changes with the file; empty where a server sends no stamp.

    The time of writing alone is not enough: programs can set it, and a copy can keep it.
    """
    size, stamp = file_facts(path)
    if not is_uri(path):
        status = os.stat(path)
        stamp += f", ctime={status.st_ctime_ns}, inode={status.st_dev}:{status.st_ino}"
    return stamp and f"{size} bytes, {stamp}"


def file_bytes(path: str) -> int:
    return file_facts(path)[0]


@contextmanager
def opened(path: str, read_ahead: int = READ_AHEAD) -> Iterator[BinaryIO]:
    """Open the file, decompressed by its ending; failures inside become DataErrors.

    A file behind a URI is fetched `read_ahead` bytes at a time.
    """
    ending = compression(path)
    try:
        with open_uri(path, read_ahead) if is_uri(path) else open(path, "rb") as raw:
            if ending is None:
                yield raw
            else:
                with COMPRESSED[ending](raw) as file:
                    yield file
    except FileNotFoundError as error:
        raise _not_found(path) from error
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
        kind = {".gz": "gzip", None: "compressed"}.get(ending, str(ending)[1:])
        raise DataError(f"{path}: truncated or damaged {kind} file ({error})") from error
    except OSError as error:
        if ending != ".bz2" or error.errno is not None:
            raise
        raise DataError(f"{path}: truncated or damaged bz2 file ({error})") from error


def _not_found(path: str) -> DataError:
    return DataError(
        f"{path}: not found on {platform.node()}; every worker must see the same files"
    )


def line_number(path: str, offset: int) -> int:
    """Return the line, counted from 1, of the byte at this offset of the decompressed file."""
    line = 1
    with opened(path) as file:
        while offset > 0 and (block := file.read(min(offset, 1 << 20))):
            line += block.count(b"\n")
            offset -= len(block)
    return line
