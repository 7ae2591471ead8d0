"""`distsvm submit`."""

from __future__ import annotations

import argparse
import os

from distsvm.cli import at_service
from distsvm.cli.at_service import add_service
from distsvm.cli.config_file import config_text
from distsvm.cli.job_options import add_address, add_sending, connect, send
from distsvm.cli.options import check_config, given_config
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.cli.tasks import files_of, make_task
from distsvm.errors import ConfigError
from distsvm.jobs.package import Package
from distsvm.uris import check_secretless

PATHS = ("data", "validation", "model", "run_dir", "start")


def add_arguments(parser: Parser) -> None:
    parser.usage = "distsvm submit --address URL CONFIG.toml [options] [options of train]"
    parser.description = (
        "Train on a Ray cluster, as a job that goes on when this command ends. CONFIG.toml is a\n"
        "file for 'distsvm train CONFIG.toml'; options of train may follow. Options of the job\n"
        "can also be in its table [job]. The executor is ray, unless the file has another one."
    )
    parser.add_argument("config", metavar="CONFIG.toml", help="the configuration of the run")
    add_address(parser)
    add_sending(parser)
    add_service(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    wanted = args.inner
    if args.service is not None:
        return at_service.submit(args, output, wanted)
    if not (hasattr(wanted, "executor") or hasattr(wanted, "address")):
        wanted.executor = "ray"
    check_config(given_config(wanted))
    make_task(wanted)
    run_dir = getattr(wanted, "run_dir", None)
    if run_dir is None:
        raise ConfigError(f"{args.config}: run-dir is missing; a job's run needs a folder")
    for name in PATHS:
        found = getattr(wanted, name, None)
        for path in found if isinstance(found, list) else [found]:
            if path is not None and "://" in path:
                check_secretless(path)
            elif path is not None and not os.path.isabs(path):
                raise ConfigError(
                    f"--{name.replace('_', '-')} {path}: the job runs in another folder, on "
                    "another machine; give an absolute path that its nodes have, or a URI"
                )
    package = Package(args.largest_mb)
    for field, path, rest in files_of(wanted):
        setattr(wanted, field, package.add_file(path) + rest)
    package.add_text("config.toml", config_text("train", wanted.own, wanted))
    return send(args, output, connect(args), package, ["train", "config.toml"], run_dir)
