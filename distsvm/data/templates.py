"""Feature templates: the features of a token, written as a few lines of text.

A set of templates is text with one template a line, or several with `;` between them; from `#`
to the end of a line is a comment, blanks mean nothing::

    set       = template { newline | ";"  template }
    template  = "bias" | term { "&" term }
    term      = attribute [ "[" range "]" ]
    attribute = "word" | "lower" | ( "shape" | "length" ) [ "(" n ")" ] | function
              | "prefix" "(" range ")" | "suffix" "(" range ")" | "column" "(" range ")"
    range     = number | number ".." number

`[-1]` means the token before, `[+1]` the one after, and no brackets the token itself. A range
stands for as many templates, `prefix(1..3)[-1..+1]` for nine; a combination with ranges for all
choices. A template that is named twice counts once. Attributes of a token:

=============  ==============================================================  ===============
`bias`         nothing: a feature of every token, alone in its template        bias
`word`         the word as it is                                               word[-1]=Walking
`lower`        the word in lower case                                          lower=walking
`prefix(n)`    its first n letters; no feature if the word has fewer           prefix2=Wa
`suffix(n)`    its last n letters; no feature if the word has fewer            suffix3[+1]=ing
`shape`        upper case as X, lower as x, digits as d, all else as it is,    shape=Xxxxx
               and of a run of equal signs the first 4
`shape(n)`     the same with the first n of a run                              shape1=Xx
`length`       the number of its letters                                       length=7
`length(n)`    the same, and n where there are more                            length5=5
`column(k)`    the field in column k of the file, from 0                       column3[-1]=DET
`NAME`         what a function of yours returns of the word, a text; None is   vowels[+1]=2
               no feature
=============  ==============================================================  ===============

A function of your own gets its name by register_word_function, or by an entry point of the group
`distsvm.word_functions` of an installed package. A saved model has its name alone: where the model
is used, the function has to be there. No file brings code along.

On the right is the name of the feature: term, `=`, value. A combination has the values of its
terms at once: `word[-1] & word` gives `word[-1]&word=the&cat` (a & or \\ within such a value gets
a \\ before it), and no feature where one of its terms gives none. So different features have
different names. Beyond the ends of a sentence the value is `<s>` before and `</s>` after it, as
in `word[-1]=<s>`, whatever the distance; prefixes and suffixes give no feature there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NoReturn, TypeAlias

import numpy as np

from distsvm.data.ragged import Ragged, offsets
from distsvm.errors import ConfigError, DataError
from distsvm.registry import WORD_FUNCTIONS
from distsvm.wording import message

BEFORE, AFTER = "<s>", "</s>"
LONGEST_RUN = 4  # of equal signs in `shape`
LARGEST = 99  # length, distance or column
MOST = 10_000  # combinations that one line may stand for

NO_ARGUMENT, MAY_HAVE, MUST_HAVE = 0, 1, 2
WordFunction: TypeAlias = "Callable[[str], str | None]"
ATTRIBUTES = {
    "bias": NO_ARGUMENT,
    "word": NO_ARGUMENT,
    "lower": NO_ARGUMENT,
    "shape": MAY_HAVE,
    "length": MAY_HAVE,
    "prefix": MUST_HAVE,
    "suffix": MUST_HAVE,
    "column": MUST_HAVE,
}

_registered: dict[str, WordFunction] = {}

Tokens: TypeAlias = "Sequence[str] | Sequence[Sequence[str]]"


def register_word_function(name: str, function: WordFunction) -> None:
    """Give templates an attribute of this name, lower-case letters and "_".

    function(word) returns a text, or None for no feature. It travels to workers as its module and
    name: let it be a function of a module that they can import.
    """
    if not (isinstance(name, str) and re.fullmatch(r"[a-z_]+", name)):
        raise ConfigError("name", name, "a text of lower-case letters and _")
    if name in ATTRIBUTES:
        raise ConfigError(f"the attribute {name!r} of templates is built in; take another name")
    if not callable(function):
        raise ConfigError("function", function, "a function of a word")
    _registered[name] = function


def _word_function(name: str) -> WordFunction | None:
    if name in _registered:
        return _registered[name]
    return WORD_FUNCTIONS.get(name)


@dataclass(frozen=True)
class Term:
    """One attribute of the token at one distance; `argument` is its length or column.

    `function` is the user's own, which the attribute names.
    """

    attribute: str
    argument: int | None = None
    offset: int = 0
    function: WordFunction | None = None

    @property
    def label(self) -> str:
        argument = "" if self.argument is None else self.argument
        return f"{self.attribute}{argument}" + (f"[{self.offset:+d}]" if self.offset else "")

    @property
    def column(self) -> int | None:
        """The column that is read, None for the word's."""
        return self.argument if self.attribute == "column" else None

    @property
    def is_affix(self) -> bool:
        return self.attribute in ("prefix", "suffix")

    def value(self, field: str) -> str | None:
        """Return the term's value for a token with this word (or column); None for no feature."""
        if self.attribute == "prefix":
            n = self.argument or 0
            return field[:n] if len(field) >= n else None
        if self.attribute == "suffix":
            n = self.argument or 0
            return field[-n:] if len(field) >= n else None
        if self.attribute == "lower":
            return field.lower()
        if self.attribute == "shape":
            return shape(field, self.argument or LONGEST_RUN)
        if self.attribute == "length":
            return str(min(len(field), self.argument or len(field)))
        if self.function is not None:
            return self._own_value(field)
        return field

    def beyond(self, before: bool) -> str | None:
        """Return the term's value before a sentence or after it."""
        return None if self.is_affix else BEFORE if before else AFTER

    def _own_value(self, field: str) -> str | None:
        assert self.function is not None
        try:
            value = self.function(field)
        except Exception as error:
            raise DataError(
                f"the word function {self.attribute!r} of {field!r} raised "
                f"{type(error).__name__}: {error}"
            ) from error
        if value is not None and not isinstance(value, str):
            raise DataError(
                f"the word function {self.attribute!r} of {field!r} returned {value!r}, expected "
                "text or None"
            )
        return value

    def values(self, fields: Sequence[str]) -> list[str | None]:
        """Return `value` of each of many fields."""
        n = self.argument or 0
        if self.attribute == "prefix":
            return [field[:n] if len(field) >= n else None for field in fields]
        if self.attribute == "suffix":
            return [field[-n:] if len(field) >= n else None for field in fields]
        return list(map(self.value, fields))


BIAS = Term("bias")


@dataclass(frozen=True)
class Templates:
    """Compiled templates: each a combination of one or more terms; see the module's text."""

    combinations: tuple[tuple[Term, ...], ...]

    @classmethod
    def parse(cls, text: str) -> Templates:
        """Parse a text; a ConfigError names the template and the position of a mistake."""
        lines = (line.partition("#")[0] for line in text.splitlines())
        given = [one.strip() for line in lines for one in line.split(";") if one.strip()]
        if not given:
            raise ConfigError(message("{templates}: the text has none, expected at least one"))
        found = [terms for one in given for terms in _Scanner(one).template()]
        return cls(tuple(dict.fromkeys(found)))

    def __str__(self) -> str:
        return "; ".join(
            " & ".join(re.sub(r"^([a-z]+)(\d+)", r"\1(\2)", term.label) for term in terms)
            for terms in self.combinations
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """What the names of each template's features begin with."""
        return tuple("&".join(term.label for term in terms) for terms in self.combinations)

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that are read beside the word's."""
        terms = [term for terms in self.combinations for term in terms]
        return tuple(sorted({term.column for term in terms if term.column is not None}))

    def features(self, sentence: Tokens, *, word: int = 0) -> list[list[str]]:
        """Return the names of each token's features, in the order of the templates.

        Parameters
        ----------
        sentence : list of words, or of tokens with all their columns
        word : int
            The column of the word, where tokens have columns.
        """
        tokens = [[token] if isinstance(token, str) else token for token in sentence]
        needed = 1 + max(word, *self.columns) if self.columns else 1 + word
        for i, token in enumerate(tokens):
            if len(token) < needed:
                raise DataError(f"token {i} has {len(token)} columns, expected {needed}")

        def value(term: Term, place: int) -> str | None:
            if not 0 <= place < len(tokens):
                return term.beyond(place < 0)
            return term.value(tokens[place][word if term.column is None else term.column])

        templates = list(map(labelled, self.combinations))
        return [
            named(templates, lambda term, t=t: value(term, t + term.offset))  # type: ignore[misc]
            for t in range(len(tokens))
        ]


Labelled: TypeAlias = "tuple[str, tuple[Term, ...]]"
"""How the names of a template's features begin, and the terms whose values follow."""


def labelled(terms: tuple[Term, ...]) -> Labelled:
    """Return the template as `named` takes it."""
    return (BIAS.label, ()) if terms[0] == BIAS else (label_of(terms), terms)


def named(templates: Iterable[Labelled], value: Callable[[Term], str | None]) -> list[str]:
    """Return the names of a token's features: these templates with these values of their terms."""
    names = []
    for label, terms in templates:
        if len(terms) == 1:  # as most have
            only = value(terms[0])
            if only is not None:
                names.append(label + only)
            continue
        values = [value(term) for term in terms]
        known = [escaped(one) for one in values if one is not None]
        if len(known) == len(terms):
            names.append(label + "&".join(known))
    return names


def label_of(terms: Sequence[Term]) -> str:
    """Return the beginning of the names of a template's features."""
    return "&".join(term.label for term in terms) + "="


def escaped(value: str) -> str:
    """Return the value as it stands in a combination."""
    return value.replace("\\", "\\\\").replace("&", "\\&")


def hashed_columns(names: Sequence[str], bits: int) -> np.ndarray:
    """Return the features' columns in 0 … 2^bits − 1, the same on every machine.

    A column is the high bits of a 64-bit hash: the UTF-8 bytes as a polynomial in an odd constant,
    with the final mixing of MurmurHash3.
    """
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    rows = Ragged(np.frombuffer(b"".join(encoded), np.uint8), offsets(lengths))
    mixed = rows.keys().view(np.uint64)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(33))) >> np.uint64(64 - bits)).astype(np.int64)


def shape(word: str, longest_run: int = LONGEST_RUN) -> str:
    """`Wi-Fi6` as `Xx-Xxd`; at most longest_run of equal signs in a row are kept."""
    signs = word.translate(_SIGNS)
    if len(signs) <= longest_run:
        return signs
    return re.sub(rf"(.)\1{{{longest_run},}}", r"\1" * longest_run, signs, flags=re.DOTALL)


class _Signs(dict[int, str]):
    """The sign of each letter by its number, as str.translate takes it; made as letters come."""

    def __missing__(self, number: int) -> str:
        c = chr(number)
        sign = "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c
        self[number] = sign
        return sign


_SIGNS = _Signs()


class _Scanner:
    """Reads one template from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._place = text, 0

    def template(self) -> list[tuple[Term, ...]]:
        choices = [self._terms()]
        while self._found("&"):
            choices.append(self._terms())
        if self._place < len(self._text):
            self._refuse("& or the end of the template")
        if math.prod(map(len, choices)) > MOST:
            self._place = 0
            self._refuse(f"ranges that stand for at most {MOST} templates")
        combinations = list(product(*choices))
        if len(choices) > 1 and any(BIAS in terms for terms in combinations):
            self._place = self._text.index("bias")
            self._refuse("bias alone in its template")
        return combinations

    def _terms(self) -> list[Term]:
        begin = self._place
        attribute = self._match(r"[a-z_]+")
        function = None if attribute in ATTRIBUTES else _word_function(attribute)
        kind = ATTRIBUTES.get(attribute, None if function is None else NO_ARGUMENT)
        if kind is None:
            self._place = begin
            known = ", ".join([*ATTRIBUTES, *sorted(_registered)])
            self._refuse(f"one of {known}, or a word function that is registered")
        arguments: Sequence[int | None] = [None]
        if kind != NO_ARGUMENT and self._found("("):
            arguments = self._range(0 if attribute == "column" else 1, "a number from {} to {}")
            self._expect(")")
        elif kind == MUST_HAVE:
            self._refuse(f"( and a number or a range such as 1..3 after {attribute}")
        offsets: Sequence[int] = [0]
        if attribute != "bias" and self._found("["):
            offsets = self._range(-LARGEST, "a distance from {} to {}")
            self._expect("]")
        return [
            Term(attribute, argument, offset, function)
            for argument in arguments
            for offset in offsets
        ]

    def _range(self, least: int, expected: str) -> range:
        def number() -> int:
            begin = self._place
            digits = self._match(r"[+-]?\d+")
            if not digits or not least <= int(digits) <= LARGEST:
                self._place = begin
                self._refuse(expected.format(least, LARGEST))
            return int(digits)

        low = high = number()
        begin = self._place
        if self._found(".."):
            high = number()
        if high < low:
            self._place = begin
            self._refuse(f"a range that ends at {low} or above")
        return range(low, high + 1)

    def _found(self, sign: str) -> bool:
        return bool(self._match(re.escape(sign)))

    def _expect(self, sign: str) -> None:
        if not self._found(sign):
            self._refuse(sign)

    def _match(self, pattern: str) -> str:
        found = re.compile(rf"({pattern})\s*").match(self._text, self._place)
        self._place = found.end() if found else self._place
        return found[1] if found else ""

    def _refuse(self, expected: str) -> NoReturn:
        rest = self._text[self._place :]
        found = repr(rest[:20]) if rest else "its end"
        raise ConfigError(
            f"template {self._text!r}, position {self._place + 1}: found {found}, "
            f"expected {expected}"
        )


POS_TEXT = """
word[-1..+1]
prefix(1..6)[-1..+1]
suffix(1..6)[-1..+1]
shape
"""

DEFAULT_TEXT = """
word[-2..+2]
word[-1] & word
word & word[+1]
lower
prefix(1..4)
suffix(1..4)
suffix(2..3)[-1..+1]
shape[-1..+1]
shape(1)
"""

POS = Templates.parse(POS_TEXT)
"""For parts of speech: 40 features of a token, of its word and those beside it."""

DEFAULT = Templates.parse(DEFAULT_TEXT)
"""For tags of any kind: words around, short affixes, shapes, and pairs of words."""

NAMED = {"default": DEFAULT, "pos": POS}


def as_templates(given: Templates | str) -> Templates:
    """Return templates unchanged, by name ("default", "pos"), or parsed from text."""
    if isinstance(given, Templates):
        return given
    if not isinstance(given, str):
        raise ConfigError(
            "templates", given, f"text, {' or '.join(map(repr, NAMED))}, or Templates"
        )
    return NAMED[given.strip()] if given.strip() in NAMED else Templates.parse(given)
