"""Messages through a pipe that does not wait, a piece at a time."""

from __future__ import annotations

import multiprocessing
import os

import numpy as np
import pytest

from distsvm.executors import wire
from distsvm.executors.transport import LARGE


@pytest.fixture
def pipe():
    """Two ends that never wait."""
    ends = multiprocessing.Pipe()
    for end in ends:
        os.set_blocking(end.fileno(), False)
    yield ends
    for end in ends:
        end.close()


@pytest.mark.parametrize("n_arrays", [0, 1, 200])
@pytest.mark.parametrize("writable", [True, False])
def test_a_message_larger_than_the_pipe_arrives_in_pieces(pipe, n_arrays, writable):
    ours, theirs = pipe
    sent = [np.full(LARGE // 8 + i, float(i)) for i in range(n_arrays)]
    sent.append(np.arange(3.0))  # small: it travels within the pickle
    outgoing = wire.Outgoing(wire.encode(("text", sent)))
    incoming = wire.Incoming(writable=writable)
    assert incoming.read(theirs) is None
    n_pieces, message, done = 0, None, False
    while message is None:
        done = done or outgoing.write(ours)
        message = incoming.read(theirs)
        n_pieces += 1
    assert done
    assert n_pieces > 1 or n_arrays < 2
    text, found = wire.decode(*message)
    assert text == "text"
    for mine, array in zip(found, sent, strict=True):
        np.testing.assert_array_equal(mine, array)
        assert mine.flags.writeable is writable


def test_two_messages_in_a_row_are_told_apart(pipe):
    ours, theirs = pipe
    for number in (1, 2):
        assert wire.Outgoing(wire.encode(number)).write(ours)
    for number in (1, 2):
        message = wire.Incoming(writable=True).read(theirs)
        assert message is not None
        assert wire.decode(*message) == number


def test_the_end_of_a_pipe_half_way_is_an_error(pipe):
    ours, theirs = pipe
    assert not wire.Outgoing(wire.encode(np.ones(2**21))).write(ours)
    ours.close()
    with pytest.raises(EOFError):
        wire.Incoming(writable=True).read(theirs)
