"""The files that a job gets: its configuration, and the files that the configuration names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from distsvm.errors import ConfigError

LEFT_OUT = {"__pycache__", "node_modules", "venv", "build", "dist"}


@dataclass
class Package:
    """Files by the names that they have in the job's folder.

    Parameters
    ----------
    largest_mb : float
        The largest total size: data is never sent, workers read it in place.
    """

    largest_mb: float = 10.0
    texts: dict[str, str] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)

    def add_text(self, name: str, text: str) -> None:
        self._check_free(name, None)
        self.texts[name] = text

    def add_file(self, path: Path) -> str:
        """Add a file under its own name, and return that name."""
        if not path.is_file():
            raise ConfigError(f"{path} cannot be sent: there is no such file")
        self._check_free(path.name, path)
        self.files[path.name] = path
        return path.name

    def include(self, path: Path) -> None:
        """Add a file, or a folder without hidden and compiled files and links to elsewhere."""
        if not path.is_dir():
            self.add_file(path)
            return
        for found in _walked(path):
            name = str(Path(path.resolve().name) / found.relative_to(path))
            self._check_free(name, found)
            self.files[name] = found

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each file, by name."""
        sizes = {name: len(text.encode()) for name, text in self.texts.items()}
        sizes |= {name: path.stat().st_size for name, path in self.files.items()}
        return dict(sorted(sizes.items()))

    def write(self, folder: Path) -> None:
        """Write the files to a folder; refuse a package that is too large."""
        sizes = self.sizes()
        if sum(sizes.values()) > self.largest_mb * 1e6:
            largest = max(sizes, key=lambda name: sizes[name])
            raise ConfigError(
                f"the job would be sent {sum(sizes.values()) / 1e6:.1f} MB, more than "
                f"{self.largest_mb:g} MB (--largest-mb); the largest file is {largest} with "
                f"{sizes[largest] / 1e6:.1f} MB. Data belongs where the workers can read it"
            )
        for name, text in self.texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        for name, path in self.files.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())

    def _check_free(self, name: str, path: Path | None) -> None:
        there = self.files.get(name)
        if name in self.texts or (there is not None and there != path):
            raise ConfigError(f"two files to be sent have the name {name}")


def job_name(text: str) -> str:
    """Return a name that is safe in ids, addresses and paths."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "run"


def _walked(folder: Path) -> Iterator[Path]:
    home = folder.resolve()
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not _is_left_out(f))
        for name in sorted(names):
            path = Path(where) / name
            if _is_left_out(name) or name.endswith((".pyc", ".so")):
                continue
            if home in path.resolve().parents and path.is_file():
                yield path


def _is_left_out(name: str) -> bool:
    return name.startswith(".") or name in LEFT_OUT
