"""The page: one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape

from distsvm.report import bars, charts, gap_charts
from distsvm.report.plot import figure
from distsvm.report.style import SCRIPT, STYLE, hashed
from distsvm.report.tables import configuration, facts
from distsvm.report.verdict import verdict
from distsvm.report.view import RunView

# Whatever the strings of a run hold, the page loads nothing and runs nothing but its own script.
POLICY = f"default-src 'none'; style-src {hashed(STYLE)}; script-src {hashed(SCRIPT)}"


def page(view: RunView) -> str:
    """The whole report as HTML."""
    name = view.path.resolve().name
    task = str((view.run.get("task") or {}).get("task", "unknown task"))
    title = escape(f"{name} · distsvm")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n<body><main>\n"
        f'<header><p class="eyebrow">distsvm training run · {escape(task)}</p>'
        f'<h1>{escape(name)}</h1><p class="path">{escape(str(view.path))}</p></header>\n'
        f"{verdict(view)}{_charts(view)}"
        f'<h2>Configuration, task and data</h2>\n<div class="columns">{configuration(view)}'
        f'<div class="stack">{facts(view)}</div></div>\n{_picture(view)}'
        f"</main><script>{SCRIPT}</script></body></html>\n"
    )


def _picture(view: RunView) -> str:
    if view.picture is None:
        return ""
    title, svg = view.picture
    return f"<h2>The model</h2>\n{figure('picture', title, '', svg)}\n"


def _charts(view: RunView) -> str:
    if view.last is None:
        return ""
    drawn = [
        gap_charts.gap_against_time(view),
        gap_charts.gap_against_calls(view),
        charts.bounds(view),
        charts.validation(view),
        bars.phases(view),
        bars.workers(view),
        charts.own_columns(view),
        charts.calls(view),
    ]
    return f'<h2>The run</h2>\n<div class="columns">{"".join(drawn)}</div>\n'
