"""Runs as jobs of a real Ray cluster on this machine, with token authentication."""

import importlib.util
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.ray,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.drill,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("ray", "aiohttp_cors")),
        reason='Ray\'s dashboard is not installed: pip install "distsvm[jobs]"',
    ),
]

START_S = 120

# Answers the second round only when the gate is open, so that the run is there to be stopped.
CODE = """
from dataclasses import dataclass
import os, time
import distsvm
from distsvm.structures.trees.tree import Tree


@dataclass(frozen=True)
class Gated(distsvm.Task):
    dim: int = 32
    gate: str = ""

    def joint_features(self, x, y):
        return {(7 * int(word) + ord(y.label)) % 32: 1.0 for word, _ in x}

    def loss(self, y, y_hat):
        return float(y.label != y_hat.label)

    def decode(self, w, x):
        return self.separate(w, x, Tree("A", (Tree("t", word="0"),)), "margin")

    def separate(self, w, x, y, rescaling):
        while w.any() and not os.path.exists(self.gate):
            time.sleep(0.05)
        leaves = tuple(Tree(tag, word=word) for word, tag in x)
        def value(tree):
            features = self.joint_features(x, tree)
            return self.loss(y, tree) + sum(v * w[i] for i, v in features.items())
        return max((Tree(label, leaves) for label in "AB"), key=value)

    def encode_output(self, y):
        return str(y)

    def decode_output(self, text):
        return Tree.parse(text)
"""


def free_ports(n):
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [server.getsockname()[1] for server in servers]
    for server in servers:
        server.close()
    return ports


def answers(url):
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except urllib.error.HTTPError:
        return True  # it wants a token
    except OSError:
        return False
    return True


@pytest.fixture
def cluster(tmp_path):
    """The address of a cluster, and the environment to talk to it in."""
    token = tmp_path / "token"
    token.write_text(secrets.token_hex(32))
    token.chmod(0o600)
    hidden = ("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS", "RAY_AUTH_TOKEN")
    environment = {name: value for name, value in os.environ.items() if name not in hidden} | {
        "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }  # fmt: skip
    gcs, client, dashboard, agent = free_ports(4)
    home = Path("/tmp") / f"distsvm-ray-{os.getpid()}"  # a socket's path must be short
    command = [
        str(Path(sys.executable).parent / "ray"), "start", "--head", "--block",
        f"--port={gcs}", f"--ray-client-server-port={client}", f"--dashboard-port={dashboard}",
        f"--dashboard-agent-listen-port={agent}", "--dashboard-host=127.0.0.1",
        "--node-ip-address=127.0.0.1", "--num-cpus=2", "--disable-usage-stats",
        f"--temp-dir={home}", "--object-store-memory=100000000",
    ]  # fmt: skip
    url = f"http://127.0.0.1:{dashboard}"
    with open(tmp_path / "head.log", "w") as log, subprocess.Popen(
        command, env=environment, stdout=log, stderr=log, start_new_session=True
    ) as head:  # fmt: skip
        try:
            until = time.monotonic() + START_S
            while not answers(url):
                assert head.poll() is None, (tmp_path / "head.log").read_text()
                assert time.monotonic() < until, (tmp_path / "head.log").read_text()
                time.sleep(0.2)
            yield url, environment
        finally:
            head.terminate()
            head.wait(60)
            subprocess.run(["rm", "-rf", str(home)], check=False)


def test_a_run_is_sent_stopped_and_resumed_and_strangers_are_refused(cluster, tmp_path):
    url, environment = cluster

    def distsvm(*words, code=0, **more):
        command = [sys.executable, "-m", "distsvm.cli", *words, "--address", url]
        done = subprocess.run(
            command, env=environment | more, capture_output=True, text=True, cwd=tmp_path
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert Path(environment["RAY_AUTH_TOKEN_PATH"]).read_text() not in done.stdout + done.stderr
        return done.stdout + done.stderr

    (tmp_path / "gated.py").write_text(CODE)
    lines = [f"({'AB'[i % 2]} (t {i % 7}) (t {i % 5}))" for i in range(20)]
    (tmp_path / "data.mrg").write_text("\n".join(lines) + "\n")
    folder, gate = tmp_path / "runs" / "spam", tmp_path / "open"
    (tmp_path / "c.toml").write_text(
        f'task = "gated.py:Gated"\ntask-options = {{ gate = "{gate}" }}\n'
        f'data = "{tmp_path}/data.mrg"\nrun-dir = "{folder}"\nworkers = 2\nC = 1e4\neps = 0\n'
    )
    assert "wants a token" in distsvm("status", code=8, RAY_AUTH_TOKEN="0" * 64, HOME="/nowhere")

    said = distsvm("submit", "c.toml", "--python", sys.executable, "--detach")
    assert "sent         config.toml (" in said
    assert "gated.py (" in said
    follow = [sys.executable, "-m", "distsvm.cli", "logs", "-f", "spam", "--address", url]
    with subprocess.Popen(follow, env=environment, stdout=subprocess.PIPE, text=True) as following:
        shown = []
        for line in following.stdout:
            shown.append(line)
            if line.startswith("round 1 "):
                break
        assert shown[-1].startswith("round 1 "), "".join(shown)
        assert "will end after its round" in distsvm("stop", "spam")
        gate.touch()
        rest = following.communicate()[0]
    assert "interrupted, before the target gap" in rest
    (told,) = map(json.loads, distsvm("status", "spam", "--json").splitlines())
    assert (told["state"], told["run"]["state"]) == ("stopped", "stopped")
    assert told["run"]["stop_reason"] == "interrupted"
    assert told["run"]["job"] == told["id"]

    words = ["--python", sys.executable, "--eps", "0.5", "--task", "gated.py:Gated"]
    said = distsvm("resume", "spam", *words)
    assert "finished" in said
    result = json.loads((folder / "result.json").read_text())
    assert result["stop_reason"] == "eps"
    assert result["n_rounds"] >= told["run"]["round"]
