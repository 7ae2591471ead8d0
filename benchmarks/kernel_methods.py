"""Problems and methods of benchmarks/kernels.py; each fit is a process of its own with a limit."""

from __future__ import annotations

import gzip
import importlib.util
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_svmlight_file
from support import answers, covertype, data_folder, use_cores

from distsvm import KernelSVC
from distsvm.data.synthetic import make_checkers

TEST = 20_000


class Problem(NamedTuple):
    """Rows of a training sample and of a test set, γ of the Gaussian, and C for each example."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    gamma: float
    C: float


def checkers(n: int, seed: int) -> Problem:
    """Noise moves training points; test points have none, so the board itself has the error 0."""
    X, y = make_checkers(n, seed=seed)
    return Problem(X, y, *make_checkers(TEST, noise=0.0, seed=10_000 + seed), 100.0, 1.0)


def forest(n: int, seed: int) -> Problem:
    """Covertype's class 2 against the rest; the constant column is left out."""
    X, y, X_test, y_test = covertype(n, seed)
    y, y_test = (np.where(labels == 2, 1, -1) for labels in (y, y_test))
    return Problem(X[:, :-1], y, X_test[:TEST, :-1], y_test[:TEST], 0.1, 10.0)


@lru_cache
def _adult_rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    with gzip.open(data_folder() / "adult" / name) as file:
        X, y = load_svmlight_file(file, n_features=123)
    return X.toarray(), y.astype(np.int64)


def adult(n: int, seed: int) -> Problem:
    """a9a: 123 binary features; a seeded sample of its training rows, and all its test rows."""
    X, y = _adult_rows("a9a.gz")
    some = np.random.default_rng(seed).permutation(y.size)[:n]
    return Problem(X[some], y[some], *_adult_rows("a9a.t.gz"), 0.05, 1.0)


PROBLEMS: dict[str, Callable[[int, int], Problem]] = {
    "checkers": checkers, "covertype": forest, "adult": adult,
}  # fmt: skip
MOST = {"checkers": 1_000_000, "covertype": 522_910, "adult": 32_561}


class Cell(NamedTuple):
    """What one fit took and found; no error where the limit ended it.

    `rounds` and `certificate` are of our methods, and `reached` says whether their gap is the one
    that was asked for.
    """

    cpu_s: float
    seconds: float
    error: float | None
    train_error: float | None = None
    rounds: int = 0
    gap: float | None = None
    certificate: str = ""
    reached: bool = True


def ours(problem: Problem, limit: float, seed: int, **settings: Any) -> Any:
    own = {"gamma": problem.gamma, "C_per_example": problem.C, "executor": "serial"} | settings
    return KernelSVC(max_seconds=limit, random_state=seed, **own)


def svc(problem: Problem, limit: float, seed: int) -> Any:
    from sklearn.svm import SVC

    return SVC(gamma=problem.gamma, C=problem.C, cache_size=1000)


def intelex(problem: Problem, limit: float, seed: int) -> Any:
    from sklearnex.svm import SVC

    return SVC(gamma=problem.gamma, C=problem.C, cache_size=1000)


def nystroem(problem: Problem, limit: float, seed: int, k: int = 1000) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    features = Nystroem(gamma=problem.gamma, n_components=min(k, problem.y.size), random_state=seed)
    return make_pipeline(features, LinearSVC(C=problem.C, loss="hinge", random_state=seed))


def trees(problem: Problem, limit: float, seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(n_jobs=1, random_state=seed)


PEERS = {
    "SVC": svc, "intelex SVC": intelex, "Nystroem + LinearSVC": nystroem, "ExtraTrees": trees,
}  # fmt: skip
OURS: dict[str, dict[str, Any]] = {
    "constant-time": {"method": "constant-time", "sample": 1000},
    "linear-time": {"method": "linear-time", "sample": 400},
    "low-rank 250": {"method": "low-rank", "basis": 250},
    "low-rank 1000": {"method": "low-rank", "basis": 1000},
    "exact": {"method": "exact"},
}


def known_peers() -> list[str]:
    """Return the peers whose packages are installed."""
    has_intelex = importlib.util.find_spec("sklearnex") is not None
    return [name for name in PEERS if has_intelex or name != "intelex SVC"]


def fitted(
    answer: Any, name: str, data: str, n: int, seed: int, limit: float, settings: dict[str, Any]
) -> None:
    """Fit in this process, on one core, and send a Cell."""
    use_cores(1)
    warnings.simplefilter("ignore")
    problem = PROBLEMS[data](n, seed)
    if name in PEERS:
        model = PEERS[name](problem, limit, seed)
    else:
        basis = {"basis": min(settings["basis"], n)} if "basis" in settings else {}
        few = {"max_rounds": 2, "gamma": problem.gamma} | settings | basis
        if "basis" in few:
            few["basis"] = min(50, n)
        KernelSVC(**few).fit(problem.X[:200], problem.y[:200])  # compiles
        model = ours(problem, limit, seed, **settings | basis)
    answer.send(None)
    cpu_s, began_s = time.process_time(), time.perf_counter()
    model.fit(problem.X, problem.y)
    cpu_s, seconds = time.process_time() - cpu_s, time.perf_counter() - began_s
    error = 1 - float(model.score(problem.X_test, problem.y_test))
    some = slice(0, TEST)
    train_error = 1 - float(model.score(problem.X[some], problem.y[some]))
    if name in PEERS:
        answer.send(Cell(cpu_s, seconds, error, train_error))
        return
    found = model.result_
    about = f" ({found.certified_for})" if found.certified_for else ""
    answer.send(
        Cell(
            cpu_s, seconds, error, train_error, found.n_rounds, found.gap / found.C,
            found.certificate + about, found.stop_reason not in ("max_seconds", "max_rounds"),
        )
    )  # fmt: skip


def run(
    name: str, data: str, n: int, seed: int, limit: float, settings: dict[str, Any] | None = None
) -> Cell:
    """Return the cell of one method; a fit that takes twice the limit is ended."""
    given = OURS.get(name, {}) if settings is None else settings
    found = answers(fitted, 1, 2 * limit + 30, name, data, n, seed, limit, given)
    return found[0] if found else Cell(limit, limit, None, reached=False)
