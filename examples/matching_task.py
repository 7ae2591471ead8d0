"""A structure that is not built in: matching, such as words of a sentence with its translation.

x has a row of features for every pair (left i, right j), y says which j each i belongs to, and the
search is the assignment problem. All cores work on it: python examples/matching_task.py
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

import distsvm
from distsvm.testing import check_task


@dataclass(frozen=True)
class Matching(distsvm.Task):
    """x is an array of shape (m, m, dim), y a tuple of m numbers."""

    dim: int

    def joint_features(self, x, y):
        return x[np.arange(len(y)), list(y)].sum(axis=0)

    def loss(self, y, y_hat):
        return np.mean(np.array(y) != np.array(y_hat))

    def decode(self, w, x):
        return best_matching(x @ w)

    def separate(self, w, x, y, rescaling):
        wrong = np.full(x.shape[:2], 1 / len(y))
        wrong[np.arange(len(y)), list(y)] = 0
        return best_matching(x @ w + wrong)


def best_matching(scores):
    return tuple(linear_sum_assignment(scores, maximize=True)[1].tolist())


def make_examples(n, m, dim, seed):
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal(dim)
    inputs = [rng.standard_normal((m, m, dim)) for _ in range(n)]
    return inputs, [best_matching(x @ hidden + rng.standard_normal((m, m))) for x in inputs]


if __name__ == "__main__":
    task = Matching(dim=20)
    inputs, outputs = make_examples(n=1500, m=8, dim=20, seed=0)
    check_task(task, list(zip(inputs[:5], outputs[:5], strict=True)))
    result = distsvm.train(task, inputs[:1000], outputs[:1000], C=100)
    score = result.model.evaluate(inputs[1000:], outputs[1000:])
    print(f"{result.stop_reason}: primal {result.primal:.4f}, dual {result.dual:.4f}")
    print(f"{result.n_rounds} rounds, {result.n_oracle_calls} oracle calls")
    print(f"test loss {score.mean_loss:.3f}, matchings entirely right {score.accuracy:.3f}")
