"""Tables of all options in Markdown: `python options_page.py < options.md` prints a new page."""

from __future__ import annotations

import sys

from distsvm.cli.options import config_options
from distsvm.cli.tasks import own_options, shared_options
from distsvm.cli.words import SHELL
from distsvm.data.formats import reader_options
from distsvm.options import Option, rows

BEGIN = "<!-- options: generated from the declarations -->"
END = "<!-- options: end -->"


def sections() -> dict[str, list[Option]]:
    """Return the options by the titles that they have in the help of the command line."""
    found = config_options()
    found["task"] = shared_options()
    found |= {f"task: {title} only": options for title, options in own_options().items()}
    found["data in files"] = [own for own in reader_options() if own.flag]
    return found


def tables() -> str:
    """Return a table of options under each title."""
    parts = [
        f"## {title[0].upper()}{title[1:]}\n\n" + "\n".join(rows(options, SHELL))
        for title, options in sections().items()
        if options
    ]
    return "\n\n".join(parts)


def filled(page: str) -> str:
    """Return the page with the tables between its marks."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    sys.stdout.write(filled(sys.stdin.read()))
