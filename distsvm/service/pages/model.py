"""The page of a model: what it has learned, and a box to try it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from distsvm.cli.output import Output
from distsvm.cli.parts import Inspection, part_of
from distsvm.errors import ConfigError
from distsvm.registry import structure_of
from distsvm.service.models import Asked, Named
from distsvm.service.pages.frame import card, heading, link, notice, shown, table
from distsvm.storage import json_text

TOP = 10


def models_page(root: str, models: Iterable[Named]) -> str:
    """Return the body of the page of models."""
    rows = [
        (
            link(root, "models", one.name), shown(one.version), shown(one.task),
            shown(one.facts.get("certificate")), shown(one.facts.get("C")),
        )
        for one in models
    ]  # fmt: skip
    if not rows:
        return heading("training service", "Models") + '<p class="note">No run has a model yet.</p>'
    head = ("model", "version", "task", "certificate", "C")
    return heading("training service", "Models") + table(head, rows, f"{len(rows)} models")


def model_page(root: str, asked: Asked, given: str = "", problem: str = "") -> str:
    """Return the body of the page of a model; `given` is an input to try."""
    named = asked.named
    answer = ""
    if given and not problem:
        answer = _answer(asked, read_input(given))
    example = asked.answers.example(asked.model)
    text = given or ("" if example is None else example if isinstance(example, str)
                     else json_text(example))  # fmt: skip
    box = (
        f'<form method="post" action="{root}/models/{escape(named.name)}"><label>'
        f"{escape(asked.answers.help)}: one, as text or JSON"
        f'<textarea name="input" required maxlength="200000">{escape(text)}</textarea></label>'
        '<p class="actions"><button type="submit">Predict</button></p></form>'
    )
    return (
        heading(f"model · {named.task}", named.name, f"version {named.version}")
        + (notice(problem) if problem else "")
        + card("Try it", box + answer, "try")
        + card("What it has learned", f'<pre tabindex="0">{escape(learned(asked))}</pre>')
    )


def read_input(text: str) -> Any:
    """Return an input from the text of the box: JSON if it is JSON, numbers, or a sentence."""
    stripped = text.strip()
    if stripped[:1] in "[{":
        try:
            return json.loads(stripped)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"the input is not JSON: {error}") from error
    parts = stripped.replace(",", " ").split()
    try:
        return [float(part) for part in parts]
    except ValueError:
        return stripped


def learned(asked: Asked) -> str:
    """Return what `distsvm inspect` shows of the model."""
    part = part_of(structure_of(asked.model.task), Inspection)
    found = part.facts(argparse.Namespace(top=TOP), asked.model)
    rows = [f"{name}: {value}" for name, value in part.rows(found)]
    return "\n".join([*rows, *part.lines(found, Output(quiet=True))])


def _answer(asked: Asked, value: Any) -> str:
    output, more = asked.predict([value])[0], asked.details([value])[0]
    body = f'<div role="status"><p>prediction: <b>{escape(_text(output))}</b></p>'
    if asked.answers.picture is not None:
        body += f'<div class="drawing">{asked.answers.picture(output)}</div>'
    return body + _tokens(value, output) + _details(more) + "</div>"


def _text(output: Any) -> str:
    if isinstance(output, list):
        return " ".join(map(str, output))
    return output if isinstance(output, str) else json_text(output, ensure_ascii=False)


def _tokens(value: Any, output: Any) -> str:
    """Return the words of a sentence with their labels below, where there are as many."""
    words = value.split() if isinstance(value, str) else value
    fits = isinstance(words, list) and isinstance(output, list) and len(words) == len(output)
    if not fits or not all(isinstance(word, str) for word in words):
        return ""
    pairs = zip(words, output, strict=True)
    spans = "".join(f"<span>{escape(w)}<b>{escape(str(tag))}</b></span>" for w, tag in pairs)
    return f'<div class="tokens">{spans}</div>'


def _details(more: Mapping[str, Any]) -> str:
    """Return scores, and what decided, as tables."""
    found = ""
    if "scores" in more:
        ranked = sorted(more["scores"], key=lambda pair: -pair[1])[:50]
        rows = [(escape(str(label)), f"{score:.5g}") for label, score in ranked]
        found += table(("class", "score"), rows, "scores")
    if more.get("decided"):
        rows = [(escape(str(name)), f"{share:+.4g}") for name, share in more["decided"]]
        caption = f"features that decided, over {more['over']}"
        found += table(("feature", "share of the score"), rows, caption)
    if "n_best" in more:
        rows = [
            (f"{one['score']:.5g}", escape(" ".join(map(str, one["tags"]))))
            for one in more["n_best"]
        ]
        found += table(("score", "tags"), rows, "the best few")
    return found
