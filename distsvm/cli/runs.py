"""`distsvm runs`."""

from __future__ import annotations

import argparse

from distsvm.cli import exits
from distsvm.cli.formatting import table
from distsvm.cli.output import Output
from distsvm.cli.run_table import HEAD, cells_of, facts_of, runs_below
from distsvm.errors import CheckpointError
from distsvm.storage import place


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="DIR", help="a run, or a folder of runs, up to two levels down"
    )


def run(args: argparse.Namespace, output: Output) -> int:
    home = place(args.folder)
    rows, damaged = [], []
    for folder in runs_below(home):
        try:
            facts = facts_of(folder)
        except CheckpointError as error:
            damaged.append(str(error))
            continue
        output.record("run", facts)
        name = folder.name if folder == home else "/".join(folder.parts[len(home.parts) :])
        rows.append([name, *cells_of(facts)])
    if rows:
        output.show(*table(list(HEAD), rows, output.style))
    elif not damaged:
        output.show(f"no runs in {args.folder}")
    for problem in damaged:
        output.warning(problem)
    return exits.DONE
