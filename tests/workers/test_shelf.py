"""What a worker puts aside: the same arrays again, and a file that nobody finds."""

import gc
import os
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, scalar_dtypes

from distsvm.errors import DataError
from distsvm.storage import read_each, write_each
from distsvm.workers.shelf import Shelf

ARRAYS = arrays(scalar_dtypes(), array_shapes(min_dims=0, min_side=0))


@given(st.dictionaries(st.from_regex(r"[0-9]\.[a-z]{1,3}", fullmatch=True), ARRAYS))
def test_arrays_come_back_as_they_were_in_their_order(tmp_path_factory, given_arrays):
    shelf = Shelf(str(tmp_path_factory.getbasetemp() / "shelf"))
    for name, array in given_arrays.items():
        shelf.put(name, array)
    assert list(shelf) == list(given_arrays)
    for _ in range(2):
        for name in sorted(given_arrays):
            found = shelf[name]
            assert found.dtype == given_arrays[name].dtype
            assert found.tobytes() == given_arrays[name].tobytes()
            assert found.shape == given_arrays[name].shape
    for prefix in "07":
        own = [name for name in given_arrays if name.startswith(f"{prefix}.")]
        assert [f"{prefix}.{name}" for name, _ in shelf.under(f"{prefix}.")] == own


def test_the_file_has_no_name_and_ends_with_the_shelf(tmp_path):
    shelf, n_open = Shelf(str(tmp_path / "new")), len(os.listdir("/dev/fd"))
    shelf.put("a", np.arange(10))
    assert os.listdir(tmp_path / "new") == []
    assert shelf.n_bytes > 80
    del shelf
    assert len(os.listdir("/dev/fd")) == n_open - 1


def test_objects_are_refused(tmp_path):
    with pytest.raises(ValueError, match="allow_pickle"):
        Shelf(str(tmp_path)).put("a", np.array([{}]))


def test_a_folder_that_cannot_be_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file.*planes cannot be put aside"):
        Shelf(str(tmp_path / "file" / "below"))


def test_one_array_is_in_memory_at_a_time_on_the_way_to_an_archive_and_back(tmp_path):
    seen = []

    def noted(array):
        assert not any(reference() is not None for reference in seen)
        seen.append(weakref.ref(array))
        return array

    gc.disable()  # nothing may wait for it
    try:
        digest = write_each(tmp_path / "a.npz", ((str(i), noted(np.full(9, i))) for i in range(5)))
    finally:
        gc.enable()
    found = read_each(tmp_path / "a.npz", DataError, digest)
    assert next(found)[1].tolist() == [0] * 9
    assert [name for name, _ in found] == ["1", "2", "3", "4"]
