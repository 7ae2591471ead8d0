"""A cut: a lower bound of the risk that holds for every w."""

from __future__ import annotations

from dataclasses import dataclass

from distsvm.vectors import Vector


@dataclass(frozen=True, eq=False)
class Cut:
    """R_block(w) ≥ b − ⟨a, w⟩ for every w, whoever computed it, at whatever w, however long ago.

    R_block is the part of the risk that the block's examples make up; with one block it is R.
    """

    a: Vector
    b: float
    block: int = 0
