"""A worker that is built again reads its files again: other examples end the run."""

import json
import multiprocessing
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from distsvm import Callback, MulticlassTask, train
from distsvm.data.readers.svmlight import SvmlightData
from distsvm.data.synthetic import make_multiclass
from distsvm.data.writers import write_parts
from distsvm.errors import DataError
from distsvm.messages import Facts
from distsvm.training.loaded import check_counts

CONFIG = {"C": 100.0, "eps": 1e-4, "solver": "one-slack", "n_shards": 2}
LOST = {"executor": "processes", "n_workers": 2}


class KillAll(Callback):
    """Kills every worker after a round, once, and does something before."""

    def __init__(self, before):
        self.before, self.rounds = before, []

    def on_round(self, record):
        self.rounds.append(record)
        if record.number == 2:
            self.before()
            for worker in multiprocessing.active_children():
                os.kill(worker.pid, signal.SIGKILL)
                worker.join()


@pytest.fixture
def files(tmp_path):
    """Two files to train on, and one for validation."""
    X, y = make_multiclass(300, 4, 3, noise=0.3, seed=0)
    return write_parts(tmp_path, X, y, 3)


def relabelled(path):
    """The file with another first label, as long as it was, and no sign of that in its times."""
    text, before = Path(path).read_text(encoding="utf-8"), os.stat(path)
    other = (int(text[0]) + 1) % 3
    Path(path).write_text(f"{other}{text[1:]}", encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("in_folder", [False, True])
@pytest.mark.parametrize("number", [1, 2])
def test_a_file_that_changed_ends_the_run_by_its_name(number, in_folder, files, tmp_path):
    killer = KillAll(lambda: relabelled(files[number]))
    more = {"run_dir": tmp_path / "run"} if in_folder else {}
    message = rf"^shard {number}: {files[number]}.* changed during the run"
    with pytest.raises(DataError, match=message):
        train(
            MulticlassTask(), files[:2], validation=files[2], patience=99, callbacks=[killer],
            **CONFIG, **LOST, **more,
        )  # fmt: skip
    # Built again once: the error is not taken for another loss.
    assert max(record.n_restarts for record in killer.rounds) == 0


def test_other_weights_are_other_examples(tmp_path):
    path = tmp_path / "a.jsonl"
    X, y = make_multiclass(200, 4, 3, noise=0.3, seed=0)
    text = "".join(
        json.dumps({"x": x, "y": label, "weight": 2}) + "\n"
        for x, label in zip(X.tolist(), y.tolist(), strict=True)
    )
    path.write_text(text, encoding="utf-8")

    def reweighed():
        path.write_text(text.replace('"weight": 2', '"weight": 3', 1), encoding="utf-8")

    with pytest.raises(DataError, match="changed during the run"):
        train(MulticlassTask(), str(path), callbacks=[KillAll(reweighed)], **CONFIG, **LOST)


def test_a_file_that_was_only_written_again_does_not_matter(files):
    def touched():
        for path in files:
            Path(path).write_bytes(Path(path).read_bytes())

    config = {**CONFIG, "validation": files[2], "patience": 99}
    expected = train(MulticlassTask(), files[:2], executor="serial", **config)
    result = train(MulticlassTask(), files[:2], callbacks=[KillAll(touched)], **config, **LOST)
    assert result.history[-1].n_restarts == 2
    assert np.array_equal(result.model.w, expected.model.w)


def test_a_shard_bound_with_another_number_of_examples_than_were_scanned_is_refused(files):
    specs = SvmlightData(files[:2]).specs(2)
    facts = [Facts(n, dropped, n, 1.0, 1.0, None, 0, 0, "") for n, dropped in ((90, 10), (98, 1))]
    check_counts(specs, [100, 99], facts)
    with pytest.raises(DataError, match=rf"{files[1]}.* 100 examples were read from it .* then 99"):
        check_counts(specs, [100, 100], facts)
