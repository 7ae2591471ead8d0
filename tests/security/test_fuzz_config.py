"""Configurations in TOML that lie: refused with a message, and nothing is run."""

import random

import pytest
from mutation import fuzz, mutated

from distsvm.cli import exits, main
from distsvm.errors import DistSVMError

SEED = b"""# of a run
task = "multiclass"
data = ["no/such/file.svm"]
C = 10.0
eps = 1e-3
rel-gap = 0.01
max-rounds = 5
executor = "serial"
model = "m"
"""


def test_a_made_up_configuration_is_refused_in_words(tmp_path, monkeypatch, capsys):
    pytest.importorskip("distsvm.cli.config_file", reason="TOML configurations are not there yet")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "config.toml"

    def attempt(rng: random.Random) -> None:
        text = mutated(SEED, rng)
        if rng.random() < 0.05:
            text = b"x = " + b"[" * rng.choice([100, 100_000])
        path.write_bytes(text)
        code = main(["train", str(path)])
        shown = capsys.readouterr()
        assert code not in (exits.DONE, exits.UNEXPECTED), shown.err

    fuzz(attempt, DistSVMError)
