"""`distsvm status`."""

from __future__ import annotations

import argparse
from typing import Any

from distsvm.cli import at_service, exits
from distsvm.cli.at_service import add_service
from distsvm.cli.formatting import pairs, table
from distsvm.cli.job_options import add_address, age, connect
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.cli.run_table import facts_of, is_run, rows_of, seen_folder
from distsvm.errors import CheckpointError, ConfigError, StoreError
from distsvm.jobs.client import Job
from distsvm.storage import Place, place


def add_arguments(parser: Parser) -> None:
    parser.usage = "distsvm status [RUN_DIR | JOB | NAME] [--address URL]"
    parser.description = (
        "Show the state of a run. A folder is read in place; anything else is the id of a job, or\n"
        "the name of its run, on the cluster. Without an argument: all jobs of the cluster."
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help="folder, id of a job, or name")
    add_address(parser)
    add_service(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    if args.service is not None:
        return at_service.status(args, output)
    if args.run is not None and (folder := seen_folder(args.run)) is not None:
        return _folder(folder, output)
    jobs = connect(args, args.run)
    if args.run is not None:
        return _job(jobs.find(args.run), output)
    found = jobs.all()
    for job in found:
        output.record("job", job.as_dict())
    rows = [[job.id, job.state, age(job), job.run_dir or ""] for job in found]
    if rows:
        output.show(*table(["job", "state", "began", "run"], rows, output.style))
    else:
        output.show(f"no jobs of distsvm at {jobs.address}")
    return exits.DONE


def _folder(folder: Place, output: Output) -> int:
    facts = facts_of(folder)
    output.record("run", facts)
    output.show(*pairs(rows_of(facts), output.style, output.width))
    return exits.DONE


def _job(job: Job, output: Output) -> int:
    facts, reason = _facts_if_readable(job.run_dir)
    output.record("job", job.as_dict() | ({} if facts is None else {"run": facts}))
    rows = [("job", job.id), ("state", job.state), ("began", f"{age(job)} ago")]
    if job.exit_code is not None:
        rows.append(("exit code", f"{job.exit_code}: {exits.meaning(job.exit_code)}"))
    if job.state == "failed" and job.message:
        first, *rest = job.message.strip().splitlines()
        rows += [("message", first), *(("", line) for line in rest)]
    if facts is None:
        rows.append(("run", f"{job.run_dir} ({reason})"))
    else:
        rows += rows_of(facts)
    output.show(*pairs(rows, output.style, output.width))
    return exits.DONE


def _facts_if_readable(run_dir: str | None) -> tuple[dict[str, Any] | None, str]:
    """Return the facts of a job's run, or None and the reason."""
    reason = "cannot be seen from here"
    try:
        if run_dir is not None and is_run(folder := place(run_dir)):
            return facts_of(folder), ""
    except (ConfigError, StoreError):  # only the cluster can open that store
        pass
    except CheckpointError as error:
        reason = str(error)
    return None, reason
