"""`distsvm resume`."""

from __future__ import annotations

import argparse

from distsvm.cli import at_service
from distsvm.cli.at_service import CHANGEABLE, add_service
from distsvm.cli.display import watched
from distsvm.cli.job_options import add_address, add_sending, send
from distsvm.cli.models import add_task_code, file_of, load_class
from distsvm.cli.options import add_config, check_config, given_config
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.cli.summary import finish
from distsvm.cli.targets import check_model_target
from distsvm.errors import CheckpointError, JobError
from distsvm.jobs.client import Jobs, is_job_address
from distsvm.jobs.package import Package
from distsvm.kinds import path, truth
from distsvm.registry import task_classes
from distsvm.storage import place
from distsvm.stores import StorePath
from distsvm.training.config import TrainConfig
from distsvm.training.run_folder import RunFolder
from distsvm.training.train import resume


def add_arguments(parser: Parser) -> None:
    parser.usage = "distsvm resume RUN_DIR [options]"
    parser.description = (
        "Resume a run from its last checkpoint. The result has the bits of a run that was never\n"
        "stopped. Options that are not given keep their values, but a new --eps or --rel-gap\n"
        "replaces both earlier ones; the value none removes a limit. With --address http://… of a\n"
        "cluster's dashboard, the cluster resumes the run, as a job."
    )
    parser.add_argument(
        "run_dir", metavar="RUN_DIR",
        help="the folder of the run; as a job, also the --name with which it was sent",
    )  # fmt: skip
    parser.general.flag(
        "--model", path, metavar="DIR",
        help="write the model to this folder, and to model/ in the run's folder",
    )  # fmt: skip
    parser.general.flag("--force", truth, help="replace a model that is there")
    add_task_code(parser, of="run")
    add_sending(parser)
    add_service(parser)
    add_config(parser, CHANGEABLE)


def run(args: argparse.Namespace, output: Output) -> int:
    if args.service is not None:
        return at_service.resume(args, output)
    if is_job_address(getattr(args, "address", "")):
        return _as_job(args, output)
    if args.model is not None:
        check_model_target(args.model, args.force)
    changes = given_config(args, CHANGEABLE)
    run = RunFolder(args.run_dir).read()
    stored: TrainConfig = run["config"]
    config = check_config(stored.kept(changes) | changes, resumed=True)
    name = run["task"].get("task")
    if args.task is None and name not in task_classes():
        raise CheckpointError(
            f"{args.run_dir} is a run of the task {name!r}, which is not built in: give its code "
            "with --task FILE.py:CLASS, as none is taken from the folder"
        )
    task = None if args.task is None else load_class(args.task)
    result, compiled = watched(
        output,
        f"distsvm resume {args.run_dir}",
        lambda callbacks: resume(args.run_dir, task=task, callbacks=callbacks, **changes),
        max_seconds=config.max_seconds,
        run_dir=args.run_dir,
        task=args.task,
    )
    if args.model is not None:
        result.model.save(args.model)
    model = args.model or str(place(args.run_dir) / "model")
    return finish(output, result, compiled, model=model, run_dir=args.run_dir, task=args.task)


def _as_job(args: argparse.Namespace, output: Output) -> int:
    """Resume the run as a job of the cluster at --address."""
    jobs = Jobs(args.address)
    here = place(args.run_dir)
    is_place = isinstance(here, StorePath) or here.is_absolute() or here.is_dir()
    run_dir = str(here.absolute()) if is_place else jobs.find(args.run_dir).run_dir
    if run_dir is None:
        raise JobError(f"{jobs.address} does not know the folder of the run {args.run_dir!r}")
    package = Package(args.largest_mb)
    words = ["resume", run_dir, *_own_words(args)]
    if args.task is not None:
        name = package.add_file(file_of(args.task))
        words += ["--task", f"{name}:{args.task.rpartition(':')[2]}"]
    if not hasattr(args, "executor"):
        words += ["--executor", "ray"]
    return send(args, output, jobs, package, words, run_dir)


def _own_words(args: argparse.Namespace) -> list[str]:
    """Return the words of the command line for the resumed run, without those for the job."""
    sending = Parser(add_help=False)
    add_address(sending)
    add_sending(sending)
    add_task_code(sending)
    rest = sending.parse_known_args(args.behind)[1]
    rest.remove(args.run_dir)
    return rest
