"""A cut: a lower bound of the risk that holds for every w."""

from __future__ import annotations

from dataclasses import dataclass

from distsvm.vectors import Vector


@dataclass(frozen=True, eq=False)
class Cut:
    """R_block(w) ≥ b − ⟨a, w⟩ for every w, not only for the w at which it was found.

    R_block is the part of the risk of the block's examples; with one block it is R.
    """

    a: Vector
    b: float
    block: int = 0
