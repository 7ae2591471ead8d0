"""Options that are said once, as fields of dataclasses.

A declared option is the field, its check, the flag of the command line with its help, the key in a
TOML file, and a row of the page of options: all are made from what `option` is given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cache
from textwrap import indent, wrap
from typing import Any, TypeVar

from distsvm.errors import ConfigError, nearest
from distsvm.kinds import Kind, Or, Truth, Unfit
from distsvm.wording import PYTHON, Message, Value, Words, message

ABSENT: Any = object()
"""The default of an option that has none: what is not given is not there."""

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
        What stands for the value in a flag's help.
    unit : str
        Of the value, if it has one.
    usual : str
        What the default comes to, where its value does not say it.
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
        """In a TOML file: the flag without its dashes."""
        return self.flag.removeprefix("--")

    def check(self, value: Any) -> Any:
        """The value as the field has it; a ConfigError that names the option if it does not fit."""
        if value is None and self.default is None:
            return None
        try:
            return self.kind.check(value)
        except Unfit:
            raise ConfigError(self.argument or self.name, value, self.kind.expected) from None

    def described(self, words: Words = PYTHON) -> str:
        """The help with the default, in these words."""
        text = self.help.worded(words)
        default = self.default_text(words)
        if not default:
            return text
        return f"{text}{'' if text.endswith('.') else '.'} Default: {default}".removeprefix(". ")

    def default_text(self, words: Words = PYTHON) -> str:
        """The default as it is shown; empty where there is none to show."""
        if self.usual:
            return message(self.usual).worded(words)
        if self.default is None and isinstance(self.kind, Or):
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
    **more: Any,
) -> Any:
    """A dataclass field that declares an option; see Option.

    `help` may name other options in braces, {max_cuts}: Python and shell name them differently.
    Without `flag` it is that of the field's name.
    """
    declared = Option(kind, message(help), "AUTO" if flag is None else flag, **more)
    metadata = {"option": declared}
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


def declared(cls: Any) -> Mapping[str, Option]:
    """The options that a dataclass declares, by the names of their fields."""
    return _declared(cls)


@cache
def _declared(cls: Any) -> Mapping[str, Option]:
    return {own.name: _named(own) for own in fields(cls) if "option" in own.metadata}


def _named(own: Field) -> Option:
    found: Option = own.metadata["option"]
    default = own.default if own.default_factory is MISSING else own.default_factory()
    flag = f"--{own.name.replace('_', '-')}" if found.flag == "AUTO" else found.flag
    return replace(found, name=own.name, default=default, flag=flag)


def usual(cls: Any, name: str) -> Any:
    """The default of a declared option, for whoever takes the same argument."""
    return declared(cls)[name].default


def checked(made: Any, name: str) -> Any:
    """The value of a declared field, refused if it does not fit."""
    return declared(type(made))[name].check(getattr(made, name))


def check_fields(made: Any) -> None:
    """Check every declared field of a dataclass, frozen or not, and keep the values as checked."""
    for name in declared(type(made)):
        object.__setattr__(made, name, checked(made, name))


def built(cls: type[T], given: Mapping[str, Any]) -> T:
    """The dataclass with these values; names that it does not have are refused."""
    refuse_unknown(given, [own.name for own in fields(cls)])  # type: ignore[arg-type]
    return cls(**given)


def refuse_unknown(given: Collection[str], known: Collection[str]) -> None:
    """Refuse a name that is not known, with the nearest that is."""
    for name in sorted(set(given) - set(known)):
        raise ConfigError(f"unknown parameter {name!r}{nearest(name, known)}")


def parameters(options: Collection[Option]) -> str:
    """The options as entries of the section Parameters of a docstring."""
    lines = []
    for own in options:
        unit = f", in {own.unit}" if own.unit else ""
        usual = "" if own.default is ABSENT else ", optional"
        lines.append(f"{own.argument or own.name} : {own.kind.expected}{unit}{usual}")
        lines += wrap(own.described(), 92, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def documented(*groups: Collection[Option]) -> Callable[[type[T]], type[T]]:
    """Decorator: each line {} of a docstring gets the parameters of the next of these groups."""

    def filled(cls: type[T]) -> type[T]:
        text = cls.__doc__ or ""  # none where Python strips docstrings
        for options in groups:
            text = text.replace("    {}\n", indent(parameters(options), "    ") + "\n", 1)
        cls.__doc__ = text
        return cls

    return filled


def rows(options: Collection[Option], shell: Words) -> list[str]:
    """A table in Markdown: a row an option."""
    lines = ["| Python | shell, TOML | accepts | default | what it does |", "|" + " --- |" * 5]
    for own in options:
        flag = f"`{own.flag}`" if own.flag else "–"
        default = own.default_text(shell) or _shown_default(own)
        accepts = own.kind.expected.worded(shell if own.flag else PYTHON)
        accepts += f" ({own.unit})" if own.unit else ""
        cells = [f"`{own.name}`", flag, accepts, default, own.help.worded(shell)]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


def _shown_default(own: Option) -> str:
    if own.default is ABSENT or own.default is None or own.default == {}:
        return "–"
    return PYTHON.of(Value(own.default))
