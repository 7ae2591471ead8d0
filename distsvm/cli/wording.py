"""The library's messages in the words of the command line: options instead of parameters."""

from __future__ import annotations

import re
from functools import partial

from distsvm.cli.options import EXECUTOR_OPTIONS, GROUPS
from distsvm.cli.parts import all_structures, options_of
from distsvm.cli.tasks import SHARED

FROM_READERS = {"templates", "max_length", "tag", "word"}

PARTS = [options_of(structure) for structure in all_structures()]
FLAGS = {
    **{option.field: option.flag for options in GROUPS.values() for option in options},
    **{option.field: option.flag for option in EXECUTOR_OPTIONS},
    **{field: flag for part in PARTS for field, flag in part.flags.items()},
    **{
        option.name: option.flag
        for part in PARTS
        for option in part.reading
        if option.name in FROM_READERS
    },
    **SHARED,
    "loss": "--loss",
    "start": "--start",
    "format": "--format",
    "cv": "--cv",
    "Cs": "--Cs",
    "constants": "--constants",
}
"""The option that sets each parameter of the library."""


def _pattern(text: str, names: list[str]) -> re.Pattern[str]:
    """`text` with NAME for any of the names, but not inside paths, quotes and longer names."""
    longest_first = "|".join(sorted(names, key=len, reverse=True))
    return re.compile(r"(?<![\w/.'\"-])" + text.replace("NAME", f"(?P<name>{longest_first})"))


_ALL = list(FLAGS)
_NO_WORDS = [name for name in FLAGS if "_" in name]  # the others may be words of a sentence
_RULES = (
    (_pattern(r'NAME="(?P<value>[\w:-]+)"', _ALL), "{flag} {value}"),
    (_pattern(r"NAME=True\b", _ALL), "{flag}"),
    (_pattern(r"NAME=(?=\s)", _ALL), "{flag}"),
    (_pattern(r"NAME=(?=[^\s…])", _ALL), "{flag} "),
    (_pattern(r"NAME(?![\w/.='\"-])", _NO_WORDS), "{flag}"),
    (_pattern(r"^NAME(?=: )", _ALL), "{flag}"),
)


_WHOLE = {
    "C and C_per_example": "--C and --C-per-example",
    "call train(…, run_dir=…, resume=True) with the same data": (
        "only the Python program that has the data can go on with it"
    ),
    " in executor_options": "",
}


def in_flags(text: str) -> str:
    """The message with the names of options, where it names parameters of the library."""
    for ours, flags in _WHOLE.items():
        text = text.replace(ours, flags)
    for pattern, template in _RULES:
        text = pattern.sub(partial(_filled, template), text)
    return text


def _filled(template: str, found: re.Match[str]) -> str:
    return template.format(flag=FLAGS[found["name"]], **found.groupdict())
