"""The oracle: a task bound to one shard, answering for many examples in one call."""

from __future__ import annotations

import hashlib
import math
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsvm.data.shard import Names
from distsvm.errors import ConfigError, DataError
from distsvm.kernels.climb import Held
from distsvm.messages import Planes
from distsvm.oracles.climber import Climber
from distsvm.oracles.totals import DenseTotal, Total

MOST_ROWS, MOST_SEQUENCES = 1 << 13, 1 << 10
"""Of a piece, unless there are thousands of classes; see Oracle.piece."""


def power_of_two(n: float) -> int:
    """The largest power of two that is not above n, and at least 1."""
    return 1 << max(0, int(n).bit_length() - 1)


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


class Oracle(ABC):
    """What a worker asks about its shard. Rows are numbers of examples within the shard.

    A plane is (p, q) = (ψ, Δ) for margin rescaling and (Δ·ψ, Δ) for slack rescaling, with
    ψ = Ψ(x, y) − Ψ(x, ŷ); the oracle knows which, and nobody else has to.
    """

    n: int
    names: Names
    """What messages call the example of each row."""
    piece: int
    """How many examples to ask about at a time, so that a piece stays in the processor's cache.

    A power of two: sums are made piece by piece, so a shard that is read from disk in parts of
    many pieces gives the same bits as one in memory.
    """
    extent: int = 0
    """What `piece_of` goes by, summed over all rows: bytes of features, or tokens."""
    ends_at: float = math.inf
    """When the time is over, in seconds since the epoch. From then on `separate` and `decode` may
    answer for the first of their rows only: a slow search ends within one call of it."""
    n_outputs: int | None = None
    """How many outputs every example has, where a visit may as well look at all of them: then the
    oracle's climbers have `visit_whole`, and the oracle `outputs`."""

    def view(self, w: np.ndarray) -> Any:
        """w in the form that the other methods take it, made once for a call over all pieces."""
        return w

    def piece_of(self, mean_extent: float) -> int:
        """The piece of any shard of this task whose examples have this extent in the mean."""
        return self.piece

    def chunks(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """The rows in their order, a piece at a time."""
        for start in range(0, rows.size, self.piece):
            yield rows[start : start + self.piece]

    def is_late(self) -> bool:
        """Whether the time is over."""
        return time.time() >= self.ends_at

    def in_time(self, pieces: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """The pieces until the time is over."""
        for rows in pieces:
            if self.is_late():
                return
            yield rows

    @abstractmethod
    def separate(self, view: Any, rows: np.ndarray) -> Separation:
        """The most violated output of each of these examples."""

    @abstractmethod
    def values(self, view: Any, planes: Planes) -> np.ndarray:
        """q − ⟨p, w⟩ of each plane."""

    @abstractmethod
    def accumulate(self, planes: Planes, weights: np.ndarray, out: np.ndarray) -> None:
        """out += Σ weight·p."""

    def total(self, dim: int) -> Total:
        """An empty sum of planes, of length dim; oracles that touch little of w give their own."""
        return DenseTotal(dim, self)

    def feature_shares(self) -> np.ndarray | None:
        """What part of the shard has each feature, for `climb_beside`; None where it is no use."""
        return None

    def climb_beside(  # noqa: B027 (most count all features alike)
        self, n_blocks: int, shares: np.ndarray | None = None
    ) -> None:
        """Before any climber: so many blocks will climb at once, this one among them.

        Oracles that know which features the blocks have in common count those features' changes
        more than once, in climbers and Gram matrices; see Task.weighs_features. `shares` are the
        feature_shares of the block, where that is more than this shard.
        """

    def climber(self, w: np.ndarray, sigma: float) -> Climber:
        """w as this shard sees it while it changes its own α by σ times their effect."""
        raise ConfigError(f"the multi-plane solver does not know {type(self).__name__}")

    def fill_gram(self, held: Held, outputs: Any, rows: np.ndarray, slots: np.ndarray) -> None:
        """⟨p, p'⟩ of these planes (rows and slots of `outputs`) and all of their examples'."""
        raise ConfigError(f"the multi-plane solver does not know {type(self).__name__}")

    def call_work(self) -> float:
        """The work of asking about one example, in the unit of Climber's visits."""
        raise ConfigError(f"the multi-plane solver does not know {type(self).__name__}")

    def outputs(self, numbers: np.ndarray) -> Any:
        """The outputs with these numbers, 0 … n_outputs − 1."""
        raise NotImplementedError(f"{type(self).__name__} does not number its outputs")

    @abstractmethod
    def decode(self, view: Any, rows: np.ndarray) -> Any:
        """The predicted outputs, in the form the oracle keeps outputs in."""

    @abstractmethod
    def losses(self, rows: np.ndarray, outputs: Any) -> np.ndarray:
        """Δ(y, ŷ) of each of these examples and outputs."""

    def correct(self, rows: np.ndarray, outputs: Any) -> np.ndarray:
        """Whether each of these outputs is right: without loss, unless the oracle knows better."""
        return self.losses(rows, outputs) == 0

    @abstractmethod
    def public(self, outputs: Any) -> Any:
        """Outputs as the user knows them: labels, not codes."""

    @abstractmethod
    def slots(self, size: int) -> Any:
        """Room for `size` outputs of every example, indexed and assigned by integer arrays.

        Slot number i·size + s is the s-th of example i.
        """

    @abstractmethod
    def keys(self, outputs: Any) -> np.ndarray:
        """An int64 for each output; equal outputs of one example have equal keys."""

    @abstractmethod
    def pack(self, planes: Planes) -> dict[str, np.ndarray]:
        """The planes as plain arrays, for a checkpoint."""

    @abstractmethod
    def unpack(self, arrays: dict[str, np.ndarray]) -> Planes:
        """The planes that `pack` made these arrays of."""

    @abstractmethod
    def contents(self, start: int, stop: int) -> Iterable[np.ndarray | None]:
        """All that is known of the examples start … stop − 1, as arrays."""

    def fingerprint(self) -> str:
        """A digest of the examples, the same on every machine and executor."""
        state = hashlib.blake2b(digest_size=16)
        for rows in self.chunks(np.arange(self.n)):
            for array in self.contents(int(rows[0]), int(rows[-1]) + 1):
                if array is not None:
                    state.update(f"{array.dtype.str}{array.shape}".encode())
                    state.update(np.ascontiguousarray(array).data)
        return state.hexdigest()

    def arrays(self) -> dict[str, np.ndarray] | None:
        """The packed examples as plain arrays, for `over`; None where they are Python objects."""
        return None

    def over(
        self, arrays: dict[str, np.ndarray], names: Names, unfit: Sequence[int] = ()
    ) -> Oracle:
        """The oracle of the same task over the examples that `arrays` gave these of.

        For training and evaluation: it need not know its inputs as the user does. Rows that are
        `unfit` may have true outputs that are not the task's.
        """
        raise NotImplementedError(f"{type(self).__name__} gives no arrays")

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

    def take(self, rows: np.ndarray) -> Oracle:
        """The oracle of these rows alone; asked for only where some are unfit."""
        raise NotImplementedError(f"{type(self).__name__} cannot leave out examples")

    def class_weights(self) -> np.ndarray | None:
        """A factor for each example's weight that the task asks for; None for ones."""
        return None

    @abstractmethod
    def norms(self) -> tuple[np.ndarray, float | None]:
        """‖Ψ(x_i, y_i)‖² of each example, and max ‖ψ_i(ŷ)‖² over all outputs, None if not known."""

    def size(self, weights: np.ndarray) -> tuple[float, float | None]:
        """Σ weight_i·‖Ψ(x_i, y_i)‖², and max ‖ψ_i(ŷ)‖² over all outputs, None if not known."""
        norms, square_radius = self.norms()
        return float(weights @ norms), square_radius

    @property
    @abstractmethod
    def n_bytes(self) -> int:
        """Memory that the packed examples take."""
