"""Words and their tags: one rule for each tag that a word had in training; classes of rare words.

A tag rule is `'NN' -> dog`, or `'NN' ~> lower:ing` for a class of words; each has one weight. Words
that are rare or missing in training have the tags of the first of their classes (see word_classes)
that the lexicon has. The last class, `any`, has every tag of rare words (every tag, if no word was
rare), so that a new word alone never leaves a sentence without a tree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from distsvm.data.features import frozen
from distsvm.data.ragged import Ragged, offsets
from distsvm.structures.trees.tree import Tree

ANY = "any"
LONGEST_SUFFIX = 3
_WORD, _CLASS, _FIRST = "->", "~>", "^>"


def word_classes(word: str, first: bool) -> tuple[str, ...]:
    """Return the classes of a word, the most special first; `first`: it begins the sentence.

    Shape and the last three letters, two, one, then shape alone. The shape is `lower`, `capital`
    (`first-capital` at the beginning), `capitals` or `other` (no letters), with `-digit` and
    `-hyphen` where the word has one. A suffix is letters, and shorter than the word by two or more.
    """
    letters = [c for c in word if c.isalpha()]
    if not letters:
        shape = "other"
    elif len(letters) > 1 and all(c.isupper() for c in letters):
        shape = "capitals"
    elif word[0].isupper():
        shape = "first-capital" if first else "capital"
    else:
        shape = "lower"
    shape += "-digit" * any(c.isdigit() for c in word) + "-hyphen" * ("-" in word)
    longest = min(LONGEST_SUFFIX, len(word) - 2)
    suffixes = [word[-n:].lower() for n in range(longest, 0, -1) if word[-n:].isalpha()]
    return (*(f"{shape}:{suffix}" for suffix in suffixes), shape, ANY)


def uses_of_words(tree: Tree) -> Iterator[str]:
    """Yield each word with its tag and whether it comes first, for learn_tag_rules."""
    for place, leaf in enumerate(tree.leaves()):
        yield f"'{leaf.label}' {_WORD if place else _FIRST} {leaf.word}"


def is_tag_rule(text: str) -> bool:
    """Return whether this is a tag rule, or a use of a word; phrases do not begin with a quote."""
    return text[0] == "'"


def learn_tag_rules(uses: Mapping[str, float], min_word_count: float) -> dict[str, float]:
    """Return the tag rules and their counts, from the counts of texts of uses_of_words.

    A word is rare below min_word_count. A class is kept if its rare words reach min_word_count in
    sum; it counts all its rare words, also those in a more special class.
    """
    parts = [(*_split(text), count) for text, count in uses.items()]
    totals: defaultdict[str, float] = defaultdict(float)
    for _, _, word, count in parts:
        totals[word] += count
    rules: defaultdict[str, float] = defaultdict(float)
    rare = []
    for tag, arrow, word, count in parts:
        if totals[word] < min_word_count:
            rare.append((tag, word_classes(word, arrow == _FIRST), count))
        else:
            rules[f"{tag} {_WORD} {word}"] += count
    sizes: defaultdict[str, float] = defaultdict(float)
    for _, ladder, count in rare:
        for name in ladder:
            sizes[name] += count
    if not rare:
        rare = [(tag, (ANY,), count) for tag, *_, count in parts]
    for tag, ladder, count in rare:
        for name in ladder:
            if name == ANY or sizes[name] >= min_word_count:
                rules[f"{tag} {_CLASS} {name}"] += count
    return dict(rules)


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Tag rules with the tables for the search.

    Words and classes, in the order of their names, are *entries*.

    Attributes
    ----------
    rules : tuple of str, in increasing order
    tags : Ragged of int32, the tags of each entry in increasing order
    places : int32 array of shape (n_pairs,)
        Beside the values of `tags`, the place of each one's rule in `rules`.
    words, classes : dict, the entry of each
    """

    rules: tuple[str, ...]
    tags: Ragged
    places: np.ndarray
    words: dict[str, int]
    classes: dict[str, int]

    @classmethod
    def of(cls, rules: Iterable[str], tag_number: Mapping[str, int]) -> Lexicon:
        """Return the lexicon of these rules, without tags that have no number."""
        texts = tuple(sorted(set(rules)))
        entries: defaultdict[tuple[bool, str], list[tuple[int, int]]] = defaultdict(list)
        for place, text in enumerate(texts):
            tag, arrow, name = _split(text)
            number = tag_number.get(tag[1:-1])
            pairs = entries[arrow == _CLASS, name]
            if number is not None:
                pairs.append((number, place))
        order = sorted(entries)
        pairs = [pair for key in order for pair in sorted(entries[key])]
        lengths = np.array([len(entries[key]) for key in order], dtype=np.int64)
        tags, places = np.array(pairs, np.int32).reshape(-1, 2).T
        return cls(
            texts,
            Ragged(tags, offsets(lengths)).frozen(),
            frozen(places),
            {name: i for i, (is_class, name) in enumerate(order) if not is_class},
            {name: i for i, (is_class, name) in enumerate(order) if is_class},
        )

    def entries(self, words: Sequence[str]) -> list[int]:
        """Return the entry of each word of a sentence, −1 where there is none."""

        def entry(word: str, first: bool) -> int:
            if word in self.words:
                return self.words[word]
            known = (c for c in word_classes(word, first) if c in self.classes)
            return next((self.classes[c] for c in known), -1)

        return [entry(word, place == 0) for place, word in enumerate(words)]

    def place(self, entry: int, tag: int | None) -> int | None:
        """Return the place of the rule of this entry and tag, None if there is none."""
        if entry < 0:
            return None
        start, stop = self.tags.starts[entry : entry + 2].tolist()
        found = np.flatnonzero(self.tags.values[start:stop] == tag)
        return int(self.places[start + found[0]]) if found.size else None


def tag_of(rule: str) -> str:
    """Return the tag on the left side of a tag rule."""
    return _split(rule)[0][1:-1]


def _split(text: str) -> tuple[str, str, str]:
    """Return the tag in its quotes, the arrow, and the right side."""
    tag, arrow, right = text.split(" ", 2)
    return tag, arrow, right
