"""The data of a run: its files with size and stamp, its shards with their digests.

It is `data.json` in the run's folder. A resumed run checks the files before it reads them, then
the digests of its examples; the error names what has changed.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from distsvm import checks
from distsvm.data.files import file_facts
from distsvm.data.packed import files_of
from distsvm.data.shard import ShardSpec
from distsvm.errors import DAMAGE, CheckpointError
from distsvm.storage import Place, read_manifest, write_json

log = logging.getLogger(__name__)

FORMAT = 1
NAME = "data.json"


@dataclass
class DataManifest:
    """The files and shards of training and validation data, with digests once it is read.

    Parameters
    ----------
    files : dict of path to [size in bytes, stamp]
        The stamp is the time of writing, or an object store's own mark.
    shards : list of lists of [path, start, stop]
        The parts of files of each shard: bytes, or rows of a table.
    digests : list of str
        Of each shard's packed examples.
    """

    files: dict[str, list[Any]]
    shards: list[list[list[Any]]]
    digests: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, specs: Sequence[ShardSpec]) -> DataManifest:
        """Return the manifest of data before it is read."""
        parts = [files_of(spec) for spec in specs]
        paths = dict.fromkeys(part.path for run in parts for part in run)
        files = {path: list(file_facts(path)) for path in paths}
        return cls(files, [[[part.path, part.start, part.stop] for part in run] for run in parts])

    def write(self, folder: Place) -> None:
        own = {"files": self.files, "shards": self.shards, "digests": self.digests}
        write_json(folder / NAME, {"kind": "distsvm data", "format": FORMAT, **own})

    def check_files(self, folder: Place) -> None:
        """Refuse files that are not those of the run in this folder, if there is one."""
        earlier = _read(folder)
        if earlier is None:
            return
        for path in earlier.files.keys() | self.files.keys():
            if path not in self.files:
                raise CheckpointError(f"{folder} was begun with {path}, which does not exist now")
            if path not in earlier.files:
                raise CheckpointError(f"{folder} was begun without {path}, which exists now")
        for path, (size, stamp) in earlier.files.items():
            now, stamp_now = self.files[path]
            if size != now:
                raise CheckpointError(
                    f"{path} has changed since {folder} was begun: {size:,} bytes then, {now:,} now"
                )
            if stamp != stamp_now:
                log.warning("%s was written again since %s was begun (%s, now %s): its examples "
                            "are compared", path, folder, stamp, stamp_now)  # fmt: skip

    def check_digests(self, folder: Place) -> None:
        """Refuse examples that are not those of the run in this folder, by their file."""
        earlier = _read(folder)
        if earlier is None:
            return
        if self.shards != earlier.shards:
            return  # cut in another way, which the check of the configuration reports
        for parts, digest, now in zip(self.shards, earlier.digests, self.digests, strict=True):
            if digest == now or not parts:
                continue
            paths = [path for path, _, _ in parts]
            changed = [path for path in paths if earlier.files[path] != self.files[path]]
            raise CheckpointError(
                f"{' or '.join(changed or paths)} has changed since {folder} was begun: other "
                "examples were read from it then"
            )


def _read(folder: Place) -> DataManifest | None:
    path = folder / NAME
    if not (path.exists() and (folder / "run.json").exists()):
        return None
    found = read_manifest(path, "data", FORMAT, CheckpointError)
    try:
        earlier = DataManifest(found["files"], found["shards"], found["digests"])
        for _, (size, stamp) in earlier.files.items():
            checks.whole("a size", size)
            if not isinstance(stamp, str):
                raise ValueError(f"a stamp is {stamp!r:.40}")
        for part in (part for parts in earlier.shards for part in parts):
            if len(part) != 3 or part[0] not in earlier.files:
                raise ValueError(f"{part!r:.40} is no part of its files")
        if len(earlier.digests) != len(earlier.shards):
            raise ValueError("there is not one digest a shard")
    except KeyError as error:
        raise CheckpointError(f"{path} is damaged: no {error}") from error
    except DAMAGE as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error
    return earlier
