"""Seeded sequences for tests, examples and benchmarks: equal arguments give equal data."""

from __future__ import annotations

import numpy as np


def make_chains(
    n: int, length: int, n_labels: int, n_symbols: int, seed: int = 0
) -> list[tuple[list[int], list[int]]]:
    """Return sequences of symbols with their labels, drawn from a hidden Markov model.

    Lengths are length/2 … 3·length/2. Every label is mostly followed by a few labels, and
    emits a few symbols more often than others.

    Returns
    -------
    list of pairs (symbols, labels) of equally long lists of int
    """
    rng = np.random.default_rng(seed)
    moves = np.cumsum(rng.dirichlet(np.full(n_labels, 0.3), n_labels), axis=1)
    emits = np.cumsum(rng.dirichlet(np.full(n_symbols, 0.2), n_labels), axis=1)
    lengths = rng.integers(max(1, length // 2), length + length // 2 + 1, size=n)
    labels = np.empty((n, int(lengths.max(initial=0))), dtype=np.int64)
    symbols = np.empty_like(labels)
    label = rng.integers(n_labels, size=n)
    for t in range(labels.shape[1]):
        if t:
            label = _drawn(rng, moves[label])
        labels[:, t] = label
        symbols[:, t] = _drawn(rng, emits[label])
    return [
        (x[:stop], y[:stop])
        for x, y, stop in zip(symbols.tolist(), labels.tolist(), lengths.tolist(), strict=True)
    ]


def make_tagged_sentences(
    n: int, *, n_tags: int = 8, vocabulary: int = 2000, length: int = 12, seed: int = 0
) -> list[tuple[list[str], list[str]]]:
    """Return sentences of invented words with their tags, drawn from a hidden Markov model.

    A tag is mostly followed by a few tags, and draws its words by Zipf's law. Most words end in
    one of their tag's three suffixes, so that words never seen before can be told by theirs; a
    quarter are bare stems that two tags share, so that the neighbours decide.

    Parameters
    ----------
    n : int
    n_tags, vocabulary : int
        The number of tags, T0, T1, …, and about the number of words.
    length : int
        Lengths are length/2 … 3·length/2.
    seed : int

    Returns
    -------
    list of pairs (words, tags) of equally long lists of str
    """
    rng = np.random.default_rng(seed)
    suffixes = [[_syllables(rng, 1) + end for end in "nst"] for _ in range(n_tags)]
    words: list[list[str]] = [[] for _ in range(n_tags)]
    for i in range(max(vocabulary, 4 * n_tags)):
        tag = i % n_tags
        stem = _syllables(rng, int(rng.integers(1, 4)))
        if i // n_tags % 4 == 3:
            words[tag].append(stem)
            words[(tag + 1 + int(rng.integers(max(1, n_tags - 1)))) % n_tags].append(stem)
        else:
            words[tag].append(stem + suffixes[tag][int(rng.integers(3))])
    chains = make_chains(n, length, n_tags, 1, seed)
    frequency = [np.cumsum(1.0 / np.arange(1, len(its) + 1)) for its in words]
    sentences = []
    for _, tags in chains:
        drawn = rng.random(len(tags)).tolist()
        places = [
            int(np.searchsorted(frequency[tag], u * frequency[tag][-1]))
            for tag, u in zip(tags, drawn, strict=True)
        ]
        text = [words[tag][place] for tag, place in zip(tags, places, strict=True)]
        sentences.append((text, [f"T{tag}" for tag in tags]))
    return sentences


def _syllables(rng: np.random.Generator, n: int) -> str:
    """Return n syllables of a consonant and a vowel."""
    consonants, vowels = rng.integers(14, size=n).tolist(), rng.integers(5, size=n).tolist()
    pairs = zip(consonants, vowels, strict=True)
    return "".join("bdfgklmnprstvz"[c] + "aeiou"[v] for c, v in pairs)


def _drawn(rng: np.random.Generator, cumulated: np.ndarray) -> np.ndarray:
    """Return one draw from each row of cumulated probabilities."""
    below = cumulated[:, :-1] < rng.random(len(cumulated))[:, None]
    return below.sum(axis=1)
