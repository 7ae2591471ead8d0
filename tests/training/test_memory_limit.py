"""A worker process stays within worker_memory_mb, on data that would take far more."""

import gzip
import multiprocessing
import threading

import numpy as np
import psutil
import pytest

from distsvm import MulticlassTask, train

MEGABYTE = 2**20
LIMIT_MB = 128


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


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["one-slack", "multi-plane"])
def test_a_worker_stays_within_its_limit(tmp_path, solver):
    little, much = (packed_text(tmp_path / f"{n}.svm.gz", n) for n in (10, 800))
    run = {"n_workers": 1, "solver": solver, "C": 1.0, "n_shards": 1, "max_rounds": 2}
    run |= {"worker_memory_mb": LIMIT_MB, "cache_dir": tmp_path / "packed"}
    train(MulticlassTask(), little, **run, executor="serial")  # a compiler needs memory, too
    with Peak() as peak:
        train(MulticlassTask(), much, **run, executor="processes")
    assert 0 < peak.mb < LIMIT_MB
