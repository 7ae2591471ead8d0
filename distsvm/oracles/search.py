"""Search: the methods that depend on the structure; each handles many examples in one call."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.errors import DataError
from distsvm.messages import Planes
from distsvm.oracles.bound import Bound

CALL_WORK = 1e6
"""Default of `Search.call_work`, in products of compiled code: about a millisecond."""


@dataclass(frozen=True, eq=False)
class Separation:
    """The most violated planes of some examples at one w.

    Parameters
    ----------
    planes : Planes
    value : float64 array of shape (m,)
        q − ⟨p, w⟩ of each plane; at least 0, the truth's value.
    upper : float64 array of shape (m,)
        An upper bound of H_i(w); the same as `value` when the oracle is exact.
    exact : bool
    """

    planes: Planes
    value: np.ndarray
    upper: np.ndarray
    exact: bool


class Search(Bound):
    """Finds outputs, computes their losses, and converts them to the user's form.

    Outputs are array-like, indexed by integer arrays: an array of numbers, a Ragged of them, or an
    array of objects.
    """

    n_outputs: int | None = None
    """The number of outputs of every example, if it is small enough that a visit reads all of them.
    Then the oracle's climbers have `visit_whole`, and the oracle has `outputs`."""

    @abstractmethod
    def separate(self, view: Any, rows: np.ndarray) -> Separation:
        """Return the most violated output of each of these examples: argmax_ŷ q − ⟨p, w⟩.

        Requires true outputs that the search can find (see `unfit`).

        Ensures one plane for each row, in their order; after the time limit only for the first
        rows. Ties go to the lowest output. Values are at least 0, because the truth has the plane
        (0, 0). Equal arguments give equal bits.
        """

    @abstractmethod
    def decode(self, view: Any, rows: np.ndarray) -> Any:
        """Return the outputs argmax_ŷ ⟨w, Ψ(x, ŷ)⟩; needs no true outputs.

        Ensures one output for each row, in their order; after the time limit only for the first
        rows.
        """

    def decode_all(self, view: Any) -> Any:
        """Return `decode` of all examples in their order."""
        return self.decode(view, np.arange(self.n))

    @abstractmethod
    def losses(self, rows: np.ndarray, outputs: Any) -> np.ndarray:
        """Return Δ(y, ŷ) of each of these examples and outputs.

        Requires one output for each row. Ensures finite values ≥ 0, and 0 for the truth; if the
        task does not know the true output, every output counts as wrong.
        """

    @abstractmethod
    def public(self, outputs: Any) -> Any:
        """Return the outputs in the user's form, in their order: labels, not codes."""

    def public_of(self, planes: Planes) -> Any:
        """Return the outputs of these planes, which may come from slots, in the user's form."""
        return self.public(planes.output)

    def correct(self, rows: np.ndarray, outputs: Any) -> np.ndarray:
        """Return whether each of these outputs is right; by default, whether its loss is 0."""
        return self.losses(rows, outputs) == 0

    def call_work(self) -> float:
        """Return the work of one oracle call, in products and sums of a climber's visit.

        Multi-plane uses it to divide its work between calls and visits. The work is counted and not
        timed, so that equal runs have equal bits.
        """
        return CALL_WORK

    def outputs(self, numbers: np.ndarray) -> Any:
        """Return the outputs with these numbers; requires `n_outputs`, and numbers below it."""
        raise NotImplementedError(f"{type(self).__name__} does not number its outputs")

    # --- examples unfit for training -------------------------------------------------------

    def unfit(self) -> dict[int, str]:
        """Return rows whose true output the search cannot find, in increasing order, and why.

        They can be evaluated, but not trained on. Most tasks have none.
        """
        return {}

    def unseen(self) -> Counter[str]:
        """Return how often each true label occurs that the task does not know.

        Such examples are unfit. In evaluations these labels count as wrong.
        """
        return Counter()

    def check_fit(self) -> None:
        """Refuse the first unfit example by its name."""
        for row, reason in self.unfit().items():
            raise DataError(f"{self.names[row]}: {reason}")

    def class_weights(self) -> np.ndarray | None:
        """Return the task's factor of each example's weight; None if all are 1."""
        return None
