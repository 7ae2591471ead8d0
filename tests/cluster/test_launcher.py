"""The launcher's files, by Ray's own validator."""

import copy

import pytest
from manifests import HOME, RAY_VERSION

FILES = ["aws", "gcp", "on-premise"]


def config(name):
    yaml = pytest.importorskip("yaml", reason="PyYAML, which Ray brings, is not installed")
    return yaml.safe_load((HOME / "launcher" / f"{name}.yaml").read_text())


@pytest.fixture(scope="module")
def validated():
    util = pytest.importorskip("ray.autoscaler._private.util", reason="Ray is not installed")

    def validate(given):
        whole = util.prepare_config(copy.deepcopy(given))
        util.validate_config(whole)
        return whole

    return validate


@pytest.mark.parametrize("name", FILES)
def test_ray_accepts_the_file(name, validated):
    whole = validated(config(name))
    assert whole["head_node_type"] in whole["available_node_types"]


def test_ray_refuses_a_file_that_is_wrong(validated):
    with pytest.raises(Exception, match="hosts"):
        validated(config("aws") | {"hosts": 3})


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
