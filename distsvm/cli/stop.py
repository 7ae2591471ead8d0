"""`distsvm stop`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from distsvm.cli import at_service, exits
from distsvm.cli.at_service import add_service
from distsvm.cli.job_options import add_address, connect
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.cli.run_table import checked_run, seen_folder
from distsvm.errors import CheckpointError
from distsvm.kinds import number
from distsvm.training.run_state import ask_to_stop, read_state

LOOK_S, LOOK_IN_STORE_S = 0.2, 3.0


def add_arguments(parser: Parser) -> None:
    parser.usage = "distsvm stop RUN_DIR | JOB | NAME [--address URL] [--wait S]"
    parser.description = (
        "End a run after its current round, with a checkpoint and its model, so that it can be\n"
        "resumed. A run is stopped through a file in its folder; a job through the cluster, which\n"
        "kills it if it has not ended within five minutes."
    )
    parser.add_argument("run", metavar="RUN", help="folder, id of a job, or name of its run")
    parser.general.flag(
        "--wait", number(least=0, infinite=True), metavar="S", default=0.0,
        help="seconds to wait for the end.",
    )  # fmt: skip
    add_address(parser)
    add_service(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    if args.service is not None:
        return at_service.stop(args, output)
    until = time.monotonic() + args.wait
    if (named := seen_folder(args.run)) is not None:
        folder = checked_run(named)
        state = read_state(folder)
        if state.gone:
            raise CheckpointError(f"{folder} is not running: it is {state.state}")
        ask_to_stop(folder)
        while not state.gone and time.monotonic() < until:
            time.sleep(LOOK_S if isinstance(folder, Path) else LOOK_IN_STORE_S)
            state = read_state(folder)
        found: dict[str, str | None] = {"run_dir": str(folder), "state": state.state}
        over = state.gone
    else:
        jobs = connect(args, args.run)
        job = jobs.find(args.run)
        jobs.stop(job.id)
        job = jobs.get(job.id)
        while not job.over and time.monotonic() < until:
            time.sleep(LOOK_S)
            job = jobs.get(job.id)
        found = {"job": job.id, "run_dir": job.run_dir, "state": job.state}
        over = job.over
    output.record("stop", found)
    what = f"job {found['job']}" if "job" in found else f"run {found['run_dir']}"
    output.say(f"{what} {found['state']}" if over else f"{what} will end after its round")
    return exits.DONE
