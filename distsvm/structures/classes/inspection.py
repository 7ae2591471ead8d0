"""A model of classes: its features and loss, and the strongest features of each class."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from distsvm.cli.formatting import count, small
from distsvm.cli.output import Output
from distsvm.cli.parser import ABSENT, Group
from distsvm.cli.parts import Inspection
from distsvm.cli.small_files import read_text
from distsvm.cli.strongest import both_sides, listed, side_lines, times
from distsvm.errors import ConfigError
from distsvm.kinds import path
from distsvm.model import Model
from distsvm.structures.classes.kernel_task import KernelClassTask
from distsvm.structures.classes.task import BinaryTask, ClassTask

FLAGS = {"names": "--names"}


def add(group: Group) -> None:
    group.flag(
        "--names", path, metavar="FILE", default=ABSENT,
        help="classes: names of the features, one a line. Default: their numbers, as in the data",
    )  # fmt: skip


def facts(args: argparse.Namespace, model: Model) -> dict[str, Any]:
    task = model.task
    assert isinstance(task, ClassTask)
    names = names_of(args)
    if not isinstance(task, KernelClassTask):
        return common_facts(task) | {"top_features": top_features(model, args.top, names)}
    if names is not None:
        raise ConfigError("--names: a kernel function gives features no weights")
    return common_facts(task) | kernel_facts(task, model.w)


def common_facts(task: ClassTask) -> dict[str, Any]:
    """Return what there is to say about a task of classes, without its weights."""
    return {
        "classes": task.labels.tolist(),
        "n_features": task.n_features,
        "index_base": task.index_base,
        "intercept_scaling": task.intercept_scaling,
        "scaled": task.scaler is not None,
        "map": None if task.features is None else task.features.in_words(),
        "loss": "zero-one" if isinstance(task.losses, str) else "cost matrix",
        "loss_scale": task.loss_scale,
    }


def kernel_facts(task: KernelClassTask, w: np.ndarray) -> dict[str, Any]:
    """Return the kernel function, the number of support vectors, and ‖w‖."""
    V, rows = w.reshape(-1, task.n_codes), task.anchor_rows
    square = float(V[-1] @ V[-1])
    if not task.function.needs_square:  # its values among anchors are not in the model
        for part, values in task.function.blocks(rows, rows):
            square += float(np.sum((values @ V[:-1]) * V[part.start : part.stop]))
    norm = math.nan if task.function.needs_square else math.sqrt(max(0.0, square))
    return {
        "kernel": task.function.to_json(), "n_support": rows.n_rows, "norm": norm,
        "top_features": [],
    }  # fmt: skip


def rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    intercept = "an intercept" if facts["intercept_scaling"] else "no intercept"
    scaled = ", features divided by their largest" if facts["scaled"] else ""
    return [
        ("classes", f"{len(facts['classes'])}: {listed(facts['classes'])}"),
        ("features", f"{count(facts['n_features'])} and {intercept}{scaled}"),
        *([] if facts["map"] is None else [("map", facts["map"])]),
        ("loss", times(facts["loss"], facts["loss_scale"])),
        *_kernel_rows(facts),
    ]


def _kernel_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    if "kernel" not in facts:
        return []
    parameters = dict(facts["kernel"])
    name = parameters.pop("name")
    shown = ", ".join(f"{key} {value}" for key, value in parameters.items())
    return [
        ("kernel", f"{name}{', ' if shown else ''}{shown}"),
        ("support vectors", count(facts["n_support"])),
    ]


def lines(facts: dict[str, Any], output: Output) -> list[str]:
    shown = []
    for found in facts["top_features"]:
        note = f"norm {small(found['norm'])}, intercept {found['intercept']:+.3g}"
        shown += ["", *side_lines(found, f"class {found['label']}", note, output)]
    return shown


def top_features(model: Model, n: int, names: list[str] | None = None) -> list[dict[str, Any]]:
    """Return the n features of the largest and of the smallest weight for each class.

    Weights are those of scaled features where the model scales, which makes features of any range
    comparable. Features have their names, or their numbers in the data files.

    Returns
    -------
    list of dict
        label, norm, intercept, for and against, both lists of (feature, weight), strongest first.
    """
    task = model.task
    assert isinstance(task, ClassTask)
    name = feature_namer(task, names)
    trained = task.per_class(model.w.reshape(task.n_features + 1, -1))
    found = []
    for c, label in enumerate(task.labels.tolist()):
        overall = {
            "label": label,
            "norm": float(np.linalg.norm(trained[:, c])),
            "intercept": float(trained[-1, c] * task.intercept_scaling),
        }
        found.append(overall | both_sides(trained[:-1, c], n, name))
    # The lower class of two has the same weights with the other sign.
    return found[1:] if isinstance(task, BinaryTask) else found


def feature_namer(task: ClassTask, names: list[str] | None) -> Callable[[int], Any]:
    """Return the name of a feature by its place in w: the given one, or its number in the data."""
    if names is None:
        return lambda j: j + task.index_base
    if len(names) < task.n_features:
        raise ConfigError(f"--names has {len(names)} lines, the model {task.n_features} features")
    return names.__getitem__


def names_of(args: argparse.Namespace) -> list[str] | None:
    """Return the names of features that --names gives."""
    return _read(args.names) if hasattr(args, "names") else None


def _read(path: str) -> list[str]:
    """Return the names of features, one in each line."""
    try:
        return read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--names {path}: cannot be read ({error})") from error


INSPECTION = Inspection("features of each class", facts, lines, rows, FLAGS, add)
