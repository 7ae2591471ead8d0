"""The page of all options in Markdown, from their declarations: python -m this module prints it."""

from __future__ import annotations

import sys

from distsvm.cli.options import config_options
from distsvm.cli.tasks import own_options, shared_options
from distsvm.cli.words import SHELL
from distsvm.data.formats import reader_options
from distsvm.options import Option, rows

HEAD = """\
# Options

Every option as it is declared in the code, which makes this page, the flags, the keys of TOML
files (a flag without its dashes) and the checks. The names of the first column are those of
`distsvm.train(…)`, of a task's fields and of `open_data(…)`."""


def sections() -> dict[str, list[Option]]:
    """The options by the titles that the help of the command line has for them."""
    found = config_options()
    found["task"] = shared_options()
    found |= {f"task: {title} only": options for title, options in own_options().items()}
    found["data in files"] = [own for own in reader_options() if own.flag]
    return found


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, options in sections().items():
        if options:
            parts.append(f"## {title[0].upper()}{title[1:]}\n\n" + "\n".join(rows(options, SHELL)))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
