"""Options of a command in a TOML file: each key is the name of an option."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any

from distsvm.cli.parser import Flag, Parser
from distsvm.cli.small_files import read_text
from distsvm.cli.words import TOML, toml_pair
from distsvm.errors import ConfigError, nearest
from distsvm.kinds import Several, Truth, Unfit
from distsvm.version import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LARGEST = 1 << 20
MOST_PARTS = 64
# Memory and time of the TOML reader grow with the square of the parts.
_LONG_KEY = re.compile(rf"(?:[\w\"'-]+\s*\.\s*){{{MOST_PARTS}}}")
JOB = "job"
"""The table of the options that `distsvm submit` has and train does not."""


def add_config_file(parser: Parser) -> None:
    """Add the argument CONFIG.toml, which comes right behind the verb."""
    parser.add_argument(
        "config", nargs="?", metavar="CONFIG.toml",
        help="options in a file, one key each with the option's name (rel-gap = 0.01); those of "
        "the command line replace them",
    )  # fmt: skip


def take_config(path: str, parser: Parser, *, sending: bool = False) -> None:
    """Make the values of a file the defaults of the parser, which given options replace.

    With `sending` only the table [job] counts, without it all but that table.
    """
    content = _read(path)
    table = content.pop(JOB, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: {JOB} = {_shown(table)}: expected a table, [{JOB}]")
    take_values(path, table if sending else content, parser, sending=sending)


def take_values(
    path: str, content: dict[str, Any], parser: Parser, *, sending: bool = False
) -> None:
    """Make these values the defaults of the parser; messages name the file or request `path`."""
    values: dict[str, Any] = {}
    keys_by_dest: dict[str, str] = {}
    keys = parser.flags
    for key, found in content.items():
        flag = keys.get(key)
        if flag is None:
            where = f" in [{JOB}]" if sending else _belongs_to_job(key)
            if sending or not where:
                where += nearest(key.replace("_", "-"), keys)
            raise ConfigError(f"{path}: there is no key {key!r}{where}")
        value = _value(path, key, flag, found)
        if value is argparse.SUPPRESS:
            continue
        if (earlier := keys_by_dest.setdefault(flag.dest, key)) != key:
            raise ConfigError(f"{path}: {earlier} and {key} are two words for one thing")
        values[flag.dest] = value
        flag.action.required = False
    parser.set_defaults(**values)


def config_text(verb: str, parser: Parser, args: argparse.Namespace) -> str:
    """Return the configuration file that has the same effect as these arguments."""
    lines: dict[str, list[str]] = {}
    written = set()
    for key, flag in parser.flags.items():
        value = _toml_of(flag, getattr(args, flag.dest, argparse.SUPPRESS))
        if value is not argparse.SUPPRESS and flag.dest not in written:
            written.add(flag.dest)
            title = flag.title.partition(":")[0].partition(" (")[0]
            lines.setdefault(title, []).append(toml_pair(key, value))
    groups = ["\n".join([f"# {title}", *inside]) for title, inside in lines.items()]
    head = f"# distsvm {__version__}: distsvm {verb} CONFIG.toml"
    return "\n\n".join([head, *groups]) + "\n"


def _read(path: str) -> dict[str, Any]:
    try:
        return parsed(read_text(path, LARGEST), path)
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


def parsed(text: str, path: str) -> dict[str, Any]:
    """Return the table of a text in TOML; messages name its file or request `path`."""
    if _LONG_KEY.search(text):
        raise ConfigError(f"{path}: a key has more than {MOST_PARTS} parts between dots")
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error


def _belongs_to_job(key: str) -> str:
    from distsvm.cli.job_options import add_sending  # imported here: few commands send a job

    parser = Parser(add_help=False)
    add_sending(parser)
    return f"; it belongs to the table [{JOB}]" if key in parser.flags else ""


def _value(path: str, key: str, flag: Flag, found: Any) -> Any:
    """Return the option's value; SUPPRESS where the file has false for a flag without --no-."""
    kind = flag.option.kind
    problem = f"{path}: {key} = {_shown(found)}: expected {kind.expected.worded(TOML)}"
    try:
        value = kind.from_toml(found)
    except (TypeError, OverflowError):
        raise ConfigError(f"{problem}, found {_kind(found)}") from None
    except Unfit:
        raise ConfigError(problem) from None
    if isinstance(kind, Truth) and not kind.both:
        return flag.action.const if value else argparse.SUPPRESS
    return value


def _toml_of(flag: Flag, given: Any) -> Any:
    """Return the TOML value of a given option; SUPPRESS for one that was not given."""
    kind = flag.option.kind
    if given is argparse.SUPPRESS or given == []:
        return argparse.SUPPRESS
    if isinstance(kind, Truth) and not kind.both:
        return True if given == flag.action.const and given is not None else argparse.SUPPRESS
    value = None if given is None and isinstance(kind, Several) else kind.to_toml(given)
    return argparse.SUPPRESS if value is None else value


def _kind(found: Any) -> str:
    kinds = {
        bool: "a truth value", str: "text", int: "a whole number", float: "a number",
        list: "a list", dict: "a table",
    }  # fmt: skip
    return kinds.get(type(found), "a date or time")


def _shown(found: Any) -> str:
    try:
        text = toml_pair("x", found)[4:]
    except TypeError:
        text = str(found)
    return text if len(text) <= 40 else f"{text[:39]}…"
