"""Folders and files to be written. They are checked before the work, so that no result is lost."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from types import SimpleNamespace
from typing import TextIO, cast

from distsvm.cli.output import Output
from distsvm.errors import ConfigError, ModelError, StoreError
from distsvm.storage import MANIFEST, Place, place, read_json, written_whole
from distsvm.stores import StorePath
from distsvm.training.advice import command


def check_model_target(path: str, force: bool) -> None:
    """Refuse a folder that is not empty; with --force, one that is not a model."""
    folder = place(path)
    with _named("--model", path):
        if folder.exists() or folder.is_symlink():
            if folder.is_dir() and not any(folder.iterdir()):
                return
            if not _is_model(folder):
                raise ConfigError(
                    f"--model {path} exists and is not a model of distsvm; not touched"
                )
            if not force:
                raise ConfigError(f"--model {path} holds a model already; --force replaces it")
        if isinstance(folder, StorePath):
            folder.try_writing()
            return
    parent = next(p for p in folder.absolute().parents if p.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise ConfigError(f"--model {path}: {parent} is not a folder that can be written to")


def check_run_target(path: str, flag: str = "--run-dir", model: str | None = None) -> None:
    """Refuse a folder for a new run that cannot be made, has a run, or is in the model's folder."""
    folder = place(path)
    with _named(flag, path):
        record = folder / "run.json"
        if record.exists() or record.is_symlink():
            raise ConfigError(
                f"{flag} {path} holds a run already; go on with it "
                f"({command('resume', path)}), or take another folder"
            )
        if isinstance(folder, StorePath):
            folder.try_writing()
        else:
            _check_on_disk(folder, flag, path)
    if model is not None and _lies_in(folder, place(model)):
        raise ConfigError(
            f"--model {model} and {flag} {path}: the model needs a folder of its own, in which no "
            "run is kept; the run's folder gets a copy of the model anyway, as model/"
        )


def _check_on_disk(folder: Path, flag: str, path: str) -> None:
    there = next(p for p in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(p))
    if not there.is_dir():
        raise ConfigError(f"{flag} {path}: {there} is not a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ConfigError(f"{flag} {path}: {there} is not a folder that can be written to")


def _lies_in(folder: Place, other: Place) -> bool:
    if isinstance(folder, Path) and isinstance(other, Path):
        return other.resolve() in (folder.resolve(), *folder.resolve().parents)
    return f"{folder}/".startswith(f"{other}/")


@contextmanager
def _named(flag: str, path: str) -> Iterator[None]:
    """Turn an error of a store into one that names the flag."""
    try:
        yield
    except StoreError as error:
        raise ConfigError(f"{flag} {path}: {error}") from error


def _is_model(folder: Place) -> bool:
    try:
        manifest = read_json(folder / MANIFEST, ModelError)
    except ModelError:
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == "distsvm model"


@contextmanager
def written_file(path: str, output: Output | None, flag: str = "--output") -> Iterator[TextIO]:
    """Yield a text file that gets its name at the end, if there was no error.

    "-" is standard output, where there is an `output`.

    The umask decides on its rights.
    """
    if path == "-" and output is not None:
        yield cast(TextIO, SimpleNamespace(write=output.data))
        return
    if os.path.isdir(path):
        raise ConfigError(f"{flag} {path} is a folder, expected a file")
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        with open(path, "w", encoding="utf-8") as device:  # a pipe, say, must not be replaced
            yield device
        return
    try:
        with (
            written_whole(Path(path), private=False) as raw,
            TextIOWrapper(raw, "utf-8", newline="\n") as file,
        ):
            yield file
    except FileNotFoundError as error:
        raise ConfigError(f"{flag} {path}: {error.strerror}") from error
