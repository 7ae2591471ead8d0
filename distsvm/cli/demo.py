"""`distsvm demo`: a training run on the digits that scikit-learn bundles."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from distsvm.cli import exits
from distsvm.cli.display import watched
from distsvm.cli.formatting import pairs, seconds, value
from distsvm.cli.options import WHERE, add_place, check_config, given_config
from distsvm.cli.output import Output
from distsvm.cli.parser import Parser
from distsvm.cli.summary import finish
from distsvm.cli.targets import check_run_target
from distsvm.kinds import path
from distsvm.model import Model
from distsvm.registry import task_classes
from distsvm.training.train import train

SEED = 0
TEST_SHARE = 0.25
SHADES, ASCII_SHADES = " ░▒▓█", " .:*#"
DARKEST, LIGHTEST = 232, 255  # greys of the 256 colours


def add_arguments(parser: Parser) -> None:
    parser.general.flag(
        "--keep", path, metavar="DIR", help="a new folder to keep the run and its model in"
    )
    add_place(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    config = given_config(args, WHERE) | ({} if args.keep is None else {"run_dir": args.keep})
    check_config(config)
    if args.keep is not None:
        check_run_target(args.keep, "--keep")
    X, y, X_test, y_test = load()
    output.say(
        f"scikit-learn's digits: {len(y)} images of 8×8 pixels to train on, {len(y_test)} to test",
        "",
    )
    task = task_classes()["multiclass"]()
    result, compiled = watched(
        output,
        "distsvm demo",
        lambda callbacks: train(task, X, y, callbacks=callbacks, **config),
    )
    checked = primal_in_numpy(result.model, X, y, result.C)
    accuracy = float((result.model.predict(X_test) == y_test).mean())
    peer, peer_s = linear_svc(X, y, X_test, y_test)
    model = None if args.keep is None else f"{args.keep}/model"
    code = finish(output, result, compiled, model=model, run_dir=args.keep, resumable=False)
    agrees = abs(checked - result.primal) <= 1e-9 * abs(checked)
    output.record(
        "check",
        {"primal": checked, "agrees": agrees, "test_accuracy": accuracy, "linear_svc": peer},
    )
    style = output.style
    mark = style.good("agrees") if agrees else style.bad("DIFFERS")
    took, shown = seconds(result.seconds["total"]), style.bold(f"{accuracy:.4f}")
    rows = [
        ("check", f"½‖w‖² + C·R(w) anew in NumPy: {value(checked)}, {mark}"),
        ("test", f"accuracy {shown} in {took}"),
        ("LinearSVC", f"accuracy {peer:.4f} in {seconds(peer_s)} (scikit-learn's default, "
                      "same split)"),
    ]  # fmt: skip
    images = pictures(result.model, X_test, y_test, output)
    output.say("", *pairs(rows, style, output.width), "", *images)
    if args.keep is not None:
        output.say("", f"Go on with: distsvm inspect {args.keep}, distsvm report {args.keep}")
    if not agrees:
        output.error("the primal value of the run is not the one that NumPy finds")
        return exits.UNEXPECTED
    return code


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return images and labels for training, then those of a seeded quarter for the test."""
    # Imported here, because no other verb needs scikit-learn.
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(SEED).permutation(len(y))
    n_test = round(TEST_SHARE * len(y))
    test, rest = order[:n_test], order[n_test:]
    return X[rest], y[rest], X[test], y[test]


def primal_in_numpy(model: Model, X: np.ndarray, y: np.ndarray, C: float) -> float:
    """Return ½‖w‖² + C·mean_i max_ŷ ([y ≠ ŷ] + ⟨w_ŷ − w_y, x⟩), computed from w alone."""
    k = len(np.unique(y))
    W = model.w.reshape(X.shape[1] + 1, k)
    scores = np.column_stack([X, np.ones(len(X))]) @ W
    augmented = scores + 1.0
    rows = np.arange(len(y))
    augmented[rows, y] -= 1.0
    hinge = augmented.max(axis=1) - scores[rows, y]
    return float(0.5 * np.sum(W * W) + C * hinge.mean())


def linear_svc(X: Any, y: Any, X_test: Any, y_test: Any) -> tuple[float, float]:
    """Return the test accuracy of scikit-learn's default, and its seconds."""
    from sklearn.svm import LinearSVC

    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the default does not converge here
        peer = LinearSVC(random_state=SEED).fit(X, y)
    elapsed_s = time.perf_counter() - started
    return float((peer.predict(X_test) == y_test).mean()), elapsed_s


def pictures(model: Model, X: np.ndarray, y: np.ndarray, output: Output) -> list[str]:
    """Return a few test digits with their predictions; the last one is a mistake, if any."""
    predicted = model.predict(X)
    n = max(1, (output.width - 2) // 18)
    wrong = np.flatnonzero(predicted != y)[:1]
    right = [int(np.flatnonzero((predicted == y) & (y == label))[0]) for label in (0, 3, 4, 8, 9)]
    chosen = [*right[: n - len(wrong)], *wrong.tolist()]
    captions = [
        f"{predicted[i]}" + ("" if predicted[i] == y[i] else f" (truly {y[i]})") for i in chosen
    ]
    return drawn(X[chosen].reshape(-1, 8, 8) / 16.0, captions, output)


def drawn(images: np.ndarray, captions: Sequence[str], output: Output) -> list[str]:
    """Return images side by side, two columns a pixel, with a caption below each.

    Parameters
    ----------
    images : array of shape (n, height, width), values in [0, 1]
    captions : n texts
    """
    width = 2 * images.shape[2]
    lines = []
    for row in range(images.shape[1]):
        lines.append("  " + "  ".join(_row(image[row], output) for image in images))
    lines.append("  " + "  ".join(f"→ {caption}"[:width].ljust(width) for caption in captions))
    return lines


def _row(pixels: np.ndarray, output: Output) -> str:
    if output.style.on:
        greys = DARKEST + np.rint(pixels * (LIGHTEST - DARKEST)).astype(int)
        return "".join(output.style.coded(f"48;5;{grey}", "  ") for grey in greys)
    shades = SHADES if output.unicode else ASCII_SHADES
    return "".join(2 * shades[round(float(p) * (len(shades) - 1))] for p in pixels)
