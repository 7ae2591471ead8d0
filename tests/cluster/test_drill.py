"""The kill drill: it says why it cannot where it cannot, and passes where it can."""

import os
import subprocess
import sys

import pytest
from drill_lab import Lab, why_not
from manifests import HOME

DRILL = HOME / "drill" / "kill_drill.py"
CANNOT = 3


def test_without_the_means_it_says_why_and_ends_with_a_code_of_its_own(tmp_path):
    environment = {**os.environ, "PATH": str(tmp_path)}  # a machine without the command ip
    done = subprocess.run(
        [sys.executable, str(DRILL)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == CANNOT, done.stderr
    assert "no drill on this machine: the command ip" in done.stdout


def test_without_the_rights_it_says_which(tmp_path):
    ip = tmp_path / "ip"
    ip.write_text("#!/bin/sh\necho 'Operation not permitted' >&2\nexit 1\n")
    ip.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, str(DRILL)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == CANNOT, done.stderr
    assert "Operation not permitted" in done.stdout
    assert "CAP_SYS_ADMIN" in done.stdout


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
def test_no_link_is_left_even_if_somebody_still_looks_at_a_namespace():
    with Lab(2, n_cpus=1) as lab, open(f"/run/netns/{lab.name(1)}"):
        own = lab.name(0).removesuffix("n0")
        assert own in _links()
        lab.close()
        assert own not in _links()


def _links():
    return subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(900)
@pytest.mark.drill
def test_a_killed_node_and_a_cut_link_change_no_bit():
    done = subprocess.run([sys.executable, str(DRILL)], capture_output=True, text=True)
    if done.returncode == CANNOT:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
