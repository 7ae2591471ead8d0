"""One TOML file for all that a command line can say: a key for every option, with its name."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any

from distsvm.cli import readers
from distsvm.cli.readers import Reader
from distsvm.cli.small_files import read_text
from distsvm.cli.toml_text import toml_pair
from distsvm.errors import ConfigError, nearest
from distsvm.version import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LARGEST = 1 << 20
MOST_PARTS = 64
# The memory and time that TOML's reader takes grow with the square of the parts.
_LONG_KEY = re.compile(rf"(?:[\w\"'-]+\s*\.\s*){{{MOST_PARTS}}}")
JOB = "job"
"""The table of what `distsvm submit` has options for, beside those of train."""
TRUTH = Reader(str, "true or false", readers.of_type(bool))


def add_config_file(parser: argparse.ArgumentParser) -> None:
    """Add the file's name, which comes right behind the verb."""
    parser.add_argument(
        "config", nargs="?", metavar="CONFIG.toml",
        help="options in a file, one key each with the option's name (rel-gap = 0.01); those of "
        "the command line come before it",
    )  # fmt: skip


def keys_of(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Every option by its key: the flag without its dashes."""
    found = {}
    for action in parser._actions:
        flags = [flag for flag in action.option_strings if flag.startswith("--")]
        if flags and action.dest != "help":
            found[flags[0][2:]] = action
    return found


def take_config(path: str, parser: argparse.ArgumentParser, *, sending: bool = False) -> None:
    """Make what a file says the defaults of the parser; its options come before them.

    What is about sending the run as a job stands in a table of its own, which is taken if that is
    what the parser is for (`sending`), and left alone otherwise.
    """
    values: dict[str, Any] = {}
    said: dict[str, str] = {}
    keys = keys_of(parser)
    content = _read(path)
    table = content.pop(JOB, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: {JOB} = {_shown(table)}: expected a table, [{JOB}]")
    for key, found in (table if sending else content).items():
        action = keys.get(key)
        if action is None:
            where = f" in [{JOB}]" if sending else _belongs_to_job(key)
            if sending or not where:
                where += nearest(key.replace("_", "-"), keys)
            raise ConfigError(f"{path}: there is no key {key!r}{where}")
        value = _value(path, key, action, found)
        if value is argparse.SUPPRESS:
            continue
        if action.dest in said:
            raise ConfigError(f"{path}: {said[action.dest]} and {key} are two words for one thing")
        said[action.dest] = key
        values[action.dest] = value
        action.required = False
    parser.set_defaults(**values)


def config_text(verb: str, parser: argparse.ArgumentParser, args: argparse.Namespace) -> str:
    """The file that says the same as these arguments."""
    lines = [f"# distsvm {__version__}: distsvm {verb} CONFIG.toml"]
    written = set()
    for group in parser._action_groups:
        inside = []
        for key, action in keys_of(parser).items():
            given = getattr(args, action.dest, argparse.SUPPRESS)
            if action not in group._group_actions or action.dest in written:
                continue
            said = _said(action, given)
            if said is not argparse.SUPPRESS:
                written.add(action.dest)
                inside.append(toml_pair(key, said))
        if inside:
            title = (group.title or "").partition(":")[0].partition(" (")[0]
            lines += ["", f"# {title}", *inside]
    return "\n".join(lines) + "\n"


def _read(path: str) -> dict[str, Any]:
    try:
        text = read_text(path, LARGEST)
        if _LONG_KEY.search(text):
            raise ConfigError(f"{path}: a key has more than {MOST_PARTS} parts between dots")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error


def _belongs_to_job(key: str) -> str:
    from distsvm.cli.job_options import add_sending  # here, as most commands send nothing

    parser = argparse.ArgumentParser(add_help=False)
    add_sending(parser)
    return f"; it belongs to the table [{JOB}]" if key in keys_of(parser) else ""


def _value(path: str, key: str, action: argparse.Action, found: Any) -> Any:
    """The value that the option gets; SUPPRESS where the file says that it is not given."""
    reader = _reader(action)
    try:
        if _takes_several(action):
            listed = found if isinstance(found, list) else [found]
            if not listed:
                raise TypeError
            return [reader.from_file(item) for item in listed]
        value = reader.from_file(found)
    except (TypeError, OverflowError):
        expected = "a text or a list of texts" if _takes_several(action) else reader.expected
        raise ConfigError(
            f"{path}: {key} = {_shown(found)}: expected {expected}, found {_kind(found)}"
        ) from None
    if action.choices is not None and value not in action.choices:
        choices = ", ".join(map(str, action.choices))
        raise ConfigError(f"{path}: {key} = {_shown(found)}: expected one of {choices}")
    if reader is not TRUTH or isinstance(action, argparse.BooleanOptionalAction):
        return value
    return action.const if value else argparse.SUPPRESS


def _said(action: argparse.Action, given: Any) -> Any:
    """What a file has to say for a value; SUPPRESS for one that was not given."""
    reader = _reader(action)
    if reader is TRUTH and not isinstance(action, argparse.BooleanOptionalAction):
        return True if given == action.const else argparse.SUPPRESS
    if given is argparse.SUPPRESS or given == []:
        return argparse.SUPPRESS
    if _takes_several(action) and given is not None:
        return [reader.to_file(item) for item in given]
    said = reader.to_file(given)
    return argparse.SUPPRESS if said is None else said


def _takes_several(action: argparse.Action) -> bool:
    return action.nargs == "+" or isinstance(action, argparse._AppendAction)


def _reader(action: argparse.Action) -> Reader:
    if isinstance(action, argparse._CountAction):
        return readers.whole
    if action.nargs == 0:
        return TRUTH
    return action.type if isinstance(action.type, Reader) else readers.text


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
