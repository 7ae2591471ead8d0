"""Folders written aside and renamed; the JSON and arrays of models and checkpoints."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from distsvm.archives import read_npz
from distsvm.version import __version__

MAX_JSON_BYTES = 1 << 26  # as objects it takes up to some 20 times as much


def opened_file(path: Path) -> BinaryIO:
    """A file to read; what is none, such as a pipe or a device, would never end, and is refused."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait for its other end
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return open(handle, "rb")
    os.close(handle)
    raise OSError("it is not a regular file")


def new_file(path: Path) -> BinaryIO:
    """A new file to write in the place of whatever has that name; links are never followed."""
    path.unlink(missing_ok=True)
    return open(path, "xb")


@contextmanager
def written_aside(folder: Path) -> Iterator[Path]:
    """A folder to fill, which takes the place of `folder` in one step when all went well."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    # A name of its own, so that nobody's folder is taken for a left-over.
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", suffix=".part", dir=folder.parent))
    aside.chmod(0o777 & ~_umask())
    try:
        yield aside
        _sync(aside)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    if folder.exists():
        old = aside.with_suffix(".old")
        folder.rename(old)
        aside.rename(folder)
        if old.is_symlink():
            old.unlink()
        else:
            shutil.rmtree(old)
    else:
        aside.rename(folder)


def write_json(path: Path, data: Any) -> None:
    """Write JSON aside, then rename."""
    aside = path.with_name(f"{path.name}.part")
    with new_file(aside) as file:
        file.write((json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode())
    os.replace(aside, path)


def read_json(path: Path, error: type[Exception]) -> Any:
    """The JSON of a file; `error` says clearly what is wrong with it."""
    try:
        with opened_file(path) as file:
            text = file.read(MAX_JSON_BYTES + 1)
        if len(text) > MAX_JSON_BYTES:
            raise error(f"{path} is larger than {MAX_JSON_BYTES >> 20} MB")
        return json.loads(text.decode("utf-8"))
    except FileNotFoundError:
        raise error(f"{path} does not exist") from None
    except (OSError, ValueError, RecursionError, MemoryError) as problem:
        if isinstance(problem, error):
            raise
        raise error(f"{path} is damaged: {problem}") from problem


def read_manifest(path: Path, kind: str, newest: int, error: type[Exception]) -> dict[str, Any]:
    """The JSON object that says what a folder holds; refused if it is another kind or too new."""
    manifest = read_json(path, error)
    if not isinstance(manifest, dict) or manifest.get("kind") != f"distsvm {kind}":
        raise error(f"{path.parent} does not hold a {kind} of distsvm")
    if not isinstance(manifest.get("format"), int):
        raise error(f"{path} is damaged: its format is {manifest.get('format')!r}, not a number")
    if manifest["format"] > newest:
        raise error(
            f"{path.parent} has format {manifest['format']}, this version of distsvm "
            f"({__version__}) reads up to {newest}; upgrade distsvm"
        )
    return manifest


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> str:
    """Write arrays without pickle, aside and renamed, and return the file's digest."""
    aside = path.with_name(f"{path.name}.part")
    with new_file(aside) as file:
        np.savez(file, allow_pickle=False, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)
    return digest_of(path)


def read_arrays(
    path: Path,
    error: type[Exception],
    digest: str | None = None,
    only: Callable[[str], bool] = lambda name: True,
) -> dict[str, np.ndarray]:
    """The wanted arrays of a file, with this digest if given; `error` says what is wrong with it.

    Any file may be given, whoever made it: see distsvm.archives.
    """
    try:
        with opened_file(path) as file:
            if digest is not None and _digest(file) != digest:
                raise error(f"{path} is damaged: its digest is not the one written beside it")
            return read_npz(file, only)
    except FileNotFoundError:
        raise error(f"{path} does not exist") from None
    except error:
        raise
    except Exception as problem:  # there is no end to what a made-up archive can raise
        raise error(f"{path} is damaged: {problem}") from problem


def digest_of(path: Path) -> str:
    """The BLAKE2 digest of a file."""
    with open(path, "rb") as file:
        return _digest(file)


def _digest(file: BinaryIO) -> str:
    state = hashlib.blake2b(digest_size=16)
    while block := file.read(1 << 20):
        state.update(block)
    return state.hexdigest()


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def _sync(folder: Path) -> None:
    for path in (*folder.iterdir(), folder):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
