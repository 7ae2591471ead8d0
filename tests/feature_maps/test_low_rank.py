"""The low-rank map: against the problem of the kernel function, over shards and executors."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from distsvm import (
    BinaryTask,
    MulticlassTask,
    SequenceTask,
    load_model,
    path,
    resume,
    train,
)
from distsvm.data.features import as_rows
from distsvm.data.writers import write_svmlight
from distsvm.errors import ConfigError, DataError, ModelError
from distsvm.feature_maps import LowRank, read_map
from distsvm.feature_maps.choosing import greedy, k_means
from distsvm.kernel_functions import kernel_function
from distsvm.testing import check_task

cp = pytest.importorskip("cvxpy")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(48, 3))
Y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0, 1, -1)
CLASSES = (Y + 1) // 2 + (X[:, 2] > 0.7)
GAUSSIAN = kernel_function("rbf", gamma=0.5)
C = 5.0
EXACT = {"basis_dtype": "float64", "basis_cutoff": 1e-14}


def gram(a=X, b=X):
    return np.exp(-0.5 * ((a[:, None] - b[None]) ** 2).sum(-1))


def exact_binary(sign):
    """The optimum of ½‖f‖² + ½b² + C·mean max(0, 1 − y(f(x) + b)), by its dual."""
    alpha = cp.Variable(len(X))
    values, vectors = np.linalg.eigh((gram() + 1) * np.outer(sign, sign))
    root = (vectors * np.sqrt(np.maximum(values, 0))).T
    dual = cp.sum(alpha) - cp.sum_squares(root @ alpha) / 2
    problem = cp.Problem(cp.Maximize(dual), [alpha >= 0, alpha <= C / len(X)])
    problem.solve()
    return problem.value


def exact_classes(bases_of):
    """The optimum over one function a class, on the basis rows that are given for each."""
    classes, cost, scores = np.unique(CLASSES), 0.0, []
    for label in classes:
        rows = bases_of(label)
        lower = np.linalg.cholesky(gram(rows, rows) + 1e-12 * np.eye(len(rows)))
        v, b = cp.Variable(len(rows)), cp.Variable()
        cost += cp.sum_squares(lower.T @ v) / 2 + b**2 / 2
        scores.append(gram(X, rows) @ v + b)
    slack, scores = cp.Variable(len(X)), cp.vstack(scores).T
    allowed = [slack >= 0]
    for i, label in enumerate(np.searchsorted(classes, CLASSES)):
        allowed += [
            slack[i] >= 1 + scores[i, c] - scores[i, label]
            for c in range(classes.size)
            if c != label
        ]
    problem = cp.Problem(cp.Minimize(cost + C / len(X) * cp.sum(slack)), allowed)
    problem.solve()
    return problem.value


def run(task_class=BinaryTask, y=Y, config=(), **settings):
    task = task_class(features=LowRank(GAUSSIAN, **settings))
    return train(task, X, y, **{"C": C, "rel_gap": 1e-7, "executor": "serial"} | dict(config))


@pytest.mark.parametrize("factor", ["eigenvalues", "cholesky"])
@pytest.mark.parametrize("choice", ["random", "greedy"])
def test_with_all_rows_as_basis_the_objective_is_the_exact_one(factor, choice):
    result = run(basis=len(X), basis_factor=factor, basis_choice=choice, **EXACT)
    optimum = exact_binary(Y)
    assert result.dual <= optimum * (1 + 1e-6)
    assert result.primal >= optimum * (1 - 1e-6)
    assert result.gap <= 1e-6 * optimum


@pytest.mark.parametrize("solver", ["one-slack", "multi-plane", "n-slack", "sequential-dual"])
def test_every_linear_solver_certifies_the_exact_optimum_of_three_classes(solver):
    config = {"solver": solver, "rel_gap": 1e-3}
    result = run(MulticlassTask, CLASSES, config, basis=len(X), **EXACT)
    optimum = exact_classes(lambda label: X)
    assert result.certificate == "exact"
    assert result.dual <= optimum * (1 + 1e-6)
    assert result.primal >= optimum * (1 - 1e-6)


def test_the_objective_falls_with_each_nested_basis():
    duals = [run(basis=k, **EXACT).primal for k in (3, 8, 16, 30, 48)]
    assert all(b <= a * (1 + 1e-6) for a, b in pairwise(duals))
    assert duals[-1] < 0.99 * duals[0]


@pytest.mark.parametrize("solver", ["one-slack", "n-slack"])
def test_basis_pairs_are_for_the_function_of_their_own_class(solver):
    config = {"solver": solver, "rel_gap": 1e-6}
    result = run(MulticlassTask, CLASSES, config, basis=25, basis_reading="pairs", **EXACT)
    made = result.model.task.features
    seen = LowRank(GAUSSIAN, basis=25).sees(as_rows(X), 0)
    numbers = seen.numbers[:25]
    optimum = exact_classes(lambda label: X[numbers][CLASSES[numbers] == label])
    assert result.primal == pytest.approx(optimum, rel=1e-5)
    shared = run(MulticlassTask, CLASSES, config, basis=25, **EXACT)
    assert shared.primal < result.primal  # more functions: each class has all basis inputs
    assert made.labels.size == 25


def test_of_two_classes_both_readings_are_one_problem():
    found = [run(basis=20, basis_reading=name, **EXACT).primal for name in ("shared", "pairs")]
    assert found[0] == pytest.approx(found[1], rel=1e-6)


@pytest.mark.parametrize("choice", ["random", "k-means", "greedy"])
def test_equal_shards_give_equal_bits_on_every_executor_and_any_shards_the_same_basis(choice):
    executors = ["serial", "threads", *(["processes"] if choice == "random" else [])]
    first, *others = [
        run(config={"n_shards": 3, "rel_gap": 1e-3, "executor": name}, basis=20,
            basis_choice=choice)
        for name in executors
    ]  # fmt: skip
    for other in others:
        assert np.array_equal(first.model.w, other.model.w)
    other = run(config={"n_shards": 7, "rel_gap": 1e-3}, basis=20, basis_choice=choice)
    assert np.array_equal(first.model.task.features.bases.values,
                          other.model.task.features.bases.values)  # fmt: skip


def test_greedy_takes_the_rows_that_a_pivoted_cholesky_takes():
    K, chosen = gram().copy(), []
    for _ in range(15):
        pivot = int(np.argmax(np.diag(K)))
        chosen.append(pivot)
        K -= np.outer(K[:, pivot], K[pivot]) / K[pivot, pivot]
    assert greedy(GAUSSIAN, as_rows(X), 15).tolist() == chosen
    twice = as_rows(np.repeat(X[:4], 3, axis=0))
    assert greedy(GAUSSIAN, twice, 12).size == 4  # no row twice: its residual is 0


def test_k_means_finds_the_centres_of_blobs():
    centres = np.array([[0.0, 0], [9, 0], [0, 9], [9, 9]])
    rows = np.repeat(centres, 20, axis=0) + RNG.normal(scale=0.1, size=(80, 2))
    rows = np.concatenate([rows[::20], np.delete(rows, np.arange(0, 80, 20), axis=0)])
    found = k_means(as_rows(rows), 4).values
    found = found[np.lexsort(found.round().T[::-1])]
    np.testing.assert_allclose(found, centres[np.lexsort(centres.T[::-1])], atol=0.1)


@pytest.mark.parametrize("factor", ["eigenvalues", "cholesky"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_features_are_the_kernel_values_of_the_basis(factor, dtype):
    plain = LowRank(GAUSSIAN, basis=30, basis_factor=factor, basis_dtype=dtype, basis_cutoff=1e-9)
    made = plain.prepared(plain.sees(as_rows(X), 0))
    found = made.transform(made.bases).values.astype(np.float64)
    np.testing.assert_allclose(found @ found.T, gram(made.bases.values, made.bases.values),
                               atol=2e-3 if dtype == "float32" else 1e-7)  # fmt: skip
    assert made.facts()["rank"] == made.n_features <= made.facts()["n_basis"] == 30


def test_what_the_factor_leaves_out_or_adds_is_reported():
    rows = np.concatenate([X[:10], X[:10] + 1e-9])
    for factor in ("eigenvalues", "cholesky"):
        plain = LowRank(kernel_function("linear"), basis=20, basis_factor=factor)
        facts = plain.prepared(plain.sees(as_rows(rows), 0)).facts()
        assert facts["rank"] == (3 if factor == "eigenvalues" else 20)
        assert (facts["jitter"] > 0) == (factor == "cholesky")
        assert 0 < facts["smallest_eigenvalue"] <= facts["largest_eigenvalue"]


def test_files_of_limited_memory_have_the_basis_of_the_data_in_memory(tmp_path):
    rows = np.abs(X) + 0.5
    write_svmlight(tmp_path / "train.svmlight", rows, Y)
    task = BinaryTask(features=LowRank(kernel_function("rbf", "scale"), basis=20))
    config = {"C": C, "rel_gap": 1e-3, "n_shards": 2}
    in_files = train(task, tmp_path / "train.svmlight", worker_memory_mb=400, **config)
    in_memory = train(task, tmp_path / "train.svmlight", executor="serial", **config)
    made, other = in_files.model.task.features, in_memory.model.task.features
    assert np.array_equal(made.bases.arrays()[0], other.bases.arrays()[0])
    np.testing.assert_allclose(made.projection, other.projection, rtol=1e-6)
    assert in_files.dual <= in_memory.primal
    assert in_memory.dual <= in_files.primal
    wanted = kernel_function("rbf", 1 / (rows.shape[1] * rows.var()))
    assert made.function.gamma == pytest.approx(wanted.gamma, rel=1e-6)
    predicted = in_files.model.predict(tmp_path / "train.svmlight")
    assert np.array_equal(predicted, in_files.model.predict(rows))


def test_a_run_resumes_with_the_same_bits(tmp_path):
    write_svmlight(tmp_path / "train.svmlight", X, Y)
    task = BinaryTask(features=LowRank(GAUSSIAN, basis=30))
    config = {"C": C, "rel_gap": 1e-5, "executor": "serial", "solver": "one-slack"}
    whole = train(task, tmp_path / "train.svmlight", **config)
    train(task, tmp_path / "train.svmlight", run_dir=tmp_path / "run", max_rounds=2, **config)
    found = resume(tmp_path / "run", max_rounds=None, executor="serial")
    assert np.array_equal(found.model.w, whole.model.w)


def test_one_map_serves_all_values_of_c_and_all_folds():
    task = BinaryTask(features=LowRank(kernel_function("rbf", "median"), basis=20))
    found = path(task, X, Y, Cs=[0.1, 1, 10], cv=3, rel_gap=0.01, executor="serial")
    alone = train(task, X, Y, C=1.0, rel_gap=0.01, executor="serial").model.task.features
    assert np.array_equal(found.model.task.features.projection, alone.projection)
    assert len(found.points) == 3


def test_the_certificate_names_its_problem():
    result = run(basis=20)
    assert "exact, certified for the low-rank problem" in result.in_words
    assert result.summary()["certified_for"] == "the low-rank problem"
    assert result.model.facts["certified_for"] == "the low-rank problem"
    assert "certified for" not in train(BinaryTask(), X, Y, executor="serial").in_words


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_saved_model_predicts_the_same_and_a_forged_one_is_refused(tmp_path, kind):
    from scipy import sparse

    inputs = X if kind == "dense" else sparse.csr_matrix(X)
    task = MulticlassTask(features=LowRank(GAUSSIAN, basis=20, basis_reading="pairs"))
    model = train(task, inputs, CLASSES, C=C, executor="serial").model
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert np.array_equal(again.predict(inputs), model.predict(inputs))
    data, arrays = model.task.features.to_parts()
    data = json.loads(json.dumps(data))
    for name, wrong in {
        "projection": arrays["projection"][:5],
        "labels": arrays["labels"][:3],
        **{n: a[:-1] for n, a in arrays.items() if n.startswith("bases.")},
    }.items():
        with pytest.raises((ModelError, ValueError)):
            read_map(data, arrays | {name: wrong})
    bad = arrays["projection"].copy()
    bad[0, 0] = np.nan
    for forged in (
        lambda: read_map(data, arrays | {"projection": bad}),
        lambda: read_map(data | {"name": "other"}, arrays),
        lambda: read_map(data | {"settings": {}}, arrays),
        lambda: read_map(data | {"spectrum": [1.0]}, arrays),
        lambda: read_map(None, arrays),
    ):
        with pytest.raises((ModelError, ValueError)):
            forged()
    with pytest.raises(ValueError, match="feature map"):
        replace(model.task, n_features=model.task.n_features + 1).check_loaded()


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"basis": len(X) + 1}, "basis=49"),
        ({"basis": 0}, "basis=0"),
        ({"basis_choice": "best"}, "basis_choice"),
        ({"basis_cutoff": -1.0}, "basis_cutoff"),
        ({"basis_factor": "lu"}, "basis_factor"),
        ({"basis_dtype": "int8"}, "basis_dtype"),
    ],
)
def test_bad_settings_are_refused_by_name(settings, name):
    with pytest.raises(ConfigError, match=name):
        run(**settings)


def not_symmetric(A, B):
    return A[:, :1] - B[:, :1].T


def negative(A, B):
    return -(A @ B.T)


def not_a_number(A, B):
    return np.full((len(A), len(B)), np.nan)


def wrong_shape(A, B):
    return np.ones((len(A), 1))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (not_symmetric, "not symmetric"),
        (negative, "not positive semidefinite"),
        (not_a_number, "nan"),
        (wrong_shape, "shape"),
    ],
)
def test_what_is_no_kernel_function_is_refused(function, reason):
    task = BinaryTask(features=LowRank(kernel_function(function), basis=10))
    with pytest.raises(ConfigError, match=reason):
        train(task, X, Y, executor="serial")


def test_what_does_not_go_with_a_map_is_refused():
    plain = LowRank(GAUSSIAN, basis=10)
    with pytest.raises(ConfigError, match="scale"):
        train(BinaryTask(features=plain, scale=True), X, Y, executor="serial")
    pairs = LowRank(GAUSSIAN, basis=10, basis_reading="pairs")
    with pytest.raises(ConfigError, match="basis_reading"):
        train(MulticlassTask(features=pairs, codes=np.eye(3)), X, CLASSES, executor="serial")
    with pytest.raises(ConfigError, match="multi-plane"):
        run(MulticlassTask, CLASSES, {"solver": "multi-plane"}, basis=10, basis_reading="pairs")
    with pytest.raises(ConfigError, match="basis_choice"):
        LowRank(kernel_function("precomputed"), basis_choice="k-means")
    earlier = run(basis=10)
    with pytest.raises(ConfigError, match="feature map"):
        run(config={"start": earlier.model}, basis=12)
    with pytest.raises(ConfigError, match="constant"):
        train(BinaryTask(features=plain), np.ones((20, 2)), [0, 1] * 10, executor="serial")
    task = BinaryTask(features=LowRank(kernel_function("precomputed"), basis=10))
    with pytest.raises(DataError, match="square"):
        train(task, X, Y, executor="serial")


def test_precomputed_values_give_the_model_of_their_function():
    task = BinaryTask(features=LowRank(kernel_function("precomputed"), basis=len(X), **EXACT))
    result = train(task, gram(), Y, C=C, rel_gap=1e-7, executor="serial")
    assert result.primal == pytest.approx(exact_binary(Y), rel=1e-5)


def test_large_tables_are_mapped_in_small_pieces():
    model = run(basis=40).model
    rows = np.tile(X, (20_000, 1))
    pieces = model.pieces(model.inputs(rows))
    n_mapped = max(piece.load().n for piece in pieces) * 4 * model.task.n_features
    assert n_mapped <= 2 * (32 << 20) < 4 * len(rows) * model.task.n_features
    assert np.array_equal(model.predict(rows)[: len(X)], model.predict(X))


def sentences(n=40):
    inputs, outputs = [], []
    for _ in range(n):
        values = RNG.normal(size=(int(RNG.integers(3, 7)), 2))
        inputs.append([{"a": float(a), "b": float(b)} for a, b in values])
        outputs.append(["xy"[int(a * b > 0)] for a, b in values])
    return inputs, outputs


def test_tokens_of_sequences_are_mapped_whatever_order_shards_number_features_in(tmp_path):
    inputs, outputs = sentences()
    inputs[25] = [dict(reversed(token.items())) for token in inputs[25]]
    inputs[0] = [{"b": token["b"]} for token in inputs[0]]
    task = SequenceTask(features=LowRank(kernel_function("rbf", "median"), basis=40))
    config = {"C": 100.0, "rel_gap": 0.05, "solver": "n-slack"}
    found = [
        train(task, inputs, outputs, n_shards=n, executor=name, **config)
        for n, name in ((1, "serial"), (3, "serial"), (3, "threads"))
    ]
    bases = [result.model.task.features.bases.arrays()[0] for result in found]
    assert np.array_equal(bases[0], bases[1])
    assert np.array_equal(found[1].model.w, found[2].model.w)
    linear = train(SequenceTask(), inputs, outputs, executor="serial", **config)
    assert (
        found[0].model.evaluate(inputs, outputs).mean_loss
        < linear.model.evaluate(inputs, outputs).mean_loss
    )
    found[0].model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.predict(inputs) == found[0].model.predict(inputs)
    exact = SequenceTask(features=LowRank(GAUSSIAN, basis=40, basis_dtype="float64"))
    made = train(exact, inputs, outputs, executor="serial", **config).model.task
    check_task(made, list(zip(inputs, outputs, strict=True))[:5])
    pairs = LowRank(GAUSSIAN, basis=10, basis_reading="pairs")
    with pytest.raises(ConfigError, match="basis_reading"):
        train(SequenceTask(features=pairs), inputs, outputs, executor="serial")
