"""Threads that share work: results in order, the first error, no thread left at work."""

import threading
from contextlib import closing, nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distsvm.team import AHEAD, Team


@pytest.fixture(params=[1, 2, 4])
def team(request):
    made = Team(request.param)
    yield made
    made.close()


@given(n_parts=st.integers(0, 60), n_threads=st.integers(1, 4), bad=st.sets(st.integers(0, 59)))
def test_results_come_in_order_up_to_the_first_error(n_parts, n_threads, bad):
    def act(part):
        if part in bad:
            raise ValueError(part)
        return part * part

    team, found = Team(n_threads), []
    first = min((part for part in bad if part < n_parts), default=n_parts)
    expected = pytest.raises(ValueError, match=f"^{first}$") if first < n_parts else nullcontext()
    with closing(team), expected:
        for result in team.map(act, iter(range(n_parts))):
            found.append(result)
    assert found == [part * part for part in range(first)]


def test_a_part_may_be_shared_again(team):
    def inner(part):
        return sum(team.map(lambda k: part * k, range(9)))

    assert list(team.map(inner, range(30))) == [36 * part for part in range(30)]


def test_two_threads_are_at_work_at_once_and_the_caller_is_one_of_them():
    team, both, seen = Team(2), threading.Barrier(2), set()

    def meet(_):
        both.wait()
        seen.add(threading.get_ident())

    list(team.map(meet, range(2)))
    team.close()
    assert len(seen) == 2
    assert threading.get_ident() in seen


def test_callers_that_are_threads_of_the_team_are_helped_by_those_that_have_nothing_to_do():
    team, both = Team(2, calls_itself=True), threading.Barrier(2)
    assert team.submit(lambda: list(team.map(lambda _: both.wait() >= 0, range(2)))).result() == [
        True, True,
    ]  # fmt: skip
    team.close()


@pytest.mark.parametrize("n_threads", [2, 3])
def test_few_parts_are_under_way_before_results_are_taken(n_threads):
    team, taken = Team(n_threads), []

    def parts():
        for part in range(1_000):
            taken.append(part)
            yield part

    results = team.map(lambda part: part, parts())
    next(results)
    results.close()
    team.close()
    assert len(taken) <= AHEAD * n_threads + 1


def test_whoever_leaves_half_way_leaves_no_thread_at_work():
    team, begun, left, ended = Team(2), threading.Event(), threading.Event(), []

    def act(part):
        if part:
            begun.set()
            left.wait()
            ended.append(part)
        return part

    threads = [threading.Thread(target=lambda: (begun.wait(), left.set()))]
    threads[0].start()
    results = team.map(act, range(2))
    assert next(results) == 0
    if not begun.is_set():  # nobody has begun it, and now nobody will
        left.set()
        begun.set()
    results.close()
    n_ended = len(ended)
    team.close()
    threads[0].join()
    assert len(ended) == n_ended
