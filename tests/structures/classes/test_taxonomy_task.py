"""Taxonomies: features, losses, searches and optima are those of Ψ = x ⊗ Λ(y) by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from distsvm import Taxonomy, TaxonomyTask, load_model, train
from distsvm.data.features import as_rows
from distsvm.data.shard import Shard
from distsvm.data.synthetic import make_taxonomy_data
from distsvm.errors import ConfigError, DataError
from distsvm.messages import Planes
from distsvm.structures.classes.taxonomies import task as module
from distsvm.testing import check_task
from distsvm.vectors import to_dense

cvxpy = pytest.importorskip("cvxpy")

TREE = {"a": {"b": ["c", "d"], "e": None}, "f": ["g"], "h": {}}
LABELS = np.array(["c", "d", "e", "g", "h"])
GLOSSES = {"c": "hot red", "d": "hot blue", "e": "cold", "g": "cold blue blue", "h": ""}
SIMILAR = np.array([[2.0, 1.0, 0], [1, 2, 0], [0, 0, 3]])
KINDS = {
    "tree": {"taxonomy": TREE},
    "β": {"taxonomy": TREE, "depth_weights": [1, 0.5]},
    "flat": {"taxonomy": TREE, "class_features": "flat"},
    "glosses": {"taxonomy": TREE, "glosses": GLOSSES},
    "codes": {"taxonomy": TREE, "codes": np.arange(10.0).reshape(5, 2) - 4},
}
MATRIX = np.array(
    [[0, 1, 2, 3, 1], [1, 0, 1, 2, 1], [4, 1, 0, 1, 1], [2, 2, 1, 0, 1], [1] * 4 + [0]]
)


def problem(kind="tree", n=10, seed=0, sparse_rows=False, **options):
    """A prepared task with its shard, X and y."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 3)), LABELS[np.arange(n) % 5]
    rows = as_rows(sparse.csr_matrix(X) if sparse_rows else X)
    task, shard = TaxonomyTask(**KINDS[kind], **options), Shard(rows, y, None)
    return task.prepare(task.scan(shard)), shard, X, y


def by_hand(task, X):
    """Ψ(x, c) of every example and class."""
    return [[to_dense(task.joint_features(x, c)) for c in task.labels] for x in X]


def optimum(task, X, y, C, rescaling, penalty):
    """½‖w‖² + C·mean of the slacks, with a constraint for each output."""
    psi, w = np.array(by_hand(task, X)), cvxpy.Variable(task.dim)
    slack = []
    for i, label in enumerate(y):
        truth = int(np.searchsorted(task.labels, label))
        margins = (psi[i][truth] - psi[i]) @ w
        delta = np.array([task.loss(label, c) for c in task.labels])
        q = np.sqrt(delta) if penalty == "quadratic" else delta
        scaled = cvxpy.multiply(q, margins) if rescaling == "slack" else margins
        slack.append(cvxpy.max(q - scaled))
    total = (
        sum(cvxpy.square(cvxpy.pos(s)) / 2 for s in slack) if penalty == "quadratic" else sum(slack)
    )
    found = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(w) + C * total / len(y)))
    return found.solve(solver="CLARABEL")


def test_the_codes_of_a_tree_have_a_feature_for_each_node_and_length_one():
    task, *_ = problem("β")
    nodes = task.tree.paths[1:]
    for code, path in zip(task.code_table(), task.class_paths, strict=True):
        want = np.array([path == node or path.startswith(f"{node}/") for node in nodes], float)
        want *= np.where([node.count("/") == 0 for node in nodes], 1.0, 0.5)
        np.testing.assert_allclose(code, want / np.linalg.norm(want))


def test_the_codes_of_glosses_are_tf_idf():
    task, *_ = problem("glosses")
    words = ["blue", "cold", "hot", "red"]
    idf = 1 + np.log(6 / (1 + np.array([2, 2, 2, 1])))
    for code, label in zip(task.code_table(), LABELS, strict=True):
        tf = np.array([GLOSSES[label].split().count(word) for word in words]) * idf
        own = np.concatenate([label == LABELS, tf / (np.linalg.norm(tf) or 1)])
        np.testing.assert_allclose(code, own / np.linalg.norm(own))
    alone, *_ = problem("glosses", own_weight=0)
    assert not alone.code_table()[:4, :5].any()


def test_the_codes_of_similarities_are_a_factor_of_them():
    X, y = np.eye(3), np.array(["r", "p", "q"])
    for given_ in (SIMILAR, (["r", "p", "q"], SIMILAR)):
        task = TaxonomyTask(similarities=given_)
        task = task.prepare(task.scan(Shard(as_rows(X), y, None)))
        order = [0, 1, 2] if isinstance(given_, np.ndarray) else [1, 2, 0]
        want = SIMILAR[np.ix_(order, order)]
        size = np.sqrt(np.diag(want))
        table = task.code_table()
        np.testing.assert_allclose(table @ table.T, want / np.outer(size, size), atol=1e-12)


def test_the_tree_loss_is_the_height_of_the_lowest_common_ancestor():
    task, *_ = problem(losses="tree", loss_scale=2.0)
    want = {"cc": 0, "cd": 1, "ce": 2, "cg": 3, "ch": 3, "ge": 3, "gh": 3}
    for (a, b), height in want.items():
        assert task.loss(a, b) == task.loss(b, a) == 2.0 * height
    assert task.largest_loss == 6.0


@settings(max_examples=25)
@given(
    st.integers(0, 10**6), st.sampled_from(sorted(KINDS)), st.booleans(),
    st.sampled_from(["margin", "slack"]), st.sampled_from(["zero-one", "tree", "matrix"]),
    st.booleans(),
)  # fmt: skip
def test_the_search_and_its_planes_equal_enumeration(
    seed, kind, sparse_rows, rescaling, losses, tabled
):
    most, module.MOST_TABLED = module.MOST_TABLED, 2048 if tabled else 0
    try:
        chosen = MATRIX if losses == "matrix" else losses
        task, shard, X, y = problem(kind, 5, seed, sparse_rows, losses=chosen)
        oracle, w = task.oracle(shard, rescaling), np.random.default_rng(seed).normal(size=task.dim)
        w.flags.writeable = False
        view, psi = oracle.view(w), by_hand(task, X)
        answer = oracle.separate(view, np.arange(len(y)))
        norms, square_radius = oracle.norms()
        largest = 0.0
        for i, label in enumerate(y):
            truth = int(np.searchsorted(task.labels, label))
            q = np.array([task.loss(label, c) for c in task.labels])
            margin = np.array([(psi[i][truth] - other) @ w for other in psi[i]])
            values = q * (1 - margin) if rescaling == "slack" else q - margin
            assert np.isclose(answer.value[i], values.max())
            rows, every = np.full(5, i), np.arange(5, dtype=np.int32)
            np.testing.assert_allclose(oracle.losses(rows, every), q)
            planes = Planes.linear(rows, every, q)
            np.testing.assert_allclose(oracle.values(view, planes), values, atol=1e-9)
            flat = oracle.features(rows, every)
            starts = flat[2]
            for c in every:
                inside = slice(starts[c], starts[c + 1])
                vector = np.bincount(flat[0][inside], flat[1][inside], task.dim)
                np.testing.assert_allclose(vector, psi[i][c], atol=1e-12)
            out = np.zeros(task.dim)
            oracle.accumulate(planes, np.arange(5.0), out)
            scaled = q if rescaling == "slack" else np.ones(5)
            want = sum(c * scaled[c] * (psi[i][truth] - psi[i][c]) for c in range(5))
            np.testing.assert_allclose(out, want, atol=1e-9)
            assert np.isclose(norms[i], psi[i][truth] @ psi[i][truth])
            largest = max(largest, *(float(np.sum((psi[i][truth] - o) ** 2)) for o in psi[i]))
        assert np.isclose(square_radius, largest)
    finally:
        module.MOST_TABLED = most


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("losses", ["zero-one", "tree"])
def test_the_task_passes_check_task(kind, losses):
    task, _, X, y = problem(kind, 5, losses=losses)
    check_task(task, list(zip(X, y, strict=True)), outputs=lambda x: task.labels.tolist())


SOLVERS = ("one-slack", "n-slack", "multi-plane")
CASES = [
    (kind, losses, rescaling, penalty)
    for kind in ("tree", "flat", "glosses")
    for losses in ("zero-one", "tree", "matrix")
    for rescaling in ("margin", "slack")
    for penalty in ("linear", "quadratic")
    if kind == "tree" or (penalty == "linear" and losses != "matrix")
]


@pytest.mark.parametrize(("kind", "losses", "rescaling", "penalty"), CASES)
def test_every_solver_finds_the_optimum_of_cvxpy(kind, losses, rescaling, penalty):
    chosen = MATRIX if losses == "matrix" else losses
    task, _, X, y = problem(kind, losses=chosen)
    best = optimum(task, X, y, 4.0, rescaling, penalty)
    solvers = ("n-slack", "multi-plane") if penalty == "quadratic" else SOLVERS
    for solver in solvers:
        result = train(
            TaxonomyTask(**KINDS[kind], losses=chosen), X, y, C=4.0, eps=1e-4, solver=solver,
            rescaling=rescaling, penalty=penalty, executor="serial", n_shards=2,
        )  # fmt: skip
        assert result.dual <= best * (1 + 1e-6) + 1e-9
        assert best <= result.primal * (1 + 1e-6)
        assert result.primal - result.dual <= 4.0 * 2e-4 * task.largest_loss


@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_many_classes_on_held_planes_or_without_a_table_have_the_same_optimum(
    sparse_rows, rescaling, monkeypatch
):
    X, y = make_taxonomy_data(80, 4, (3, 2, 3))
    X = sparse.csr_matrix(X) if sparse_rows else X
    options = {"C": 5.0, "eps": 1e-3, "solver": "multi-plane", "rescaling": rescaling,
               "executor": "serial"}  # fmt: skip
    one = train(TaxonomyTask(losses="tree"), X, y, **options)
    monkeypatch.setattr(module, "MOST_TABLED", 0)
    two = train(TaxonomyTask(losses="tree"), X, y, **options)
    held = train(TaxonomyTask(losses="tree"), X, y, **options, plane_memory_mb=0.01)
    assert one.certificate == two.certificate == held.certificate == "exact"
    assert np.array_equal(one.model.w, two.model.w)
    assert max(one.dual, held.dual) <= min(one.primal, held.primal)
    # All α of all classes would take 8·80·18 bytes.
    assert max(record.n_planes for record in held.history) < 80 * 18


def test_classes_with_unit_codes_train_by_the_sequential_dual_and_others_are_refused():
    _, _, X, y = problem("flat", losses="tree")
    given_ = {"C": 3.0, "eps": 1e-4, "executor": "serial"}
    one, two = (
        train(TaxonomyTask(**KINDS["flat"], losses="tree"), X, y, solver=solver, **given_)
        for solver in ("sequential-dual", "multi-plane")
    )
    assert max(one.dual, two.dual) <= min(one.primal, two.primal)
    with pytest.raises(ConfigError, match=r"sequential-dual.* is for classes with a weight vector"):
        train(TaxonomyTask(**KINDS["tree"]), X, y, solver="sequential-dual", **given_)


def test_classes_without_examples_are_predicted_from_their_features():
    X, y = make_taxonomy_data(300, 12, (4, 3), noise=0.3)
    seen = y != "a0/b0"
    tree = Taxonomy.of_paths(path.split("/") for path in np.unique(y))
    task = TaxonomyTask(taxonomy=tree)
    model = train(task, X[seen], y[seen], C=100.0, executor="serial").model
    assert "a0/b0" in model.task.labels
    # Its own vector is only what the others push away, so that it wins where they all lose.
    found = model.predict(X[~seen])
    branch = np.char.startswith(found.astype(str), "a0/")
    assert branch.mean() > 0.8


def test_a_task_that_was_saved_predicts_the_same(tmp_path):
    for kind in KINDS:
        _, _, X, y = problem(kind)
        model = train(TaxonomyTask(**KINDS[kind]), X, y, C=2.0, executor="serial").model
        model.save(tmp_path / kind)
        loaded = load_model(tmp_path / kind)
        assert np.array_equal(loaded.predict(X), model.predict(X))
        assert loaded.task.tree.paths == model.task.tree.paths


@pytest.mark.parametrize(
    "change",
    [
        {"parents": np.array([-1, 0, 9, 1, 2, 2, 0, 0, 0], np.int32)},
        {"places": np.array([0, 1, 2, 3, 4], np.int32)},
        {"places": np.array([3, 3, 4, 5, 6], np.int32)},
        {"places": np.array([3, 4, 5, 6, 99], np.int32)},
        {"nodes": None},
    ],
)
def test_a_saved_task_that_kernels_could_not_work_on_is_refused(change):
    task, *_ = problem("tree")
    task.check_loaded()
    with pytest.raises((ValueError, ConfigError)):
        replace(task, **change).check_loaded()


def test_saved_codes_that_kernels_could_not_work_on_are_refused():
    task, *_ = problem("glosses")
    task.check_loaded()
    columns = task.code_columns.copy()
    columns[0] = task.code_width
    for change in (
        {"code_columns": columns}, {"code_starts": task.code_starts + 1},
        {"code_columns": np.zeros_like(columns)}, {"code_values": task.code_values * np.inf},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="code_"):
            replace(task, **change).check_loaded()


def test_a_warm_start_moves_the_nodes_of_a_smaller_tree():
    X, y = make_taxonomy_data(60, 5, (2, 2))
    small = y != "a1/b1"
    old = train(TaxonomyTask(), X[small], y[small], C=5.0, executor="serial").model
    new = TaxonomyTask()
    new = new.prepare(new.scan(Shard(as_rows(X), y, None)))
    carried = new.carry(old.w, old.task)
    for path, own in zip(old.task.class_paths, old.task.labels, strict=True):
        before = to_dense(old.task.joint_features(X[0], own)) @ old.w
        after = to_dense(new.joint_features(X[0], path)) @ carried
        assert np.isclose(before, after)
    with pytest.raises(ConfigError, match="other codes"):
        replace(new, class_features="flat").carry(old.w, old.task)


def test_labels_are_names_paths_or_numbers():
    X = np.ones((10, 3))
    mixed = np.array(["a/b/c", "d", "e", "f/g", "h"] * 2)
    task = TaxonomyTask(**KINDS["tree"])
    task = task.prepare(task.scan(Shard(as_rows(X), mixed, None)))
    assert task.labels.tolist() == ["a/b/c", "d", "e", "f/g", "h"]
    numbers, unseen = task.encode(np.array(["c", "a/b/d", "a/e", "x", "g", "a"]))
    assert numbers.tolist() == [0, 1, 2, 6, 3, 5]
    assert unseen.tolist() == ["a", "x"]
    task = TaxonomyTask(taxonomy={"1": ["2", "3"], "4": []})
    task = task.prepare(task.scan(Shard(as_rows(np.ones((2, 1))), np.array([2.0, 4.0]), None)))
    assert task.labels.tolist() == [2, 3, 4]
    assert task.class_paths == ["1/2", "1/3", "4"]


def test_inner_nodes_may_be_classes():
    X, y = np.eye(3), np.array(["a/b", "a", "c"])
    task = TaxonomyTask(losses="tree")
    task = task.prepare(task.scan(Shard(as_rows(X), y, None)))
    assert task.labels.tolist() == ["a", "a/b", "c"]
    assert task.loss("a", "a/b") == 1
    assert task.loss("a", "c") == 2


@pytest.mark.parametrize(
    ("options", "labels", "error", "message"),
    [
        ({"taxonomy": TREE}, ["c", "x"], DataError, "example 1: label 'x' is no node"),
        ({"taxonomy": {"a": ["x"], "b": ["x"]}}, ["x", "x"], DataError, "several nodes"),
        ({}, ["a/", "b"], DataError, "expected a path"),
        ({"taxonomy": {"a": ["x"], "b": ["y"]}}, [1.0, 2.0], DataError, "no node of the taxonomy"),
        ({"taxonomy": {"1": [], "b": ["y"]}}, [1.0, 1.0], DataError, "labels are numbers, but"),
        ({"taxonomy": {"a": ["x"]}}, ["x", "x"], DataError, "one class"),
        ({"similarities": [[1, 2], [2, 1]]}, ["a", "b"], ConfigError, "not positive semidefinite"),
        ({"similarities": [[1, 2], [0, 1]]}, ["a", "b"], ConfigError, "not symmetric"),
        ({"similarities": [[1, 0], [0, 0]]}, ["a", "b"], ConfigError, "class 1 to itself"),
        ({"similarities": SIMILAR}, ["a", "b"], ConfigError, "3 rows, but there are 2 classes"),
        ({"glosses": {"z": "x"}, "taxonomy": TREE}, ["c", "d"], DataError, "'z' is no node"),
        ({"glosses": {"a": "x"}, "taxonomy": TREE, "classes": ["c", "d"]}, ["c", "d"], DataError,
         "glosses: 'a' is no class"),
        ({"codes": [[1.0, 0], [0, 0]]}, ["a", "b"], ConfigError, "class 1 has no features"),
        ({"codes": [[1.0]]}, ["a", "b"], ConfigError, r"shape \(1, 1\)"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(options, labels, error, message):
    shard = Shard(as_rows(np.eye(len(labels))), np.array(labels), None)
    task = TaxonomyTask(**options)
    with pytest.raises(error, match=message):
        task.prepare(task.scan(shard))


@pytest.mark.parametrize(
    "options",
    [
        {"taxonomy": 3}, {"depth_weights": [1, 0]}, {"class_features": "round"},
        {"glosses": {"a": 1}}, {"similarities": [[1, 2]]}, {"own_weight": -1},
        {"glosses": GLOSSES, "similarities": SIMILAR},
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        TaxonomyTask(**options)


def test_a_hundred_thousand_nodes_need_no_table_of_pairs(tmp_path):
    children = {f"n{i}": [f"n{i}x{j}" for j in range(100)] for i in range(1000)}
    (tmp_path / "tree.json").write_text(json.dumps(children))
    task = TaxonomyTask(taxonomy=str(tmp_path / "tree.json"), losses="tree")
    X, y = np.array([[1.0], [2.0]]), np.array(["n5x7", "n999x99"])
    shard = Shard(as_rows(X), y, None)
    task = task.prepare(task.scan(shard))
    assert task.labels.size == 100_000
    oracle = task.oracle(shard, "margin")
    rng = np.random.default_rng(0)
    w = rng.normal(size=task.dim)
    w.flags.writeable = False
    answer = oracle.separate(oracle.view(w), np.arange(2))
    V = w.reshape(2, -1)
    for i, label in enumerate(y):
        node = X[i] @ V[:1] + V[1]
        scores = (node[task.tree.parents[task.places] - 1] + node[task.places - 1]) / np.sqrt(2)
        truth = int(np.searchsorted(task.labels, label))
        delta = np.where(task.tree.parents[task.places] == task.tree.parents[task.places[truth]],
                         1.0, 2.0)  # fmt: skip
        delta[truth] = 0.0
        assert np.isclose(answer.value[i], (delta - (scores[truth] - scores)).max())
    assert oracle.norms()[1] == pytest.approx(2 * 5.0)
