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
        The smallest signed type of the numbers.
    lengths : int array of shape (n,), optional
        Numbers in every output of each example; then outputs are a Ragged.
    """

    high: int
    dtype: type[np.signedinteger]
    lengths: np.ndarray | None = None

    def slots(self, n: int, size: int) -> Any:
        """Return Packing.slots of n examples."""
        if self.lengths is None:
            return np.zeros(n * size, dtype=self.dtype)
        return RaggedSlots(self.lengths, size, self.dtype)

    def checked(self, values: Any, row: np.ndarray) -> Any:
        """Return the outputs of these rows from a file's vector; refuse others."""
        if self.lengths is None:
            return self._within(values, row.size)
        starts = offsets(self.lengths[row])
        return Ragged(self._within(values, int(starts[-1])), starts)

    def _within(self, values: Any, size: int) -> np.ndarray:
        return checks.within("output", values, 0, self.high, size).astype(self.dtype, copy=False)


class Packing(Bound):
    """Slots for outputs, and planes and examples as plain arrays.

    The defaults serve outputs that are numbers, and examples that are arrays. An oracle of other
    outputs overrides `slots`, `keys`, `pack_outputs` and `unpack_outputs`, one of other examples
    `contents`, `take` and `n_bytes`.
    """

    examples: Examples = MappingProxyType({})
    """The parts of the examples by name: arrays and Ragged with a row for each example.

    "truth" has the true outputs and "weight" the examples' weights, where they are known.
    """
    keeps_examples: ClassVar[bool] = False
    """Whether packed examples may be read back from files; this needs `check_examples`."""

    @property
    def numbering(self) -> Numbering:
        """The numbers that outputs consist of."""
        raise NotImplementedError(f"the outputs of {type(self).__name__} are no numbers")

    def truths(self, rows: np.ndarray) -> Any:
        if "truth" not in self.examples:
            raise DataError("the examples have no true outputs")
        return self.examples["truth"][rows]

    # --- planes ----------------------------------------------------------------------------

    def slots(self, size: int) -> Any:
        """Return slots for `size` outputs of every example, indexed by integer arrays.

        Slot number i·size + s is slot s of example i.
        """
        return self.numbering.slots(self.n, size)

    def keys(self, outputs: Any) -> np.ndarray:
        """Return an int64 for each output; equal outputs of one example have equal keys.

        Other outputs should have other keys: of two planes with one key only one is kept.
        """
        return outputs.keys() if isinstance(outputs, Ragged) else outputs.astype(np.int64)

    def pack(self, planes: Planes) -> dict[str, np.ndarray]:
        """Return the planes as plain arrays for a checkpoint: "row", "loss", and the outputs'.

        "q" is stored only where it is not Δ.
        """
        q = {} if self.q_is_loss else {"q": planes.q}
        return {"row": planes.row, "loss": planes.loss} | q | self.pack_outputs(planes.output)

    def unpack(self, arrays: dict[str, np.ndarray]) -> Planes:
        """Return the planes from the result of `pack`.

        The arrays may come from an untrusted file: raises ValueError or KeyError unless kernels can
        work on the planes.
        """
        row = checks.within("row", arrays["row"], 0, self.n).astype(np.int64, copy=False)
        loss = checks.finite("loss", arrays["loss"], row.size)
        q = loss if self.q_is_loss else checks.finite("q", arrays["q"], row.size)
        return Planes(row, self.unpack_outputs(arrays, row, q), q, loss)

    def pack_outputs(self, outputs: Any) -> dict[str, np.ndarray]:
        """Return the outputs as plain arrays, none of them named "row", "loss" or "q"."""
        return {"output": outputs.values if isinstance(outputs, Ragged) else outputs}

    def unpack_outputs(self, arrays: dict[str, np.ndarray], row: np.ndarray, q: np.ndarray) -> Any:
        """Return the outputs from the result of `pack_outputs`; it checks them like `unpack`."""
        return self.numbering.checked(arrays["output"], row)

    # --- examples --------------------------------------------------------------------------

    def contents(self, start: int, stop: int) -> Iterable[np.ndarray | None]:
        """Return all parts of the examples start … stop − 1 as arrays; None for missing ones.

        Ensures the same arrays for the same examples, however they were read and cut into shards.
        """
        rows = np.arange(start, stop)
        return arrays_of({name: part[rows] for name, part in self.examples.items()}).values()

    def fingerprint(self) -> str:
        """Return a digest of the examples, the same on every machine and executor."""
        state = hashlib.blake2b(digest_size=16)
        for rows in self.chunks(np.arange(self.n)):
            for array in self.contents(int(rows[0]), int(rows[-1]) + 1):
                if array is not None:
                    state.update(f"{array.dtype.str}{array.shape}".encode())
                    state.update(np.ascontiguousarray(array).data)
        return state.hexdigest()

    def take(self: Self, rows: np.ndarray) -> Self:
        """Return the oracle of these rows alone; only shards with unfit examples need it."""
        taken = {name: _frozen(part[rows]) for name, part in self.examples.items()}
        return self._with(taken, self.names.take(rows))

    def arrays(self) -> dict[str, np.ndarray] | None:
        """Return the packed examples as plain arrays for `over`; None without `keeps_examples`."""
        return arrays_of(self.examples) if self.keeps_examples else None

    def over(
        self: Self, arrays: dict[str, np.ndarray], names: Names, unfit: Sequence[int] = ()
    ) -> Self:
        """Return the oracle of the same task over the examples from the result of `arrays`.

        It serves training and evaluation, so it need not have the inputs in the user's form. Rows
        in `unfit` may have true outputs that are not the task's. The arrays may come from an
        untrusted file: raises ValueError or KeyError unless kernels can work on the examples.
        """
        new = self._with(_examples_of(arrays), names)
        new.check_examples(unfit)
        return new

    def check_examples(self, unfit: Sequence[int]) -> None:
        """Raise ValueError for examples that this task cannot have packed.

        Requires parts with equal numbers of rows.
        """
        raise NotImplementedError(f"{type(self).__name__} does not check examples of files")

    def _with(self: Self, examples: Examples, names: Names) -> Self:
        new = copy.copy(self)
        new.examples, new.names = examples, names
        (new.n,) = {len(part) for part in examples.values()}
        return new

    @property
    def n_bytes(self) -> int:
        """Memory of the packed examples, without their weights."""
        return sum(part.nbytes for name, part in self.examples.items() if name != "weight")


def arrays_of(examples: Examples) -> dict[str, np.ndarray]:
    """Return the examples as plain arrays; a Ragged becomes two of them."""
    arrays: dict[str, np.ndarray] = {}
    for name, part in examples.items():
        if isinstance(part, Ragged):
            arrays |= {name: part.values, name + STARTS: part.starts}
        else:
            arrays[name] = part
    return arrays


def _examples_of(arrays: dict[str, np.ndarray]) -> Examples:
    """Return the examples from the result of `arrays_of`."""
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
