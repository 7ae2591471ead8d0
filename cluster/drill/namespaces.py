"""A Ray cluster of several nodes on one machine: each node has a network namespace of its own.

The namespaces hang on one bridge, so that a node can be killed without its neighbours, and a link
can be taken down while the processes behind it live on. Nothing of it can be reached from outside:
the bridge has no address on the host.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

PORT = 6379
MEMORY = 128 << 20  # bytes of each node's object store
SUBNET = "10.213.77"

# A node that does not answer counts as dead after about 4 s rather than half a minute.
IMPATIENT = {
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}


def why_not() -> str | None:
    """Why this machine cannot have such a cluster, None if it can."""
    if not sys.platform.startswith("linux"):
        return f"network namespaces are a feature of Linux, this is {sys.platform}"
    if shutil.which("ip") is None:
        return "the command ip (package iproute2) is not installed"
    probe = f"dsvm{os.getpid()}p"
    for command in (
        ["ip", "netns", "add", probe],
        ["ip", "-n", probe, "link", "add", "probe", "type", "bridge"],
        ["ip", "-n", probe, "link", "add", "one", "type", "veth", "peer", "name", "two"],
    ):
        made = subprocess.run(command, capture_output=True, text=True)
        if made.returncode:
            break
    subprocess.run(["ip", "netns", "delete", probe], capture_output=True)
    if made.returncode:
        shown = made.stderr.strip() or f"code {made.returncode}"
        return f"`{' '.join(command)}` is not allowed here ({shown}); it needs root (CAP_SYS_ADMIN)"
    return None


class Lab:
    """Namespaces 0 … n − 1 on one bridge; node 0 is the head. A context manager, leaves nothing.

    Parameters
    ----------
    n_nodes : int
    n_cpus : int
        That each node but the head says it has; the head has none.
    """

    def __init__(self, n_nodes: int, n_cpus: int) -> None:
        self.n_nodes, self.n_cpus = n_nodes, n_cpus
        self._bridge = f"dsvm{os.getpid()}"
        self.folder = Path(tempfile.mkdtemp(prefix="dsvm"))  # short: sockets have long names
        self._token = self.folder / "token"

    def __enter__(self) -> Lab:
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _build(self) -> None:
        with open(os.open(self._token, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
        _ip("link", "add", self._bridge, "type", "bridge")
        _ip("link", "set", self._bridge, "up")
        for node in range(self.n_nodes):
            name, outer = self.name(node), self._outer(node)
            _ip("netns", "add", name)
            _ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("link", "set", outer, "master", self._bridge, "up")
            _ip("-n", name, "addr", "add", f"{self.address(node)}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
            _ip("-n", name, "link", "set", "lo", "up")

    def name(self, node: int) -> str:
        return f"{self._bridge}n{node}"

    def address(self, node: int) -> str:
        return f"{SUBNET}.{node + 1}"

    @property
    def head(self) -> str:
        return f"{self.address(0)}:{PORT}"

    def start(self, node: int) -> subprocess.Popen[str]:
        """Start Ray on a node, of which the first is the head."""
        role = (
            ["--head", f"--port={PORT}", "--num-cpus=0", "--include-dashboard=false"]
            if node == 0
            else [f"--address={self.head}", f"--num-cpus={self.n_cpus}"]
        )
        own = self.folder / f"node{node}"
        own.mkdir(exist_ok=True)
        return self.run(
            node,
            [
                sys.executable, "-m", "ray.scripts.scripts", "start", *role, "--block",
                "--disable-usage-stats", f"--node-ip-address={self.address(node)}",
                f"--object-store-memory={MEMORY}", f"--temp-dir={own}",
            ],
            log=self.folder / f"node{node}.log",
        )  # fmt: skip

    def run(
        self, node: int, command: Sequence[str], log: Path | None = None
    ) -> subprocess.Popen[str]:
        """Start a command in a node's namespace; without `log`, with pipes to talk to it."""
        environment = {
            **os.environ,
            **IMPATIENT,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(self._token),  # a path: a token has no place in `ps`
        }
        environment.pop("RAY_ADDRESS", None)
        whole = self.command(node, *command)
        if log is None:
            return subprocess.Popen(
                whole, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        with open(log, "w") as file:
            return subprocess.Popen(
                whole, env=environment, text=True, stdin=subprocess.DEVNULL, stdout=file,
                stderr=subprocess.STDOUT,
            )  # fmt: skip

    def command(self, node: int, *words: str) -> list[str]:
        """A command as it is run in a node's namespace."""
        return ["ip", "netns", "exec", self.name(node), *words]

    def pids(self, node: int) -> list[int]:
        """The processes of a node."""
        listed = subprocess.run(
            ["ip", "netns", "pids", self.name(node)], capture_output=True, text=True
        )
        return [int(pid) for pid in listed.stdout.split()]

    def n_actors(self, node: int) -> int:
        """How many actors live on a node, by the titles that Ray gives their processes."""
        titles = []
        for pid in self.pids(node):
            with suppress(OSError):  # it ended meanwhile
                titles.append(Path(f"/proc/{pid}/cmdline").read_bytes())
        return sum(title.startswith(b"ray::HostActor") for title in titles)

    def kill(self, node: int) -> int:
        """SIGKILL to every process of a node; how many there were."""
        pids = self.pids(node)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(pids)

    def unplug(self, node: int) -> None:
        """Take the node's link down; its processes go on and hear nothing."""
        _ip("link", "set", self._outer(node), "down")

    def close(self) -> None:
        for node in reversed(range(self.n_nodes)):
            while self.kill(node):  # until none is left that another one starts
                pass
            subprocess.run(["ip", "netns", "delete", self.name(node)], capture_output=True)
            # Its peer goes with the namespace, but only when the last socket in there is closed.
            subprocess.run(["ip", "link", "delete", self._outer(node)], capture_output=True)
        subprocess.run(["ip", "link", "delete", self._bridge], capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _outer(self, node: int) -> str:
        return f"{self._bridge}v{node}"


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
