"""When checkpoints are due, what they take, and what the result says of them."""

from types import SimpleNamespace

import pytest
from toy_tasks import ToyChain, toy_chains

from distsvm import train
from distsvm.training import saving
from distsvm.training.checkpoint import Written
from distsvm.training.config import TrainConfig
from distsvm.training.saving import Saving
from distsvm.training.validation import Watch

ROUND_S, WRITE_S = 0.5, 2.0


@pytest.fixture
def clock(monkeypatch):
    """A clock that only rounds and checkpoints move on."""
    made = SimpleNamespace(now=0.0)
    monkeypatch.setattr(saving.time, "perf_counter", lambda: made.now)
    return made


def spent(clock, monkeypatch, n_rounds=400, **config):
    """Seconds that checkpoints of 2 s took beside rounds of half a second, and of the session."""

    def write(*_, **__):
        clock.now += WRITE_S
        return Written(7, [])

    monkeypatch.setattr(saving, "write_checkpoint", write)
    folder = SimpleNamespace(path=None, secure_history=lambda: None)
    made = Saving(folder, TrainConfig(**config), {}, None, range(2))
    state = SimpleNamespace(number=0, arrays=dict, clock=SimpleNamespace(seconds={}))
    for number in range(1, n_rounds + 1):
        clock.now += ROUND_S
        if made.is_due(number):
            made.write(state, Watch(), 0.0, 0.0)
    return made, clock.now


def test_checkpoints_take_at_most_a_tenth_of_the_time(clock, monkeypatch):
    made, total_s = spent(clock, monkeypatch, checkpoint_rounds=1)
    assert 0.05 * total_s <= made.spent_s <= 0.1 * total_s
    assert made.spent_s == WRITE_S * made.n_written


def test_a_share_of_one_puts_off_no_checkpoint(clock, monkeypatch):
    made, _ = spent(clock, monkeypatch, checkpoint_rounds=1, checkpoint_share=1)
    assert made.n_written == 400


def test_a_checkpoint_that_was_put_off_is_written_as_soon_as_it_fits(clock, monkeypatch):
    # The first may take 2 s, as nothing is known of it; two of them fit after 40 s.
    made, _ = spent(clock, monkeypatch, n_rounds=76, checkpoint_rounds=75)
    assert made.n_written == 1
    clock.now = 0.0
    made, _ = spent(clock, monkeypatch, n_rounds=77, checkpoint_rounds=38)
    assert made.n_written == 2


def test_the_result_has_the_size_of_checkpoints_and_their_time(tmp_path):
    result = train(
        ToyChain(), *toy_chains(n=10), run_dir=tmp_path / "run", executor="serial", n_shards=2,
        C=2.0, eps=0.1,
    )  # fmt: skip
    (folder,) = (tmp_path / "run" / "checkpoints").iterdir()
    assert result.n_checkpoints == 1
    assert result.checkpoint_bytes == sum(file.stat().st_size for file in folder.iterdir())
    assert 0 < result.seconds["checkpoints"] < result.seconds["total"]
