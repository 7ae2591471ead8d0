"""`distsvm evaluate`."""

from __future__ import annotations

import argparse
from functools import reduce
from operator import add
from textwrap import fill

from distsvm.cli import exits
from distsvm.cli.data_options import add_data, data_options
from distsvm.cli.models import add_model, read_model
from distsvm.cli.options import add_place, given_place
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.cli.parts import Scores, helps, part_of
from distsvm.cli.streaming import over_pieces
from distsvm.registry import structure_of


def add_arguments(parser: Parser) -> None:
    parser.usage = (
        "distsvm evaluate --model DIR --data FILE … [options]\n"
        "       distsvm evaluate CONFIG.toml [options]"
    )
    parser.description = fill(
        f"Scores on data with outputs. {helps(Scores)}. A true label that training did not see "
        "counts as wrong, and a warning names it.",
        96,
    )
    add_model(parser)
    add_data(parser, trained=True)
    add_place(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    place = given_place(args)
    model = read_model(args.model, args.task)
    scores = part_of(structure_of(model.task), Scores)
    data = model.examples(args.data, **data_options(args, model.task, model))
    shards = model.pieces(data)
    counts = over_pieces(scores.counted, model, shards, place, output, doing="evaluating")
    facts = scores.facts(model.task, reduce(add, counts))
    output.record("result", facts)
    output.show(*scores.lines(facts, output))
    return exits.DONE
