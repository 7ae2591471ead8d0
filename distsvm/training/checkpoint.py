"""Checkpoints: the driver's state and each shard's planes, in a folder of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from distsvm import checks
from distsvm.errors import DAMAGE, CheckpointError
from distsvm.executors.base import Executor
from distsvm.storage import (
    MANIFEST,
    Place,
    is_whole,
    read_arrays,
    read_manifest,
    remove_folder,
    write_arrays,
    write_json,
    written_aside,
)
from distsvm.stores import StorePath
from distsvm.training.solving import EARLIER_NAMES
from distsvm.version import __version__
from distsvm.wording import Setting, Value, message

FORMAT = 2
"""In format 1 every file of planes was whole."""


Files: TypeAlias = list[tuple[str, "str | None"]]
"""Path and digest of each shard's planes; no digest for planes that were not written."""


class Written(NamedTuple):
    """A checkpoint that was written: its size, and the files of its planes."""

    n_bytes: int
    files: Files


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state of a run: `problem` identifies the run, `arrays` is the solver's state."""

    folder: Place
    number: int
    problem: dict[str, Any]
    elapsed_s: float
    seconds: dict[str, float]
    notes: dict[str, Any]
    planes: list[str | None]
    arrays: dict[str, np.ndarray]

    @contextmanager
    def restoring(self) -> Iterator[dict[str, np.ndarray]]:
        """Give the arrays to code that restores a state; its errors blame the file."""
        try:
            yield dict(self.arrays)
        except CheckpointError:
            raise
        except DAMAGE as error:
            shown = error if isinstance(error, ValueError) else repr(error)
            raise CheckpointError(f"{self.folder} is damaged: {shown}") from error

    def plane_files(self) -> Files:
        """Return the files of each shard's planes."""
        return _plane_files(self.folder, self.planes)


def _plane_files(folder: Place, digests: Sequence[str | None]) -> Files:
    return [
        (str((folder / f"planes-{shard:05d}.npz").absolute()), digest)
        for shard, digest in enumerate(digests)
    ]


def write_checkpoint(
    run_dir: Place,
    *,
    number: int,
    arrays: dict[str, np.ndarray],
    executor: Executor,
    shards: range,
    planes: bool,
    keep: int,
    earlier: Files | None = None,
    **known: Any,
) -> Written:
    """Write the checkpoint after round `number`.

    Each worker writes its own shards' planes, except those that it has written to the files
    `earlier`. Without `planes` the checkpoint has none, and needs little room. `known` has the
    other fields of Checkpoint.
    """
    home = checkpoints_home(run_dir)
    folder = home / f"round-{number:08d}"
    with written_aside(folder) as aside:
        digest = write_arrays(aside / "driver.npz", arrays)
        digests: list[str | None] = [None] * len(shards)
        if planes:
            paths = [path for path, _ in _plane_files(aside, digests)]
            each = list(zip(paths, earlier or digests, strict=True))
            digests = executor.run("save_planes", shards=shards, each=each)
        manifest = {
            "kind": "distsvm checkpoint", "format": FORMAT, "version": __version__,
            "number": number, **known, "digest": digest, "planes": digests,
        }  # fmt: skip
        write_json(aside / MANIFEST, manifest)
    n_bytes = sum(file.stat().st_size or 0 for file in folder.iterdir())
    for old in (*checkpoint_folders(run_dir)[:-keep], *_left_by_a_kill(home)):
        remove_folder(old)
    files = _plane_files(folder, digests)
    executor.recall("recall_planes", shards=shards, each=files)  # for workers that are lost later
    return Written(n_bytes, files)


def read_checkpoint(folder: Place) -> Checkpoint:
    """Return the checkpoint in a folder, refused if it is damaged or too new."""
    manifest = read_manifest(folder / MANIFEST, "checkpoint", FORMAT, CheckpointError)
    try:
        checks.whole("number", manifest["number"])
        checks.number("elapsed_s", manifest["elapsed_s"])
        kinds = {"problem": dict, "seconds": dict, "notes": dict, "planes": list}
        for name, kind in kinds.items():
            if not isinstance(manifest[name], kind):
                raise ValueError(f"{name} is {manifest[name]!r:.40}")
        if not all(isinstance(digest, str | None) for digest in manifest["planes"]):
            raise ValueError("planes are no digests")
        for value in (*manifest["seconds"].values(), manifest["notes"]["load_s"]):
            checks.number("seconds", value)
        arrays = read_arrays(folder / "driver.npz", CheckpointError, manifest["digest"])
        own = {name: manifest[name] for name in ("number", "elapsed_s", *kinds)}
        return Checkpoint(folder=folder, arrays=arrays, **own)
    except CheckpointError:
        raise
    except DAMAGE as error:
        shown = f"no {error}" if isinstance(error, KeyError) else error
        raise CheckpointError(f"{folder}/{MANIFEST} is damaged: {shown}") from error


def check_same_problem(folder: Place, earlier: dict[str, Any], problem: dict[str, Any]) -> None:
    """Refuse to resume with another task, other data or another configuration."""
    parts = {"task": "another task", "data": "other data", "validation": "other validation data"}
    for name, what in parts.items():
        if earlier.get(name) != problem[name]:
            raise CheckpointError(f"{folder} belongs to a run with {what}")
    was, now = earlier.get("config", {}), problem["config"]
    if not isinstance(was, dict):
        raise CheckpointError(f"{folder} is damaged: its configuration is {was!r:.40}")
    if isinstance(was.get("solver"), str):
        was = was | {"solver": EARLIER_NAMES.get(was["solver"], was["solver"])}
    for name in sorted(now):  # earlier versions wrote the options of all solvers
        if was.get(name) != now.get(name):
            raise CheckpointError(
                message(
                    "{} belongs to a run with {}, not {}",
                    folder,
                    Setting(name, was.get(name)),
                    Value(now.get(name)),
                )
            )


def checkpoint_folders(run_dir: Place) -> list[Place]:
    """Return the checkpoints of a run, the oldest first."""
    return [folder for folder in _rounds(checkpoints_home(run_dir)) if is_whole(folder)]


def checkpoints_home(run_dir: Place) -> Place:
    """Return the folder of checkpoints; a link is refused, because old ones are deleted there."""
    home = run_dir / "checkpoints"
    if home.is_symlink():
        raise CheckpointError(
            f"{home} is a symbolic link, through which nothing is read or written: put the folder "
            "itself in its place"
        )
    return home


def _left_by_a_kill(home: Place) -> list[Place]:
    """Return the folders that a killed driver was writing or deleting."""
    if isinstance(home, StorePath):
        return [folder for folder in _rounds(home) if not is_whole(folder)]
    return list(home.glob(".round-*.part"))


def _rounds(home: Place) -> list[Place]:
    if not home.is_dir():
        return []
    found = [p for p in home.iterdir() if re.fullmatch(r"round-\d{8}", p.name)]
    return sorted(found, key=lambda p: p.name)
