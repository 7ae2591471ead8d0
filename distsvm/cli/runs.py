"""`distsvm runs`."""

from __future__ import annotations

import argparse

from distsvm.cli import at_service, exits
from distsvm.cli.at_service import add_service
from distsvm.cli.formatting import table
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.cli.run_table import HEAD, cells_of, facts_of, runs_below
from distsvm.errors import CheckpointError, ConfigError
from distsvm.storage import place


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "folder", nargs="?", metavar="DIR",
        help="a run, or a folder of runs, up to two levels down",
    )  # fmt: skip
    add_service(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    if (args.folder is None) == (args.service is None):
        raise ConfigError("give the folder of runs, or --service, and only one of them")
    if args.service is not None:
        return at_service.runs(args, output)
    home = place(args.folder)
    rows, damaged = [], []
    for folder in runs_below(home):
        name = folder.name if folder == home else "/".join(folder.parts[len(home.parts) :])
        try:
            facts = facts_of(folder)
            rows.append([name, *cells_of(facts)])
        except CheckpointError as error:
            facts = {"path": str(folder), "state": "damaged", "damage": str(error)}
            rows.append([name, "–", "damaged", *["–"] * (len(HEAD) - 3)])
            damaged.append(str(error))
        output.record("run", facts)
    if rows:
        output.show(*table(list(HEAD), rows, output.style))
    else:
        output.show(f"no runs in {args.folder}")
    for problem in damaged:
        output.warning(problem)
    return exits.DONE
