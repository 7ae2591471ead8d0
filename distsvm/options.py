"""Options that are declared once, as fields of dataclasses.

One declaration makes the field, its check, the flag of the command line with its help, the key in
a TOML file, and a row of the page of options.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from textwrap import indent, wrap
from typing import Any, TypeVar

from distsvm.errors import ConfigError, nearest
from distsvm.kinds import Kind, Or, Truth, Unfit
from distsvm.wording import PYTHON, Message, Words, message

ABSENT: Any = object()
"""The default of an option that has none: without a value, the option is left out."""

T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """One option.

    Parameters
    ----------
    kind : Kind
        Which values fit, and how they are written.
    help : Message
        What it does, with its formula; it names other options as data.
    flag : str
        "--max-cuts"; empty if the command line does not have it.
    metavar : str
        The word for the value in a flag's help.
    unit : str
        Of the value, if it has one.
    usual : str
        The meaning of the default, where its value does not show it.
    group : str
        The title under which it is listed.
    of : tuple of str
        The executors, formats and the like that it is for; empty if for all.
    free : bool
        Whether a run that is resumed may have another value than before.
    argument : str
        The name that messages use, if it is not that of the field.
    name : str
        Of the field.
    default : Any
    """

    kind: Kind
    help: Message
    flag: str = ""
    metavar: str = ""
    unit: str = ""
    usual: str = ""
    group: str = ""
    of: tuple[str, ...] = ()
    free: bool = False
    argument: str = ""
    name: str = ""
    default: Any = ABSENT

    @property
    def key(self) -> str:
        """The key in a TOML file: the flag without its dashes."""
        return self.flag.removeprefix("--")

    def check(self, value: Any) -> Any:
        """Return the value as the field stores it; a ConfigError if it is unfit."""
        if value is None and self.default is None:
            return None
        try:
            return self.kind.check(value)
        except Unfit:
            raise ConfigError(self.argument or self.name, value, self.kind.expected) from None

    def described(self, words: Words = PYTHON) -> str:
        """Return the help with the default, in these words."""
        text = self.help.worded(words)
        default = self.default_text(words)
        if not default:
            return text
        return f"{text}{'' if text.endswith('.') else '.'} Default: {default}".removeprefix(". ")

    def default_text(self, words: Words = PYTHON) -> str:
        """Return the default as it is shown; empty where there is none to show."""
        if self.usual:
            return message(self.usual).worded(words)
        if self.default is None and isinstance(self.kind, Or) and self.kind.value is None:
            return words.value(None)
        if self.default is ABSENT or self.default is None or self.default == {}:
            return ""
        if isinstance(self.kind, Truth):  # a flag that is not given is not set
            return ("yes" if self.default else "no") if self.kind.both else ""
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)


def option(
    default: Any = ABSENT,
    *,
    kind: Kind,
    help: str,
    flag: str | None = None,
    factory: Callable[[], Any] | None = None,
    later: bool = False,
    **more: Any,
) -> Any:
    """Return a dataclass field that declares an option; see Option.

    `help` may name other options in braces, {max_cuts}: Python and shell name them differently.
    Without `flag` it is that of the field's name. `later` is LATER of distsvm.oracles.task.
    """
    declared = Option(kind, message(help), "AUTO" if flag is None else flag, **more)
    metadata: dict[str, Any] = {"option": declared} | ({"later": True} if later else {})
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


def declared(cls: Any) -> Mapping[str, Option]:
    """Return the options that a dataclass declares, by the names of their fields."""
    return _declared(cls)


@cache  # apart, as a cached function takes no dataclass that mypy finds unhashable
def _declared(cls: Any) -> Mapping[str, Option]:
    found = {}
    for own in fields(cls):
        if "option" in own.metadata:
            given: Option = own.metadata["option"]
            default = own.default if own.default_factory is MISSING else own.default_factory()
            flag = f"--{own.name.replace('_', '-')}" if given.flag == "AUTO" else given.flag
            found[own.name] = replace(given, name=own.name, default=default, flag=flag)
    return found


def usual(cls: Any, name: str) -> Any:
    """Return the default of a declared option."""
    return declared(cls)[name].default


def checked(made: Any, name: str) -> Any:
    """Return the value of a declared field, refused if it does not fit."""
    return declared(type(made))[name].check(getattr(made, name))


def check_fields(made: Any) -> None:
    """Check every declared field of a dataclass, frozen or not, and store the checked values."""
    for name in declared(type(made)):
        object.__setattr__(made, name, checked(made, name))


def built(cls: type[T], given: Mapping[str, Any]) -> T:
    """Return the dataclass with these values; unknown names are refused."""
    refuse_unknown(given, [own.name for own in fields(cls)])  # type: ignore[arg-type]
    return cls(**given)


def refuse_unknown(given: Collection[str], known: Collection[str]) -> None:
    """Refuse unknown names; the message has the nearest known one."""
    for name in sorted(set(given) - set(known)):
        raise ConfigError(f"unknown parameter {name!r}{nearest(name, known)}")


def parameters(options: Collection[Option]) -> str:
    """Return the options as entries of the section Parameters of a docstring."""
    lines = []
    for own in options:
        unit = f", in {own.unit}" if own.unit else ""
        usual = "" if own.default is ABSENT else ", optional"
        lines.append(f"{own.argument or own.name} : {own.kind.expected}{unit}{usual}")
        lines += wrap(own.described(), 92, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def documented(*groups: Collection[Option]) -> Callable[[type[T]], type[T]]:
    """Return a decorator that replaces each line {} of a docstring by the next of these groups."""

    def filled(cls: type[T]) -> type[T]:
        text = cls.__doc__ or ""  # none where Python strips docstrings
        for options in groups:
            text = text.replace("    {}\n", indent(parameters(options), "    ") + "\n", 1)
        cls.__doc__ = text
        return cls

    return filled


def rows(options: Collection[Option], shell: Words) -> list[str]:
    """Return a table in Markdown with a row for each option."""
    lines = ["| Python | shell, TOML | accepts | default | what it does |", "|" + " --- |" * 5]
    for own in options:
        flag = f"`{own.flag}`" if own.flag else "–"
        default = own.default_text(shell)
        if not default:
            has_none = own.default is ABSENT or own.default is None or own.default == {}
            default = "–" if has_none else PYTHON.value(own.default)
        accepts = own.kind.expected.worded(shell if own.flag else PYTHON)
        accepts += f" ({own.unit})" if own.unit else ""
        cells = [f"`{own.name}`", flag, accepts, default, own.help.worded(shell)]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines
