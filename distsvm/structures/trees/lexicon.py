"""Words and their tags: one rule for each tag that a word had in training; classes of rare words.

A tag rule is `'NN' -> dog`, or `'NN' ~> lower:ing` for a class of words; each has one weight. Words
seen too seldom in training are known by their class alone, and so are words that were never seen:
by the first class of their ladder (see word_classes) that the lexicon has. The last one, `any`, has
every tag that rare words had (every tag there is, where no word was rare), so that a new word never
leaves a sentence without a tree by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from distsvm.data.features import frozen
from distsvm.data.ragged import Ragged
from distsvm.structures.trees.tree import Tree

ANY = "any"
LONGEST_SUFFIX = 3
_WORD, _CLASS, _FIRST = "->", "~>", "^>"


def word_classes(word: str, first: bool) -> tuple[str, ...]:
    """The classes of a word from the most special to `any`; first: it begins the sentence.

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
    """Each word with its tag and whether it comes first, as learn_tag_rules reads it."""
    for place, leaf in enumerate(tree.leaves()):
        yield f"'{leaf.label}' {_WORD if place else _FIRST} {leaf.word}"


def is_tag_rule(text: str) -> bool:
    """Whether it is one, or a use of a word; phrases do not begin with a quote."""
    return text[0] == "'"


def learn_tag_rules(uses: Mapping[str, float], min_word_count: float) -> dict[str, float]:
    """The tag rules and their counts, of how often each text of uses_of_words came.

    A class is kept if rare words (fewer than min_word_count in all) have it as often as that; it
    counts all rare words that have it, also those that a more special class takes.
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
    """Tag rules with the tables that the search needs.

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
        """The lexicon of these rules; of tags that have no number, words cannot be."""
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
            Ragged(tags, np.concatenate([[0], np.cumsum(lengths)])).frozen(),
            frozen(places),
            {name: i for i, (is_class, name) in enumerate(order) if not is_class},
            {name: i for i, (is_class, name) in enumerate(order) if is_class},
        )

    def entries(self, words: Sequence[str]) -> list[int]:
        """The entry of each word of a sentence, −1 where there is none."""
        return [self._entry(word, place == 0) for place, word in enumerate(words)]

    def _entry(self, word: str, first: bool) -> int:
        known = self.words.get(word)
        if known is not None:
            return known
        ladder = (self.classes.get(name) for name in word_classes(word, first))
        return next((entry for entry in ladder if entry is not None), -1)

    def place(self, entry: int, tag: int | None) -> int | None:
        """The place of the rule that gives the entry this tag, None if there is none."""
        if entry < 0:
            return None
        start, stop = self.tags.starts[entry : entry + 2].tolist()
        found = np.flatnonzero(self.tags.values[start:stop] == tag)
        return int(self.places[start + found[0]]) if found.size else None


def tag_of(rule: str) -> str:
    """The tag on the left side of a tag rule."""
    return _split(rule)[0][1:-1]


def _split(text: str) -> tuple[str, str, str]:
    """The tag in its quotes, the arrow, and what stands on the right side."""
    tag, arrow, right = text.split(" ", 2)
    return tag, arrow, right
