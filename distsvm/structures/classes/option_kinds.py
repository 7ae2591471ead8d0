"""The kinds of values that the options of classes take."""

from __future__ import annotations

from distsvm.kinds import Kind, number
from distsvm.oracles.label_weights import LabelWeight
from distsvm.wording import Form, Message


class LossChoice(Kind):
    """ "zero-one", or a cost matrix; a shell and a file name the file of the matrix."""

    expected = Message(
        Form("'zero-one', or an array of shape (k, k)", "zero-one, or a file with a cost matrix")
    )


class ClassWeight(LabelWeight):
    """Factors of classes' examples."""

    def __init__(self) -> None:
        super().__init__(number(least=0), "≥ 0")
