"""Search: what only the structure can know. Compiled, many examples a call."""

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
"""Of a search that does not say what it takes, in products of compiled code: a millisecond, say."""


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
    """Finds outputs, measures their losses, and gives them to the user.

    Outputs are array-like, indexed by integer arrays: an array of numbers, a Ragged of them, or an
    array of objects.
    """

    n_outputs: int | None = None
    """How many outputs every example has, where a visit may as well look at all of them: then the
    oracle's climbers have `visit_whole`, and the oracle `outputs`."""

    @abstractmethod
    def separate(self, view: Any, rows: np.ndarray) -> Separation:
        """The most violated output of each of these examples: argmax_ŷ q − ⟨p, w⟩.

        Requires true outputs that the search can find (see `unfit`).

        Ensures one plane a row, in their order, or of the first rows alone once time is over; ties
        go to the lowest output; values are at least 0, since the truth's plane (0, 0) is always
        there; equal arguments give equal bits.
        """

    @abstractmethod
    def decode(self, view: Any, rows: np.ndarray) -> Any:
        """The outputs argmax_ŷ ⟨w, Ψ(x, ŷ)⟩; needs no true outputs.

        Ensures one output a row, in their order, or of the first rows alone once time is over.
        """

    def decode_all(self, view: Any) -> Any:
        """As `decode`, of all examples in their order."""
        return self.decode(view, np.arange(self.n))

    @abstractmethod
    def losses(self, rows: np.ndarray, outputs: Any) -> np.ndarray:
        """Δ(y, ŷ) of each of these examples and outputs.

        Requires one output a row. Ensures finite values ≥ 0, and 0 for the truth; a true output
        that the task does not know counts as wrong.
        """

    @abstractmethod
    def public(self, outputs: Any) -> Any:
        """Outputs as the user knows them, in their order: labels, not codes."""

    def correct(self, rows: np.ndarray, outputs: Any) -> np.ndarray:
        """Whether each of these outputs is right: without loss, unless the oracle knows better."""
        return self.losses(rows, outputs) == 0

    def call_work(self) -> float:
        """The work of asking about one example, in products and sums of a climber's visit.

        Multi-plane divides its time between calls and visits by it. Counted and not timed, so that
        equal runs have equal bits.
        """
        return CALL_WORK

    def outputs(self, numbers: np.ndarray) -> Any:
        """The outputs with these numbers; requires `n_outputs`, and numbers below it."""
        raise NotImplementedError(f"{type(self).__name__} does not number its outputs")

    # --- what cannot be trained on ---------------------------------------------------------

    def unfit(self) -> dict[int, str]:
        """Rows whose true output is none that the search can find, and why, in increasing order.

        They can be evaluated, but not trained on. Most tasks have none.
        """
        return {}

    def unseen(self) -> Counter[str]:
        """How often each true label that the task does not know occurs; no search can find it.

        Such examples are unfit. Where they are evaluated, these labels count as wrong.
        """
        return Counter()

    def check_fit(self) -> None:
        """Refuse what cannot be trained on, by the name of its example."""
        for row, reason in self.unfit().items():
            raise DataError(f"{self.names[row]}: {reason}")

    def class_weights(self) -> np.ndarray | None:
        """A factor for each example's weight that the task asks for; None for ones."""
        return None
