"""Checkpoints: the driver's state and each shard's planes, in a folder of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
from distsvm.version import __version__

FORMAT = 2
"""In format 1 every file of planes was whole."""
# Arrays as long as w; the optional ones may be empty.
VECTORS = {"w", "frozen_a", "frozen_apart"}
OPTIONAL = {"best_w", "start", "average", "validation_w"}


Files: TypeAlias = list[tuple[str, "str | None"]]


class Written(NamedTuple):
    """A checkpoint that was written: its size, and path and digest of each shard's planes."""

    n_bytes: int
    files: Files


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A state to go on from: `problem` says what it belongs to, `arrays` is the solver's state."""

    folder: Place
    number: int
    problem: dict[str, Any]
    elapsed_s: float
    seconds: dict[str, float]
    notes: dict[str, Any]
    planes: list[str | None]
    arrays: dict[str, np.ndarray]

    @contextmanager
    def believed(self, dim: int) -> Iterator[dict[str, np.ndarray]]:
        """The arrays, to restore a state of vectors of this length; what fails is the file's."""
        try:
            for name in (VECTORS | OPTIONAL) & self.arrays.keys():
                is_empty = name in OPTIONAL and self.arrays[name].shape == (0,)
                checks.finite(name, self.arrays[name], 0 if is_empty else dim)
            yield dict(self.arrays)
        except CheckpointError:
            raise
        except DAMAGE as error:
            shown = error if isinstance(error, ValueError) else repr(error)
            raise CheckpointError(f"{self.folder} is damaged: {shown}") from error

    def plane_files(self) -> Files:
        """Path and digest of each shard's planes; None for planes that were not written."""
        return _plane_files(self.folder, self.planes)


def _plane_files(folder: Place, digests: list[str | None]) -> Files:
    return [
        (str((folder / planes_name(shard)).absolute()), digest)
        for shard, digest in enumerate(digests)
    ]


def planes_name(shard: int) -> str:
    return f"planes-{shard:05d}.npz"


def write_checkpoint(
    run_dir: Place,
    *,
    number: int,
    problem: dict[str, Any],
    elapsed_s: float,
    seconds: dict[str, float],
    notes: dict[str, Any],
    arrays: dict[str, np.ndarray],
    executor: Executor,
    shards: range,
    planes: bool,
    keep: int,
    earlier: Files | None = None,
) -> Written:
    """Write the checkpoint after round `number`.

    Each worker writes its own shards' planes, but for those that it has written to the files
    `earlier`. Without `planes` there are none in it: it needs little room.
    """
    home = checkpoints_home(run_dir)
    folder = home / f"round-{number:08d}"
    with written_aside(folder) as aside:
        digest = write_arrays(aside / "driver.npz", arrays)
        paths = [
            (str((aside / planes_name(shard)).absolute()), earlier[shard] if earlier else None)
            for shard in shards
        ]
        digests: list[str | None] = [None] * len(shards)
        if planes:
            digests = executor.run("save_planes", shards=shards, each=paths)
        manifest = {
            "kind": "distsvm checkpoint", "format": FORMAT, "version": __version__,
            "number": number, "problem": problem, "elapsed_s": elapsed_s, "seconds": seconds,
            "notes": notes, "digest": digest, "planes": digests,
        }  # fmt: skip
        write_json(aside / MANIFEST, manifest)
    n_bytes = sum(file.stat().st_size or 0 for file in folder.iterdir())
    for old in (*checkpoint_folders(run_dir)[:-keep], *_left_by_a_kill(home)):
        remove_folder(old)
    # For workers that are lost later.
    files = _plane_files(folder, digests)
    executor.recall("recall_planes", shards=shards, each=files)
    return Written(n_bytes, files)


def latest_checkpoint(run_dir: Place) -> Checkpoint | None:
    """The newest checkpoint of a run, or None if there is none."""
    folders = checkpoint_folders(run_dir)
    return read_checkpoint(folders[-1]) if folders else None


def read_checkpoint(folder: Place) -> Checkpoint:
    """The checkpoint in a folder, refused if it is damaged or too new."""
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
        return Checkpoint(
            folder=folder,
            number=manifest["number"],
            problem=manifest["problem"],
            elapsed_s=manifest["elapsed_s"],
            seconds=manifest["seconds"],
            notes=manifest["notes"],
            planes=manifest["planes"],
            arrays=read_arrays(folder / "driver.npz", CheckpointError, manifest["digest"]),
        )
    except CheckpointError:
        raise
    except DAMAGE as error:
        shown = f"no {error}" if isinstance(error, KeyError) else error
        raise CheckpointError(f"{folder}/{MANIFEST} is damaged: {shown}") from error


def check_same_problem(folder: Place, earlier: dict[str, Any], problem: dict[str, Any]) -> None:
    """Refuse to go on with another task, other data or another configuration."""
    parts = {"task": "another task", "data": "other data", "validation": "other validation data"}
    for name, what in parts.items():
        if earlier.get(name) != problem[name]:
            raise CheckpointError(f"{folder} belongs to a run with {what}")
    was, now = earlier.get("config", {}), problem["config"]
    if not isinstance(was, dict):
        raise CheckpointError(f"{folder} is damaged: its configuration is {was!r:.40}")
    for name in sorted(set(was) | set(now)):
        if was.get(name) != now.get(name):
            raise CheckpointError(
                f"{folder} belongs to a run with {name}={was.get(name)!r}, not {now.get(name)!r}"
            )


def checkpoint_folders(run_dir: Place) -> list[Place]:
    """The checkpoints of a run, the oldest first."""
    return [folder for folder in _rounds(checkpoints_home(run_dir)) if is_whole(folder)]


def checkpoints_home(run_dir: Place) -> Place:
    """The folder of a run's checkpoints; a link is refused, as old ones are deleted there."""
    home = run_dir / "checkpoints"
    if home.is_symlink():
        raise CheckpointError(
            f"{home} is a symbolic link, through which nothing is read or written: put the folder "
            "itself in its place"
        )
    return home


def _left_by_a_kill(home: Place) -> list[Place]:
    """What was being written, or deleted, when a driver was killed."""
    if isinstance(home, StorePath):
        return [folder for folder in _rounds(home) if not is_whole(folder)]
    return list(home.glob(".round-*.part"))


def _rounds(home: Place) -> list[Place]:
    if not home.is_dir():
        return []
    found = [p for p in home.iterdir() if re.fullmatch(r"round-\d{8}", p.name)]
    return sorted(found, key=lambda p: p.name)
