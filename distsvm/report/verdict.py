"""The verdict: why the run stopped, how close it is to the optimum, and its effort."""

from __future__ import annotations

import math
from datetime import datetime
from html import escape

from distsvm.report.numbers import count, counted, number, percent, resolved, seconds, titled
from distsvm.report.view import RunView
from distsvm.solvers.round import Round, shown_columns


def verdict(view: RunView) -> str:
    """Return the first card of the page."""
    mood, headline, text = _words(view)
    tiles = "".join(
        f'<div class="tile{" wide" if wide else ""}"><dt>{escape(name)}</dt>'
        f"<dd>{escape(value)}</dd><dd>{escape(note)}</dd></div>"
        for name, value, note, wide in _tiles(view)
    )
    return (
        f'<section class="card verdict {mood}"><h2>{escape(headline)}</h2><p>{escape(text)}</p>'
        f'<dl class="tiles">{tiles}</dl></section>\n'
    )


def _words(view: RunView) -> tuple[str, str, str]:
    """Return mood, headline and explanation."""
    result = view.result
    if result is None:
        return _unfinished(view)
    reason, eps = result["stop_reason"], result["eps"]
    ended = f"after {counted(result['n_rounds'], 'round')}"
    known = {
        "eps": (
            "good", "Optimal to within eps",
            f"Stopped {ended} because the gap is certified to be at most C·eps"
            + ("." if eps is None else f", with eps = {number(eps)}."),
        ),
        "rel_gap": (
            "good", "Optimal to within the relative gap asked for",
            f"Stopped {ended} because gap / primal is certified to be as small as asked for.",
        ),
        "max_rounds": (
            "stopped", "Stopped at the limit of rounds",
            f"Ended {ended}, the limit; below is the gap that they reached.",
        ),
        "max_seconds": (
            "stopped", "Stopped at the time limit",
            f"Ended {ended} and {seconds(result['seconds']['total'])}; "
            "below is the gap that they reached.",
        ),
        "validation": (
            "good", "Stopped early by the validation loss",
            f"Ended {ended}, when the loss on the validation data no longer fell.",
        ),
        "own rule": (
            "good", "Stopped by the method's own rule",
            f"Ended {ended}, when no cut, or no sample, was violated by eps; below is the gap.",
        ),
        "precision": (
            "stopped", "Stopped at the limit of precision",
            f"Ended {ended} because rounding lets neither bound move any further.",
        ),
        "interrupted": (
            "stopped", "Interrupted",
            f"Stopped {ended} by request. The run can be resumed from its last checkpoint.",
        ),
    }  # fmt: skip
    mood, headline, text = known.get(reason, ("stopped", f"Stopped: {reason}", f"Ended {ended}."))
    best = result.get("best_validation")
    if best:
        text += (
            f" The model is the w of round {count(best['round'])}, with the lowest validation "
            f"loss ({number(best['loss'])}); primal and gap are those of that w."
        )
    return mood, headline, text


def _unfinished(view: RunView) -> tuple[str, str, str]:
    if view.last is None:
        return "going", "No round yet", "The run has begun, but has recorded no round yet."
    written = (view.path / "history.jsonl").stat().st_mtime
    when = datetime.fromtimestamp(written).strftime("%Y-%m-%d %H:%M:%S")
    text = (
        "There is no result: the run is not finished, or was killed. The charts show "
        f"{counted(len(view.history), 'round')}; the last was written at {when}."
    )
    if view.last_result is not None:
        text += f" An earlier session ended after round {count(view.last_result['n_rounds'])}."
    return "going", "Not finished", text


def _tiles(view: RunView) -> list[tuple[str, str, str, bool]]:
    """Return name, value and note of each tile, and whether the tile is large."""
    primal, dual, gap = view.bound("primal"), view.bound("dual"), view.bound("gap")
    C, eps, asked = view.known("C"), view.known("eps"), view.known("rel_gap")
    tiles = [
        ("Primal", resolved(primal, gap), "P(w) of the model: the optimum is not above", True),
        ("Dual", resolved(dual, gap), "the optimum is not below", True),
        ("Gap", number(gap), "primal − dual", True),
    ]
    if C is not None:
        without = "eps is not recorded yet" if asked is None else "in units of the loss"
        against = without if eps is None else _compared(gap / C, eps)
        tiles.append(("Gap / C", number(gap / C), against, True))
    relative = gap / abs(primal) if math.isfinite(primal) and primal != 0 else math.nan
    note = "gap / primal" if asked is None else _compared(relative, asked, "rel_gap")
    tiles.append(("Relative gap", number(relative), note, True))
    tiles.append(("Certificate", *_certificate(view), True))
    return tiles if view.last is None else tiles + _costs(view, view.last)


def _costs(view: RunView, last: Round) -> list[tuple[str, str, str, bool]]:
    result, n = view.result, view.n_examples
    bound = None if result is None else result["bound_on_rounds"]
    passes = (
        "" if n is None else f"{number(last.n_oracle_calls / n)} for each of {count(n)} examples"
    )
    both = last.n_oracle_calls + last.n_cache_hits
    hits = f"{percent(last.n_cache_hits / both)} of all answers" if last.n_cache_hits else ""
    total = last.elapsed_s if result is None else result["seconds"]["total"]
    restarts = f"{counted(last.n_restarts, 'restart')} of workers" if last.n_restarts else ""
    theory = "" if bound is None else f"theory: at most {number(bound)}"
    return [
        ("Rounds", count(last.number), theory, False),
        ("Oracle calls", count(last.n_oracle_calls), passes, False),
        ("Cache hits", count(last.n_cache_hits), hits, False),
        *_own(last),
        ("Time", seconds(total), restarts, False),
    ]


def _own(last: Round) -> list[tuple[str, str, str, bool]]:
    tiles = []
    for column in shown_columns(last):
        note = column.help
        if column.support:
            note = f"{column.support_text(last)} with α > 0"
            note += f"; {number(last.plane_bytes / 2**20)} MB" if last.plane_bytes else ""
        tiles.append((titled(column.label), column.text(last), note, False))
    return tiles


def _certificate(view: RunView) -> tuple[str, str]:
    if view.result is None:
        if math.isfinite(view.bound("gap")):
            return "so far", "its kind is recorded when the run ends"
        return "none", "no fresh round yet"
    kind = str(view.result["certificate"])
    notes = {
        "exact": "the oracle's maximum is exact",
        "upper bound": "the oracle only bounds its maximum",
        "estimate": "the primal is the upper end of a 95% confidence interval",
        "none": "no fresh round",
    }
    about = view.result["certified_for"]
    note = f"; certified for {about}" if about else ""
    return kind, notes.get(kind, "") + note


def _compared(value: float, target: float, name: str = "eps") -> str:
    if math.isnan(value):
        return f"{name} = {number(target)}"
    return f"{'≤' if value <= target else '>'} {name} = {number(target)}"
