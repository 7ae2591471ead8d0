"""One exact line-search step towards the newest cuts, in place of a full solution."""

from __future__ import annotations

import numpy as np

from distsvm.qp.base import QPProblem, QPSolution
from distsvm.qp.certificate import certify


class LineSearch:
    """α ← (1 − β/C)·α + β·e_new for each block, with the β in [0, C] that is best for D.

    The newest cut of a block is the last with α = 0 at the start. With η = e_new − α/C and
    γ = ⟨∇D, η⟩, β = clip(γ / ηᵀGη, 0, C), and β = C where ηᵀGη = 0 and γ > 0. Blocks take turns,
    each at the ∇D after the former. D never falls.
    """

    def solve(self, problem: QPProblem, warm_start: np.ndarray, tol: float) -> QPSolution:
        """Return the point after one step for each block; `tol` has no effect."""
        alpha = certify(problem, warm_start, 0).alpha
        gradient = problem.b - problem.gram @ alpha
        n_steps = 0
        for k, limit in enumerate(problem.limit):
            members = np.flatnonzero(problem.block == k)
            candidates = members[alpha[members] == 0]
            if candidates.size == 0 or limit == 0:
                continue
            direction = np.zeros(problem.size)
            direction[members] = -alpha[members] / limit
            direction[candidates[-1]] = 1.0
            slope = gradient @ direction
            change = problem.gram @ direction
            curvature = direction @ change
            if slope <= 0:
                continue
            # compared by product: the quotient may be infinite
            step = limit if slope >= limit * curvature else slope / curvature
            alpha += step * direction
            gradient -= step * change
            n_steps += 1
        return certify(problem, alpha, n_steps)
