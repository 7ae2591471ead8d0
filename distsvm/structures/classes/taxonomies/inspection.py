"""A model of a taxonomy: its nodes, and the strongest features of those that weigh most."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from distsvm.cli.formatting import count, small
from distsvm.cli.output import Output
from distsvm.cli.parts import Inspection
from distsvm.cli.strongest import both_sides, side_lines
from distsvm.model import Model
from distsvm.structures.classes import inspection as classes
from distsvm.structures.classes.taxonomies.task import TaxonomyTask

SHOWN_NODES = 20


def facts(args: argparse.Namespace, model: Model) -> dict[str, Any]:
    task = model.task
    assert isinstance(task, TaxonomyTask)
    names = classes.names_of(args)
    found = classes.common_facts(task) | {
        "loss": task.losses if isinstance(task.losses, str) else "cost matrix",
        "n_nodes": task.tree.size - 1,
        "n_levels": int(task.tree.depth.max()),
        "class_features": _features(task),
        "n_class_features": task.n_codes,
    }
    if not task.is_tree:
        return found | {"top_features": classes.top_features(model, args.top, names)}
    return found | {"top_nodes": top_nodes(model, args.top, names)}


def _features(task: TaxonomyTask) -> str:
    given = [
        name for name in ("glosses", "similarities", "codes") if getattr(task, name) is not None
    ]
    return given[0] if given else task.class_features


def top_nodes(model: Model, n: int, names: list[str] | None = None) -> list[dict[str, Any]]:
    """Return the n strongest features of the nodes with the largest weights, of one each.

    What a node has, all classes below it share. Returns path, norm, intercept, for and against.
    """
    task: Any = model.task
    weights = model.w.reshape(task.n_features + 1, -1)
    norms = np.linalg.norm(weights, axis=0)
    found = []
    for column in np.argsort(-norms, kind="stable")[:SHOWN_NODES].tolist():
        overall = {
            "path": task.tree.paths[column + 1],
            "norm": float(norms[column]),
            "intercept": float(weights[-1, column] * task.intercept_scaling),
        }
        own = both_sides(weights[:-1, column], n, classes.feature_namer(task, names))
        found.append(overall | own)
    return found


def rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        *classes.rows(facts),
        ("taxonomy", f"{count(facts['n_nodes'])} nodes in {facts['n_levels']} levels"),
        ("Λ", f"{facts['class_features']}, {count(facts['n_class_features'])} features of classes"),
    ]


def lines(facts: dict[str, Any], output: Output) -> list[str]:
    if "top_features" in facts:
        return classes.lines(facts, output)
    shown = []
    for found in facts["top_nodes"]:
        note = f"norm {small(found['norm'])}, intercept {found['intercept']:+.3g}"
        shown += ["", *side_lines(found, f"node {found['path']}", note, output)]
    return shown


INSPECTION = Inspection(
    f"features of the {SHOWN_NODES} nodes with the largest weights, or of classes", facts, lines,
    rows, classes.FLAGS, classes.add,
)  # fmt: skip
