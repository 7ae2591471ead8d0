"""Workers that join during a run, and the shards that they get."""

from __future__ import annotations

import time
from collections import deque

from distsvm.executors.assignment import handed_over
from distsvm.executors.calls import Errand, values
from distsvm.executors.crew import Crew, Member
from distsvm.executors.transport import Request

# Seconds between searches for room, and seconds that the start of a worker may take.
LOOK_EVERY_S = 3.0
PATIENCE_S = 60.0


class Growth:
    """Starts workers while there are fewer than wanted, without waiting for them.

    Parameters
    ----------
    n_wanted : the number of workers; None for as many as there is room for
    """

    def __init__(self, crew: Crew, n_wanted: int | None) -> None:
        self._crew, self._n_wanted = crew, n_wanted
        self._invited: set[int] = set()
        self._looked_s = self._invited_s = time.monotonic()

    def step(self) -> None:
        """Look for room, or for workers whose start has ended; called between rounds."""
        now = time.monotonic()
        if now - self._looked_s < LOOK_EVERY_S:
            return
        self._looked_s = now
        if self._invited:
            self._welcome(now)
        else:
            self._invite(now)

    def _invite(self, now: float) -> None:
        crew = self._crew
        most = len(crew.recipe.builders) if self._n_wanted is None else self._n_wanted
        longest_group = max(map(len, crew.groups), default=0)
        n_missing = min(most, longest_group) - crew.n_unwanted - len(crew.active())
        if n_missing <= 0:
            return
        n_new = min(n_missing, crew.transport.room())
        if n_new > 0:
            first = len(crew.members)
            self._invited, self._invited_s = set(range(first, first + n_new)), now
            crew.members += [Member(retired=True) for _ in range(n_new)]
            crew.transport.invite(sorted(self._invited))

    def _welcome(self, now: float) -> None:
        crew = self._crew
        crew.settle()
        here = sorted(self._invited & set(crew.transport.arrived()))
        if here:
            self._invited -= set(here)
            self._hand_over(here)
        elif now - self._invited_s > PATIENCE_S:
            crew.transport.end(sorted(self._invited))
            self._invited = set()

    def _hand_over(self, newcomers: list[int]) -> None:
        """Give the new workers their share of the shards, with the objects' states."""
        crew = self._crew
        hosted = {number: crew.members[number].shards for number in crew.active()}
        taken = handed_over(newcomers, hosted, crew.costs, crew.groups)
        carried = self._carried([shard for shards in taken.values() for shard in shards])
        errands = []
        for number in newcomers:
            crew.members[number].retired = False
            shards = crew.members[number].shards = tuple(taken.get(number, ()))
            steps = crew.recipe.steps(shards)
            states = [carried.get(shard) for shard in shards]
            steps.append(Request("take_up", (), (shards, states)))
            errands.append(crew.begin(number, Errand(deque(steps))))
        values(crew.finish(errands))
        who = "a worker" if len(newcomers) == 1 else f"{len(newcomers)} workers"
        n_taken = sum(map(len, taken.values()))
        crew.note(
            f"{who} joined and took over {n_taken} shards; there are {len(crew.active())} now"
        )

    def _carried(self, shards: list[int]) -> dict[int, object]:
        """Return the states of these shards' objects, which their present workers drop."""
        crew, errands = self._crew, []
        for number in crew.active():
            member = crew.members[number]
            mine = [shard for shard in member.shards if shard in shards]
            if mine:
                request = Request("carry", (), (mine,))
                errands.append((mine, crew.begin(number, Errand(deque([request]), request))))
        carried: dict[int, object] = {}
        for mine, errand in errands:
            for end in crew.finish([errand]):
                if end.reply is not None and not end.reply.failure and end.request is not None:
                    carried.update(zip(mine, end.reply.value, strict=True))
        for number in crew.active():
            member = crew.members[number]
            rest = tuple(shard for shard in member.shards if shard not in shards)
            if rest != member.shards:
                member.shards = rest
                crew.begin(number, Errand(deque([Request("build", (), ((), rest))])))
        crew.settle()
        return carried
