"""The report of a run: one HTML file that opens offline."""

from __future__ import annotations

from html import escape
from pathlib import Path

from distsvm.errors import DAMAGE, CheckpointError
from distsvm.report import bars, charts, gap_charts
from distsvm.report.plot import figure
from distsvm.report.style import SCRIPT, STYLE, hashed
from distsvm.report.tables import configuration, facts
from distsvm.report.verdict import verdict
from distsvm.report.view import RunView, read_run
from distsvm.storage import Place, Where, place, write_bytes

__all__ = ["write_report"]

# Strings of a run may hold HTML: the page loads nothing and runs only its own script.
POLICY = f"default-src 'none'; style-src {hashed(STYLE)}; script-src {hashed(SCRIPT)}"


def write_report(run_dir: Where, output: Where | None = None) -> Place:
    """Write the report of a run, finished or not, as one self-contained HTML file.

    Parameters
    ----------
    run_dir : path or URI
        The folder of a run; any other folder raises a CheckpointError.
    output : path or URI, optional
        The file to write. Default: report.html in the run's folder.

    Returns
    -------
    Path, or the place in a store
        The file, written in one step.
    """
    view = read_run(run_dir)
    path = view.path / "report.html" if output is None else place(output)
    if isinstance(path, Path):
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        text = page(view)
    except DAMAGE as error:
        raise CheckpointError(f"{view.path} is damaged: {error!r}") from error
    # A path may hold bytes that are not UTF-8.
    write_bytes(path, text.encode("utf-8", "replace"), private=output is None)
    return path


def page(view: RunView) -> str:
    """Return the whole report as HTML."""
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
