"""Sentences and trees as files, and models of both, for the tests of the command line."""

import json
from dataclasses import dataclass

from distsvm.cli import main


@dataclass(frozen=True)
class Structured:
    """Examples to train on and to test with, in files, and a model."""

    train_examples: list
    test_examples: list
    train: str
    test: str
    model: str


def run(capsys, *words, code=0):
    """What a command wrote, checked to end with this code."""
    capsys.readouterr()
    assert main([str(word) for word in words]) == code
    return capsys.readouterr()


def told(capsys, *words):
    """The one JSON object that a command told."""
    return json.loads(run(capsys, *words, "--json").out)
