"""The package beside this file is installed while its tests run, and other tests never see it."""

import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from installing import EXTENSION, installed

SITE = pytest.StashKey[list[str]]()


def pytest_configure(config):
    # On sys.path before any test can start Ray, whose workers have the path of that moment.
    config.stash[SITE] = [str(EXTENSION), tempfile.mkdtemp(prefix="distsvm-extension-")]
    sys.path += config.stash[SITE]


def pytest_unconfigure(config):
    for folder in config.stash[SITE]:
        sys.path.remove(folder)
    shutil.rmtree(config.stash[SITE][-1])


@pytest.fixture(autouse=True, scope="module")
def extension(pytestconfig):
    with installed(Path(pytestconfig.stash[SITE][-1])):
        yield
