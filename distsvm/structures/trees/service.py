"""Models of trees behind the service: sentences, and trees in brackets."""

from __future__ import annotations

from typing import Any

from distsvm.model import Model
from distsvm.service.parts import Answers, words_of
from distsvm.structures.trees.drawing import trees_svg
from distsvm.structures.trees.task import ParseTask
from distsvm.structures.trees.tree import Tree


def inputs(model: Model, values: list[Any]) -> list[Any]:
    assert isinstance(model.task, ParseTask)
    found = [words_of(number, value) for number, value in enumerate(values)]
    return [model.task.of_words(words) for words in found] if model.task.words else found


def outputs(model: Model, found: Any) -> list[Any]:
    return [str(tree) for tree in found]


def example(model: Model) -> Any:
    return "The ministers agreed in Paris ."


def picture(output: Any) -> str:
    return trees_svg([Tree.parse(output)])


ANSWERS = Answers(
    "a sentence or a list of words; tags instead of words for a grammar over tags",
    inputs, outputs, example=example, picture=picture,
)  # fmt: skip
