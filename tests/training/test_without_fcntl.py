"""Where the system has no `fcntl`, as on Windows, only runs with a folder on a disk are refused."""

import subprocess
import sys

import pytest

BLOCKED = "import sys; sys.modules['fcntl'] = None\n"
DATA = "import numpy as np; X = np.eye(6)[:, :3]; y = [0, 1, 2, 0, 1, 2]\n"


def python(code):
    """Run code in a new process in which `import fcntl` fails."""
    words = [sys.executable, "-c", BLOCKED + code]
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


def test_the_block_works():
    assert "ModuleNotFoundError" in python("import fcntl").stderr


@pytest.mark.parametrize(
    "code",
    [
        "from distsvm import MulticlassSVC, SequenceTagger, StructuralSVM, TreeParser",
        DATA + "from distsvm import BinarySVC; BinarySVC(max_rounds=2).fit(X, np.array(y) > 0)",
        DATA + "import distsvm; distsvm.train(distsvm.MulticlassTask(), X, y, max_rounds=2)",
    ],
)
def test_estimators_import_and_train_without_fcntl(code):
    run = python(code)
    assert run.returncode == 0, run.stderr


def test_a_run_folder_without_fcntl_is_refused_by_name(tmp_path):
    folder = tmp_path / "run"
    code = DATA + (
        "import distsvm\n"
        f"run = dict(run_dir={str(folder)!r}, max_rounds=2)\n"
        "distsvm.train(distsvm.MulticlassTask(), X, y, **run)"
    )
    message = f"ConfigError: run_dir={str(folder)!r}: a run folder on a disk needs"
    assert message in python(code).stderr
    assert not folder.exists()
    begun = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert begun.returncode == 0, begun.stderr
    assert message in python(code.replace("**run", "resume=True, **run")).stderr


def test_a_store_needs_no_fcntl():
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    code = DATA + (
        "import distsvm\n"
        "distsvm.train(distsvm.MulticlassTask(), X, y, run_dir='memory://runs/1', max_rounds=2,"
        " executor='serial')"
    )
    run = python(code)
    assert run.returncode == 0, run.stderr
