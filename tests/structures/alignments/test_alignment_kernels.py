"""Many lanes at once score and align as Biopython does, whatever lies beside a pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distsvm import AlignmentTask
from distsvm.data.ragged import Ragged, offsets
from distsvm.structures.alignments.kernels import pairs, rows
from distsvm.structures.alignments.kernels.lanes import LANES
from distsvm.structures.alignments.scoring import Scoring

LETTERS = "ACDEFGHIKL"
KINDS = [(local, gaps) for local in (True, False) for gaps in ("linear", "affine")]


def drawn(rng, n, longest):
    """Sequences of random lengths."""
    return Ragged.of(
        [rng.integers(0, len(LETTERS), rng.integers(1, longest + 1)) for _ in range(n)], np.uint8
    )


def weights(rng, task):
    """Scores as people use them: whole numbers, and gaps that cost."""
    w = rng.integers(-4, 3, task.dim).astype(float)
    w[task.pair_features.reshape(len(LETTERS), -1).diagonal()] = rng.integers(1, 7, len(LETTERS))
    first, others = task.gap_features
    w[others] = -rng.integers(1, 3)
    w[first] = w[others] - (rng.integers(0, 6) if first != others else 0)
    return w


def texts(ragged):
    return ["".join(LETTERS[k] for k in ragged.row(i)) for i in range(len(ragged))]


def scored(scoring, x, y, order=None):
    n = len(x)
    out = np.empty(n, scoring.S.dtype)
    each = np.arange(n)
    order = np.argsort(-x.lengths, kind="stable") if order is None else order
    pairs.scores(*scoring, x.values, x.starts, y.values, y.starts, each, each, order, out)
    return out


def aligned(scoring, x, y):
    """The rows and scores of the best alignments."""
    n = len(x)
    starts = offsets(1 + x.lengths + y.lengths)
    out, best, each = np.empty(starts[-1], np.int16), np.empty(n), np.arange(n)
    pairs.align(
        *scoring, x.values, x.starts, y.values, y.starts, each, each,
        np.argsort(-x.lengths, kind="stable"), None, None, 1.0, np.zeros(n, np.int64), out, starts,
        best,
    )  # fmt: skip
    return Ragged(out, starts), best


def score_of_rows(task, w, outputs, x, y):
    """Σ w·Ψ of each alignment."""
    index, value, starts = rows.features(
        outputs.values, outputs.starts, x.values, x.starts[:-1], y.values, y.starts,
        np.arange(len(x)), task.pair_features, len(LETTERS), task.gap_features,
    )  # fmt: skip
    sums = np.concatenate([[0.0], np.cumsum(w[index] * value)])
    return sums[starts[1:]] - sums[starts[:-1]]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("local", "gaps"), KINDS)
def test_long_pairs_score_as_biopython_says(local, gaps, seed):
    align = pytest.importorskip("Bio.Align", reason="Biopython is not installed")
    rng = np.random.default_rng(seed)
    task = AlignmentTask(alignment="local" if local else "global", gaps=gaps, letters=LETTERS)
    w = weights(rng, task)
    x, y = drawn(rng, LANES + 9, 120), drawn(rng, LANES + 9, 120)
    aligner = align.PairwiseAligner(mode="local" if local else "global")
    aligner.substitution_matrix = align.substitution_matrices.Array(LETTERS, 2, task.matrix(w))
    aligner.open_gap_score, aligner.extend_gap_score = w[list(task.gap_features)]
    expected = [aligner.score(a, b) for a, b in zip(texts(x), texts(y), strict=True)]
    scoring = task.scoring(w)
    assert scored(scoring, x, y).tolist() == expected
    outputs, best = aligned(scoring, x, y)
    assert best.tolist() == expected
    assert score_of_rows(task, w, outputs, x, y).tolist() == expected
    single = Scoring.of(task.matrix(w).astype(np.float32), *scoring[2:4], local)
    assert scored(single, x, y).tolist() == expected  # float32 holds these whole numbers


@given(seed=st.integers(0, 10_000), local=st.booleans(), gaps=st.sampled_from(["linear", "affine"]))
def test_a_pair_has_the_same_bits_in_any_company(seed, local, gaps):
    rng = np.random.default_rng(seed)
    task = AlignmentTask(alignment="local" if local else "global", gaps=gaps, letters=LETTERS)
    w = rng.normal(size=task.dim)
    scoring = task.scoring(w)
    x, y = drawn(rng, LANES + 3, 12), drawn(rng, LANES + 3, 12)
    together, (outputs, best) = scored(scoring, x, y), aligned(scoring, x, y)
    assert np.array_equal(together, best)
    for k in rng.integers(0, len(x), 5):
        one = np.array([k])
        alone, score = aligned(scoring, x[one], y[one])
        assert score[0] == together[k]
        assert np.array_equal(alone.values, outputs.row(k))
    assert np.allclose(score_of_rows(task, w, outputs, x, y), best)


def test_long_sequences_take_few_lanes_and_the_same_way():
    rng = np.random.default_rng(0)
    task = AlignmentTask(letters=LETTERS)
    w = weights(rng, task)
    x = Ragged.of([rng.integers(0, 10, n) for n in (900, 30, 700)], np.uint8)
    y = Ragged.of([rng.integers(0, 10, n) for n in (800, 600, 40)], np.uint8)
    outputs, best = aligned(task.scoring(w), x, y)
    assert np.array_equal(scored(task.scoring(w), x, y), best)
    assert np.array_equal(score_of_rows(task, w, outputs, x, y), best)
