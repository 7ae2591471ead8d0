"""Training finds certified scores, goes on where it stopped, and aligns where nothing is given."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distsvm import Alignment, AlignmentTask, SequenceAligner, load_model, train
from distsvm.data.shard import Shard
from distsvm.errors import ConfigError
from distsvm.structures.alignments.alignment import Sequences
from distsvm.structures.alignments.latent import train_in_turns
from distsvm.structures.alignments.synthetic import make_alignments

CLEAR = {"length": 30, "n_operations": 20, "n_decoys": 4, "shares": (0.7, 0.1, 0.1, 0.1)}
CONFIG = {"executor": "serial", "n_shards": 3, "eps": 0.02}


def pairs_of(inputs, outputs):
    """The native sequences with their homologues alone."""
    pairs = list(zip(inputs, outputs, strict=True))
    return (
        [Sequences(x.native, (x.candidates[y.candidate],)) for x, y in pairs],
        [Alignment(0, y.columns, y.start, y.candidate_start) for _, y in pairs],
    )


def without_alignments(outputs):
    return [Alignment(y.candidate) for y in outputs]


def risk(task, w, inputs, outputs, C):
    """½‖w‖² + C·mean H, one search at a time."""
    values = []
    for x, y in zip(inputs, outputs, strict=True):
        found = task.separate(w, x, y, "margin")
        psi = task.joint_features(x, y) - task.joint_features(x, found)
        values.append(task.loss(y, found) - psi @ w)
    return 0.5 * w @ w + C * np.mean(values)


@pytest.mark.parametrize("solver", ["one-slack", "multi-plane"])
@pytest.mark.parametrize("losses", ["zero-one", "residues"])
def test_the_certificate_can_be_computed_again(losses, solver):
    data = make_alignments(12, length=20, n_operations=8, n_decoys=2)
    data = pairs_of(*data) if losses == "residues" else data
    result = train(AlignmentTask(losses, gaps="affine"), *data, C=5.0, solver=solver, **CONFIG)
    assert result.certificate == "exact"
    found = risk(result.model.task, result.model.w, *data, 5.0)
    assert found == pytest.approx(result.primal, rel=1e-9)
    assert result.primal - result.dual <= 5.0 * 0.02 * (1 + 1e-9)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_squared_slacks_have_a_certificate_of_their_own(rescaling):
    inputs, outputs = make_alignments(12, length=20, n_operations=8, n_decoys=2)
    task, given = AlignmentTask(loss_scale=4.0), {"penalty": "quadratic", "rescaling": rescaling}
    result = train(task, inputs, outputs, C=5.0, solver="n-slack", **given, **CONFIG)
    w = result.model.w
    total = 0.0
    for x, y, own in zip(inputs, outputs, task_scores(result.model.task, w, inputs), strict=True):
        rival = np.delete(own, y.candidate).max()
        margin = result.model.task.joint_features(x, y) @ w - rival
        h = 2.0 * (1.0 - margin) if rescaling == "slack" else 2.0 - margin  # √Δ = 2
        total += max(0.0, h) ** 2
    objective = 0.5 * w @ w + 0.5 * 5.0 * total / len(inputs)
    assert objective == pytest.approx(result.primal, rel=1e-9)
    assert result.primal - result.dual >= 0


def test_squared_slacks_of_residues_are_refused():
    data = pairs_of(*make_alignments(4, length=20, n_operations=8, n_decoys=2))
    with pytest.raises(ConfigError, match="penalty"):
        train(AlignmentTask("residues"), *data, C=5.0, penalty="quadratic", **CONFIG)


def test_both_solvers_and_rescalings_of_the_loss_one_bound_the_same_optimum():
    data = make_alignments(12, length=20, n_operations=8, n_decoys=2)
    found = [
        train(AlignmentTask(), *data, C=5.0, solver=solver, rescaling=rescaling, **CONFIG)
        for solver in ("one-slack", "multi-plane")
        for rescaling in ("margin", "slack")
    ]
    assert max(one.dual for one in found) <= min(one.primal for one in found)


def test_learning_beats_chance_by_far():
    inputs, outputs = make_alignments(30, seed=1)
    aligner = SequenceAligner(C=30.0, eps=0.1, executor="serial").fit(inputs, outputs)
    assert aligner.score(*make_alignments(60, seed=2)) > 0.8  # 1/11 by chance
    assert aligner.matrix_.shape == (20, 20)
    assert aligner.gap_scores_[0] == aligner.gap_scores_[1] < 0


def test_residues_are_aligned_better_than_by_equal_letters():
    train_pairs, test_pairs = (pairs_of(*make_alignments(40, **CLEAR, seed=k)) for k in (0, 1))
    task = AlignmentTask("residues", gaps="affine")
    model = train(task, *train_pairs, C=20.0, **CONFIG).model
    usual = type(model)(model.task, model.task.reference_weights())
    assert model.evaluate(*test_pairs).loss < usual.evaluate(*test_pairs).loss


def test_weights_count_as_copies_do():
    inputs, outputs = make_alignments(6, length=20, n_operations=8, n_decoys=2)
    copies = [i for i in range(6) for _ in range(1 + i % 2)]
    config = {"executor": "serial", "n_shards": 1, "C": 5.0, "eps": 1e-3}
    once = train(AlignmentTask(), inputs, outputs, weight=1 + np.arange(6) % 2, **config)
    often = train(
        AlignmentTask(), [inputs[i] for i in copies], [outputs[i] for i in copies], **config
    )
    assert once.dual <= often.primal
    assert often.dual <= once.primal


# --- alignments that are not given ---------------------------------------------------------


@settings(max_examples=8)
@given(seed=st.integers(0, 99), gaps=st.sampled_from(["linear", "affine"]))
def test_the_objective_falls_from_training_to_training(seed, gaps):
    inputs, outputs = make_alignments(8, **CLEAR, seed=seed)
    task, unknown = AlignmentTask(gaps=gaps), without_alignments(outputs)
    turns = train_in_turns(task, (inputs, unknown), C=8.0, **CONFIG)
    assert len(turns.results) > 1
    fallen = np.diff(turns.objectives)
    assert (fallen <= 1e-9 * turns.objectives[0]).all()
    # F by its definition: the homologue counts with its best alignment.
    final = turns.result.model
    score = task_scores(final.task, final.w, inputs)
    best = [own[y.candidate] for own, y in zip(score, outputs, strict=True)]
    rival = [np.delete(own, y.candidate).max() for own, y in zip(score, outputs, strict=True)]
    hinge = np.maximum(0, 1 + np.array(rival) - best)
    objective = 0.5 * final.w @ final.w + 8.0 * hinge.mean()
    assert objective <= turns.objectives[-1] + 1e-9 * turns.objectives[0]


def task_scores(task, w, inputs):
    """The score of the best alignment of every candidate."""
    oracle = task.oracle(Shard(inputs, None, None), "margin")
    scores = oracle.candidate_scores(oracle.view(w), np.arange(oracle.n))
    return [scores.row(i) for i in range(len(scores))]


def test_the_estimator_takes_turns_only_where_alignments_are_unknown():
    inputs, outputs = make_alignments(20, **CLEAR)
    known = SequenceAligner(C=20.0, executor="serial").fit(inputs, outputs)
    assert len(known.objectives_) == 1
    found = SequenceAligner(C=20.0, executor="serial").fit(inputs, [y.candidate for y in outputs])
    assert found.objectives_[0] >= found.objectives_[-1] > 0
    assert found.task_.n_unknown == 20
    assert found.score(*make_alignments(40, **CLEAR, seed=5)) > 0.8


def test_the_alignment_of_a_homologue_is_the_best_one_under_the_reference():
    x = ("ACDE", ("ACE", "DD"))
    task = AlignmentTask(alignment="global", letters="ACDE")
    w = task.reference_weights()
    assert np.array_equal(task.joint_features(x, 0), task.joint_features(x, Alignment(0, "MMDM")))
    bent = AlignmentTask(alignment="global", letters="ACDE", reference=-w)
    assert not np.array_equal(bent.joint_features(x, 0), task.joint_features(x, 0))
    with pytest.raises(ValueError, match="reference"):
        train(AlignmentTask(reference=np.zeros(3)), [x], [0], executor="serial")
    with pytest.raises(ConfigError, match="reference"):
        AlignmentTask(reference="model")


# --- folders -------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["one-slack", "multi-plane"])
def test_a_run_that_was_stopped_goes_on_with_the_same_bits(tmp_path, solver):
    data = make_alignments(20, length=25, n_operations=12, n_decoys=3)
    config = CONFIG | {"C": 20.0, "solver": solver, "checkpoint_rounds": 1, "checkpoint_share": 1}
    whole = train(AlignmentTask(), *data, **config)
    run = config | {"run_dir": tmp_path / "run"}
    train(AlignmentTask(), *data, max_rounds=4, **run)
    again = train(AlignmentTask(), *data, resume=True, **run)
    assert whole.n_rounds > 4
    assert np.array_equal(again.model.w, whole.model.w)


def test_a_model_is_kept_with_its_letters_and_predicts_alike(tmp_path):
    inputs, outputs = make_alignments(10, length=20, n_operations=8, n_decoys=2)
    task = AlignmentTask(gaps="affine", symmetric=True)
    model = train(task, inputs, outputs, C=10.0, **CONFIG).model
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.predict(inputs) == model.predict(inputs)
    assert again.task.letters == model.task.letters
    more = make_alignments(10, length=20, n_operations=8, n_decoys=2, seed=1)
    wider = AlignmentTask(gaps="affine", alphabet="ZYXWVUTSRQPONMLKJIHGFEDCBA")
    started = train(wider, *more, C=10.0, start=model, max_rounds=1, **CONFIG)
    carried = wider.prepare(wider.scan(Shard(*more, None))).carry(model.w, model.task)
    first = started.history[0].primal
    assert first == pytest.approx(risk(started.model.task, carried, *more, 10.0))
