"""The files under cluster/, as the tests read them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HOME = Path(__file__).parents[2] / "cluster"
RAY_VERSION = "2.60.0"
"""Of Ray, in every file: the one that the tests run with."""


def objects(*names: str) -> list[dict[str, Any]]:
    """All objects of these files, or of all files, under kubernetes/."""
    yaml = pytest.importorskip("yaml", reason="PyYAML, which Ray brings, is not installed")
    files = [HOME / "kubernetes" / name for name in names] or sorted(HOME.glob("kubernetes/*"))
    return [one for file in files for one in yaml.safe_load_all(file.read_text())]


def ray_spec(kind: str) -> dict[str, Any]:
    """What a RayCluster, or the cluster of a RayJob, is to be."""
    found = next(one for one in objects() if one["kind"] == kind)
    return found["spec"] if kind == "RayCluster" else found["spec"]["rayClusterSpec"]


def pod_templates() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every pod template with a name, those inside of Ray's objects too."""
    for kind in ("RayCluster", "RayJob"):
        spec = ray_spec(kind)
        yield f"{kind} head", spec["headGroupSpec"]["template"]
        for group in spec["workerGroupSpecs"]:
            yield f"{kind} {group['groupName']}", group["template"]
    for one in objects():
        if one["kind"] == "RayJob":
            yield "RayJob submitter", one["spec"]["submitterPodTemplate"]
        elif "template" in one["spec"]:
            yield f"{one['kind']} {one['metadata']['name']}", one["spec"]["template"]
