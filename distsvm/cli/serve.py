"""`distsvm serve`."""

from __future__ import annotations

import argparse
from pathlib import Path

from distsvm.cli import exits
from distsvm.cli.models import load_class
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.cli.service import add_address, check_installed, limits, served
from distsvm.errors import ConfigError
from distsvm.kinds import Several, text


def add_arguments(parser: Parser) -> None:
    parser.usage = "distsvm serve NAME=DIR … [options]"
    parser.description = (
        "Answer requests for predictions over HTTP: POST /api/models/NAME/predict. Requests that\n"
        "wait at the same moment are one call of the compiled search. Everything needs a token;\n"
        "without --token-file the command makes one and prints it."
    )
    parser.add_argument(
        "models", nargs="+", metavar="NAME=DIR",
        help="a model or a run by its folder; without NAME it has that of its folder",
    )  # fmt: skip
    parser.general.flag(
        "--tasks", Several(text), metavar="FILE.py:CLASS", default=[],
        help="the tasks of models whose task is not built in",
    )  # fmt: skip
    add_address(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    check_installed()
    import secrets

    from distsvm.oracles.description import saved_name
    from distsvm.service.access import own_token
    from distsvm.service.models import Models
    from distsvm.service.requests import check_name
    from distsvm.service.serving import Service

    folders: dict[str, Path] = {}
    for given in args.models:
        name, sign, folder = given.rpartition("=")
        path = Path(folder)
        name = check_name(name if sign else path.resolve().name)
        if name in folders:
            raise ConfigError(f"{given}: two models have the name {name}")
        folders[name] = path / "model" if (path / "run.json").exists() else path
    tasks = {saved_name(cls): cls for cls in map(load_class, args.tasks)}
    models = Models.of_folders(folders, tasks=tasks)
    for name in folders:
        models.asked(name)  # a model that cannot be loaded is refused now
    if args.token_file is None:
        token = secrets.token_urlsafe(32)
        output.say(f"token: {token}")
    else:
        token = own_token(Path(args.token_file))
    served(args, output, Service(models, token, **limits(args)), None)
    return exits.DONE
