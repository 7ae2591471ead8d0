"""The outputs with α > 0: of which examples they are, and how much they count in w."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from distsvm import checks
from distsvm.messages import Planes
from distsvm.oracles.oracle import Oracle
from distsvm.oracles.outputs import canonical

MOST_TOLD = 10_000
"""The most planes that a worker tells of a block, so that no table grows with the data."""


class Support(NamedTuple):
    """A plane with α > 0: an output, its weight α in w, and its Δ.

    `example` is the number of its example in the data, from 0 on. `output` is in the user's form;
    in files it is JSON.
    """

    example: int
    output: Any
    alpha: float
    loss: float


def numbers_of(oracle: Oracle, rows: np.ndarray) -> np.ndarray:
    """Return the numbers of these rows' examples in the whole data."""
    return np.asarray(oracle.names.rows)[rows] + (oracle.names.first or 0)


def texts_of(oracle: Oracle, planes: Planes) -> list[str]:
    """Return the outputs of these planes as JSON."""
    if not len(planes):
        return []
    public, encode = oracle.public_of(planes), oracle.task.encode_output
    if isinstance(public, np.ndarray) and public.ndim == 1:  # few labels, many times each
        labels, place = np.unique(public, return_inverse=True)
        texts = [canonical(encode(label)) for label in labels]
        return [texts[k] for k in place.ravel().tolist()]
    return [canonical(encode(output)) for output in public]


@dataclass(frozen=True, eq=False)
class SupportTable:
    """Planes with α > 0, after a round; of many, those with the largest α.

    Parameters
    ----------
    number : int64 array of shape (m,)
        The example's number in the whole data.
    alpha, loss : float64 arrays of shape (m,)
    text : list of str
        The outputs as JSON.
    round : int
        0 where the planes were lost since.
    """

    number: np.ndarray
    alpha: np.ndarray
    loss: np.ndarray
    text: list[str]
    round: int

    @classmethod
    def of(cls, oracle: Oracle, planes: Planes, alpha: np.ndarray, number: int) -> SupportTable:
        """Return the table of these planes of an oracle after the round of this number.

        Of more than MOST_TOLD planes it has those with the largest α.
        """
        if alpha.size > MOST_TOLD:
            largest = np.sort(np.argsort(-alpha, kind="stable")[:MOST_TOLD])
            planes, alpha = planes.take(largest), alpha[largest]
        texts = texts_of(oracle, planes)
        return cls(numbers_of(oracle, planes.row), alpha, planes.loss, texts, number)

    @classmethod
    def joined(cls, tables: Sequence[SupportTable]) -> SupportTable:
        """Return all planes of these tables of one round, the largest α first."""
        number, alpha, loss = (
            np.concatenate([getattr(table, name) for table in tables])
            for name in ("number", "alpha", "loss")
        )
        text = [line for table in tables for line in table.text]
        order = np.lexsort((number, -alpha))
        lines = [text[j] for j in order.tolist()]
        return cls(number[order], alpha[order], loss[order], lines, tables[0].round)

    def __len__(self) -> int:
        return self.alpha.size

    def largest(self, n: int) -> SupportTable:
        """Return the first n planes, which have the largest α in a table made by `joined`."""
        return SupportTable(
            self.number[:n], self.alpha[:n], self.loss[:n], self.text[:n], self.round
        )

    def lines(self, n: int | None = None) -> list[Support]:
        """Return the first n planes, or all, with outputs as JSON."""
        some = (array[:n].tolist() for array in (self.number, self.alpha, self.loss))
        return [
            Support(number, text, alpha, loss)
            for number, alpha, loss, text in zip(*some, self.text[:n], strict=True)
        ]

    # --- files -----------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the table as plain arrays."""
        return {
            "number": self.number, "alpha": self.alpha, "loss": self.loss,
            **packed_texts("output", self.text), "round": np.array(self.round),
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> SupportTable:
        """Return the table from the result of `arrays`, which may come from an untrusted file."""
        alpha = checks.finite("alpha", arrays["alpha"])
        m = alpha.size
        number = checks.vector("number", arrays["number"], "i", m)
        loss = checks.finite("loss", arrays["loss"], m)
        number_of_round = int(checks.array("round", arrays["round"], "i", ()))
        return cls(number, alpha, loss, unpacked_texts("output", arrays, m), number_of_round)


def packed_texts(name: str, texts: Sequence[str]) -> dict[str, np.ndarray]:
    """Return texts as two arrays of this name: bytes, and where each text starts."""
    coded = [text.encode() for text in texts]
    starts = np.cumsum([0, *map(len, coded)])
    return {name: np.frombuffer(b"".join(coded), np.uint8), f"{name}_starts": starts}


def unpacked_texts(name: str, arrays: Mapping[str, np.ndarray], n: int) -> list[str]:
    """Return n texts from the result of `packed_texts`, which may come from an untrusted file."""
    joined = checks.vector(name, arrays[name], "u1").tobytes()
    starts = checks.starts(f"{name}_starts", arrays[f"{name}_starts"], len(joined), n).tolist()
    return [joined[a:b].decode() for a, b in pairwise(starts)]
