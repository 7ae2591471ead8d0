"""Folders written aside and renamed; the JSON and arrays of models and checkpoints."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from distsvm.version import __version__


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
        shutil.rmtree(old)
    else:
        aside.rename(folder)


def write_json(path: Path, data: Any) -> None:
    """Write JSON aside, then rename."""
    aside = path.with_name(f"{path.name}.part")
    aside.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(aside, path)


def read_json(path: Path, error: type[Exception]) -> Any:
    """The JSON of a file; `error` says clearly what is wrong with it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise error(f"{path} does not exist") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as problem:
        raise error(f"{path} is damaged: {problem}") from problem


def read_manifest(path: Path, kind: str, newest: int, error: type[Exception]) -> dict[str, Any]:
    """The JSON object that says what a folder holds; refused if it is another kind or too new."""
    manifest = read_json(path, error)
    if not isinstance(manifest, dict) or manifest.get("kind") != f"distsvm {kind}":
        raise error(f"{path.parent} does not hold a {kind} of distsvm")
    if manifest.get("format", 0) > newest:
        raise error(
            f"{path.parent} has format {manifest['format']}, this version of distsvm "
            f"({__version__}) reads up to {newest}; upgrade distsvm"
        )
    return manifest


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> str:
    """Write arrays without pickle, aside and renamed, and return the file's digest."""
    aside = path.with_name(f"{path.name}.part")
    with open(aside, "wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)
    return digest_of(path)


def read_arrays(
    path: Path, error: type[Exception], digest: str | None = None
) -> dict[str, np.ndarray]:
    """The arrays of a file, with this digest if given; `error` says what is wrong with it."""
    try:
        if digest is not None and digest_of(path) != digest:
            raise error(f"{path} is damaged: its digest is not the one written beside it")
        with np.load(path, allow_pickle=False) as file:
            return dict(file)
    except FileNotFoundError:
        raise error(f"{path} does not exist") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as problem:
        if isinstance(problem, error):
            raise
        raise error(f"{path} is damaged: {problem}") from problem


def digest_of(path: Path) -> str:
    """The BLAKE2 digest of a file."""
    state = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
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
