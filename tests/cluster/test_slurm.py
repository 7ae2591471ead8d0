"""The SLURM script, with a scheduler that is not there: its steps run on this machine."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from manifests import HOME

SCRIPT = HOME / "slurm" / "train.sbatch"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="bash is needed")

# Each writes down how it was called; a head listens until it is ended, as a real one would.
NOTE = """#!{python}
import json, os, sys
call = {{"name": {name!r}, "argv": sys.argv[1:], "mode": os.environ.get("RAY_AUTH_MODE"),
        "token": os.environ.get("RAY_AUTH_TOKEN_PATH"), "host": os.environ.get("FAKE_HOST")}}
if call["token"]:
    status = os.stat(call["token"])
    call |= {{"rights": status.st_mode & 0o777, "size": status.st_size}}
with open(os.environ["FAKE_CALLS"], "a") as file:
    file.write(json.dumps(call) + "\\n")
{rest}
"""
RAY = """
import signal, socket
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
if "--head" in sys.argv:
    port = next(a.split("=")[1] for a in sys.argv if a.startswith("--port="))
    address = next(a.split("=")[1] for a in sys.argv if a.startswith("--node-ip-address="))
    listening = socket.create_server((address, int(port)))
signal.pause()
"""
SRUN = """
options = [a for a in sys.argv[1:] if a.startswith("--")]
rest = [a for a in sys.argv[1:]]
while rest and rest[0].startswith("--"):
    rest.pop(0)
os.environ["FAKE_HOST"] = next(a.split("=")[1] for a in options if a.startswith("--nodelist="))
os.execvp(rest[0], rest)
"""
DRIVER = """
import signal
if "--stay" in sys.argv:
    signal.signal(signal.SIGINT, lambda *_: sys.exit(7))
    print("ready", flush=True)
    signal.pause()
sys.exit(int(os.environ.get("FAKE_CODE", "0")))
"""
SCONTROL = "print('node1', 'node2', 'node3', sep=chr(10))"


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A PATH with the commands of a cluster, and the calls that they got."""
    folder = tmp_path / "bin"
    folder.mkdir()
    programs = {"ray": RAY, "srun": SRUN, "distsvm": DRIVER, "scontrol": SCONTROL}
    for name, rest in programs.items():
        path = folder / name
        path.write_text(NOTE.format(python=sys.executable, name=name, rest=rest))
        path.chmod(path.stat().st_mode | stat.S_IEXEC)
    calls = tmp_path / "calls"
    calls.touch()
    home = tmp_path / "home"
    home.mkdir()
    port = 20000 + os.getpid() % 9000
    for name, value in {
        "PATH": f"{folder}:{os.environ['PATH']}", "FAKE_CALLS": str(calls),
        "SLURM_JOB_NODELIST": "node[1-3]", "SLURM_JOB_ID": str(port - 20000),
        "SLURM_CPUS_PER_TASK": "4", "DISTSVM_TOKEN_HOME": str(home),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    return calls, home


def called(path: Path, name: str) -> list[dict]:
    calls = map(json.loads, path.read_text().splitlines())
    return [call for call in calls if call["name"] == name]


def test_bash_can_read_the_script():
    subprocess.run(["bash", "-n", str(SCRIPT)], check=True)


def test_it_starts_a_node_on_every_host_and_a_driver(cluster, tmp_path):
    calls, home = cluster
    run_dir = tmp_path / "runs" / "a"
    done = subprocess.run(
        ["bash", str(SCRIPT), str(run_dir), "--task", "multiclass"], timeout=60, check=False
    )
    assert done.returncode == 0
    nodes = called(calls, "ray")
    assert nodes[0]["host"] == "node1"
    assert {node["host"] for node in nodes} <= {"node1", "node2", "node3"}
    assert "--head" in nodes[0]["argv"]
    (driver,) = called(calls, "distsvm")
    assert driver["argv"][:3] == ["train", "--run-dir", str(run_dir)]
    assert driver["argv"][-2:] == ["--task", "multiclass"]
    assert driver["argv"][driver["argv"].index("--workers") + 1] == "11"
    for call in [*nodes, driver]:
        assert (call["mode"], call["rights"], call["size"]) == ("token", 0o600, 64)
    assert not list(home.iterdir())  # the token is gone


@pytest.mark.parametrize("given", [["--task", "mine.py:Mine"], ["spam.toml", "--C", "10"]])
def test_a_requeued_job_goes_on_with_all_that_it_was_given(cluster, tmp_path, given):
    calls, _ = cluster
    run_dir = tmp_path / "run"
    for _ in range(2):  # as it was begun, so it is gone on with
        subprocess.run(["bash", str(SCRIPT), str(run_dir), *given], timeout=60, check=True)
        run_dir.mkdir(exist_ok=True)
        (run_dir / "run.json").touch()
    config = [word for word in given if word.endswith(".toml")]
    for driver in called(calls, "distsvm"):
        words = driver["argv"]
        assert words[: 1 + len(config)] == ["train", *config]
        assert words[words.index("--run-dir") + 1] == str(run_dir)
        assert "--resume" in words
        assert words[-2:] == given[-2:]


def test_the_code_of_the_driver_is_that_of_the_job(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_CODE", "5")
    done = subprocess.run(["bash", str(SCRIPT), str(tmp_path / "r")], timeout=60, check=False)
    assert done.returncode == 5


def test_the_signal_before_the_end_reaches_the_driver(cluster, tmp_path):
    _, home = cluster
    job = subprocess.Popen(
        ["bash", str(SCRIPT), str(tmp_path / "r"), "--stay"], stdout=subprocess.PIPE, text=True
    )
    assert job.stdout is not None
    assert job.stdout.readline() == "ready\n"
    job.send_signal(signal.SIGTERM)  # tests in the background of a shell ignore the other one
    assert job.wait(60) == 7
    assert not list(home.iterdir())
