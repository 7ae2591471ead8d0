"""The options of alignment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from distsvm.cli.parts import Options
from distsvm.errors import ConfigError
from distsvm.model import load_model
from distsvm.options import declared
from distsvm.oracles.task import Task
from distsvm.structures.alignments.task import AlignmentTask


def make(task_class: type[Task], given: dict[str, Any]) -> Task:
    if isinstance(given.get("reference"), str):
        model = load_model(given["reference"])
        if not isinstance(model.task, AlignmentTask):
            raise ConfigError(f"--reference {given['reference']}: the model is not for alignments")
        # The scores belong to the letters of that model, so these have to be the same.
        given = {"alphabet": model.task.letters, **given, "reference": model.w}
    return task_class(**given)


def files(given: dict[str, Any]) -> dict[str, Path]:
    return {"reference": Path(given["reference"])} if "reference" in given else {}


OPTIONS = Options(declared(AlignmentTask), make=make, files=files)
