"""The search finds the most violated output, for every loss, rescaling, kind and sign of scores."""

import numpy as np
import pytest
from alignment_enumeration import alignments, score
from hypothesis import given, settings
from hypothesis import strategies as st

from distsvm import AlignmentTask
from distsvm.testing import check_task

KINDS = [(a, g) for a in ("local", "global") for g in ("linear", "affine")]
SHORT = st.text("ab", min_size=1, max_size=3)


@st.composite
def examples(draw, n_candidates, local):
    """An input and a true output of it."""
    x = (draw(SHORT), tuple(draw(SHORT) for _ in range(n_candidates)))
    return x, draw(st.sampled_from(list(alignments(x, local))))


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(("alignment", "gaps"), KINDS)
@given(data=st.data(), seed=st.integers(0, 99))
def test_scores_are_those_of_the_best_of_all_alignments(alignment, gaps, symmetric, data, seed):
    local = alignment == "local"
    x, y = data.draw(examples(2, local))
    task = AlignmentTask(alignment=alignment, gaps=gaps, symmetric=symmetric, letters="ab")
    w = np.random.default_rng(seed).normal(size=task.dim) - seed % 3
    matrix = {(a, b): task.matrix(w)[i, j] for i, a in enumerate("ab") for j, b in enumerate("ab")}
    gap = w[list(task.gap_features)]
    found = task.decode(w, x)
    best = max(score(other, x, matrix, *gap) for other in alignments(x, local))
    assert score(found, x, matrix, *gap) == pytest.approx(best)
    assert task.joint_features(x, y) @ w == pytest.approx(score(y, x, matrix, *gap))


@pytest.mark.parametrize("losses", ["zero-one", "residues"])
@pytest.mark.parametrize(("alignment", "gaps"), KINDS)
@settings(max_examples=30)
@given(data=st.data(), seed=st.integers(0, 99))
def test_the_task_keeps_its_contract(alignment, gaps, losses, data, seed):
    local = alignment == "local"
    n_candidates = 1 if losses == "residues" else 3
    task = AlignmentTask(
        losses, loss_scale=2.0, alignment=alignment, gaps=gaps, letters="ab", longest=6
    )
    found = [data.draw(examples(n_candidates, local)) for _ in range(2)]
    check_task(task, found, outputs=lambda x: alignments(x, local), seed=seed)
