"""Which files are meant, and opening them so that every failure names its file."""

from __future__ import annotations

import glob
import gzip
import os
import platform
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, TypeAlias, cast

from distsvm.errors import DataError

Paths: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
TREE_ENDINGS = (".mrg", ".tree", ".trees", ".brackets", ".ptb")


def find_files(paths: Paths) -> list[str]:
    """The absolute paths of all files that are meant, in order.

    A path is a file, a folder (all its files in the order of their names, except those that
    begin with a dot or an underscore), or a glob pattern (its matches, sorted).
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise DataError("an empty list of files was given, expected at least one path")
    return [file for path in given for file in _expand(os.path.expanduser(os.fspath(path)))]


def _expand(path: str) -> list[str]:
    if os.path.isdir(path):
        names = [name for name in sorted(os.listdir(path)) if name[0] not in "._"]
        found = [os.path.join(path, name) for name in names]
        nothing = f"{path}: the folder has no files"
    elif os.path.exists(path):
        found, nothing = [path], f"{path}: not a file"
    elif glob.has_magic(path):
        found, nothing = sorted(glob.glob(path)), f"{path}: no file matches this pattern"
    else:
        raise DataError(f"{path}: no such file or folder")
    # Absolute, because a worker may run in another folder than the driver.
    files = [os.path.abspath(file) for file in found if not os.path.isdir(file)]
    if not files:
        raise DataError(nothing)
    return files


def is_gzip(path: str) -> bool:
    return path.endswith(".gz")


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """The file's bytes, unpacked if its name ends in .gz; what fails inside is a DataError."""
    try:
        with cast(BinaryIO, gzip.open(path) if is_gzip(path) else open(path, "rb")) as file:
            yield file
    except FileNotFoundError as error:
        raise DataError(
            f"{path}: not found on {platform.node()}; every worker must see the same files"
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: truncated or damaged gzip file ({error})") from error


def line_number(path: str, offset: int) -> int:
    """The line, counted from 1, in which the byte at this offset of the unpacked file stands."""
    line = 1
    with opened(path) as file:
        while offset > 0 and (block := file.read(min(offset, 1 << 20))):
            line += block.count(b"\n")
            offset -= len(block)
    return line
