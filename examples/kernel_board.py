"""Classify points on a board of 4 × 4 squares: a Gaussian kernel function by a low-rank map.

No linear function of the two coordinates can tell the colours apart. The map makes one feature of
each basis input, so that a linear solver trains a non-linear function, and its gap is certified for
that low-rank problem. Run it: python examples/kernel_board.py
"""

from distsvm import BinarySVC, KernelSVC
from distsvm.data.synthetic import make_checkers

if __name__ == "__main__":
    X, y = make_checkers(4000, flipped=0.05, seed=0)
    X_test, y_test = make_checkers(4000, noise=0.0, seed=1)

    linear = BinarySVC().fit(X, y)
    print(f"linear: {linear.score(X_test, y_test):.3f} of test points are right")

    for basis in (20, 100, 400):
        model = KernelSVC(method="low-rank", basis=basis, gamma=40.0, C_per_example=1.0).fit(X, y)
        result = model.result_
        print(
            f"{basis} basis inputs: {model.score(X_test, y_test):.3f} are right; "
            f"{result.dual:.1f} ≤ optimum ≤ {result.primal:.1f}, "
            f"{result.certificate}, certified for {result.certified_for}"
        )
    print(model.model_.task.features.in_words())
