"""How a shell and a TOML file name the library's parameters."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any

from distsvm.cli.toml_text import toml_value
from distsvm.registry import SOLVERS, STRUCTURES
from distsvm.wording import Shown, Words

OF_VERBS = ("validation", "start", "format", "cv", "Cs", "constants", "task", "model", "data")
"""Parameters of the library that verbs have options of the same name for."""


class Shell(Words):
    """Flags with their values, as they are typed."""

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
    """The flag of every parameter of the library that has one."""
    return _flags(STRUCTURES.version, SOLVERS.version)


@cache
def _flags(*versions: int) -> Mapping[str, str]:
    """The flags with what these versions of the registries find."""
    # Here, as it loads what only training needs.
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
