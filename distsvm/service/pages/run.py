"""The page of one run: the report's charts as they grow, its log, configuration and buttons."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from distsvm.report import bars, charts, gap_charts
from distsvm.report.tables import configuration, facts
from distsvm.report.verdict import verdict
from distsvm.report.view import RunView
from distsvm.service.pages.frame import button, card, heading, link, notice, shown
from distsvm.service.pages.runs import gap_bar

GOING = ("waiting", "starting", "running")
ENDED = ("finished", "stopped", "failed", "lost")


def run_page(
    root: str, one: Mapping[str, Any], view: RunView | None, log: str, has_model: bool
) -> str:
    """Return the body of the page of a run."""
    name = one["name"]
    return (
        heading(f"run · {one.get('task') or 'not begun'}", name)
        + f'<div id="live" data-live="{root}/runs/{escape(name)}/live" '
        f'data-events="{root}/api/runs/{escape(name)}/events">'
        + live(root, one, view, log, has_model)
        + "</div>"
    )


def live(root: str, one: Mapping[str, Any], view: RunView | None, log: str, has_model: bool) -> str:
    """Return the part of the page that is renewed."""
    state = _state(one) + _actions(root, one, has_model)
    body = ""
    if view is not None:
        body = verdict(view)
        if view.last is not None:
            drawn = (
                gap_charts.gap_against_time(view), gap_charts.gap_against_calls(view),
                charts.bounds(view), charts.validation(view), bars.phases(view),
                bars.workers(view), charts.own_columns(view), charts.calls(view),
            )  # fmt: skip
            body += f'<div class="columns">{"".join(drawn)}</div>'
        body += (
            f'<h2>Configuration, task and data</h2><div class="columns">{configuration(view)}'
            f'<div class="stack">{facts(view)}</div></div>'
        )
    text = log[-20_000:] or "Its processes have printed nothing."
    shown_log = (
        f'<details id="log"{" open" if one["state"] == "failed" else ""}><summary>Log</summary>'
        f'<pre tabindex="0">{escape(text)}</pre></details>'
    )
    return state + body + shown_log


def _state(one: Mapping[str, Any]) -> str:
    error = one.get("error")
    said = notice(f"{error['kind']}: {error['message']}") if error else ""
    waits = f", number {one['waits']} in the queue" if one.get("waits") else ""
    where = f" on {one['host']}, process {one['pid']}" if one.get("pid") else ""
    return (
        f'<p aria-live="polite"><span class="state">{escape(one["state"])}</span>{waits}'
        f"{escape(where)}; round {shown(one.get('round'))}, gap {shown(one.get('gap'))} "
        f"{gap_bar(one)}</p>{said}"
    )


def _actions(root: str, one: Mapping[str, Any], has_model: bool) -> str:
    name, state = one["name"], one["state"]
    parts = []
    if state in ("waiting", "running"):
        parts.append(button(root, f"/runs/{name}/stop", "Stop after this round"))
    if state in ENDED and one.get("round") is not None:
        parts.append(_resume(root, name))
    if one.get("asked"):
        parts.append(
            f'<a class="go" href="{root}/new?from={escape(name)}">Run again with changes</a>'
        )
    if has_model:
        parts.append(link(root, "models", name, text="Try the model"))
        parts.append(f'<a href="{root}/api/runs/{escape(name)}/model">Model (.zip)</a>')
    if one.get("task"):
        parts.append(f'<a href="{root}/api/runs/{escape(name)}/report">Report</a>')
    if state not in GOING:
        parts.append(button(root, f"/runs/{name}/delete", "Delete", confirm=name))
    return f'<div class="actions">{"".join(parts)}</div>'


def _resume(root: str, name: str) -> str:
    return (
        f'<form method="post" action="{root}/runs/{escape(name)}/resume">'
        '<label>limit of rounds <input name="max-rounds" inputmode="numeric" size="9"></label>'
        '<label>eps <input name="eps" inputmode="decimal" size="9"></label>'
        '<label>rel-gap <input name="rel-gap" inputmode="decimal" size="9"></label>'
        '<button type="submit">Resume</button></form>'
    )


def failed_page(root: str, name: str, text: str) -> str:
    """Return the body of a page that says why something was refused."""
    back = (
        link(root, "runs", name, text=f"Back to {name}") if name else f'<a href="{root}/">Runs</a>'
    )
    return heading("refused", "That was not done") + card("Why", notice(text)) + f"<p>{back}</p>"
