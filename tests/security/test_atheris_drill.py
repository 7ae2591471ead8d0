"""Coverage-guided fuzzing of every reader, model and checkpoint, with the kernels' bounds checks.

Seconds of each target: DISTSVM_FUZZ_SECONDS, 20 unless given.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from folders import CASES

SCRIPT = Path(__file__).with_name("atheris_targets.py")
SECONDS = os.environ.get("DISTSVM_FUZZ_SECONDS", "20")
READERS = ["svmlight", "conll", "conllu", "svmhmm", "treebank", "jsonl", "parquet", "toml"]
FOLDERS = [f"{kind}:{case}" for kind in ("model", "run") for case in CASES]
PACKED = [f"packed:{case}" for case in ("classes", "sequence", "trees")]


@pytest.mark.drill
@pytest.mark.timeout(900)
@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None,
    reason="atheris is not installed",
)
@pytest.mark.parametrize("name", [*READERS, *FOLDERS, *PACKED])
def test_fuzzing_finds_errors_of_distsvm_alone(name, tmp_path):
    # Kernels with bounds checks are compiled apart from those without.
    cache = str(tmp_path / "cache")
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), name, SECONDS, str(tmp_path)],
        capture_output=True, text=True, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
