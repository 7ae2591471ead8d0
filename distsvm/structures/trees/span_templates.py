"""Features of spans, by templates: words at a span's ends and just outside, and its length.

A set of templates is text with one template a line, or several with `;` between them::

    template = term { "&" term }
    term     = "span" | attribute "[" place "]"
    place    = "first" | "last" | "before" | "after"

An attribute is one of the template language of taggers that reads a word (`word`, `lower`, `shape`,
`prefix(n)`, `suffix(n)`, `length`), or `tag`, the word's given tag. `first` and `last` are the
words at the ends of the span, `before` and `after` those next to it, `<s>` and `</s>` beyond the
sentence. `span` is the number of words: 1, 2, 3, 4, 5, 6-10, 11-20 or 21+.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from distsvm.data.templates import AFTER, BEFORE, Templates, Term, escaped
from distsvm.errors import ConfigError

PLACES = ("first", "last", "before", "after")
WIDTH = "span"
TAG = "tag"
READ_WORDS = frozenset({"word", "lower", "shape", "prefix", "suffix", "length", TAG})
_TERM = re.compile(r"(?P<attribute>[a-z_]+(?:\(\s*\d+\s*\))?)\s*\[\s*(?P<place>[a-z]+)\s*\]")
NAMED = {
    "default": "tag[first]; tag[last]; tag[before]; tag[after]; span",
    "words": "word[first]; word[last]; word[before]; word[after]; span",
}


@dataclass(frozen=True)
class SpanTerm:
    """One attribute of the word at one place of a span; the width has none of both."""

    term: Term | None
    place: str

    @property
    def label(self) -> str:
        return WIDTH if self.term is None else f"{self.term.label}[{self.place}]"

    @property
    def reads_tags(self) -> bool:
        return self.term is not None and self.term.attribute == TAG

    def value(self, sentence: Sequence[tuple[str, str]], i: int, j: int) -> str | None:
        """Return the term's value for the words i … j − 1; None for no feature."""
        if self.term is None:
            return width(j - i)
        at = {"first": i, "last": j - 1, "before": i - 1, "after": j}[self.place]
        if not 0 <= at < len(sentence):
            return None if self.term.is_affix else BEFORE if at < 0 else AFTER
        word, tag = sentence[at]
        return tag if self.reads_tags else self.term.value(word)


def width(n: int) -> str:
    """Return the bucket of a number of words."""
    if n <= 5:
        return str(n)
    return "6-10" if n <= 10 else "11-20" if n <= 20 else "21+"


@dataclass(frozen=True)
class SpanTemplates:
    """Templates of spans; see the module's text."""

    combinations: tuple[tuple[SpanTerm, ...], ...]

    @classmethod
    def parse(cls, text: str) -> SpanTemplates:
        """Parse a text, or a name: "default" (tags) or "words"."""
        text = NAMED.get(text.strip(), text)
        lines = (line.partition("#")[0] for line in text.splitlines())
        given = [one.strip() for line in lines for one in line.split(";") if one.strip()]
        if not given:
            raise ConfigError("span_features", text, "at least one template")
        return cls(tuple(dict.fromkeys(tuple(map(_term, one.split("&"))) for one in given)))

    @property
    def reads_tags(self) -> bool:
        return any(term.reads_tags for terms in self.combinations for term in terms)

    def feature(
        self, terms: tuple[SpanTerm, ...], sentence: Sequence[tuple[str, str]], i: int, j: int
    ) -> str | None:
        """Return the name of one template's feature of a span, None where it has none."""
        values = [term.value(sentence, i, j) for term in terms]
        known = [value for value in values if value is not None]
        if len(known) < len(terms):
            return None
        own = known[0] if len(known) == 1 else "&".join(map(escaped, known))
        return "&".join(term.label for term in terms) + "=" + own

    def features(self, sentence: Sequence[tuple[str, str]], i: int, j: int) -> Iterator[str]:
        """Yield the names of a span's features."""
        for terms in self.combinations:
            name = self.feature(terms, sentence, i, j)
            if name is not None:
                yield name

    def numbers(
        self, sentence: Sequence[tuple[str, str]], number: Callable[[str | None], int]
    ) -> list[int]:
        """Return number(name) for every span and template, spans in the order of their cells."""
        n = len(sentence)
        return [
            number(self.feature(terms, sentence, i, j))
            for j in range(1, n + 1)
            for i in range(j)
            for terms in self.combinations
        ]


def _term(text: str) -> SpanTerm:
    text = text.strip()
    if text == WIDTH:
        return SpanTerm(None, "")
    found = _TERM.fullmatch(text)
    if found is None or found["place"] not in PLACES:
        _refuse(text)
    if found["attribute"] == TAG:
        return SpanTerm(Term(TAG), found["place"])
    ((term,),) = Templates.parse(found["attribute"]).combinations
    if term.attribute not in READ_WORDS:
        _refuse(text)
    return SpanTerm(term, found["place"])


def _refuse(text: str) -> NoReturn:
    raise ConfigError(
        f"the template {text!r} of spans: expected {WIDTH}, or one of "
        f"{', '.join(sorted(READ_WORDS))} with one of {', '.join(PLACES)} in brackets, such as "
        "word[first]"
    )
