"""The style and the script of the pages; style and script of charts are the report's."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from distsvm.report.style import SCRIPT, STYLE


@cache
def style() -> str:
    return STYLE + _own("style.css")


@cache
def script() -> str:
    """Return the script; `charts()` shows readings of charts under the pointer."""
    return f"function charts() {{{SCRIPT}}}\n" + _own("page.js")


def _own(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
