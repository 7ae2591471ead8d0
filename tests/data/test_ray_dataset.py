"""A Ray Dataset as input: the rows of its blocks, in order, in shards that are never empty."""

import numpy as np
import pytest

import distsvm
from distsvm.data import open_data, open_inputs
from distsvm.data.synthetic import make_multiclass
from distsvm.errors import DataError
from distsvm.structures.classes.task import MulticlassTask

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def ray_data(ray_session):
    return pytest.importorskip("ray.data", reason="Ray Data needs ray[data]")


def frame_of(X, y):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    return pd.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])} | {"label": y})


def test_a_ray_dataset_trains_as_the_arrays_do(ray_data, ray_session):
    X, y = make_multiclass(300, 4, 3)
    dataset = ray_data.from_pandas(
        [frame_of(X[i : i + 50], y[i : i + 50]) for i in range(0, 300, 50)]
    )
    run = {"C": 10.0, "n_shards": 4, "max_rounds": 3}
    ours = distsvm.train(MulticlassTask(), dataset, executor="ray", n_workers=2, **run)
    shards = [spec.load() for spec in open_data(dataset).specs(4)]
    assert all(shard.n for shard in shards)
    np.testing.assert_array_equal(np.concatenate([s.x.values for s in shards]), X)
    np.testing.assert_array_equal(np.concatenate([s.y for s in shards]), y)
    here = distsvm.train(MulticlassTask(), dataset, executor="serial", **run)
    np.testing.assert_array_equal(here.model.w, ours.model.w)
    found = ours.model.predict(dataset, executor="serial")
    assert found.tolist() == ours.model.predict(X, executor="serial").tolist()


def test_blocks_without_rows_and_tensors_do_no_harm(ray_data):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    X, y = make_multiclass(20, 3, 2)
    table = pa.table({"features": X.tolist(), "label": y})
    dataset = ray_data.from_arrow([table.slice(0, 0), table.slice(0, 5), table.slice(5)])
    sizes = [spec.load().n for spec in open_data(dataset).specs(3)]
    assert sum(sizes) == 20
    assert min(sizes) > 0
    tensors = ray_data.from_numpy(X)
    (shard,) = (spec.load() for spec in open_inputs(tensors, features="data").specs(1))
    np.testing.assert_array_equal(shard.x.values, X)
    with pytest.raises(DataError, match="the Ray Dataset: there are no rows"):
        open_data(ray_data.from_arrow([table.slice(0, 0)])).specs(2)


def test_processes_cannot_read_a_ray_dataset(ray_data):
    X, y = make_multiclass(40, 3, 2)
    dataset = ray_data.from_pandas(frame_of(X, y))
    with pytest.raises(DataError, match="executors ray, serial and threads can read it"):
        distsvm.train(MulticlassTask(), dataset, executor="processes", n_workers=1, n_shards=2)
