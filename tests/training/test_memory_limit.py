"""A worker process stays within worker_memory_mb, on data that would take far more."""

import gzip
import multiprocessing
import threading

import numpy as np
import psutil
import pytest

from distsvm import MulticlassTask, train
from distsvm.data.synthetic import make_multiclass

MEGABYTE = 2**20


class Peak(threading.Thread):
    """The largest USS (unique set size) that a child of this process has."""

    def __init__(self):
        super().__init__(daemon=True)
        self.mb, self._ended = 0.0, threading.Event()

    def run(self):
        while not self._ended.wait(0.02):
            for child in multiprocessing.active_children():
                try:
                    used = psutil.Process(child.pid).memory_full_info().uss
                except (psutil.NoSuchProcess, psutil.AccessDenied):
                    continue
                self.mb = max(self.mb, used / MEGABYTE)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self.join()


def packed_text(path, n_blocks):
    """80 kB of text a block, 240 kB in arrays, in a file that packs to next to nothing."""
    rng = np.random.default_rng(0)
    block = "".join(
        f"{i % 3} " + " ".join(f"{j}:{x}" for j, x in enumerate(row, 1)) + "\n"
        for i, row in enumerate(rng.integers(1, 9, (500, 40)).tolist())
    ).encode()
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(n_blocks):
            file.write(block)
    return str(path)


def parquet(path, n_blocks):
    """Twice 240 kB in arrays a block, in row groups of 5 MB."""
    X, y = make_multiclass(1000 * n_blocks, 60, 3, dtype=np.float32)
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    columns = {f"f{j}": X[:, j] for j in range(60)}
    table = arrow.table({**columns, "label": y})
    from pyarrow.parquet import write_table

    write_table(table, path, row_group_size=20_000)
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("solver", "written", "ending", "limit_mb"),
    [
        ("one-slack", packed_text, "svm.gz", 128),
        ("multi-plane", packed_text, "svm.gz", 128),
        ("one-slack", parquet, "parquet", 190),
    ],
)
def test_a_worker_stays_within_its_limit(tmp_path, solver, written, ending, limit_mb):
    little, much = (written(tmp_path / f"{n}.{ending}", n) for n in (10, 800))
    run = {"n_workers": 1, "solver": solver, "C": 1.0, "n_shards": 1, "max_rounds": 2}
    run |= {"worker_memory_mb": limit_mb, "cache_dir": tmp_path / "packed"}
    train(MulticlassTask(), little, **run, executor="serial")  # a compiler needs memory, too
    with Peak() as peak:
        train(MulticlassTask(), much, **run, executor="processes")
    assert 0 < peak.mb < limit_mb
