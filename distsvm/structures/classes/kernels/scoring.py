"""The separation oracle of classes: every output is enumerated."""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel
from distsvm.structures.classes.kernels.losses import losses_of


@kernel
def most_violated(scores, truth, losses, slack, output, q, value):
    """For each example the class that maximises its plane's value; ties go to the lowest class.

    value = q − (s_y − s_ŷ) for margin rescaling, q·(1 − (s_y − s_ŷ)) for slack rescaling; the
    truth is among the candidates, with value 0, so value ≥ 0. `losses` has q in the place of Δ.
    """
    delta = np.empty(scores.shape[1])
    for i in range(truth.size):
        s = scores[i]
        y = truth[i]
        losses_of(losses, y, delta)
        best = -1
        highest = -np.inf
        if slack:
            for c in range(s.size):
                v = delta[c] * (1.0 - (s[y] - s[c]))
                if v > highest:
                    highest = v
                    best = c
        else:
            for c in range(s.size):
                v = delta[c] + s[c]
                if v > highest:
                    highest = v
                    best = c
            highest = delta[best] - (s[y] - s[best])
        output[i] = best
        q[i] = delta[best]
        value[i] = highest


@kernel
def plane_values(scores, place, truth, output, q, slack, out):
    """q − ⟨p, w⟩ of each plane, from the scores of all classes of its example, scores[place]."""
    for i in range(output.size):
        s = scores[place[i]]
        margin = s[truth[i]] - s[output[i]]
        out[i] = q[i] * (1.0 - margin) if slack else q[i] - margin
