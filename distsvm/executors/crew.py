"""The workers of a remote executor: their errands, and the shards of lost workers."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from distsvm.errors import PlacementError, WorkerLost
from distsvm.executors.assignment import spread
from distsvm.executors.base import Call
from distsvm.executors.calls import Errand, Peers, Recipe, positions_of, request_of
from distsvm.executors.host import Reply, Ticket
from distsvm.executors.recovery import Decision, Kind, Loss, RecoveryPolicy, Waiting
from distsvm.executors.transport import Gone, Request, Transport
from distsvm.wording import message

logger = logging.getLogger(__name__)

MEGABYTE = 2**20


@dataclass
class Member:
    """One worker: its shards, its errands (the first is under way), and its work so far."""

    shards: tuple[int, ...] = ()
    errands: deque[Errand] = field(default_factory=deque)
    retired: bool = False
    busy_s: float = 0.0
    n_restarts: int = 0
    n_bytes: int = 0
    ticket: Ticket = (0, 0)
    waited_s: float = 0.0
    silent_s: float = 0.0


class Crew:
    """Workers by number. Numbers stay: a worker that is not built again is retired.

    Only `advance` moves errands on. So a caller may leave a `map` half-way and make other calls,
    and each reply still reaches its own errand.
    """

    def __init__(self, transport: Transport, policy: RecoveryPolicy) -> None:
        self.transport, self.policy = transport, policy
        self.members: list[Member] = []
        self.recipe = Recipe()
        self.costs: Sequence[float] = ()
        self.groups: Sequence[range] = ()
        self.notes: list[str] = []
        self.n_unwanted = 0  # retired because they were too slow, or had too little memory
        self._end: WorkerLost | None = None
        self._longest_s: dict[str, float] = {}  # by method
        self._tick_s = min(1.0, policy.limits.worker_timeout_s / 4)
        self._looked_s = time.monotonic()

    # --- members ---------------------------------------------------------------------------

    def active(self) -> list[int]:
        return [number for number, member in enumerate(self.members) if not member.retired]

    def idle(self) -> int:
        """Return a worker without an errand; wait until there is one."""
        while True:
            for number in self.active():
                if not self.members[number].errands:
                    return number
            self.advance()

    def launch(self, n_workers: int, least: int) -> None:
        """Start further workers until there are n_workers; fewer than `least` are an error."""
        n_missing = n_workers - len(self.active())
        if n_missing <= 0:
            return
        numbers = range(len(self.members), len(self.members) + n_missing)
        unplaced = self.transport.launch(numbers)
        if n_workers - len(unplaced) < max(1, least):
            self.transport.end([number for number in numbers if number not in unplaced])
            raise PlacementError(next(iter(unplaced.values())))
        self.members += [Member(retired=number in unplaced) for number in numbers]
        if unplaced:
            self.note(
                message(
                    "the run goes on with {} of the {} workers asked for: {}",
                    len(self.active()),
                    n_workers,
                    next(iter(unplaced.values())),
                )
            )

    def hosts(self) -> dict[int, int]:
        """Return the worker of each shard."""
        return {shard: n for n, member in enumerate(self.members) for shard in member.shards}

    def note(self, text: str) -> None:
        """Log an unusual event, and keep it for the run's records."""
        logger.warning(text)
        self.notes.append(text)

    # --- errands ------------------------------------------------------------------------------

    def errands_of(self, call: Call) -> list[Errand]:
        """Begin the call: one errand for each worker that has some of its shards."""
        self.settle()
        own = [(n, positions_of(call, set(m.shards))) for n, m in enumerate(self.members)]
        asked = [(number, positions) for number, positions in own if positions]
        peers, errands = Peers(len(asked)), []
        for number, positions in asked:
            request = request_of(call, positions)
            errand = Errand(deque([request]), request, call, positions, peers)
            errands.append(self.begin(number, errand))
        return errands

    def settle(self) -> None:
        """Wait for the end of interrupted calls, and of a map that was left half-way."""
        while any(member.errands for member in self.members):
            self.advance()

    def begin(self, number: int, errand: Errand) -> Errand:
        """Give an idle worker an errand."""
        if self._end is not None:
            raise self._end
        member = self.members[number]
        assert not member.errands, "one errand at a time"
        member.errands.append(errand)
        try:
            self._send(number)
        except Exception:  # not sent; after an interrupt that is unknown, and the errand stays
            member.errands.clear()
            raise
        return errand

    def finish(self, errands: Iterable[Errand]) -> list[Errand]:
        """Wait for the replies to these errands, and return the errands that have them."""
        errands = list(errands)
        while not all(errand.finished for errand in errands):
            self.advance()
        return [end for errand in errands for end in errand.ends()]

    def advance(self) -> None:
        """Wait for an answer of any worker, at most for a tick, and go on with its errand."""
        if self._end is not None:
            raise self._end
        busy = [number for number, member in enumerate(self.members) if member.errands]
        lost: dict[int, Gone] = {}
        for number, answer in self.transport.receive(busy, self._tick_s):
            if isinstance(answer, Gone):
                lost[number] = answer
            elif _memory_error(answer):
                lost[number] = Gone(_memory_error(answer), Kind.OUT_OF_MEMORY)
            elif answer.ticket in (None, self.members[number].ticket):
                self._take(number, answer)
        lost |= self._overdue([number for number in busy if number not in lost])
        if lost:
            self._recover(lost)

    def _take(self, number: int, answer: Reply) -> None:
        member = self.members[number]
        member.busy_s += answer.busy_s
        member.n_bytes = answer.n_bytes
        errand = member.errands[0]
        method = errand.steps.popleft().method
        self._longest_s[method] = max(answer.busy_s, self._longest_s.get(method, 0.0))
        if answer.failure or not errand.steps:
            errand.reply = answer
            errand.peers.took_s.append(answer.busy_s)
            member.errands.popleft()
        if member.errands:
            self._send(number)

    def _send(self, number: int) -> None:
        member = self.members[number]
        member.ticket = (member.n_restarts, member.ticket[1] + 1)
        member.waited_s = member.silent_s = 0.0
        self.transport.send(number, replace(member.errands[0].steps[0], ticket=member.ticket))

    # --- time ------------------------------------------------------------------------------

    def _overdue(self, busy: Sequence[int]) -> dict[int, Gone]:
        """Return the workers that have not answered in time.

        Only time in which the driver looked for answers counts: after a pause of the driver itself
        all workers would count as lost.
        """
        passed_s = time.monotonic() - self._looked_s
        if passed_s < self._tick_s:
            return {}
        self._looked_s += passed_s
        found = {}
        alive = self.transport.alive(busy)
        for number in busy:
            member = self.members[number]
            if not member.errands:
                continue
            member.waited_s += min(passed_s, 2 * self._tick_s)
            member.silent_s += min(passed_s, 2 * self._tick_s)
            if number in alive:
                member.silent_s = 0.0
            errand = member.errands[0]
            last = len(errand.steps) == 1
            waiting = Waiting(
                member.shards, member.silent_s, member.waited_s,
                errand.peers.took_s if last else (), errand.peers.n_asked,
                self._longest_s.get(errand.steps[0].method, 0.0),
            )  # fmt: skip
            kind = self.policy.overdue(waiting)
            if kind is Kind.SILENT:
                found[number] = Gone(f"no sign of life for {member.silent_s:.1f} s", kind)
            elif kind is Kind.SLOW:
                text = f"no answer after {member.waited_s:.1f} s"
                if waiting.others_s:
                    text += f" (others took up to {max(waiting.others_s):.1f} s)"
                found[number] = Gone(text, kind)
        return found

    # --- losses ----------------------------------------------------------------------------

    def _recover(self, lost: Mapping[int, Gone]) -> None:
        """Start lost workers again, or give their shards to others, and repeat their requests."""
        n_others = len(self.active()) - len(lost)
        rebuilt: list[int] = []
        moved: list[int] = []
        for number, gone in lost.items():
            decision = self._decide(number, gone, n_others)
            (rebuilt if decision is Decision.REBUILD else moved).append(number)
        self.transport.end(moved)
        unplaced: Mapping[int, str] = {}
        if rebuilt:
            timeout_s = self.policy.limits.worker_timeout_s if n_others else None
            unplaced = self.transport.launch(rebuilt, timeout_s)
        n_left = n_others + len(rebuilt) - len(unplaced)
        for number, reason in unplaced.items():
            self._decide(number, Gone(reason, Kind.UNPLACED), n_left)
        moved += unplaced
        for number in moved:
            self.members[number].retired = True
        for number in moved:
            self._move(number)
        for number in rebuilt:
            if number not in unplaced:
                self._rebuild(number)

    def _decide(self, number: int, gone: Gone, n_others: int) -> Decision:
        member = self.members[number]
        loss = Loss(gone.kind, number, member.shards, n_others)
        decision = self.policy.decide(loss)
        who = f"worker {number} (shards {_span(member.shards)})"
        reason = gone.reason
        if gone.kind is Kind.OUT_OF_MEMORY:
            reason = message("out of memory, {}: {}", self._size(member), reason)
        if decision is Decision.GIVE_UP:
            self._give_up(who, gone.kind, reason, loss)
        if gone.kind in (Kind.OUT_OF_MEMORY, Kind.SLOW) and decision is Decision.MOVE:
            self.n_unwanted += 1
        what = "building it again" if decision is Decision.REBUILD else "others take over"
        self.note(message("{} was lost: {}; {}", who, reason, what))
        return decision

    def _give_up(self, who: str, kind: Kind, reason: str, loss: Loss) -> None:
        if kind is Kind.UNPLACED:
            self._end = PlacementError(
                message("{} was lost and cannot be built again: {}", who, reason)
            )
        else:
            limits = self.policy.limits
            self._end = WorkerLost(
                message(
                    "{} was lost {} times in this run, and {max_failures} is {}; last: {}",
                    who,
                    self.policy.n_losses(loss),
                    limits.max_failures,
                    reason,
                )
            )
        raise self._end

    def _rebuild(self, number: int) -> None:
        member = self.members[number]
        member.n_restarts += 1
        steps = self.recipe.steps(member.shards, errands=member.errands)
        for errand in member.errands:
            # These steps also build the objects of an errand without a request.
            errand.steps = deque([errand.request or Request("build", (), ((), member.shards))])
        if member.errands[0].request is None:
            member.errands[0].steps.clear()
        member.errands[0].steps.extendleft(reversed(steps))
        self._send(number)

    def _move(self, number: int) -> None:
        """Give the shards and errands of a lost worker to the others."""
        member = self.members[number]
        lost, member.errands = list(member.errands), deque()
        hosts = self.active()
        hosted = {n: self.members[n].shards for n in hosts}
        idle = {n for n in hosts if not self.members[n].errands}
        for errand in lost:
            errand.successors = []
        for host, shards in spread(member.shards, hosted, self.costs, self.groups).items():
            other = self.members[host]
            build = Errand(deque(self.recipe.steps(shards, other.shards, lost)))
            other.shards += tuple(shards)
            other.errands.append(build)
            for errand in lost:
                assert errand.successors is not None
                errand.successors.append(build)
                if errand.call is not None:
                    kept = set(positions_of(errand.call, shards)) & set(errand.positions)
                    positions = [i for i in errand.positions if i in kept]
                    if positions:
                        self._succeed(host, errand, positions)
        for errand in lost:
            if errand.call is None and errand.request is not None:
                host = min(hosts, key=lambda n: len(self.members[n].errands))
                self._succeed(host, errand, ())
        member.shards = ()
        for host in idle:
            if self.members[host].errands:
                self._send(host)

    def _succeed(self, host: int, errand: Errand, positions: Sequence[int]) -> None:
        request = request_of(errand.call, positions) if errand.call else errand.request
        assert request is not None
        assert errand.successors is not None
        new = Errand(deque([request]), request, errand.call, positions, errand.peers)
        errand.successors.append(new)
        self.members[host].errands.append(new)

    def _size(self, member: Member) -> str:
        shards = f"{len(member.shards)} shards" if len(member.shards) != 1 else "1 shard"
        if not member.n_bytes:
            return f"with {shards}"
        resident = f"{member.n_bytes / MEGABYTE:.0f} MB resident"
        return f"with {shards} and {resident} when it last answered"


def _memory_error(answer: Reply) -> str:
    if answer.failure is None or not isinstance(answer.failure.error, MemoryError):
        return ""
    return f"MemoryError: {answer.failure.error}"


def _span(shards: Sequence[int]) -> str:
    """Return the numbers of the shards as text, neighbours as a range."""
    shards = sorted(shards)
    starts = [i for i, shard in enumerate(shards) if not i or shard > shards[i - 1] + 1]
    runs = [(shards[i], shards[j - 1]) for i, j in pairwise([*starts, len(shards)])]
    return ", ".join(f"{a}–{b}" if a < b else str(a) for a, b in runs) or "none"
