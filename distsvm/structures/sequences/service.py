"""Models of tag sequences behind the service: sentences in words, or features of each token."""

from __future__ import annotations

from typing import Any

from distsvm.errors import DataError
from distsvm.model import Model
from distsvm.service.parts import Answers, words_of
from distsvm.structures.sequences.answers import ranked_tags
from distsvm.structures.sequences.oracle import SequenceOracle

N_BEST = 3


def inputs(model: Model, values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for number, value in enumerate(values):
        is_tokens = isinstance(value, list) and value and isinstance(value[0], (list, dict))
        found.append(value if is_tokens else words_of(number, value))
    return found


def joined(sequences: list[Any]) -> list[Any]:
    kinds = {isinstance(sequence[0], str) for sequence in sequences if sequence}
    if len(kinds) > 1:
        raise DataError("some inputs are words, others are features; ask for them apart")
    return sequences


def outputs(model: Model, found: Any) -> list[Any]:
    return [list(tags) for tags in found]


def details(model: Model, sequences: list[Any]) -> list[dict[str, Any]]:
    """Return the best few taggings with their scores."""
    oracle = model.bound_here(joined(sequences))
    if not isinstance(oracle, SequenceOracle):
        return [{} for _ in sequences]
    ranked = ranked_tags(oracle, model.view, N_BEST)
    return [
        {"n_best": [{"tags": list(tags), "score": float(score)} for tags, score in best]}
        for best in ranked
    ]


def example(model: Model) -> Any:
    return "The ministers agreed in Paris ."


ANSWERS = Answers(
    "a sentence, a list of words, or a list of tokens with the features of each",
    inputs, outputs, joined, details, example,
)  # fmt: skip
