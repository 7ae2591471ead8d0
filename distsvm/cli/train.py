"""`distsvm train`."""

from __future__ import annotations

import argparse

from distsvm.cli.config_file import config_text
from distsvm.cli.data_options import add_data, data_options, loading_words
from distsvm.cli.display import watched
from distsvm.cli.options import add_config, check_config, given_config
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.cli.run_table import is_run
from distsvm.cli.summary import finish
from distsvm.cli.targets import check_model_target, check_run_target
from distsvm.cli.tasks import add_task, make_task
from distsvm.errors import ConfigError
from distsvm.kinds import files, path, truth
from distsvm.storage import place, write_bytes
from distsvm.training.callbacks import Callback, RunStart
from distsvm.training.train import train


def add_arguments(parser: Parser) -> None:
    parser.usage = (
        "distsvm train --task TASK --data FILE … --model DIR [options]\n"
        "       distsvm train CONFIG.toml [options]"
    )
    add_task(parser)
    data = add_data(parser)
    data.flag(
        "--validation", files, metavar="FILE",
        help="data of the same kind: stop when its loss no longer falls (--patience), and "
        "take the w with the lowest",
    )  # fmt: skip
    model = parser.group("model")
    model.flag(
        "--model", path, metavar="DIR",
        help="write the model to this folder or URI (without it: to model/ in that of --run-dir)",
    )  # fmt: skip
    model.flag("--force", truth, help="replace a model that is there")
    model.flag(
        "--start", path, metavar="DIR",
        help="begin at the w of this model or run; the data may have more examples, features and "
        "classes",
    )  # fmt: skip
    add_config(parser)
    parser.general.flag(
        "--resume", truth,
        help="resume the run in --run-dir if there is one, begun with the same task, data and "
        "options: one command, in a script or a queue, begins a run and resumes it",
    )  # fmt: skip


class SavedConfig(Callback):
    """Writes config.toml to the run's folder: a file for `distsvm train` with all options."""

    def __init__(self, run_dir: str, text: str) -> None:
        self._path, self._text = place(run_dir) / "config.toml", text

    def on_start(self, start: RunStart) -> None:
        write_bytes(self._path, self._text.encode())


def run(args: argparse.Namespace, output: Output) -> int:
    config = given_config(args)
    run_dir = config.get("run_dir")
    if args.model is None and run_dir is None:
        raise ConfigError("give --model or --run-dir: nothing would be left of the run")
    if args.resume and run_dir is None:
        raise ConfigError("--resume needs --run-dir, the folder of the run")
    if args.model is not None:
        check_model_target(args.model, args.force)
    resumed = args.resume and run_dir is not None and is_run(place(run_dir))
    if run_dir is not None and not resumed:
        check_run_target(run_dir, model=args.model)
    check_config(config)
    task = make_task(args)
    options = data_options(args, task)
    saved = [] if run_dir is None else [SavedConfig(run_dir, config_text("train", args.own, args))]
    result, compiled = watched(
        output,
        f"distsvm {args.task}",
        lambda callbacks: train(
            task,
            args.data,
            data_options=options,
            validation=args.validation,
            start=args.start,
            resume=resumed,
            callbacks=[*callbacks, *saved],
            **config,
        ),
        doing=loading_words(args, task, options),
        max_seconds=config.get("max_seconds"),
        run_dir=run_dir,
        task=args.task,
    )
    model = args.model
    if model is not None:
        result.model.save(model)
    elif run_dir is not None:
        model = str(place(run_dir) / "model")
    return finish(output, result, compiled, model=model, run_dir=run_dir, task=args.task)
