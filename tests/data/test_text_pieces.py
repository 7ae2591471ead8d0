"""Pieces of a shard of text: the same examples in order, as many in each as sums are made of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distsvm.data import open_data
from distsvm.data.readers import pieces
from distsvm.data.readers.pieces import rows_of_piece

LINES = st.lists(
    st.sampled_from(["{} 1:1\n", "\n", "# no example\n", "{} 3:2 # one\n"]), min_size=1
)


@given(st.lists(LINES, min_size=1, max_size=3), st.integers(1, 3), st.sampled_from([1, 2, 4]))
def test_pieces_hold_the_examples_of_the_shard(tmp_path_factory, files, n_shards, mark):
    folder, label = tmp_path_factory.mktemp("text"), 0
    for number, lines in enumerate(files):
        text = ""
        for line in [*lines, "{} 1:1\n"]:  # a file without examples is refused
            label += "{}" in line
            text += line.format(label)
        (folder / f"{number}.svm").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "MARK", mark)
        patch.setattr(pieces, "LEAST_BYTES", 1)
        found = []
        for spec in open_data(str(folder)).specs(min(n_shards, label)):
            shards = [piece.load() for piece in spec.pieces(1.0)]
            assert {shard.n for shard in shards[:-1]} <= {mark}
            assert 1 <= shards[-1].n <= mark
            found += [shard.y for shard in shards]
    assert np.concatenate(found).tolist() == list(range(1, label + 1))


@given(st.floats(1, 1e12), st.floats(1, 1e9))
def test_a_piece_has_a_multiple_of_what_is_summed_at_a_time(n_bytes, row_bytes):
    rows = rows_of_piece(n_bytes, row_bytes)
    assert rows >= pieces.MARK
    assert rows % pieces.WHOLE_ROWS == 0 or rows & (rows - 1) == 0
    assert rows == pieces.MARK or rows * row_bytes <= max(n_bytes, pieces.LEAST_BYTES)
