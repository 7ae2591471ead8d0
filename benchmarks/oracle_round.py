"""One fresh oracle round on one thread, against NumPy and SciPy doing the same work.

Run: python benchmarks/oracle_round.py            (needs Covertype and 20 Newsgroups)

The work: scores of all classes, loss-augmented argmax, the sum of the chosen planes. NumPy does it
with matrix products (X @ W, D.T @ X) on one thread, SciPy with sparse ones; interleaved runs.
"""

from __future__ import annotations

import argparse

import numpy as np
from support import covertype, interleaved, median_ratio, newsgroups, table

from distsvm import MulticlassTask
from distsvm.blas import one_thread
from distsvm.data.dataset import TableData
from distsvm.vectors import to_dense
from distsvm.workers.cut_part import CutPartMaker
from distsvm.workers.shard_worker import ShardWorker


def contenders(X, y, n_shards):
    """Two functions of w that give (risk, a): ours, and the same by matrix products."""
    task = MulticlassTask(loss_scale=100.0, intercept_scaling=0.0)
    workers = [ShardWorker(spec) for spec in TableData(X, y).specs(n_shards)]
    parts = [task.scan(worker.shard) for worker in workers]
    task = task.prepare(sum(parts[1:], parts[0]))
    for worker in workers:
        worker.bind(task, "margin", CutPartMaker(0), False, 0)
    n, k = X.shape[0], task.labels.size
    code = np.searchsorted(task.labels, y)
    losses = task.loss_matrix()
    each = np.arange(n)

    def ours(w):
        sums = [worker.part.fresh(w) for worker in workers]
        total = sum(sums[1:], sums[0])
        return total.upper, to_dense(total.a).reshape(-1, k)[:-1]

    def products(w):
        W = w.reshape(-1, k)[:-1]
        scores = X @ W
        truth = scores[each, code]
        scores += losses[code]
        best = scores.argmax(axis=1)
        D = np.zeros((n, k))
        D[each, code] += 1
        D[each, best] -= 1
        return (scores[each, best] - truth).sum(), X.T @ D

    return ours, products, task.dim


def measure(name, data, labels, peer, n_shards, repeats):
    """A row of the table, after both were found to give the same risk and the same sum."""
    ours, products, dim = contenders(data, labels, n_shards)
    w = np.random.default_rng(0).standard_normal(dim)
    w_peer = w.astype(data.dtype) if data.dtype == np.float32 else w
    (risk, a), (risk_peer, a_peer) = ours(w), products(w_peer)
    tolerance = 1e-3 if data.dtype == np.float32 else 1e-8
    assert np.isclose(risk, risk_peer, rtol=tolerance)
    assert np.abs(a - a_peer).max() <= tolerance * np.abs(a_peer).max()
    times = interleaved({"ours": lambda: ours(w), "peer": lambda: products(w_peer)}, repeats)
    size = f"{data.shape[0]} × {data.shape[1]}"
    milliseconds = [f"{1e3 * min(times[who]):.0f}" for who in ("ours", "peer")]
    ratio = median_ratio(times["peer"], times["ours"])
    return name, size, n_shards or "default", peer, *milliseconds, f"{ratio:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="50,000 rows of Covertype")
    args = parser.parse_args()
    X, y, _, _ = covertype(50_000 if args.quick else 522_911)
    N, z = newsgroups()
    with one_thread():
        rows = [
            measure(name, data, labels, peer, n_shards, args.repeats)
            for name, data, labels, peer in (
                ("Covertype float64", X, y, "NumPy"),
                ("Covertype float32", X.astype(np.float32), y, "NumPy (float32 sums)"),
                ("Newsgroups CSR", N, z, "SciPy"),
            )
            for n_shards in (1, None)
        ]
    print("One fresh round on one thread; ratio = peer's time / ours, median of interleaved pairs")
    table(("data", "size", "shards", "peer", "ours ms", "peer ms", "ratio"), rows)


if __name__ == "__main__":
    main()
