"""Pieces of a shard of text: the same examples in order, as many in each as sums are made of."""

import bz2
import gzip
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distsvm.data import open_data
from distsvm.data.files import compression
from distsvm.data.readers import lines, pieces
from distsvm.data.readers.pieces import rows_of_piece
from distsvm.errors import DataError

LINES = st.lists(
    st.sampled_from(["{} 1:1\n", "\n", "# no example\n", "{} 3:2 # one\n"]), min_size=1
)


@given(st.lists(LINES, min_size=1, max_size=3), st.integers(1, 3), st.sampled_from([1, 2, 4]))
def test_pieces_hold_the_examples_of_the_shard(tmp_path_factory, files, n_shards, mark):
    folder, label = tmp_path_factory.mktemp("text"), 0
    for number, own in enumerate(files):
        text = ""
        for line in [*own, "{} 1:1\n"]:  # a file without examples is refused
            label += "{}" in line
            text += line.format(label)
        (folder / f"{number}.svm").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "MARK", mark)
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
    assert rows == pieces.MARK or rows * row_bytes <= n_bytes


PACKERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(pieces, "MARK", 4)


def packed(folder, name, texts):
    path = folder / name
    with PACKERS[compression(name)](path, "wt") as file:
        file.writelines(texts)
    return str(path)


@pytest.mark.parametrize("ending", PACKERS)
def test_packed_text_is_cut_like_any_other_and_unpacked_once_a_pass(
    small, tmp_path, monkeypatch, ending
):
    texts = [f"{i} 1:{i}\n" for i in range(50)]
    packed(tmp_path, f"a.svm{ending}", texts[:30])
    (tmp_path / "b.svm").write_text("".join(texts[30:36]))
    packed(tmp_path, f"c.svm{ending}", texts[36:])
    (spec,) = open_data(str(tmp_path)).specs(1)
    parts = spec.pieces(1.0)
    paths, opened = [], lines.opened
    monkeypatch.setattr(lines, "opened", lambda path: paths.append(path[-8:]) or opened(path))
    for _ in range(2):
        shards = [piece.load() for piece in parts]
        assert [shard.n for shard in shards] == [4] * 7 + [2, 4, 2] + [4] * 3 + [2]
        assert np.concatenate([shard.y for shard in shards]).tolist() == list(range(50))
    names = [path for path in paths if compression(path)]
    assert len(names) == 4
    assert not hasattr(lines._here, "kept") or lines._here.kept is None
    assert parts[3].load().y.tolist() == [12, 13, 14, 15]
    assert parts[1].load().y.tolist() == [4, 5, 6, 7]


def test_a_packed_file_that_was_written_anew_is_not_read_on(small, tmp_path):
    path = packed(tmp_path, "a.svm.gz", [f"{i} 1:1\n" for i in range(10)])
    (spec,) = open_data(path).specs(1)
    first, second, _ = spec.pieces(1.0)
    assert first.load().y.tolist() == [0, 1, 2, 3]
    packed(tmp_path, "a.svm.gz", [f"{i} 1:22\n" for i in range(10)])
    shifted = second.with_parts([lines.Part(path, 28, 56)])
    assert shifted.load().y.tolist() == [4, 5, 6, 7]
    first.with_parts([lines.Part(path, 0, 28)]).load()
    packed(tmp_path, "a.svm.gz", [f"{9 - i} 1:22\n" for i in range(10)])
    assert shifted.load().y.tolist() == [5, 4, 3, 2]


@pytest.mark.parametrize(
    ("name", "good", "bad", "told"),
    [
        ("a.svm.gz", "1 1:1\n", "1 x\n", "line 20: found 'x'"),
        ("a.mrg.xz", "(S (A a))\n", ")\n", "line 20, column 1: found a closing bracket"),
        ("a.jsonl.bz2", '{"x": [1], "y": 1}\n', "[1]\n", r"line 20: found '\[1\]'"),
    ],
)
def test_an_error_in_a_later_piece_names_the_packed_file_and_its_line(
    small, tmp_path, name, good, bad, told
):
    path = packed(tmp_path, name, [good] * 19 + [bad] + [good] * 9)
    (spec,) = open_data(path).specs(1)
    parts = spec.pieces(1.0)
    assert len(parts) > 3
    with pytest.raises(DataError, match=f"{name}, {told}"):
        [part.load() for part in parts]


def test_text_that_packs_well_has_pieces_of_the_size_of_other_text(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "MARK", 4)
    texts = ["1 " + " ".join(f"{j}:1" for j in range(1, 100)) + "\n"] * 500
    path = packed(tmp_path, "a.svm.gz", texts)
    (tmp_path / "a.svm").write_text("".join(texts))
    sizes = [
        [piece.load().n for piece in open_data(name).specs(1)[0].pieces(16384.0)]
        for name in (path, str(tmp_path / "a.svm"))
    ]
    assert len(sizes[0]) > 50
    assert sizes[0] == sizes[1]
