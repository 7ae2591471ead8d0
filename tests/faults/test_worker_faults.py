"""Workers that are killed, stopped, hang, starve or exit: the same optimum, and nothing left."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import psutil
import pytest
from faulty import CONFIG, INPUTS, OUTPUTS, Faulty, children, rounds, shared_memory
from pieced import MEMORY_MB, write
from toy_tasks import ToyChain

from distsvm import train

# How each fault is told, and whether the worker is built again or its shards are moved.
FAULTS = {
    "kill": ("ended by signal 9", "building it again"),
    "exit": ("ended with code 3", "building it again"),
    "stop": ("no sign of life for", "others take over"),
    "half": ("no sign of life for", "others take over"),
    "hang": ("no answer after", "others take over"),
    "memory": ("out of memory, with 2 shards and", "others take over"),
}
# Long enough for a busy machine, and far below the 65 s after which Ray speaks up by itself.
OPTIONS = {"worker_timeout_s": 4.0, "call_timeout_s": 60.0}


@pytest.fixture(scope="module")
def expected():
    """The run that nothing happened to, by how many planes are cached."""
    return {
        size: train(ToyChain(), INPUTS, OUTPUTS, executor="serial", cache_size=size, **CONFIG)
        for size in (0, 10)
    }


@pytest.fixture
def _nothing_is_left_behind():
    blocks, before = shared_memory(), children()
    yield
    started = [psutil.Process(pid) for pid in children() - before]
    started = [p for p in started if "resource_tracker" not in " ".join(p.cmdline())]
    assert not started
    assert shared_memory() <= blocks


@pytest.mark.usefixtures("_nothing_is_left_behind")
@pytest.mark.parametrize("how", FAULTS)
def test_every_fault_of_a_worker_gives_the_same_bits(how, expected, tmp_path, caplog):
    told, answer = FAULTS[how]
    with caplog.at_level(logging.WARNING):
        result = train(
            Faulty(folder=str(tmp_path), how=how), INPUTS, OUTPUTS, executor="processes",
            n_workers=2, cache_size=0, executor_options=OPTIONS, **CONFIG,
        )  # fmt: skip
    assert (tmp_path / "failed").exists()
    assert np.array_equal(result.model.w, expected[0].model.w)
    assert rounds(result) == rounds(expected[0])
    note = next(note for note in result.notes if told in note)
    assert answer in note
    assert note in caplog.text
    assert any(note in (record.note or "") for record in result.history)
    assert sorted(s for a in result.activity for s in a.shards) == [0, 1, 2, 3]
    assert not psutil.pid_exists(int(Path(tmp_path, "victim").read_text()))


@pytest.mark.parametrize(
    ("solver", "in_pieces"),
    [("one-slack", False), ("multi-plane", False), ("multi-plane", True), ("n-slack", False)],
)
def test_planes_read_back_from_a_checkpoint_give_the_same_bits(solver, in_pieces, tmp_path):
    """With a checkpoint after every round a lost worker's planes are never lost."""
    config = {**CONFIG, "solver": solver, "executor": "processes", "n_workers": 2}
    config |= {"max_rounds": 30}  # bits that differ do so from the loss on
    data = (INPUTS, OUTPUTS)
    if in_pieces:
        data = write(tmp_path, "python")[1:]
        config |= {"worker_memory_mb": MEMORY_MB, "cache_dir": tmp_path / "packed"}
    undisturbed = train(ToyChain(), *data, **config)
    for name in ("marks", "run"):
        (tmp_path / name).mkdir()
    result = train(
        Faulty(folder=str(tmp_path / "marks"), after=45), *data,
        run_dir=tmp_path / "run", checkpoint_rounds=1, checkpoint_share=1, **config,
    )  # fmt: skip
    assert (tmp_path / "marks" / "failed").exists()
    assert result.history[-1].n_restarts == 1
    assert np.array_equal(result.model.w, undisturbed.model.w)
    assert result.dual == undisturbed.dual


@pytest.mark.parametrize("rounds", [3, 1000])
def test_planes_of_an_older_checkpoint_do_no_harm(rounds, expected, tmp_path):
    for name in ("marks", "run"):
        (tmp_path / name).mkdir()
    result = train(
        Faulty(folder=str(tmp_path / "marks"), after=70), INPUTS, OUTPUTS, solver="multi-plane",
        run_dir=tmp_path / "run", checkpoint_rounds=rounds, checkpoint_share=1,
        executor="processes", n_workers=2, **CONFIG,
    )  # fmt: skip
    assert (tmp_path / "marks" / "failed").exists()
    assert result.stop_reason == "eps"
    assert result.dual <= expected[10].primal
    assert expected[10].dual <= result.primal
    assert [r.dual for r in result.history] == sorted(r.dual for r in result.history)


@pytest.mark.ray
@pytest.mark.parametrize("how", ["kill", "stop", "hang", "memory"])
def test_every_fault_of_an_actor_gives_the_same_bits(how, expected, tmp_path, ray_session):
    result = train(
        Faulty(folder=str(tmp_path), how=how), INPUTS, OUTPUTS, executor="ray", n_workers=2,
        cache_size=0, executor_options=OPTIONS, **CONFIG,
    )  # fmt: skip
    assert (tmp_path / "failed").exists()
    assert np.array_equal(result.model.w, expected[0].model.w)
    assert any(FAULTS[how][1] in note for note in result.notes)
    victim = int(Path(tmp_path, "victim").read_text())
    psutil.wait_procs([psutil.Process(victim)] if psutil.pid_exists(victim) else [], timeout=30)
    assert not psutil.pid_exists(victim)
    hosts = [a for a in ray_session.state.actors().values() if a["ActorClassName"] == "HostActor"]
    assert hosts
    assert {actor["State"] for actor in hosts} == {"DEAD"}
