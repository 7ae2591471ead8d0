"""The generators: seeded, of the promised form, and learnable."""

import numpy as np
import pytest

from distsvm.data import open_data
from distsvm.data.synthetic import (
    make_binary,
    make_chains,
    make_multiclass,
    make_sparse_multiclass,
    write_parts,
)
from distsvm.errors import ConfigError

MAKERS = {
    "binary": lambda seed: make_binary(200, 5, seed=seed),
    "multiclass": lambda seed: make_multiclass(200, 5, 4, seed=seed),
    "sparse": lambda seed: make_sparse_multiclass(200, 50, 4, n_nonzero=9, seed=seed),
}


def as_array(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


@pytest.mark.parametrize("kind", MAKERS)
def test_equal_seeds_give_equal_data_and_others_do_not(kind):
    (X, y), (same, same_y), (other, _) = (MAKERS[kind](seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(as_array(X), as_array(same))
    np.testing.assert_array_equal(y, same_y)
    assert (as_array(X) != as_array(other)).any()


def test_binary_labels_are_signs_and_noise_is_their_share_of_mistakes():
    X, y = make_binary(4000, 3, noise=0.0)
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    assert set(y) == {-1, 1}
    assert np.mean(np.sign(X @ w) == y) > 0.97
    _, noisy = make_binary(4000, 3, noise=0.2)
    assert np.mean(noisy != y) == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_are_as_asked(dtype):
    assert make_binary(5, 2, dtype=dtype)[0].dtype == dtype
    assert make_multiclass(5, 2, 3, dtype=dtype)[0].dtype == dtype
    assert make_sparse_multiclass(5, 9, 3, dtype=dtype)[0].dtype == dtype


def test_every_class_occurs_and_classes_are_learnable():
    X, y = make_multiclass(3000, 10, 6, noise=0.0)
    assert set(y) == set(range(6))
    scores = X @ np.linalg.lstsq(X, np.eye(6)[y], rcond=None)[0]
    assert np.mean(scores.argmax(axis=1) == y) > 0.75


def test_sparse_rows_are_like_texts():
    X, y = make_sparse_multiclass(2000, 5000, 8, n_nonzero=40, noise=0.0)
    assert X.has_canonical_format
    assert np.diff(X.indptr).max() <= 40
    np.testing.assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1.0)
    counts = np.sort(np.bincount(X.indices, minlength=5000))[::-1]
    assert counts[:50].sum() > 0.25 * counts.sum()
    centres = np.stack([np.asarray(X[y == k].mean(axis=0)).ravel() for k in range(8)])
    centres -= centres.mean(axis=0)
    assert np.mean((X @ centres.T).argmax(axis=1) == y) > 0.8


def test_chains_are_pairs_of_equally_long_lists_of_int():
    chains = make_chains(200, 8, 4, 11, seed=1)
    assert chains == make_chains(200, 8, 4, 11, seed=1)
    assert {len(x) for x, _ in chains} == set(range(4, 13))
    for x, y in chains:
        assert len(x) == len(y)
        assert all(type(s) is int and 0 <= s < 11 for s in x)
        assert all(type(s) is int and 0 <= s < 4 for s in y)
    assert open_data(chains).specs(3)[0].load().n == 67


def test_chains_tell_their_labels_by_symbols():
    pairs = np.array(
        [[s, t] for x, y in make_chains(500, 10, 4, 30) for s, t in zip(x, y, strict=True)]
    )
    table = np.zeros((30, 4))
    np.add.at(table, tuple(pairs.T), 1)
    assert table.max(axis=1).sum() / table.sum() > 0.5


@pytest.mark.parametrize("format", ["svmlight", "svmlight.gz", "parquet"])
@pytest.mark.parametrize("kind", ["multiclass", "sparse"])
def test_parts_are_read_back_exactly(tmp_path, format, kind):
    if format == "parquet":
        pytest.importorskip("pyarrow")
    X, y = MAKERS[kind](0)
    paths = write_parts(tmp_path / "parts", X, y, 3, format)
    assert len(paths) == 3
    shards = [spec.load() for spec in open_data(tmp_path / "parts").specs(5)]
    np.testing.assert_array_equal(np.concatenate([shard.y for shard in shards]), y)
    base = 1 if format != "parquet" else 0
    rows = []
    for shard in shards:
        if hasattr(shard.x, "starts"):
            values, columns, starts = shard.x.arrays()
            block = np.zeros((shard.n, X.shape[1]))
            block[np.repeat(np.arange(shard.n), np.diff(starts)), columns - base] = values
            rows.append(block)
        else:
            rows.append(shard.x.values)
    np.testing.assert_array_equal(np.concatenate(rows), as_array(X))


def test_parts_that_cannot_be_written_are_refused(tmp_path):
    X, y = make_binary(5, 2)
    with pytest.raises(ConfigError, match="n_files=6: expected 1 to 5"):
        write_parts(tmp_path, X, y, 6)
    with pytest.raises(ConfigError, match="format='csv'"):
        write_parts(tmp_path, X, y, 1, "csv")
