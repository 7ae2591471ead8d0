"""The launcher's files, by Ray's own validator."""

import importlib.util
import json
import subprocess
import sys

import pytest
from manifests import HOME, RAY_VERSION

FILES = ["aws", "gcp", "on-premise"]


def config(name):
    yaml = pytest.importorskip("yaml", reason="PyYAML, which Ray brings, is not installed")
    return yaml.safe_load((HOME / "launcher" / f"{name}.yaml").read_text())


# In a process of its own: Ray reads how to authenticate when it is imported, once for all tests.
VALIDATE = """
import json, sys
from ray.autoscaler._private.util import prepare_config, validate_config

for given in json.load(sys.stdin):
    try:
        validate_config(prepare_config(given))
        print(json.dumps(None))
    except Exception as error:
        print(json.dumps(str(error)))
"""


def refusals(*configs):
    """What Ray says against each of these, None where it has nothing to say."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    done = subprocess.run(
        [sys.executable, "-c", VALIDATE],
        input=json.dumps(configs),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_ray_accepts_the_files_and_refuses_what_is_wrong():
    wrong = config("aws") | {"hosts": 3}
    *accepted, refused = refusals(*map(config, FILES), wrong)
    assert accepted == [None] * len(FILES)
    assert "hosts" in refused


@pytest.mark.parametrize("name", FILES)
def test_every_start_of_ray_says_token(name):
    given = config(name)
    starts = [
        command
        for key in ("head_start_ray_commands", "worker_start_ray_commands")
        for command in given[key]
        if "ray start" in command
    ]
    assert len(starts) == 2
    for command in starts:
        before = command.partition("ray start")[0]
        assert "RAY_AUTH_MODE=token" in before
        (path,) = [word for word in before.split() if word.startswith("RAY_AUTH_TOKEN_PATH=")]
        folder = path.removeprefix("RAY_AUTH_TOKEN_PATH=").rpartition("/")[0]
        assert folder in given["file_mounts"]
        assert "RAY_AUTH_TOKEN=" not in command  # a token in a command is a token in `ps`
    assert "--num-cpus=0" in starts[0]
    assert "--dashboard-host=127.0.0.1" in starts[0]


@pytest.mark.parametrize("name", ["aws", "gcp"])
def test_the_image_is_pinned(name):
    assert config(name)["docker"]["image"].endswith(f"-ray{RAY_VERSION}")


def test_ssh_to_aws_is_not_open_to_everybody():
    group = config("aws")["provider"]["security_group"]
    ranges = [one["CidrIp"] for rule in group["IpPermissions"] for one in rule["IpRanges"]]
    assert ranges
    assert "0.0.0.0/0" not in ranges
