"""`distsvm evaluate`."""

from __future__ import annotations

import argparse
from functools import reduce
from operator import add
from textwrap import fill

from distsvm.cli import exits
from distsvm.cli.data_options import add_data, data_options
from distsvm.cli.models import add_model, read_model
from distsvm.cli.options import WHERE, add_place, check_config, given_config
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.cli.parts import all_structures, by_title, scores_of
from distsvm.cli.streaming import over_pieces
from distsvm.registry import structure_of


def add_arguments(parser: Parser) -> None:
    parser.usage = (
        "distsvm evaluate --model DIR --data FILE … [options]\n"
        "       distsvm evaluate CONFIG.toml [options]"
    )
    helps = by_title({one.title: scores_of(one).help for one in all_structures()})
    parser.description = fill(
        f"Scores on data with outputs. {helps}. A true label that training did not see counts as "
        "wrong, and a warning names it.",
        96,
    )
    add_model(parser)
    add_data(parser, trained=True)
    add_place(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    place = given_config(args, WHERE)
    check_config(place)
    model = read_model(args.model, args.task)
    scores = scores_of(structure_of(model.task))
    data = model.examples(args.data, **data_options(args, model.task, model))
    pieces = model.pieces(data)
    counts = over_pieces(scores.counted, model, pieces, place, output, doing="evaluating")
    facts = scores.facts(model.task, reduce(add, counts))
    output.record("result", facts)
    output.show(*scores.lines(facts, output))
    return exits.DONE
