"""The package in extension/package, installed for some tests: found by its entry points."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from distsvm import registry

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXTENSION = Path(__file__).parent / "extension" / "package"


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """Write to a folder of sys.path what pip writes of the package's pyproject.toml.

    As with `pip install --editable`, the modules stay where they are, and EXTENSION is to be on
    sys.path too: so kernels are compiled once, and not in every test run.
    """
    text = (EXTENSION / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    _look_again()
    try:
        yield
    finally:
        shutil.rmtree(info)
        _look_again()


def _look_again() -> None:
    importlib.invalidate_caches()
    registry.refresh()
