"""The part of `inspect` for parsers: the size of the grammar, and its heaviest rules."""

from __future__ import annotations

import argparse
from typing import Any

from distsvm.cli.formatting import count
from distsvm.cli.output import Output
from distsvm.cli.parts import Inspection
from distsvm.cli.strongest import both_sides, side_lines, times
from distsvm.model import Model
from distsvm.structures.trees.span_table import MARK, split_pair
from distsvm.structures.trees.task import ParseTask


def facts(args: argparse.Namespace, model: Model) -> dict[str, Any]:
    task = model.task
    assert isinstance(task, ParseTask)
    grammar, rules = task.grammar, task.features
    return {
        "n_rules": len(grammar.rules),
        "n_tag_rules": 0 if task.lexicon is None else len(task.lexicon.rules),
        **({} if task.span_features is None else {"n_span_features": len(task.span_table.texts)}),
        "words": task.words,
        "n_tags": len(grammar.tags),
        "n_phrases": len(grammar.phrases),
        "n_steps": int(grammar.step_rule.size),
        "n_chains": len(grammar.chains),
        "longest": task.longest,
        "loss": task.losses,
        "loss_scale": task.loss_scale,
        "top_rules": both_sides(model.w, args.top, lambda j: shown_feature(rules[j])),
    }


def shown_feature(text: str) -> str:
    """Return a rule, or a pair of a span feature and a rule, as it is shown."""
    return text if text[0] != MARK else " & ".join(split_pair(text))


def rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    binary = f"{count(facts['n_steps'])} binary steps, {count(facts['n_chains'])} unary chains"
    found = [
        ("grammar", f"{count(facts['n_rules'])} rules over {count(facts['n_tags'])} tags and "
                    f"{count(facts['n_phrases'])} phrases"),
        ("search", binary),
        ("longest", f"sentence in training: {count(facts['longest'])} words"),
        ("loss", times(facts["loss"], facts["loss_scale"])),
    ]  # fmt: skip
    if facts["words"]:
        found.insert(1, ("words", f"{count(facts['n_tag_rules'])} tag rules"))
    if "n_span_features" in facts:
        found.insert(1, ("spans", f"{count(facts['n_span_features'])} features with rules"))
    return found


def lines(facts: dict[str, Any], output: Output) -> list[str]:
    return ["", *side_lines(facts["top_rules"], "rules", "", output)]


INSPECTION = Inspection("rules", facts, lines, rows)
