"""`distsvm runs`."""

from __future__ import annotations

import argparse
from pathlib import Path

from distsvm.cli import exits
from distsvm.cli.formatting import table
from distsvm.cli.output import Output
from distsvm.cli.run_table import HEAD, cells_of, facts_of, runs_below
from distsvm.errors import CheckpointError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="DIR", help="a run, or a folder of runs, up to two levels down"
    )


def run(args: argparse.Namespace, output: Output) -> int:
    home = Path(args.folder)
    rows, damaged = [], []
    for folder in runs_below(home):
        try:
            facts = facts_of(folder)
        except CheckpointError as error:
            damaged.append(str(error))
            continue
        output.record("run", facts)
        name = folder.name if folder == home else str(folder.relative_to(home))
        rows.append([name, *cells_of(facts)])
    if rows:
        output.show(*table(list(HEAD), rows, output.style))
    elif not damaged:
        output.show(f"no runs in {args.folder}")
    for problem in damaged:
        output.warning(problem)
    return exits.DONE
