"""Folders of models, checkpoints and runs that lie: opened, or refused with an error of ours.

What lies is signed again, so that nothing is refused for its digest alone, and what could be opened
is used: compiled code does not look at what it is given, and would bring the process down.
"""

import json
import os
import random
import socket
import warnings

import pytest
from folders import CASES, SMALL, copied, spoil
from mutation import fuzz
from toy_tasks import ToyChain

from distsvm import load_model
from distsvm.cli import exits, main
from distsvm.errors import DistSVMError
from distsvm.report import write_report


@pytest.fixture(scope="module", params=CASES)
def case_and_run(request, tmp_path_factory):
    case = CASES[request.param]()
    run = tmp_path_factory.mktemp("fuzz") / "run"
    case.train(run)
    return case, run


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy, about numbers that nobody would train with
        yield


def test_a_made_up_model_predicts_or_is_refused(case_and_run, tmp_path):
    case, run = case_and_run

    def attempt(rng: random.Random) -> None:
        folder = copied(run / "model", tmp_path / "model")
        spoil(folder, rng)
        task = ToyChain if isinstance(case.task, ToyChain) else None
        load_model(folder, task).predict(case.inputs, executor="serial")

    fuzz(attempt, DistSVMError)


def test_a_made_up_run_goes_on_or_is_refused(case_and_run, tmp_path):
    case, run = case_and_run

    def attempt(rng: random.Random) -> None:
        folder = copied(run, tmp_path / "run")
        spoil(folder, rng)
        case.train(folder, resume=True, max_rounds=6)

    fuzz(attempt, DistSVMError)


def test_a_made_up_run_is_listed_told_of_and_stopped_or_refused(case_and_run, tmp_path, capsys):
    _, run = case_and_run
    holder = {"token": "x", "host": socket.gethostname(), "pid": os.getpid(), "born": None,
              "job": None}  # fmt: skip

    def attempt(rng: random.Random) -> None:
        folder = copied(run, tmp_path / "run")
        (folder / "lock.json").write_text(json.dumps(holder))
        if rng.random() < 0.5:  # a run that seems to go on
            state = json.loads((folder / "state.json").read_text())
            told = state | holder | {"state": "running"}
            (folder / "state.json").write_text(json.dumps(told))
        spoil(folder, rng, SMALL)
        for verb in ("runs", "status", "stop"):
            assert main([verb, str(folder)]) != exits.UNEXPECTED, capsys.readouterr().err
            capsys.readouterr()

    fuzz(attempt, DistSVMError)


def test_a_made_up_run_is_shown_or_refused(case_and_run, tmp_path, capsys):
    _, run = case_and_run

    def attempt(rng: random.Random) -> None:
        folder = copied(run, tmp_path / "run")
        spoil(folder, rng)
        for shown in (folder, *(folder / "checkpoints").glob("round-*"), folder / "model"):
            assert main(["inspect", str(shown)]) != exits.UNEXPECTED, capsys.readouterr().err
            capsys.readouterr()
        write_report(folder)

    fuzz(attempt, DistSVMError)
