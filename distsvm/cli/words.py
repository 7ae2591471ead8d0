"""Names of the library's parameters and their values, as a shell and as TOML have them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any

from distsvm.registry import SOLVERS, STRUCTURES
from distsvm.wording import Shown, Words

OF_VERBS = ("validation", "start", "format", "cv", "Cs", "constants", "task", "model", "data")
"""Parameters of the library for which verbs have options of the same name."""

BARE = re.compile(r"[A-Za-z0-9_-]+")


class Shell(Words):
    """Flags with their values, as a user types them."""

    form = "shell"

    def name(self, name: str) -> str:
        return flags().get(name, name)

    def setting(self, name: str, value: Any) -> str:
        flag = self.name(name)
        if not flag.startswith("--"):
            return super().setting(name, value)
        return flag if value is True else f"{flag} {self._typed(value)}"

    def value(self, value: Any) -> str:
        if value is None or isinstance(value, bool):
            return str(value).lower()
        return value if isinstance(value, str) else super().value(value)

    def _typed(self, value: Any) -> str:
        if isinstance(value, dict):
            return ",".join(f"{name}={self.value(item)}" for name, item in value.items())
        return shlex.quote(value) if isinstance(value, str) else self.value(value)


class Toml(Shell):
    """Keys and values of a configuration in a file."""

    form = "toml"

    def name(self, name: str) -> str:
        return super().name(name).removeprefix("--")

    def setting(self, name: str, value: Any) -> str:
        return f"{self.name(name)} = {self.value(value)}"

    def value(self, value: Any) -> str:
        if isinstance(value, Shown):
            return value.text
        return toml_value("none" if value is None else value)


SHELL, TOML = Shell(), Toml()


def flags() -> Mapping[str, str]:
    """Return the flag of every parameter of the library that has one."""
    return _flags(STRUCTURES.version, SOLVERS.version)


@cache
def _flags(*versions: int) -> Mapping[str, str]:
    """Return the flags; a new version of a registry makes the cached ones void."""
    # Imported here, because verbs without training do not need it.
    from distsvm.cli.tasks import own_options, shared_options
    from distsvm.data.formats import reader_options
    from distsvm.executors.options import RayOptions
    from distsvm.options import declared
    from distsvm.training.config import all_options

    options = [
        *reader_options(),
        *declared(RayOptions).values(),
        *shared_options(),
        *(own for options in own_options().values() for own in options),
        *all_options().values(),
    ]
    named = {own.argument or own.name: own.flag for own in options if own.flag}
    return {name: f"--{name}" for name in OF_VERBS} | named


def toml_pair(key: str, value: Any) -> str:
    """Return the line `key = value`; tables are inline."""
    name = key if BARE.fullmatch(key) else _toml_text(key)
    return f"{name} = {toml_value(value)}"


def toml_value(value: Any) -> str:
    """Return a text, number, truth value, list or table as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _toml_text(value)
    if isinstance(value, (int, float)):
        return repr(value)  # inf and nan have the same names in TOML
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, dict):
        pairs = ", ".join(toml_pair(key, item) for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    raise TypeError(f"{value!r} is nothing that TOML has")


def _toml_text(value: str) -> str:
    # JSON's escapes are TOML's, but JSON does not escape U+007F.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
