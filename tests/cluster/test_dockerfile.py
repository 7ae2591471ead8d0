"""The Dockerfile without Docker: what it copies, and its commands in an empty folder."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from manifests import HOME, RAY_VERSION

ROOT = HOME.parent


def instructions():
    """(word, rest) of every instruction, with the values of ARG put in."""
    lines = re.sub(r"\\\n", " ", (HOME / "Dockerfile").read_text()).splitlines()
    found, values = [], {}
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        for name, value in values.items():
            rest = rest.replace(f"${{{name}}}", value)
        if word == "ARG" and "=" in rest:
            name, value = rest.split("=")
            values[name] = value
        found.append((word, rest.strip()))
    return found


def test_the_image_is_ray_as_published_at_one_version():
    assert ("FROM", f"rayproject/ray:{RAY_VERSION}-py311") in instructions()


def test_token_auth_is_on_in_the_image():
    assert ("ENV", "RAY_AUTH_MODE=token") in instructions()


def test_only_what_is_named_is_copied_and_it_is_there():
    copied = [name for word, rest in instructions() if word == "COPY" for name in rest.split()[:-1]]
    assert copied
    for name in copied:
        assert (ROOT / name).exists()
        assert name not in (".", "./")


def test_nothing_is_used_but_known_instructions():
    known = {"ARG", "FROM", "COPY", "RUN", "ENV"}
    assert {word for word, _ in instructions()} == known


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.drill
def test_the_commands_run_in_an_empty_folder(tmp_path):
    # Instead of the image: a Python of its own, and nothing else.
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "python")], check=True)
    folder = tmp_path / "empty"
    folder.mkdir()
    environment = {
        **os.environ,
        "PATH": f"{tmp_path / 'python' / 'bin'}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
    }
    environment.pop("PYTHONPATH", None)
    for word, rest in instructions():
        if word == "COPY":
            *names, target = shlex.split(rest)
            _copy([ROOT / name for name in names], folder / target, target.endswith("/"))
        elif word == "RUN":
            subprocess.run(["bash", "-ec", rest], cwd=folder, env=environment, check=True)


def _copy(sources: list[Path], target: Path, into: bool) -> None:
    """As COPY does: a folder's contents, or files into a folder."""
    for source in sources:
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / source.name if into else target)
