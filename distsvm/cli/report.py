"""`distsvm report`."""

from __future__ import annotations

import argparse

from distsvm.cli import exits
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.kinds import path
from distsvm.report import write_report


def add_arguments(parser: Parser) -> None:
    parser.add_argument("run_dir", metavar="RUN_DIR", help="the folder of the run")
    parser.general.flag(
        "--output", path, metavar="FILE", help="the file to write. Default: report.html in RUN_DIR"
    )


def run(args: argparse.Namespace, output: Output) -> int:
    path = write_report(args.run_dir, args.output)
    output.record("report", {"report": str(path)})
    output.say(str(path))
    return exits.DONE
