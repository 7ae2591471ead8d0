"""What is asked of the service, checked before anything is queued."""

from __future__ import annotations

import argparse
import re
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distsvm.cli.at_service import CHANGEABLE
from distsvm.cli.config_file import config_text, take_values
from distsvm.cli.data_options import data_options
from distsvm.cli.models import file_of, is_own_code
from distsvm.cli.options import check_config, given_config
from distsvm.cli.parser import Parser
from distsvm.cli.program import build_parser
from distsvm.cli.tasks import files_of, make_task
from distsvm.errors import ConfigError, nearest
from distsvm.kinds import Truth
from distsvm.storage import place
from distsvm.stores import StorePath

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

OF_SERVICE = {
    "run-dir": "the service chooses the folder",
    "model": "the model is in the run's folder",
    "force": "the service overwrites nothing",
    "resume": "ask for the run to be resumed",
    "address": "the operator of the service chooses the cluster",
    "cache-dir": "the service keeps no caches",
    "json": "the service reads the run's folder",
    "quiet": "the service keeps the log",
    "verbose": "the service keeps the log",
}
"""Options of train and resume that a request does not have, and why."""

PATHS = ("data", "validation", "start")


@dataclass(frozen=True)
class Allowed:
    """What requests may name.

    Parameters
    ----------
    runs : Path
        The folder of the runs.
    data : tuple of Path
        The folders whose files may be data.
    tasks : tuple of Path
        The files with code of tasks.
    executors : tuple of str
    """

    runs: Path
    data: tuple[Path, ...] = ()
    tasks: tuple[Path, ...] = ()
    executors: tuple[str, ...] = ("auto", "serial", "threads", "processes")

    def check_path(self, key: str, given: str) -> None:
        """Refuse a path outside the folders for data and runs."""
        if isinstance(place(given), StorePath):
            raise ConfigError(f"{key} = {given}: the service reads data in its folders only")
        inside = Path(given).resolve()
        if any(c in given for c in "*?["):
            fixed = re.split(r"[*?\[]", given, maxsplit=1)[0]
            inside = Path(fixed).resolve()
        for folder in (self.runs, *self.data):
            if inside == folder.resolve() or folder.resolve() in inside.parents:
                return
        known = ", ".join(map(str, self.data)) or "none (--data DIR of the service allows one)"
        raise ConfigError(f"{key} = {given}: expected a path in the folders for data: {known}")

    def check_task(self, given: str) -> None:
        """Refuse code that the operator has not allowed."""
        if is_own_code(given) and file_of(given).resolve() not in {
            path.resolve() for path in self.tasks
        }:
            raise ConfigError(
                f"task = {given}: the service runs code of allowed files only (--tasks FILE.py)"
            )


@dataclass(frozen=True)
class Wanted:
    """A checked request for a run: its name, and its configuration in TOML."""

    name: str
    config: str


def check_name(name: Any) -> str:
    """Return a run's name; refuse what is no plain name of a folder."""
    if not isinstance(name, str) or not NAME.fullmatch(name) or name.endswith(".lock"):
        raise ConfigError(
            f"name {name!r:.60}: expected letters, digits, '.', '_' and '-', at most 100, a letter "
            "or a digit first"
        )
    return name


def new_run(name: str | None, options: Mapping[str, Any], allowed: Allowed) -> Wanted:
    """Return the run that a table of options describes; a ConfigError names what does not fit."""
    parser = _own_parser("train")
    _refuse(options, OF_SERVICE, parser)
    task = options.get("task")
    if isinstance(task, str):
        allowed.check_task(task)
    for key in PATHS:
        given = options.get(key)
        for path in given if isinstance(given, list) else [given]:
            if isinstance(path, str):
                allowed.check_path(key, path)
    executor = options.get("executor", "auto")
    if executor not in allowed.executors:
        raise ConfigError(
            f"executor = {executor!r}: expected one of {', '.join(allowed.executors)}"
        )
    take_values("the request", dict(options), parser)
    for key, flag in parser.flags.items():
        if flag.action.required:
            raise ConfigError(f"the key {key!r} is missing")
    args = _parsed(parser)
    check_config(given_config(args))
    for field, path, _ in files_of(args):
        if field != "task":
            allowed.check_path(field, str(path))
    data_options(args, make_task(args))
    shown = "own" if is_own_code(args.task) else args.task
    stamp = time.strftime("%Y%m%d-%H%M%S")
    chosen = f"{shown}-{stamp}-{secrets.token_hex(2)}" if name is None else check_name(name)
    return Wanted(chosen, config_text("train", parser, args))


def changes_of_resume(options: Mapping[str, Any]) -> list[str]:
    """Return the words of the command line for changed options of a resumed run."""
    parser = _own_parser("resume")
    _refuse(options, OF_SERVICE, parser)
    changeable = {flag.option.key for flag in parser.flags.values() if flag.dest in CHANGEABLE}
    for key in options:
        if key not in changeable:
            raise ConfigError(f"a resumed run cannot change {key!r}{nearest(key, changeable)}")
    take_values("the request", dict(options), parser)
    given = given_config(_parsed(parser, "RUN_DIR"), CHANGEABLE)
    check_config(given, resumed=True)
    return [word for key in options for word in _words(parser, key, given)]


def _words(parser: Parser, key: str, given: Mapping[str, Any]) -> Iterable[str]:
    flag = parser.flags[key]
    value = given.get(flag.dest)
    if isinstance(flag.option.kind, Truth):
        return [f"--{key}" if value else f"--no-{key}"]
    found = "none" if value is None else flag.option.kind.to_toml(value)
    return [f"--{key}={found}"]


def _own_parser(verb: str) -> Parser:
    return build_parser(verb).get_default("own")


def _parsed(parser: Parser, *words: str) -> argparse.Namespace:
    return parser.parse_args(list(words))


def _refuse(options: Mapping[str, Any], reasons: Mapping[str, str], parser: Parser) -> None:
    for key in options:
        if key in reasons:
            raise ConfigError(f"{key} is no key of a request: {reasons[key]}")
        if key not in parser.flags:
            raise ConfigError(f"there is no key {key!r}{nearest(key, parser.flags)}")
