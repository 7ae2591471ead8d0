"""The form of a new run, made from the declared options with their help and checks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from distsvm.cli.parser import Flag
from distsvm.cli.program import build_parser
from distsvm.cli.words import TOML
from distsvm.errors import ConfigError
from distsvm.kinds import Choice, Or, Several, Truth, Unfit
from distsvm.registry import task_classes
from distsvm.service.pages.frame import heading, notice
from distsvm.service.requests import OF_SERVICE

FIRST = ("task", "data", "validation", "C", "eps", "rel-gap", "solver", "max-rounds", "max-seconds")
"""Options that are shown at once; the others are in groups that open."""


def options() -> dict[str, Flag]:
    """Return the options of a run by key."""
    parser = build_parser("train").get_default("own")
    return {key: flag for key, flag in parser.flags.items() if key not in OF_SERVICE}


def form_page(root: str, given: Mapping[str, str], problem: str = "") -> str:
    """Return the body of the page with the form; `given` are texts by key."""
    flags = options()
    first = "".join(_field(flags[key], given.get(key, "")) for key in FIRST if key in flags)
    groups: dict[str, str] = {}
    opened = set()
    for key, flag in flags.items():
        if key not in FIRST:
            groups[flag.title] = groups.get(flag.title, "") + _field(flag, given.get(key, ""))
            if given.get(key):
                opened.add(flag.title)
    more = "".join(
        f"<details{' open' if title in opened else ''}><summary>{escape(title)}</summary>"
        f'<div class="fields">{fields}</div></details>'
        for title, fields in groups.items()
    )
    return (
        heading("training service", "New run")
        + (notice(problem) if problem else "")
        + f'<form method="post" action="{root}/new"><div class="fields">'
        '<label>name<input name="name" maxlength="100" autocomplete="off" value="'
        f'{escape(given.get("name", ""))}"><small>Default: task and time.</small></label>'
        f'{first}</div>{more}<p class="actions"><button type="submit">Begin the run</button></p>'
        "</form>"
    )


def _field(flag: Flag, value: str) -> str:
    own = flag.option
    required = " required" if flag.action.required else ""
    name, text = escape(own.key), escape(value)
    kind = own.kind.kind if isinstance(own.kind, Or) else own.kind
    choices = list(kind.choices) if isinstance(kind, Choice) else []
    if isinstance(own.kind, Or) and choices:
        choices.append(own.kind.word)
    if isinstance(kind, Truth):
        choices = ["yes", "no"] if kind.both else ["yes"]
    if choices:
        items = "".join(
            f"<option{' selected' if str(one) == value else ''}>{escape(str(one))}</option>"
            for one in ("", *choices)
        )
        field = f'<select name="{name}"{required}>{items}</select>'
    elif isinstance(kind, Several):
        field = f'<textarea name="{name}" rows="2"{required}>{text}</textarea>'
    elif own.key == "task":
        field = f'<input name="{name}" value="{text}" list="tasks"{required}>' + _tasks()
    else:
        field = f'<input name="{name}" value="{text}"{required}>'
    return f"<label>{name}{field}<small>{escape(own.described(TOML))}</small></label>"


def _tasks() -> str:
    items = "".join(f"<option>{escape(name)}</option>" for name in sorted(task_classes()))
    return f'<datalist id="tasks">{items}</datalist>'


def table_of_form(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the options that a form's texts describe; a ConfigError names an unfit one."""
    found: dict[str, Any] = {}
    for key, flag in options().items():
        text = given.get(key, "").strip()
        if not text:
            continue
        kind = flag.option.kind
        try:
            found[key] = _value(kind, text)
        except Unfit:
            raise ConfigError(
                f"{key} = {text:.100}: expected {kind.expected.worded(TOML)}"
            ) from None
    return found


def _value(kind: Any, text: str) -> Any:
    """Return a text of the form as a value of TOML."""
    if isinstance(kind, Truth):
        return text == "yes"
    if isinstance(kind, Several):
        return [kind.item.to_toml(kind.item.read(line.strip())) for line in text.splitlines()]
    return kind.to_toml(kind.read(text))


def texts_of_table(table: Mapping[str, Any]) -> dict[str, str]:
    """Return a configuration as texts of the form."""
    found = {}
    for key, value in table.items():
        if isinstance(value, bool):
            found[key] = "yes" if value else "no"
        elif isinstance(value, list):
            found[key] = "\n".join(map(str, value))
        elif isinstance(value, dict):
            found[key] = ",".join(f"{name}={item}" for name, item in value.items())
        else:
            found[key] = str(value)
    return found
