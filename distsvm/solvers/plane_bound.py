"""Theorem 18 of Tsochantaridis et al. (2005): the most planes that n-slack can add."""

from __future__ import annotations

import numpy as np

from distsvm.solvers.base import Problem


def most_planes(problem: Problem, weight: np.ndarray, eps: float) -> float:
    """Return the theorem's bound of the planes added; 0 if it does not hold or is unknown.

    It holds for weights of 1 and a QP after each plane, and needs R² = max ‖ψ‖². With Δ̄ the
    largest loss it is, by penalty and rescaling:

    - linear, margin: max(2nΔ̄/ε, 8CΔ̄R²/ε²)
    - linear, slack: max(2nΔ̄/ε, 8CΔ̄³R²/ε²)
    - quadratic, margin: (CΔ̄R² + nΔ̄)/ε²
    - quadratic, slack: (CΔ̄²R² + nΔ̄)/ε²
    """
    square, loss, C, n = problem.square_radius, problem.most_loss, problem.C, weight.size
    if problem.penalty == "hard" or square is None or eps <= 0 or (weight != 1).any():
        return 0.0
    is_slack = problem.rescaling == "slack"
    if problem.penalty == "quadratic":
        return float((C * square * (loss**2 if is_slack else loss) + n * loss) / eps**2)
    return float(max(2 * n * loss / eps, 8 * C * square * (loss**3 if is_slack else loss) / eps**2))
