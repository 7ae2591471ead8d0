"""Scores of tag sequences: tokens, sentences, each tag, and entities where tags are BIO."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.cli.counts import Counts, confusion_lines, label_lines
from distsvm.cli.formatting import counted as in_words
from distsvm.cli.formatting import pairs, small
from distsvm.cli.output import Output
from distsvm.cli.parts import Scores
from distsvm.messages import Score, Summed
from distsvm.structures.sequences.answers import tags_of
from distsvm.structures.sequences.tag_scores import EntityCounts, TagScores, score_tags
from distsvm.structures.sequences.task import SequenceTask
from distsvm.workers.shard_worker import ShardWorker


@dataclass(frozen=True)
class TagCounts(Summed):
    """Losses, scores and counts of some sentences."""

    score: Score
    tags: TagScores
    counts: Counts
    unseen: Counter[str]


def counted(worker: ShardWorker, w: np.ndarray) -> TagCounts:
    gold, predicted = tags_of(worker, w)
    oracle: Any = worker.oracle
    return TagCounts(
        worker.score(predicted.codes),
        score_tags(gold, predicted),
        Counts.of(gold.codes.values, predicted.codes.values, oracle.n_labels),
        oracle.unseen(),
    )


def facts(task: SequenceTask, total: TagCounts) -> dict[str, Any]:
    tags = total.tags
    found: dict[str, Any] = {
        "n_examples": tags.n_sequences,
        "n_tokens": tags.n_tokens,
        "accuracy": tags.exact,  # of examples, as everywhere
        "token_accuracy": tags.accuracy,
        "sentence_accuracy": tags.exact,
        "mean_loss": total.score.mean_loss,
        "tags": task.tags().tolist(),
        "by_tag": total.counts.by_label("tokens"),
        "unseen": dict(total.unseen),
    }
    if total.counts.confusion.size:
        found["confusion"] = total.counts.confusion
    if tags.entities is not None and tags.by_type is not None:
        found["entities"] = _entity_facts(tags.entities)
        found["by_type"] = {name: _entity_facts(count) for name, count in tags.by_type.items()}
    return found


def lines(facts: dict[str, Any], output: Output) -> list[str]:
    overall = [
        ("accuracy", f"{facts['accuracy']:.4f} of sentences are entirely right"),
        ("tokens", f"{facts['token_accuracy']:.4f} are right"),
        ("mean loss", small(facts["mean_loss"])),
        (
            "data",
            f"{in_words(facts['n_examples'], 'sentence')}, {in_words(facts['n_tokens'], 'token')}",
        ),
    ]
    shown: list[str] = []
    if "entities" in facts:
        all_types = facts["entities"]
        parts = f"precision {all_types['precision']:.4f}, recall {all_types['recall']:.4f}"
        overall.insert(1, ("entity F1", f"{all_types['f1']:.4f}, {parts}"))
        types = [name or "(no type)" for name in facts["by_type"]]
        shown += label_lines("entity", types, list(facts["by_type"].values()), "entities", output)
        shown.append("")
    shown += label_lines("tag", facts["tags"], facts["by_tag"], "tokens", output)
    if "confusion" in facts:
        shown += confusion_lines(facts["tags"], facts["confusion"], output)
    return [*pairs(overall, output.style, output.width), "", *shown]


def _entity_facts(counts: EntityCounts) -> dict[str, float]:
    return {
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
        "n_entities": counts.n_gold,
    }


SCORES = Scores(
    "accuracy of tokens and sentences, each tag, and entities where tags are BIO",
    counted,
    facts,
    lines,
)
