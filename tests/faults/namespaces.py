"""Network namespaces joined by a bridge: machines of their own, as far as the network goes."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

NET = "10.213.77"


def ip(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["ip", *words], capture_output=True, text=True, timeout=30)


def why_not() -> str:
    """Why there can be no namespaces here, or an empty text."""
    name = f"dsvm-try-{os.getpid()}"
    try:
        made = ip("netns", "add", name)
        if made.returncode == 0:
            bridge = ip("link", "add", f"dtry{os.getpid()}", "type", "bridge")
            ip("link", "del", f"dtry{os.getpid()}")
            ip("netns", "del", name)
            made = bridge
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        return f"no network namespaces: {error}"
    return "" if made.returncode == 0 else f"no network namespaces: {made.stderr.strip()}"


@dataclass(frozen=True)
class Machine:
    """A namespace with one address on the bridge."""

    name: str
    link: str
    address: str

    def cut_off(self) -> None:
        """Take its cable out: packets are lost, nobody is told."""
        assert ip("link", "set", self.link, "down").returncode == 0

    def command(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self.name, *words]

    def end_all(self) -> None:
        """Kill every process that runs in it."""
        for pid in ip("netns", "pids", self.name).stdout.split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


@contextmanager
def machines(n: int) -> Iterator[list[Machine]]:
    """So many namespaces; all that was made goes again."""
    own = os.getpid() % 100_000
    bridge, made = f"dbr{own}", []
    try:
        _check("link", "add", bridge, "type", "bridge")
        _check("link", "set", bridge, "up")
        for i in range(n):
            machine = Machine(f"dsvm-{own}-{i}", f"dv{own}-{i}", f"{NET}.{10 + i}")
            made.append(machine)
            _check("netns", "add", machine.name)
            peer = f"dp{own}-{i}"
            _check("link", "add", machine.link, "type", "veth", "peer", "name", peer)
            _check("link", "set", machine.link, "master", bridge, "up")
            _check("link", "set", peer, "netns", machine.name)
            inside = ("-n", machine.name)
            _check(*inside, "addr", "add", f"{machine.address}/24", "dev", peer)
            _check(*inside, "link", "set", peer, "up")
            _check(*inside, "link", "set", "lo", "up")
        yield made
    finally:
        for machine in made:
            machine.end_all()
            ip("netns", "del", machine.name)
            ip("link", "del", machine.link)
        ip("link", "del", bridge)


def _check(*words: str) -> None:
    done = ip(*words)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"
