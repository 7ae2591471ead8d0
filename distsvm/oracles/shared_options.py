"""Options that tasks of several structures declare."""

from __future__ import annotations

from typing import Any

from distsvm.kinds import choice, number
from distsvm.options import option


def loss_scale_option() -> Any:
    """Return the field loss_scale of a task."""
    return option(
        1.0, kind=number(above=0), metavar="S",
        help="multiplies every loss, and so the unit of {eps}. The objective at (C, s) is s² times "
        "that at (C/s, 1)",
    )  # fmt: skip


def unfit_option() -> Any:
    """Return the field unfit of a task with hard constraints or a grammar."""
    return option(
        "error", kind=choice("error", "drop"), metavar="WHAT",
        help="what to do with training examples whose output breaks the hard constraints or the "
        "grammar: refuse the first by name (error), or leave all of them out and count them (drop)",
    )  # fmt: skip
