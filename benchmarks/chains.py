"""Chains as a task in plain Python, for benchmarks: each site has a letter, and gets a label."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from distsvm import Task

N_LETTERS, N_LABELS = 40, 5


def drawn(n: int, length: int = 20, seed: int = 0) -> tuple[list[list[int]], list[list[int]]]:
    """Chains of letters, and labels that depend on a letter, its neighbour and chance."""
    rng = np.random.default_rng(seed)
    letters = rng.integers(0, N_LETTERS, (n, length))
    labels = (letters + np.roll(letters, 1, axis=1) // 7) % N_LABELS
    noise = rng.random((n, length)) < 0.15
    labels[noise] = rng.integers(0, N_LABELS, int(noise.sum()))
    return letters.tolist(), labels.tolist()


class ChainTask(Task):
    """Letter and label at a site, and two labels in a row; Δ is the share of wrong labels."""

    dim = N_LETTERS * N_LABELS + N_LABELS * N_LABELS
    largest_loss = 1.0

    def joint_features(self, x: list[int], y: list[int]) -> dict[int, float]:
        found: dict[int, float] = {}
        for letter, label in zip(x, y, strict=True):
            place = letter * N_LABELS + label
            found[place] = found.get(place, 0.0) + 1.0
        for before, after in pairwise(y):
            place = N_LETTERS * N_LABELS + before * N_LABELS + after
            found[place] = found.get(place, 0.0) + 1.0
        return found

    def loss(self, y: list[int], y_hat: list[int]) -> float:
        return sum(a != b for a, b in zip(y, y_hat, strict=True)) / len(y)

    def decode(self, w: np.ndarray, x: list[int]) -> list[int]:
        return self._best(w, x, None)

    def separate(self, w: np.ndarray, x: Any, y: Any, rescaling: str) -> list[int]:
        return self._best(w, x, y)

    def _best(self, w: np.ndarray, x: list[int], y: list[int] | None) -> list[int]:
        emissions = w[: N_LETTERS * N_LABELS].reshape(N_LETTERS, N_LABELS)[x]
        if y is not None:
            emissions = emissions + 1.0 / len(x)
            emissions[np.arange(len(x)), y] -= 1.0 / len(x)
        steps = w[N_LETTERS * N_LABELS :].reshape(N_LABELS, N_LABELS)
        best, back = emissions[0], []
        for own in emissions[1:]:
            scores = best[:, None] + steps
            back.append(scores.argmax(axis=0))
            best = scores.max(axis=0) + own
        path = [int(best.argmax())]
        for choice in reversed(back):
            path.append(int(choice[path[-1]]))
        return path[::-1]
