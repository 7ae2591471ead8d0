"""Folders written in one step, on disks and in stores, and their JSON and arrays.

On a disk a folder is written aside and renamed. In a store its manifest is written last and deleted
first: a folder without one does not count.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, TypeVar, cast

import numpy as np

from distsvm.archives import read_npz, write_npz
from distsvm.errors import ConfigError, StoreError
from distsvm.stores import StorePath
from distsvm.uris import is_uri, local_path
from distsvm.version import __version__

log = logging.getLogger(__name__)

Place: TypeAlias = Path | StorePath
AnyPlace = TypeVar("AnyPlace", bound=Place)
Where: TypeAlias = "str | os.PathLike[str] | StorePath"

MANIFEST = "manifest.json"
UMASK = "DISTSVM_UMASK"
MAX_JSON_BYTES = 1 << 26  # as Python objects JSON takes up to 20 times as much


def place(where: Where) -> Place:
    """Return the place of a path or URI: a StorePath, or a Path, also for file://."""
    if isinstance(where, StorePath):
        return where
    text = os.fspath(where)
    if is_uri(text):
        return StorePath.given(text)
    text = local_path(text)
    if "://" in text:
        raise ConfigError(f"{text.partition('://')[0]}://…: expected a path, or one URI")
    return Path(text)


def opened_file(path: Place, limit: int | None = None) -> BinaryIO:
    """Open a file for reading; pipes and devices, which may never end, are refused.

    A file larger than the limit is not fetched from a store.
    """
    if isinstance(path, StorePath):
        return path.open(limit)
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # opening a pipe would block
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return open(handle, "rb")
    os.close(handle)
    raise OSError("it is not a regular file")


def file_beside(path: Path, private: bool = True) -> tuple[Path, BinaryIO]:
    """Make a new file in the folder of `path`, to be filled and then renamed to it.

    Its name is random and it is opened exclusively, so no existing link or file is written to. Only
    the user has rights on it, unless DISTSVM_UMASK gives more. A file that is not `private` has the
    rights of the file that it will replace, or those of the umask.
    """
    name = path.name.lstrip(".")[:40]  # the new name must not become too long
    aside = path.with_name(f".{name}-{secrets.token_hex(8)}.part")
    mode = 0o666 & ~_own_mask() if private else 0o666
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    if not private and path.exists():
        os.fchmod(handle, stat.S_IMODE(path.stat().st_mode))
    return aside, open(handle, "wb")


@contextmanager
def written_whole(path: Path, private: bool = True) -> Iterator[BinaryIO]:
    """Give a file to write, which replaces `path` on success and is deleted on failure.

    `private` as in file_beside.
    """
    aside, file = file_beside(path, private)
    try:
        with file:
            yield file
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


@contextmanager
def refusals(path: Path) -> Iterator[None]:
    """Turn an OSError inside, as of a full disk, into a StoreError that names the path.

    Code that goes on after the failure of a store then goes on after that of a disk too.
    """
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error


def read_whole(file: BinaryIO, limit: int) -> bytes | None:
    """Return all bytes of a file; None where there are more than the limit."""
    n_bytes = file.seek(0, 2)  # read(limit) would reserve memory for the limit
    file.seek(0)
    return None if n_bytes > limit else file.read(n_bytes)


def new_folder(path: Path) -> None:
    """Make a folder, and those above it, where they do not exist."""
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            folder.mkdir(0o777 & ~_own_mask(), exist_ok=True)


def _own_mask() -> int:
    """Return the rights that files and folders of runs and models lack beside the umask's."""
    text = os.environ.get(UMASK) or "077"
    try:
        mask = int(text, 8)
    except ValueError:
        mask = -1
    if not 0 <= mask <= 0o077:
        raise ConfigError(f"{UMASK}={text!r}: expected an octal number from 000 to 077")
    return mask


@contextmanager
def written_aside(folder: AnyPlace) -> Iterator[AnyPlace]:
    """Give a folder to fill, the manifest last; it replaces `folder` on success."""
    writing = _written_last if isinstance(folder, StorePath) else _renamed
    with writing(cast(Any, folder)) as aside:
        yield cast(AnyPlace, aside)


@contextmanager
def _written_last(folder: StorePath) -> Iterator[StorePath]:
    (folder / MANIFEST).unlink(missing_ok=True)
    try:
        yield folder
    except BaseException:
        remove_folder(folder)
        raise


@contextmanager
def _renamed(folder: Path) -> Iterator[Path]:
    with refusals(folder):
        new_folder(folder.parent)
        # A random name, so that no folder of a user is taken for a left-over.
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", suffix=".part", dir=folder.parent))
        aside.chmod(0o777 & ~_umask() & ~_own_mask())
    try:
        yield aside
        with refusals(folder):
            _sync(aside)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    with refusals(folder):
        if os.path.lexists(folder):
            old = aside.with_suffix(".old")
            folder.rename(old)
            aside.rename(folder)
            remove_folder(old)
        else:
            aside.rename(folder)


def is_whole(folder: Place) -> bool:
    """Return whether the folder is complete; in a store, whether it has its manifest."""
    return isinstance(folder, Path) or (folder / MANIFEST).exists()


def remove_folder(folder: Place) -> None:
    """Delete a folder, or the link or file in its place, but not the target of a link.

    A failure of a store is logged, and the files are left for the next time.
    """
    if isinstance(folder, Path):
        if folder.is_symlink() or not folder.is_dir():
            folder.unlink()
        else:
            shutil.rmtree(folder)
        return
    try:
        (folder / MANIFEST).unlink(missing_ok=True)
        folder.remove()
    except StoreError as error:
        log.warning("%s", error)


def write_bytes(path: Place, data: bytes, private: bool = True) -> None:
    """Write a file aside, then rename; in a store, in one request. `private` as in file_beside."""
    if isinstance(path, StorePath):
        path.write(data)
        return
    with refusals(path), written_whole(path, private) as file:
        file.write(data)


def json_text(data: Any, **options: Any) -> str:
    """Return strict JSON, with json.dumps's options: NaN and ±∞, which JSON lacks, become null."""
    try:
        return json.dumps(data, allow_nan=False, **options)
    except ValueError:
        known = json.loads(json.dumps(data, **options), parse_constant=lambda name: None)
        return json.dumps(known, allow_nan=False, **options)


def json_bytes(data: Any) -> bytes:
    return (json_text(data, indent=2, ensure_ascii=False) + "\n").encode()


def write_json(path: Place, data: Any) -> None:
    write_bytes(path, json_bytes(data))


def read_json(path: Place, error: type[Exception]) -> Any:
    """Return the JSON of a file; every failure is an `error` that names it."""
    with _read_as(path, error):
        with opened_file(path, MAX_JSON_BYTES) as file:
            text = read_whole(file, MAX_JSON_BYTES)
        if text is None:
            raise error(f"{path} is larger than {MAX_JSON_BYTES >> 20} MB")
        return json.loads(text.decode("utf-8"))


@contextmanager
def _read_as(path: Place, error: type[Exception]) -> Iterator[None]:
    """Turn failures inside into an `error` that names the file."""
    try:
        yield
    except FileNotFoundError:
        raise error(f"{path} does not exist") from None
    except error:
        raise
    except StoreError as problem:
        raise error(str(problem)) from problem
    except Exception as problem:  # a forged archive can raise anything
        raise error(f"{path} is damaged: {problem}") from problem


def read_manifest(path: Place, kind: str, newest: int, error: type[Exception]) -> dict[str, Any]:
    """Return the JSON object that describes a folder; refused if of another kind or too new."""
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


def write_arrays(path: Place, arrays: dict[str, np.ndarray]) -> str:
    """Write arrays without pickle, in one step, and return the file's digest."""
    return write_each(path, arrays.items())


def write_each(path: Place, named: Iterable[tuple[str, np.ndarray]]) -> str:
    """Write arrays as write_arrays does; an iterator has one of them in memory at a time."""
    if isinstance(path, StorePath):
        with tempfile.NamedTemporaryFile(prefix="distsvm-") as local:
            _save(local, named)
            path.upload(local.name)
            return digest_of(Path(local.name))
    with refusals(path), written_whole(path) as file:
        _save(file, named)
        os.fsync(file.fileno())
    return digest_of(path)


def _save(file: Any, named: Iterable[tuple[str, np.ndarray]]) -> None:
    write_npz(file, named)
    file.flush()


def read_arrays(
    path: Place,
    error: type[Exception],
    digest: str | None = None,
    only: Callable[[str], bool] = lambda name: True,
) -> dict[str, np.ndarray]:
    """Return the arrays of a file for which only(name) is true; failures are an `error`.

    The file must have the digest, if one is given. It may be forged: see distsvm.archives.
    """
    return dict(read_each(path, error, digest, only))


def read_each(
    path: Place,
    error: type[Exception],
    digest: str | None = None,
    only: Callable[[str], bool] = lambda name: True,
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays of read_arrays one at a time, in the order of writing."""
    with _read_as(path, error), opened_file(path) as file:
        if digest is not None and _digest(file) != digest:
            raise error(f"{path} is damaged: its digest is not the one written beside it")
        yield from read_npz(file, only)


def digest_of(path: Path) -> str:
    """Return the BLAKE2 digest of a file."""
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
