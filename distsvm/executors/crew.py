"""The workers of a remote executor: their jobs, and what becomes of the shards of lost ones."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from distsvm.errors import PlacementError, WorkerLost
from distsvm.executors.assignment import spread
from distsvm.executors.calls import Call, Job, Peers, Recipe
from distsvm.executors.host import Reply, Ticket
from distsvm.executors.recovery import Decision, Kind, Loss, RecoveryPolicy, Waiting
from distsvm.executors.transport import Gone, Request, Transport
from distsvm.wording import message

logger = logging.getLogger(__name__)

MEGABYTE = 2**20


@dataclass
class Member:
    """One worker: the shards it has, its jobs (the first is under way), and what it has done."""

    shards: tuple[int, ...] = ()
    jobs: deque[Job] = field(default_factory=deque)
    retired: bool = False
    busy_s: float = 0.0
    n_restarts: int = 0
    n_bytes: int = 0
    ticket: Ticket = (0, 0)
    waited_s: float = 0.0
    silent_s: float = 0.0


class Crew:
    """Workers by number. Numbers stay: a worker that is not built again is retired.

    Only `advance` moves jobs on. So a `map` may be left half-way, and calls may be made in between:
    no reply is mistaken for another.
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
        """A worker without a job; waits for one."""
        while True:
            for number in self.active():
                if not self.members[number].jobs:
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
        """The worker of each shard."""
        return {shard: n for n, member in enumerate(self.members) for shard in member.shards}

    def note(self, text: str) -> None:
        """Log an unusual event, and keep it for the run's records."""
        logger.warning(text)
        self.notes.append(text)

    # --- jobs ------------------------------------------------------------------------------

    def jobs_of(self, call: Call) -> list[Job]:
        """The call as one job for each worker that has some of its shards, begun."""
        self.settle()
        own = [(n, call.positions(set(m.shards))) for n, m in enumerate(self.members)]
        asked = [(number, positions) for number, positions in own if positions]
        peers, jobs = Peers(len(asked)), []
        for number, positions in asked:
            request = call.request(positions)
            job = Job(deque([request]), request, call, positions, peers)
            jobs.append(self.begin(number, job))
        return jobs

    def settle(self) -> None:
        """Wait for what is left of interrupted calls, and of a map in between."""
        while any(member.jobs for member in self.members):
            self.advance()

    def begin(self, number: int, job: Job) -> Job:
        """Give an idle worker a job."""
        if self._end is not None:
            raise self._end
        member = self.members[number]
        assert not member.jobs, "one job at a time"
        member.jobs.append(job)
        try:
            self._send(number)
        except Exception:  # it was not sent; after an interrupt that is unknown, and the job stays
            member.jobs.clear()
            raise
        return job

    def finish(self, jobs: Iterable[Job]) -> list[Job]:
        """The jobs that answer for these, once they have."""
        jobs = list(jobs)
        while not all(job.finished for job in jobs):
            self.advance()
        return [end for job in jobs for end in job.ends()]

    def advance(self) -> None:
        """Wait for some worker, at most for a moment, and move its job on."""
        if self._end is not None:
            raise self._end
        busy = [number for number, member in enumerate(self.members) if member.jobs]
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
        job = member.jobs[0]
        method = job.steps.popleft().method
        self._longest_s[method] = max(answer.busy_s, self._longest_s.get(method, 0.0))
        if answer.failure or not job.steps:
            job.reply = answer
            job.peers.took_s.append(answer.busy_s)
            member.jobs.popleft()
        if member.jobs:
            self._send(number)

    def _send(self, number: int) -> None:
        member = self.members[number]
        member.ticket = (member.n_restarts, member.ticket[1] + 1)
        member.waited_s = member.silent_s = 0.0
        self.transport.send(number, replace(member.jobs[0].steps[0], ticket=member.ticket))

    # --- time ------------------------------------------------------------------------------

    def _overdue(self, busy: Sequence[int]) -> dict[int, Gone]:
        """The workers that have kept the driver waiting for too long.

        Only time in which the driver looked counts: after a pause of the driver itself all workers
        would seem dead.
        """
        passed_s = time.monotonic() - self._looked_s
        if passed_s < self._tick_s:
            return {}
        self._looked_s += passed_s
        found = {}
        alive = self.transport.alive(busy)
        for number in busy:
            member = self.members[number]
            if not member.jobs:
                continue
            member.waited_s += min(passed_s, 2 * self._tick_s)
            member.silent_s += min(passed_s, 2 * self._tick_s)
            if number in alive:
                member.silent_s = 0.0
            job = member.jobs[0]
            last = len(job.steps) == 1
            waiting = Waiting(
                member.shards, member.silent_s, member.waited_s,
                job.peers.took_s if last else (), job.peers.n_asked,
                self._longest_s.get(job.steps[0].method, 0.0),
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
        """Start lost workers again, or give their shards to others, and ask again what they had."""
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
        steps = self.recipe.steps(member.shards, jobs=member.jobs)
        for job in member.jobs:
            # What a job without a request was to build is built by these steps.
            job.steps = deque([job.request or Request("build", (), ((), member.shards))])
        if member.jobs[0].request is None:
            member.jobs[0].steps.clear()
        member.jobs[0].steps.extendleft(reversed(steps))
        self._send(number)

    def _move(self, number: int) -> None:
        """Give a lost worker's shards and jobs to the others."""
        member = self.members[number]
        lost, member.jobs = list(member.jobs), deque()
        hosts = self.active()
        hosted = {n: self.members[n].shards for n in hosts}
        idle = {n for n in hosts if not self.members[n].jobs}
        for job in lost:
            job.successors = []
        for host, shards in spread(member.shards, hosted, self.costs, self.groups).items():
            other = self.members[host]
            build = Job(deque(self.recipe.steps(shards, other.shards, lost)))
            other.shards += tuple(shards)
            other.jobs.append(build)
            for job in lost:
                assert job.successors is not None
                job.successors.append(build)
                if job.call is not None:
                    kept = set(job.call.positions(shards)) & set(job.positions)
                    positions = [i for i in job.positions if i in kept]
                    if positions:
                        self._succeed(host, job, positions)
        for job in lost:
            if job.call is None and job.request is not None:
                host = min(hosts, key=lambda n: len(self.members[n].jobs))
                self._succeed(host, job, ())
        member.shards = ()
        for host in idle:
            if self.members[host].jobs:
                self._send(host)

    def _succeed(self, host: int, job: Job, positions: Sequence[int]) -> None:
        request = job.call.request(positions) if job.call else job.request
        assert request is not None
        assert job.successors is not None
        new = Job(deque([request]), request, job.call, positions, job.peers)
        job.successors.append(new)
        self.members[host].jobs.append(new)

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
    """Their numbers, neighbours as a range."""
    shards = sorted(shards)
    starts = [i for i, shard in enumerate(shards) if not i or shard > shards[i - 1] + 1]
    runs = [(shards[i], shards[j - 1]) for i, j in pairwise([*starts, len(shards)])]
    return ", ".join(f"{a}–{b}" if a < b else str(a) for a, b in runs) or "none"
