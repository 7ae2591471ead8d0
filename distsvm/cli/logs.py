"""`distsvm logs`."""

from __future__ import annotations

import argparse

from distsvm.cli import at_service, exits
from distsvm.cli.at_service import add_service
from distsvm.cli.job_options import add_address, connect, follow
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.kinds import truth


def add_arguments(parser: Parser) -> None:
    parser.add_argument("job", metavar="JOB", help="id of a job, or name of its run")
    parser.general.flag(
        "--follow", truth, short="-f", help="show output until the job ends; Ctrl-C only detaches"
    )
    add_address(parser)
    add_service(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    if args.service is not None:
        return at_service.logs(args, output)
    jobs = connect(args)
    job = jobs.find(args.job)
    if args.follow:
        return follow(output, jobs, job.id)
    text = jobs.logs(job.id)
    output.record("log", {"id": job.id, "text": text})
    if not output.json:
        output.data(text)
    return exits.DONE
