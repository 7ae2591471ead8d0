"""A parser that also lists its options as data, for configuration files and messages."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from distsvm.cli import exits
from distsvm.cli.output import Output
from distsvm.cli.words import SHELL
from distsvm.errors import ConfigError
from distsvm.kinds import Count, Kind, Several, Truth, Unfit
from distsvm.options import Option
from distsvm.wording import message

ABSENT: Any = argparse.SUPPRESS
"""The default of declared options: the namespace has only given ones; the library has defaults."""


@dataclass(frozen=True)
class Flag:
    """An option with its action in the parser and the title of its group."""

    option: Option
    action: argparse.Action
    title: str

    @property
    def dest(self) -> str:
        return self.action.dest


class Group:
    """Options under one title."""

    def __init__(self, parser: Parser, into: Any, title: str) -> None:
        self._parser, self._into, self._title = parser, into, title

    def declared(self, option: Option, dest: str = "") -> None:
        """Add an option that the library declares; its destination is absent unless given."""
        self._add(option, option.described(SHELL), dest=dest or option.name, default=ABSENT)

    def flag(
        self,
        name: str,
        kind: Kind,
        help: str,
        *,
        short: str = "",
        metavar: str = "",
        dest: str = "",
        default: Any = None,
        required: bool = False,
    ) -> None:
        """Add an option that only the command line has."""
        dest = dest or name.removeprefix("--").replace("-", "_")
        option = Option(kind, message(help), name, metavar, name=dest, default=default)
        is_truth = isinstance(kind, Truth) and default is None
        more: dict[str, Any] = {"dest": dest, "default": False if is_truth else default}
        if required:
            more["required"] = True
        shown = option.help.worded(SHELL) if default is ABSENT else option.described(SHELL)
        self._add(option, shown, *filter(None, [short]), **more)

    def _add(self, option: Option, help: str, *short: str, **more: Any) -> None:
        if (other := self._parser.flags.get(option.key)) is not None:
            raise ConfigError(
                f"{option.flag} is declared twice: for {other.option.name!r} ({other.title}) and "
                f"for {option.name!r} ({self._title}); one of them needs another flag"
            )
        action = self._into.add_argument(
            *short, option.flag, help=help.replace("%", "%%"), **_form(option), **more
        )
        self._parser.flags[option.key] = Flag(option, action, self._title)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, without the usage of all options."""

    def __init__(self, **how: Any) -> None:
        super().__init__(allow_abbrev=False, **how)
        self.flags: dict[str, Flag] = {}
        """Options by key: the flag without its dashes."""
        self.general = Group(self, self, "options")
        """The group of options without a title of their own."""

    def group(self, title: str, description: str | None = None) -> Group:
        return Group(self, self.add_argument_group(title, description), title)

    @property
    def known(self) -> set[str]:
        """All accepted flags that begin with two dashes."""
        names = {f"--{key}" for key in self.flags} | {"--help"}
        for key, flag in self.flags.items():
            if isinstance(flag.option.kind, Truth) and flag.option.kind.both:
                names.add(f"--no-{key}")
        return names

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        try:
            return super().parse_known_args(args, namespace)
        except _Refused as error:
            self.error(str(error))

    def error(self, message: str) -> NoReturn:
        Output().error(f"{message} (see '{self.prog} --help')")
        self.exit(exits.USAGE)


class _Refused(Exception):
    """A text is no value of its option. argparse does not reword this error."""


def _form(option: Option) -> dict[str, Any]:
    """Return argparse's arguments for an option of this kind."""
    kind, metavar = option.kind, option.metavar or None
    if isinstance(kind, Truth) and kind.both:
        return {"action": argparse.BooleanOptionalAction}
    if isinstance(kind, Truth):
        return {"action": "store_const", "const": kind.given}
    if isinstance(kind, Count):
        return {"action": "count"}
    if isinstance(kind, Several):
        how = {"action": "append"} if kind.repeated else {"nargs": "+"}
        return {"type": _typed(option, kind.item), "metavar": metavar, **how}
    return {"type": _typed(option, kind), "metavar": metavar}


def _typed(option: Option, kind: Kind) -> Callable[[str], Any]:
    """Return the function that argparse calls with the option's text."""

    def read(text: str) -> Any:
        try:
            return kind.read(text)
        except Unfit as error:
            said = error.said or message("expected {}", kind.expected)
            typed = f"{option.flag} {shlex.quote(text)}"
            raise _Refused(f"{typed}: {said.worded(SHELL)}") from None

    return read
