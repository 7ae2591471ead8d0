"""Other programs read the learned matrix, and align with it as the model does."""

import numpy as np
import pytest

from distsvm import AlignmentTask
from distsvm.data.shard import Shard
from distsvm.structures.alignments.alignment import Alignment
from distsvm.structures.alignments.drawing import alignments_svg, draw_alignment
from distsvm.structures.alignments.matrix import matrix_text
from distsvm.structures.alignments.synthetic import make_alignments

LETTERS = "ACDEFGHIKLMNPQRSTVWY"


@pytest.fixture
def learned():
    """A task and whole numbers as scores, as they are after rounding."""
    rng = np.random.default_rng(0)
    task = AlignmentTask(gaps="affine", symmetric=True, letters=LETTERS)
    w = rng.integers(-9, 6, task.dim).astype(float)
    w[task.pair_features.reshape(20, 20).diagonal()] = rng.integers(3, 10, 20)
    w[0], w[list(task.gap_features)] = 100.0, (-11.0, -2.0)  # the largest score is 100: scale 1
    return task, w


def scores_of_pairs(task, w, inputs):
    oracle = task.oracle(Shard(inputs, None, None), "margin")
    return oracle.candidate_scores(oracle.view(w), np.arange(oracle.n))


def test_biopython_reads_the_matrix_and_finds_the_same_scores(learned, tmp_path):
    align = pytest.importorskip("Bio.Align", reason="Biopython is not installed")
    task, w = learned
    (tmp_path / "matrix").write_text(matrix_text(task, w))
    aligner = align.PairwiseAligner(mode="local", open_gap_score=-11, extend_gap_score=-2)
    aligner.substitution_matrix = align.substitution_matrices.read(tmp_path / "matrix")
    assert np.array_equal(np.array(aligner.substitution_matrix), task.matrix(w))
    inputs, _ = make_alignments(3, n_decoys=4)
    found = scores_of_pairs(task, w, inputs)
    for i, x in enumerate(inputs):
        assert found.row(i).tolist() == [aligner.score(x.native, c) for c in x.candidates]


def test_parasail_reads_the_matrix_and_finds_the_same_scores(learned, tmp_path):
    parasail = pytest.importorskip("parasail", reason="parasail is not installed")
    task, w = learned
    (tmp_path / "matrix").write_text(matrix_text(task, w))
    matrix = parasail.Matrix(str(tmp_path / "matrix"))
    inputs, _ = make_alignments(3, n_decoys=4)
    found = scores_of_pairs(task, w, inputs)
    for i, x in enumerate(inputs):
        expected = [parasail.sw_striped_16(x.native, c, 11, 2, matrix).score for c in x.candidates]
        assert found.row(i).tolist() == expected


def test_scores_are_written_as_they_are_on_demand(learned):
    task, w = learned
    w = w / 7
    rows = [line.split() for line in matrix_text(task, w, 0).splitlines() if line[0] != "#"]
    assert [[float(cell) for cell in row[1:]] for row in rows[1:]] == task.matrix(w).tolist()


def test_an_alignment_is_drawn_with_places_and_marks():
    x, y = ("AACDEF", ("CDGEYY",)), Alignment(0, "MMIMM", 2, 0)
    assert draw_alignment(x, y) == "candidate 0\n3 CD-EF 6\n  || |:\n1 CDGEY 5"
    assert draw_alignment(x, Alignment(0, "")) == "candidate 0: nothing is aligned"
    narrow = draw_alignment(x, y, width=7).split("\n")
    assert [line for line in narrow if line][1:] == [
        "3 CD- 4", "  ||", "1 CDG 3", "5 EF 6", "  |:", "4 EY 5",
    ]  # fmt: skip
    assert "3 CD-EF 6" in alignments_svg([(x, y)])


def test_rows_are_those_of_the_alignment():
    x, y = ("AACDEF", ("CDGEYY",)), Alignment(0, "MMIMM", 2, 0)
    assert y.rows(x) == ("CD-EF", "CDGEY")
    assert Alignment.of_rows("AACD-EF.", "..CDGEYY") == y
    assert list(y.pairs()) == [(2, 0), (3, 1), (4, 3), (5, 4)]
    assert y.ends == (6, 5)
