"""Options and functions that the verbs for jobs share."""

from __future__ import annotations

import argparse
import secrets
import shlex
import tempfile
import time
from pathlib import Path

import distsvm
from distsvm.cli import exits
from distsvm.cli.formatting import pairs, seconds, size
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.errors import ConfigError
from distsvm.jobs.client import Job, Jobs, job_address
from distsvm.jobs.package import Package, job_name
from distsvm.kinds import Several, number, path, text, truth


def add_address(parser: Parser) -> None:
    parser.general.flag(
        "--address", text, metavar="URL",
        help="address of the cluster's dashboard, such as http://HEAD:8265. Default: the variable "
        "RAY_API_SERVER_ADDRESS. As for Ray, RAY_AUTH_TOKEN_PATH or RAY_AUTH_TOKEN gives a token",
    )  # fmt: skip


def add_sending(parser: Parser) -> None:
    """Add the options of verbs that send a job."""
    group = parser.group("as a job")
    group.flag(
        "--name",
        text,
        metavar="NAME",
        help="name of the run. Default: the last component of its folder",
    )
    group.flag(
        "--include", Several(path, repeated=True), metavar="PATH", default=[],
        help="also send this file or folder, such as a module that the task imports; may be "
        "repeated",
    )  # fmt: skip
    group.flag(
        "--send-distsvm",
        truth,
        help="send this version of distsvm, if the cluster has none or another one",
    )
    group.flag(
        "--python", text, metavar="COMMAND", default="python",
        help="command that runs Python on the cluster",
    )  # fmt: skip
    group.flag(
        "--largest-mb", number(least=0), metavar="MB", default=Package.largest_mb,
        help="largest total size of the files that are sent",
    )  # fmt: skip
    group.flag("--detach", truth, help="do not follow the job's output")


def connect(args: argparse.Namespace, wanted: str | None = None) -> Jobs:
    """Return the jobs of the cluster; `wanted` is a word that names no folder, but maybe a job."""
    try:
        address = job_address(args.address)
    except ConfigError as error:
        if wanted is None or args.address is not None:
            raise
        raise ConfigError(
            f"{wanted}: there is no such folder of a run; and to ask a cluster for a job, {error}"
        ) from error
    return Jobs(address)


def send(
    args: argparse.Namespace, output: Output, jobs: Jobs, package: Package, words: list[str],
    run_dir: str,
) -> int:  # fmt: skip
    """Have the cluster run `distsvm WORDS` as a job, and follow it unless --detach is given."""
    for included in args.include:
        package.include(Path(included))
    name = job_name(args.name or Path(run_dir).name)
    id = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    command = f"exec {args.python} -m distsvm.cli {shlex.join(words)}"
    modules = [str(Path(distsvm.__file__).parent)] if args.send_distsvm else None
    with tempfile.TemporaryDirectory(prefix="distsvm-job-") as folder:
        package.write(Path(folder))
        jobs.submit(command, Path(folder), id=id, name=name, run_dir=run_dir, modules=modules)
    sizes = package.sizes()
    output.record("job", {"id": id, "name": name, "run_dir": run_dir, "sent": sizes})
    sent = [f"{file} ({size(n)})" for file, n in sizes.items()]
    sent += ["distsvm itself"] if modules else []
    rows = [("job", id), ("run", run_dir), ("sent", ", ".join(sent) or "nothing")]
    output.say(*pairs(rows, output.style, output.width))
    if args.detach:
        output.say("", *_commands_for(jobs, id))
        return exits.DONE
    output.say("")
    return follow(output, jobs, id)


def follow(output: Output, jobs: Jobs, id: str) -> int:
    """Show the job's output until the job ends, and return its exit code; Ctrl-C only detaches."""
    try:
        for part in jobs.follow(id):
            if output.json:
                output.record("log", {"text": part})
            else:
                output.data(part)
                output.stdout.flush()
        job = jobs.get(id)
        while not job.over:  # the output ends a moment before the job
            time.sleep(0.2)
            job = jobs.get(id)
    except KeyboardInterrupt:
        output.note(f"the job {id} is still running")
        for line in _commands_for(jobs, id):
            output.note(line)
        return exits.INTERRUPTED
    output.record("end", job.as_dict())
    output.say("", *_ended(job).splitlines())
    return _code_of(job)


def _ended(job: Job) -> str:
    """Return how a job ended, with the cluster's message where its command left no exit code."""
    line = f"job {job.id} {job.state}"
    if job.began is not None and job.ended is not None:
        line += f" after {seconds(job.ended - job.began)}"
    if job.exit_code:
        return f"{line}, exit code {job.exit_code}: {exits.meaning(job.exit_code)}"
    return f"{line}: {job.message}" if job.state == "failed" and job.message else line


def _code_of(job: Job) -> int:
    """Return the exit code of an ended job: that of its command, unless a signal ended it."""
    if job.state == "finished":
        return exits.DONE
    if job.exit_code is not None and job.exit_code > 0:
        return job.exit_code
    return exits.STOPPED_EARLY if job.state == "stopped" else exits.JOB_FAILED


def _commands_for(jobs: Jobs, id: str) -> list[str]:
    return [
        f"{what}: distsvm {verb} {id} --address {shlex.quote(jobs.address)}"
        for what, verb in (
            ("see it", "status"), ("follow it", "logs --follow"), ("end it", "stop"),
        )
    ]  # fmt: skip


def age(job: Job) -> str:
    """Return the time since a job began."""
    return "–" if job.began is None else seconds(max(0.0, time.time() - job.began))
