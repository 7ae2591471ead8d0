"""Seeded sequences with a homologue and decoys: equal arguments give equal data."""

from __future__ import annotations

import numpy as np

from distsvm.structures.alignments.alignment import (
    NATIVE_ALONE,
    OTHER_ALONE,
    PAIR,
    Alignment,
    Sequences,
)

LETTERS = "ACDEFGHIKLMNPQRSTVWY"


def make_alignments(
    n: int,
    *,
    length: int = 50,
    n_operations: int = 30,
    n_decoys: int = 10,
    shares: tuple[float, float, float, float] = (0.2, 0.4, 0.2, 0.2),
    seed: int = 0,
) -> tuple[list[Sequences], list[Alignment]]:
    """n native sequences of some length, each with a homologue and n_decoys decoys.

    Letter c = 1 … 20 has probability c/210 in native sequences, decoys and wherever a letter is
    drawn. A homologue is made of n_operations on a part of the native sequence: keep a letter,
    replace letter c by c mod 20 + 1, insert a letter, or delete one; then letters are drawn on both
    sides up to the length. `shares` are the probabilities of these four. The place of the homologue
    among the candidates is random.

    Returns
    -------
    inputs : list of (native, candidates)
    outputs : list of Alignment
        The homologue, with the operations that made it.
    """
    if not 0 < n_operations <= length:
        raise ValueError(f"n_operations={n_operations}: expected 1 to length={length}")
    rng = np.random.default_rng(seed)
    inputs, outputs = [], []
    for _ in range(n):
        native = _drawn(rng, length)
        decoys = [_text(_drawn(rng, length)) for _ in range(n_decoys)]
        operations = rng.choice(4, n_operations, p=shares)
        taken = int((operations != 2).sum())
        start = int(rng.integers(length - taken + 1))
        middle, i = [], start
        for operation in operations.tolist():
            if operation < 2:
                middle.append((native[i] + operation) % len(LETTERS))
            elif operation == 2:
                middle.append(int(_drawn(rng, 1)[0]))
            i += operation != 2
        before = int(rng.integers(length - len(middle) + 1))
        after = length - len(middle) - before
        homologue = np.concatenate([_drawn(rng, before), middle, _drawn(rng, after)])
        columns = "".join((PAIR, PAIR, OTHER_ALONE, NATIVE_ALONE)[o] for o in operations.tolist())
        place = int(rng.integers(n_decoys + 1))
        candidates = [*decoys[:place], _text(homologue), *decoys[place:]]
        inputs.append(Sequences(_text(native), tuple(candidates)))
        outputs.append(Alignment(place, columns, start, before))
    return inputs, outputs


def _drawn(rng: np.random.Generator, n: int) -> np.ndarray:
    k = len(LETTERS)
    return rng.choice(k, n, p=np.arange(1, k + 1) / (k * (k + 1) / 2))


def _text(letters: np.ndarray) -> str:
    return "".join(LETTERS[int(letter)] for letter in letters)
