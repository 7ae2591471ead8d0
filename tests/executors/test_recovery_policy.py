"""What is decided about lost, silent and slow workers: a table of events, no process."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distsvm.errors import ConfigError
from distsvm.executors import make_executor
from distsvm.executors.recovery import Decision, Kind, Limits, Loss, RecoveryPolicy, Waiting

REBUILD, MOVE, GIVE_UP = Decision.REBUILD, Decision.MOVE, Decision.GIVE_UP
DIED, MEMORY, SILENT, SLOW, UNPLACED = Kind

# What happened to the worker of shards 2 and 3, one after another: kind, others left, decision.
TABLE = {
    "dead workers are built again, and not for ever": (
        Limits(max_failures=2),
        [(DIED, 3, REBUILD), (DIED, 3, REBUILD), (DIED, 3, GIVE_UP)],
    ),
    "no failure is allowed": (Limits(max_failures=0), [(DIED, 3, GIVE_UP)]),
    "shards of a silent worker move": (Limits(), [(SILENT, 1, MOVE)]),
    "shards of a slow worker move": (Limits(), [(SLOW, 1, MOVE)]),
    "shards of a worker out of memory move": (Limits(), [(MEMORY, 1, MOVE)]),
    "a silent worker is built again where it is alone": (Limits(), [(SILENT, 0, REBUILD)]),
    "a slow worker is built again where it is alone": (Limits(), [(SLOW, 0, REBUILD)]),
    "a starved worker is built again where it is alone": (Limits(), [(MEMORY, 0, REBUILD)]),
    "shards that starve every worker end the run": (
        Limits(max_failures=2),
        [(MEMORY, 3, MOVE), (MEMORY, 2, MOVE), (MEMORY, 1, GIVE_UP)],
    ),
    "all kinds count together": (
        Limits(max_failures=3),
        [(DIED, 2, REBUILD), (SLOW, 2, MOVE), (SILENT, 1, MOVE), (DIED, 1, GIVE_UP)],
    ),
    "a worker without a place gives its shards away": (
        Limits(),
        [(DIED, 1, REBUILD), (UNPLACED, 1, MOVE)],
    ),
    "a place that is not found is no second failure": (
        Limits(max_failures=1),
        [(DIED, 1, REBUILD), (UNPLACED, 1, MOVE)],
    ),
    "the last worker needs a place": (Limits(), [(DIED, 0, REBUILD), (UNPLACED, 0, GIVE_UP)]),
    "fewer workers than are allowed are not enough": (
        Limits(min_workers=3),
        [(SILENT, 3, MOVE), (SLOW, 2, REBUILD), (UNPLACED, 2, GIVE_UP)],
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_decisions_follow_the_table(name):
    limits, events = TABLE[name]
    policy = RecoveryPolicy(limits)
    for kind, n_others, expected in events:
        assert policy.decide(Loss(kind, 1, (2, 3), n_others)) is expected


def test_a_shard_that_kills_its_worker_is_counted_wherever_it_goes():
    policy = RecoveryPolicy(Limits(max_failures=2))
    assert policy.decide(Loss(MEMORY, 0, (0, 1), 2)) is MOVE
    assert policy.decide(Loss(MEMORY, 1, (1, 2), 1)) is MOVE
    assert policy.decide(Loss(DIED, 3, (0, 3), 1)) is REBUILD
    assert policy.decide(Loss(MEMORY, 2, (1,), 1)) is GIVE_UP


def test_workers_without_shards_are_counted_by_number():
    policy = RecoveryPolicy(Limits(max_failures=1))
    decisions = [policy.decide(Loss(DIED, number, (), 1)) for number in (0, 1, 0)]
    assert decisions == [REBUILD, REBUILD, GIVE_UP]


def waiting(silent_s=0.0, waited_s=0.0, others_s=(), n_asked=4, before_s=0.0) -> Waiting:
    return Waiting((2, 3), silent_s, waited_s, others_s, n_asked, before_s)


@pytest.mark.parametrize(
    ("limits", "found", "expected"),
    [
        (Limits(worker_timeout_s=5), waiting(silent_s=4.9, waited_s=999), None),
        (Limits(worker_timeout_s=5), waiting(silent_s=5.1), SILENT),
        (Limits(worker_timeout_s=5), waiting(waited_s=51, others_s=(3, 5), n_asked=4), SLOW),
        (Limits(worker_timeout_s=5), waiting(waited_s=49, others_s=(3, 5), n_asked=4), None),
        (Limits(worker_timeout_s=5), waiting(waited_s=999, others_s=(3,), n_asked=4), None),
        (Limits(worker_timeout_s=60), waiting(waited_s=59, others_s=(0.1, 0.1)), None),
        (Limits(worker_timeout_s=60), waiting(waited_s=61, others_s=(0.1, 0.1)), SLOW),
        (Limits(call_timeout_s=7), waiting(waited_s=7.1), SLOW),
        (Limits(), waiting(waited_s=1e9, n_asked=1), None),
        (Limits(worker_timeout_s=5), waiting(3, 99, (1, 1)), None),
        (Limits(worker_timeout_s=5), waiting(waited_s=51, n_asked=1, before_s=0.1), SLOW),
        (Limits(worker_timeout_s=5), waiting(waited_s=99, n_asked=1, before_s=10), None),
        (Limits(worker_timeout_s=5), waiting(waited_s=101, n_asked=1, before_s=10), SLOW),
    ],
)
def test_who_is_overdue(limits, found, expected):
    assert RecoveryPolicy(limits).overdue(found) is expected


def test_shards_that_were_slow_before_get_twice_the_time():
    policy = RecoveryPolicy(Limits(worker_timeout_s=1))
    late = waiting(waited_s=11, others_s=(1, 1, 1))
    assert policy.overdue(late) is SLOW
    policy.decide(Loss(SLOW, 1, (3,), 2))
    assert policy.overdue(late) is None
    assert policy.overdue(waiting(waited_s=21, others_s=(1, 1, 1))) is SLOW


@given(
    st.lists(st.tuples(st.sampled_from(Kind), st.integers(0, 4)), max_size=30), st.integers(0, 4)
)
def test_no_shard_is_asked_of_more_than_max_failures_further_workers(events, max_failures):
    policy, n_counted = RecoveryPolicy(Limits(max_failures=max_failures)), 0
    for kind, n_others in events:
        decision = policy.decide(Loss(kind, 0, (5,), n_others))
        n_counted += kind is not UNPLACED
        if decision is MOVE:
            assert n_others
        if kind is not UNPLACED:
            assert (decision is GIVE_UP) == (n_counted > max_failures)


@pytest.mark.parametrize(
    "options",
    [
        {"max_failures": -1},
        {"max_failures": 1.5},
        {"min_workers": 0},
        {"worker_timeout_s": 0},
        {"worker_timeout_s": None},
        {"worker_timeout_s": "3"},
        {"call_timeout_s": -1.0},
    ],
)
@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_impossible_limits_are_refused_by_name(executor, options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        make_executor(executor, 1, compiled=True, **options)
