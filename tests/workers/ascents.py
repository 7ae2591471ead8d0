"""Rounds of the dual ascent on one worker, by hand."""

from dataclasses import replace

import numpy as np

from distsvm.messages import Ascent
from distsvm.vectors import to_dense

TODO = Ascent(
    number=1,
    taken=1.0,
    sigma=1.0,
    ask="all",
    share=0.3,
    n_passes=2,
    n_parts=1,
    least_rate=0.0,
    tol=0.0,
)
KINDS = ["all", "some", "none", "some", "all", "none"]


def several(made, kinds):
    """Rounds of these kinds, each at the w that all before have led to; the w, and the answers."""
    w, answers = np.zeros(made.dim), []
    for number, ask in enumerate(kinds, start=1):
        answers.append(made.part.ascend(w, None, replace(TODO, number=number, ask=ask)))
        w = w + to_dense(answers[-1].u)
        w.flags.writeable = False
    return w, answers


def check_checkpoint(make, folder):
    """A worker that takes up the planes of another goes on with the same bits."""
    for taken in (1.0, 0.5):
        made, twin = make(), make()
        w, _ = several(made, KINDS)
        digest = made.save_planes(str(folder / "planes.npz"))
        assert twin.load_planes(str(folder / "planes.npz"), digest)
        for number, ask in enumerate(["none", "some", "all", "none"], start=7):
            todo = replace(TODO, number=number, ask=ask, taken=taken)
            one, two = made.part.ascend(w, None, todo), twin.part.ascend(w, None, todo)
            assert np.array_equal(to_dense(one.u), to_dense(two.u))
            assert (one.linear, one.gain, one.gap) == (two.linear, two.gain, two.gap)
            assert (one.n_planes, one.work, one.lost) == (two.n_planes, two.work, False)
