"""Λ(y) of classes from a taxonomy, from texts about them, or from their similarities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np

from distsvm.data.ragged import offsets
from distsvm.errors import ConfigError
from distsvm.kernels.codes import Codes, codes_of
from distsvm.structures.classes.taxonomies.taxonomy import Taxonomy
from distsvm.wording import message

SYMMETRY = 1e-9
"""The largest difference of similarities that are equal, in parts of the largest one."""
ROUNDING = 1e-10
"""Eigenvalues below this part of the largest one count as 0; no lower one may be negative."""
WORD = re.compile(r"\w+")


def tree_codes(tree: Taxonomy, places: np.ndarray, depth_weights: Sequence[float]) -> Codes:
    """Λ_z(y) = β_depth(z)·[z is y or above y] / ‖Λ(y)‖, with column z − 1 for node z.

    The last weight is for all nodes that are deeper. The root, which all classes share, has none.
    """
    ways = [tree.ancestors(place) for place in places.tolist()]
    columns = np.fromiter(chain.from_iterable(ways), np.int32) - 1
    starts = offsets(np.array([len(way) for way in ways]))
    beta = np.array(depth_weights, dtype=np.float64)
    values = beta[np.minimum(tree.depth[columns + 1], beta.size) - 1]
    return of_length_one(Codes(values, columns.astype(np.int32), starts))


def gloss_codes(glosses: Sequence[str], own_weight: float) -> tuple[Codes, int]:
    """Λ(y): the tf-idf of the words of y's gloss, of length 1, and `own_weight` for y alone.

    tf-idf = tf·(1 + ln((1 + k) / (1 + df))), words in lower case.

    Returns
    -------
    codes : Codes
        Of length 1 each. Column y is the class's own; those of the words follow, in their order.
    r : int
    """
    k = len(glosses)
    counts = [Counter(WORD.findall(gloss.lower())) for gloss in glosses]
    frequency = Counter(chain.from_iterable(counts))
    places = {word: k + j for j, word in enumerate(sorted(frequency))}
    columns: list[int] = []
    values: list[float] = []
    lengths = []
    for y, words in enumerate(counts):
        found = sorted(words)
        idf = np.log([(1 + k) / (1 + frequency[word]) for word in found]) + 1.0
        own = np.array([words[word] for word in found]) * idf
        norm = float(np.linalg.norm(own)) or 1.0
        # A class without words is told by its own feature alone, whatever that weighs.
        first = [own_weight or float(not found)]
        columns += [y, *(places[word] for word in found)]
        values += [*first, *(own / norm).tolist()]
        lengths.append(1 + len(found))
    starts = offsets(np.array(lengths))
    codes = Codes(np.array(values), np.array(columns, np.int32), starts)
    return of_length_one(codes), k + len(places)


def similarity_codes(matrix: np.ndarray) -> tuple[Codes, int]:
    """Λ with ⟨Λ(y), Λ(ŷ)⟩ = S(y, ŷ) / √(S(y, y)·S(ŷ, ŷ)), from a positive semidefinite S."""
    largest = float(np.abs(matrix).max())
    off = float(np.abs(matrix - matrix.T).max())
    if off > SYMMETRY * largest:
        y, other = np.unravel_index(np.argmax(np.abs(matrix - matrix.T)), matrix.shape)
        raise ConfigError(
            message(
                "{similarities}: the matrix is not symmetric: rows {} and {} differ by {}",
                int(y), int(other), f"{off:.3g}",
            )
        )  # fmt: skip
    if (np.diag(matrix) <= 0).any():
        first = int(np.argmax(np.diag(matrix) <= 0))
        raise ConfigError(
            message("{similarities}: the similarity of class {} to itself is not above 0", first)
        )
    size = np.sqrt(np.diag(matrix))
    # eigh reads one triangle alone, which may differ from the other by rounding.
    eigenvalues, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T) / np.outer(size, size))
    if eigenvalues[0] < -ROUNDING * eigenvalues[-1] * matrix.shape[0]:
        raise ConfigError(
            message(
                "{similarities}: the matrix is not positive semidefinite: it has the eigenvalue {}",
                f"{eigenvalues[0]:.3g}",
            )
        )
    kept = eigenvalues > ROUNDING * eigenvalues[-1] * matrix.shape[0]
    return of_length_one(codes_of(vectors[:, kept] * np.sqrt(eigenvalues[kept]))), int(
        np.count_nonzero(kept)
    )


def of_length_one(codes: Codes) -> Codes:
    """The same codes with ‖Λ(y)‖ = 1, so that C means the same as for unit vectors."""
    row = np.repeat(np.arange(codes.starts.size - 1), np.diff(codes.starts))
    norms = np.sqrt(np.bincount(row, codes.values**2, codes.starts.size - 1))
    if (norms == 0).any():
        y = int(np.argmax(norms == 0))
        raise ConfigError(f"codes: class {y} has no features")
    return codes._replace(values=codes.values / norms[row])
