"""The frame of every page, and small pieces of HTML; every text is escaped here or before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any
from urllib.parse import quote

from starlette.responses import HTMLResponse, Response

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
NAV = (("Runs", "/"), ("New run", "/new"), ("Models", "/models"))


def page(root: str, title: str, body: str, status: int = 200, nav: bool = True) -> Response:
    """Return a whole page; `root` is the path under which a proxy has the service."""
    links = "".join(f'<a href="{root}{path}">{name}</a>' for name, path in NAV) if nav else ""
    return HTMLResponse(
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)} · distsvm</title>"
        f'<link rel="stylesheet" href="{root}/static/style.css">'
        f'<script src="{root}/static/page.js" defer></script></head>\n'
        f'<body data-root="{root}"><a class="skip" href="#main">To the content</a>'
        f'<nav aria-label="pages"><strong>distsvm</strong>{links}</nav>'
        f'<main id="main">\n{body}\n</main></body></html>\n',
        status,
        headers={"Content-Security-Policy": POLICY},
    )


def fragment(body: str) -> Response:
    """Return a part of a page, which the script puts into its place."""
    return HTMLResponse(body, headers={"Content-Security-Policy": POLICY})


def heading(eyebrow: str, title: str, under: str = "") -> str:
    path = f'<p class="path">{escape(under)}</p>' if under else ""
    return (
        f'<header><p class="eyebrow">{escape(eyebrow)}</p><h1>{escape(title)}</h1>{path}</header>'
    )


def card(title: str, body: str, name: str = "") -> str:
    named = f' id="{escape(name)}"' if name else ""
    return f'<section class="card"{named}><h2>{escape(title)}</h2>{body}</section>'


def link(root: str, *parts: str, text: str | None = None) -> str:
    path = "/".join(quote(part, safe="") for part in parts)
    return f'<a href="{root}/{path}">{escape(parts[-1] if text is None else text)}</a>'


def table(head: Iterable[str], rows: Iterable[Iterable[str]], caption: str) -> str:
    """Return a table of cells in HTML, which scrolls sideways where it is too wide."""
    titles = "".join(f'<th scope="col">{escape(one)}</th>' for one in head)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f"<table><caption>{escape(caption)}</caption><thead><tr>{titles}</tr></thead>"
        f"<tbody>{lines}</tbody></table></div>"
    )


def button(root: str, path: str, text: str, fields: Mapping[str, str] | None = None,
           confirm: str = "") -> str:  # fmt: skip
    """Return a form of one button; `confirm` is a word that must be typed before."""
    hidden = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in (fields or {}).items()
    )
    typed = (
        f'<label>type {escape(confirm)} <input name="word" required autocomplete="off" '
        f'pattern="{escape(confirm)}"></label>' if confirm else ""
    )  # fmt: skip
    return (
        f'<form method="post" action="{root}{path}">{hidden}{typed}'
        f'<button type="submit">{escape(text)}</button></form>'
    )


def notice(text: str) -> str:
    """Return a message that screen readers announce."""
    return f'<p class="notice" role="alert">{escape(text)}</p>'


def shown(value: Any) -> str:
    """Return a fact as text in HTML."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return escape(str(value))
