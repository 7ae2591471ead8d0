"""Two classes: 1-slack against linear SVCs, as in Table 2 of the 1-slack paper.

Run: python benchmarks/binary.py              (about 15 minutes; --quick: less than a minute)

Class 1 of Covertype against the rest, and Adult (a9a), without an intercept but for LIBSVM's SVC,
which always has one, and so another optimum. 1-slack has no
cache and eps = 0.1 with the loss scaled to 100, as in the paper, which is 0.001 in units of the
hinge; the SVCs have tol 0.1, their loosest. All have the C of the paper's scaling, C/n = 0.019 for
the loss 1 unless --C says otherwise. A run of the SVC that takes longer than the limit is ended in
its own process, and `> limit` says so; sizes that come after it are left out. Support vectors of
1-slack are cuts with α > 0. `objective` is ½‖w‖² + C·Σ hinge, computed by NumPy for all.

The paper (1-slack / SVM-light; CPU seconds and support vectors): Covertype 1, 522,911 rows: 53.4 /
25,514.3 and 27 / 279,092; the other sets of its Table 2 are not at hand.
"""

from __future__ import annotations

import argparse
import time
import warnings
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from support import answers, covertype, data_folder, limited, machine, table

from distsvm import BinaryTask, train

SCALE = 100.0
SIZES = (1_000, 5_000, 20_000, 100_000, 522_911)


def adult() -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Return (X, y, X_test, y_test) of a9a."""
    from sklearn.datasets import load_svmlight_file

    folder = data_folder() / "adult"
    X, y = load_svmlight_file(str(folder / "a9a.gz"), n_features=123)
    X_test, y_test = load_svmlight_file(str(folder / "a9a.t.gz"), n_features=123)
    return X.tocsr(), y, X_test.tocsr(), y_test


def rows_of(name: str, n: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Return n training rows and the test rows of a data set, with labels −1 and 1."""
    if name == "adult":
        X, y, X_test, y_test = adult()
        order = np.random.default_rng(0).permutation(y.size)[:n]
        return X[order], y[order], X_test, y_test
    X, y, X_test, y_test = covertype(n)
    return X, np.where(y == 1, 1.0, -1.0), X_test, np.where(y_test == 1, 1.0, -1.0)


def objective(w: np.ndarray, intercept: float, X: Any, y: np.ndarray, C: float) -> float:
    """Return ½‖w‖² + C·Σ hinge."""
    return float(0.5 * w @ w + C * np.maximum(0.0, 1.0 - y * (X @ w + intercept)).sum())


def run_ours(pipe: Connection, name: str, n: int, C: float) -> None:
    """Send what 1-slack comes to: CPU seconds, support, w."""
    X, y, *_ = rows_of(name, n)
    task = BinaryTask(loss_scale=SCALE, intercept_scaling=0.0)
    given = {"solver": "one-slack", "cache_size": 0, "executor": "serial", "C": C * n * SCALE}
    train(task, X, y, max_rounds=2, **given)
    pipe.send(None)
    began_s = time.process_time()
    result = train(task, X, y, eps=0.1, **given)
    cpu_s = time.process_time() - began_s
    # A loss of 100 makes w a hundred times as long.
    pipe.send((cpu_s, result.n_support_cuts, result.model.w[: X.shape[1]] / SCALE, 0.0))


def run_svc(pipe: Connection, name: str, n: int, C: float) -> None:
    """Send what LIBSVM's linear SVC comes to; it always has an intercept, which costs nothing."""
    from sklearn.svm import SVC

    X, y, *_ = rows_of(name, n)
    pipe.send(None)
    began_s = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SVC(kernel="linear", C=C, tol=0.1, cache_size=500).fit(X, y)
    w = model.coef_.toarray().ravel() if hasattr(model.coef_, "toarray") else model.coef_.ravel()
    cpu_s, intercept = time.process_time() - began_s, float(model.intercept_[0])
    pipe.send((cpu_s, int(model.n_support_.sum()), w, intercept))


def run_linear(pipe: Connection, name: str, n: int, C: float) -> None:
    """Send what LIBLINEAR comes to, for orientation; it tells no support vectors."""
    from support import liblinear

    X, y, *_ = rows_of(name, n)
    pipe.send(None)
    model, _, cpu_s = liblinear(X, y, C, 0.1)
    pipe.send((cpu_s, -1, model.coef_.ravel(), 0.0))


METHODS = {"1-slack": run_ours, "SVC (LIBSVM)": run_svc, "LinearSVC": run_linear}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1,000 and 2,000 rows, 20 s a cell")
    parser.add_argument("--C", type=float, default=0.019, help="C of an example, for the loss 1")
    parser.add_argument("--seconds", type=float, default=120.0, help="limit of a cell")
    args = parser.parse_args()
    limit_s = 20.0 if args.quick else args.seconds
    print(machine())
    for name, most in (("covertype", SIZES[-1]), ("adult", 32_561)):
        sizes = (1_000, 2_000) if args.quick else sorted({min(n, most) for n in SIZES})
        rows, over = [], set()
        for n in sizes:
            X, y, X_test, y_test = rows_of(name, n)
            for method, act in METHODS.items():
                if method in over:
                    rows.append([f"{n:,}", method, "left out", "", "", ""])
                    continue
                found = answers(act, 1, limit_s, name, n, args.C)
                if not found:
                    over.add(method)
                    rows.append([f"{n:,}", method, limited(f"{limit_s:.0f}", False), "", "", ""])
                    continue
                cpu_s, support, w, b = found[0]
                right = np.mean(np.where(X_test @ w + b > 0, 1.0, -1.0) == y_test)
                rows.append([
                    f"{n:,}", method, f"{cpu_s:.2f}", f"{support:,}" if support >= 0 else "–",
                    f"{objective(w, b, X, y, args.C):.6g}", f"{100 * right:.2f}%",
                ])  # fmt: skip
        print(f"\n{name}")
        table(["n", "method", "CPU s", "support", "objective", "accuracy"], rows)


if __name__ == "__main__":
    main()
