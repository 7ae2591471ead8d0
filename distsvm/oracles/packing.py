"""Packing: planes and examples as arrays, for checkpoints, caches and digests."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from distsvm import checks
from distsvm.data.features import frozen
from distsvm.data.ragged import Ragged, RaggedSlots, offsets
from distsvm.data.shard import Names
from distsvm.errors import DataError
from distsvm.messages import Planes
from distsvm.oracles.bound import Bound

Examples: TypeAlias = "Mapping[str, np.ndarray | Ragged]"
STARTS = "_starts"
Self = TypeVar("Self", bound="Packing")


@dataclass(frozen=True, eq=False)
class Numbering:
    """Outputs as whole numbers 0 … high − 1: one for each output, or a row of them.

    Parameters
    ----------
    high : int
    dtype : type
        Of the arrays, the smallest signed one that holds the numbers.
    lengths : int array of shape (n,), optional
        How many numbers every output of each example has: then outputs are a Ragged.
    """

    high: int
    dtype: type[np.signedinteger]
    lengths: np.ndarray | None = None

    def slots(self, n: int, size: int) -> Any:
        """As Packing.slots."""
        if self.lengths is None:
            return np.zeros(n * size, dtype=self.dtype)
        return RaggedSlots(self.lengths, size, self.dtype)

    def checked(self, values: Any, row: np.ndarray) -> Any:
        """The outputs of these rows that a file has as one vector."""
        if self.lengths is None:
            return self._within(values, row.size)
        starts = offsets(self.lengths[row])
        return Ragged(self._within(values, int(starts[-1])), starts)

    def _within(self, values: Any, size: int) -> np.ndarray:
        return checks.within("output", values, 0, self.high, size).astype(self.dtype, copy=False)


class Packing(Bound):
    """Rooms for outputs, and planes and examples as plain arrays.

    The defaults serve outputs that are numbers, and examples that are arrays. An oracle of other
    outputs overrides `slots`, `keys`, `pack_outputs` and `unpack_outputs`, one of other examples
    `contents`, `take` and `n_bytes`.
    """

    examples: Examples = MappingProxyType({})
    """All that is known of the examples: arrays and Ragged with a row for each, by name.

    "truth" is the name of the true outputs, and "weight" that of the examples' weights; each is
    there only if it is known.
    """
    keeps_examples: ClassVar[bool] = False
    """Whether examples may come back from files as they were packed; `check_examples` is needed."""

    @property
    def numbering(self) -> Numbering:
        """What numbers outputs are made of."""
        raise NotImplementedError(f"the outputs of {type(self).__name__} are no numbers")

    def truths(self, rows: np.ndarray) -> Any:
        if "truth" not in self.examples:
            raise DataError("the examples have no true outputs")
        return self.examples["truth"][rows]

    # --- planes ----------------------------------------------------------------------------

    def slots(self, size: int) -> Any:
        """Room for `size` outputs of every example, indexed and assigned by integer arrays.

        Slot number i·size + s is the s-th of example i.
        """
        return self.numbering.slots(self.n, size)

    def keys(self, outputs: Any) -> np.ndarray:
        """An int64 for each output; equal outputs of one example have equal keys.

        Others should differ: a plane with the key of another counts as that one, and is not kept.
        """
        return outputs.keys() if isinstance(outputs, Ragged) else outputs.astype(np.int64)

    def pack(self, planes: Planes) -> dict[str, np.ndarray]:
        """The planes as plain arrays, for a checkpoint: "row", "loss", and what the outputs take.

        "q" is stored only where it is not Δ.
        """
        q = {} if self.q_is_loss else {"q": planes.q}
        return {"row": planes.row, "loss": planes.loss} | q | self.pack_outputs(planes.output)

    def unpack(self, arrays: dict[str, np.ndarray]) -> Planes:
        """The planes that `pack` made these arrays of.

        Requires nothing of the arrays, which may be somebody else's file; ensures planes that
        kernels can work on, or a ValueError or KeyError.
        """
        row = checks.within("row", arrays["row"], 0, self.n).astype(np.int64, copy=False)
        loss = checks.finite("loss", arrays["loss"], row.size)
        q = loss if self.q_is_loss else checks.finite("q", arrays["q"], row.size)
        return Planes(row, self.unpack_outputs(arrays, row, q), q, loss)

    def pack_outputs(self, outputs: Any) -> dict[str, np.ndarray]:
        """The outputs as plain arrays, none of them named "row", "loss" or "q"."""
        return {"output": outputs.values if isinstance(outputs, Ragged) else outputs}

    def unpack_outputs(self, arrays: dict[str, np.ndarray], row: np.ndarray, q: np.ndarray) -> Any:
        """The outputs that `pack_outputs` made these arrays of; checked as `unpack` says."""
        return self.numbering.checked(arrays["output"], row)

    # --- examples --------------------------------------------------------------------------

    def contents(self, start: int, stop: int) -> Iterable[np.ndarray | None]:
        """All that is known of the examples start … stop − 1, as arrays; None for what is not.

        Ensures the same arrays for the same examples, however they were read and cut into shards.
        """
        rows = np.arange(start, stop)
        return arrays_of({name: part[rows] for name, part in self.examples.items()}).values()

    def fingerprint(self) -> str:
        """A digest of the examples, the same on every machine and executor."""
        state = hashlib.blake2b(digest_size=16)
        for rows in self.chunks(np.arange(self.n)):
            for array in self.contents(int(rows[0]), int(rows[-1]) + 1):
                if array is not None:
                    state.update(f"{array.dtype.str}{array.shape}".encode())
                    state.update(np.ascontiguousarray(array).data)
        return state.hexdigest()

    def take(self: Self, rows: np.ndarray) -> Self:
        """The oracle of these rows alone; called only where some are unfit."""
        taken = {name: _frozen(part[rows]) for name, part in self.examples.items()}
        return self._with(taken, self.names.take(rows))

    def arrays(self) -> dict[str, np.ndarray] | None:
        """The packed examples as plain arrays, for `over`; None where these are not kept."""
        return arrays_of(self.examples) if self.keeps_examples else None

    def over(
        self: Self, arrays: dict[str, np.ndarray], names: Names, unfit: Sequence[int] = ()
    ) -> Self:
        """The oracle of the same task over the examples that `arrays` gave these of.

        For training and evaluation: it need not know its inputs as the user does. Rows that are
        `unfit` may have true outputs that are not the task's. The arrays may be somebody else's
        file; ensures examples that kernels can work on, or a ValueError or KeyError.
        """
        new = self._with(_examples_of(arrays), names)
        new.check_examples(unfit)
        return new

    def check_examples(self, unfit: Sequence[int]) -> None:
        """Refuse, with a ValueError, examples that this task cannot have packed.

        That all parts have the same number of rows was checked before.
        """
        raise NotImplementedError(f"{type(self).__name__} does not check examples of files")

    def _with(self: Self, examples: Examples, names: Names) -> Self:
        new = copy.copy(self)
        new.examples, new.names = examples, names
        (new.n,) = {len(part) for part in examples.values()}
        return new

    @property
    def n_bytes(self) -> int:
        """Memory that the packed examples take, without their weights."""
        return sum(part.nbytes for name, part in self.examples.items() if name != "weight")


def arrays_of(examples: Examples) -> dict[str, np.ndarray]:
    """The examples as plain arrays: a Ragged as two of them."""
    arrays: dict[str, np.ndarray] = {}
    for name, part in examples.items():
        if isinstance(part, Ragged):
            arrays |= {name: part.values, name + STARTS: part.starts}
        else:
            arrays[name] = part
    return arrays


def _examples_of(arrays: dict[str, np.ndarray]) -> Examples:
    """The examples that `arrays_of` made these arrays of."""
    examples: dict[str, np.ndarray | Ragged] = {}
    for name, values in arrays.items():
        starts = arrays.get(name + STARTS)
        if starts is not None:
            checks.starts(name + STARTS, starts, values.size)
            examples[name] = Ragged(values, starts).frozen()
        elif not name.endswith(STARTS):
            examples[name] = frozen(values)
    if len({len(part) for part in examples.values()}) != 1:
        raise ValueError("parts of examples have different numbers of rows")
    return examples


def _frozen(part: np.ndarray | Ragged) -> np.ndarray | Ragged:
    return part.frozen() if isinstance(part, Ragged) else frozen(part)
