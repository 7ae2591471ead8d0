"""A model of tag sequences: the strongest features of each tag, and the strongest transitions."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from distsvm.cli.formatting import count, small
from distsvm.cli.output import Output
from distsvm.cli.parts import Inspection
from distsvm.cli.strongest import both_sides, listed, side_lines, times
from distsvm.model import Model
from distsvm.structures.sequences.task import SequenceTask

EDGE = "–"  # before the first tag, and after the last


def facts(args: argparse.Namespace, model: Model) -> dict[str, Any]:
    task = model.task
    assert isinstance(task, SequenceTask)
    tags, emissions = task.tags().tolist(), task.parts(model.w).emissions

    def name(j: int) -> Any:
        return j if task.dictionary is None else task.dictionary.name(j)

    return {
        "tags": tags,
        "map": None if task.features is None else task.features.in_words(),
        "n_features": task.n_features,
        "features": _kind(task),
        "order": task.order,
        "allowed": task.allowed,
        "loss": task.losses,
        "loss_scale": task.loss_scale,
        "top_features": [
            {"tag": tag, "norm": float(np.linalg.norm(emissions[:, c]))}
            | both_sides(emissions[:, c], args.top, name)
            for c, tag in enumerate(tags)
        ],
        "top_transitions": top_transitions(model, args.top),
        **_later_facts(task, model, args.top, name),
    }


def _later_facts(task: SequenceTask, model: Model, n: int, name: Any) -> dict[str, Any]:
    """Facts of options that most models leave at their defaults."""
    found: dict[str, Any] = {}
    if task.transition_scale != 1:
        found["transition_scale"] = task.transition_scale
    if task.tag_weights is not None:
        weights = task.tag_weights.tolist()
        found["tag_weight"] = dict(zip(task.tags().tolist(), weights, strict=True))
    if task.step_columns is not None:
        steps = task.transition_scale * task.parts(model.w).steps
        columns, tags = task.step_columns.tolist(), task.tags().tolist()

        def step(j: int) -> str:
            feature, before, after = np.unravel_index(j, steps.shape)
            return f"{name(columns[feature])}: {tags[before]}→{tags[after]}"

        found["n_transition_features"] = len(columns)
        found["top_transition_features"] = both_sides(steps.ravel(), n, step)
    return found


def rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    rules = facts["allowed"]
    found = [
        ("tags", f"{len(facts['tags'])}: {listed(facts['tags'])}"),
        ("features", f"{count(facts['n_features'])}, {facts['features']}"),
        *([] if facts["map"] is None else [("map", facts["map"])]),
        ("order", str(facts["order"])),
        ("loss", times(facts["loss"], facts["loss_scale"])),
    ]
    if "transition_scale" in facts:
        found.append(("transitions", f"times {facts['transition_scale']:g}"))
    if "n_transition_features" in facts:
        n = count(facts["n_transition_features"])
        found.append(("on transitions", f"{n} of the features"))
    if "tag_weight" in facts:
        weights = facts["tag_weight"].items()
        found.append(("tag weights", listed([f"{tag}={weight:g}" for tag, weight in weights])))
    if rules is not None:
        shown = rules if isinstance(rules, str) else f"{len(rules)} forbidden pairs of tags"
        found.append(("constraints", shown))
    return found


def lines(facts: dict[str, Any], output: Output) -> list[str]:
    shown = ["", *side_lines(facts["top_transitions"], "transitions", "", output)]
    if "top_transition_features" in facts:
        found = facts["top_transition_features"]
        shown += ["", *side_lines(found, "features on transitions", "", output)]
    for found in facts["top_features"]:
        note = f"norm {small(found['norm'])}"
        shown += ["", *side_lines(found, f"tag {found['tag']}", note, output)]
    return shown


def top_transitions(model: Model, n: int) -> dict[str, list[tuple[str, float]]]:
    """Return the transitions with the largest and with the smallest weights.

    Of two tags, of the first and the last, and in second order of three tags.
    """
    task = model.task
    assert isinstance(task, SequenceTask)
    tags, parts = task.tags().tolist(), task.parts(model.w)
    tables = {
        "start": parts.start, "transitions": parts.transitions, "end": parts.end,
        "pairs": parts.pairs, "triples": parts.triples,
    }  # fmt: skip
    before = {"start": [EDGE], "pairs": [EDGE]}
    after = {"end": [EDGE]}
    places = [(kind, index) for kind, table in tables.items() for index in np.ndindex(table.shape)]
    weights = task.transition_scale * np.concatenate([table.ravel() for table in tables.values()])

    def name(j: int) -> str:
        kind, index = places[j]
        return "→".join([*before.get(kind, []), *(tags[i] for i in index), *after.get(kind, [])])

    return both_sides(weights, n, name)


def _kind(task: SequenceTask) -> str:
    if task.hash_bits is not None:
        return f"hashed to {task.hash_bits} bits"
    if task.dictionary is None:
        return "by number"
    return "by name" + (f", each seen {task.min_count} times" if task.min_count > 1 else "")


INSPECTION = Inspection("features of each tag, transitions", facts, lines, rows)
