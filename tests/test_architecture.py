"""The arrows of the design: who may import whom, and what `import distsvm` may load."""

import ast
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import distsvm
from distsvm.registry import public_names, structures, task_classes

PACKAGE = Path(distsvm.__file__).parent

# Each part may import itself and the parts named here, and those only.
BASE = {"errors", "kinds", "options", "version", "wording"}
STORES = BASE | {"uris", "stores"}
VALUES = STORES | {"vectors", "messages", "storage", "archives", "checks", "blas"}
# What a structure is, and which there are: names only, so that everything may ask.
NAMES = BASE | {"oracles.structure", "registry"}
DATA = VALUES | NAMES | {"data", "kernels"}
ORACLES = DATA | {"kernel_functions", "feature_maps", "oracles"}
QP = VALUES | {"qp", "kernels"}
CUTS = QP | {"cuts"}
WORKERS = ORACLES | {"workers", "team"}
EXECUTORS = BASE | {"executors", "blas", "team"}
RISKS = CUTS | WORKERS | EXECUTORS | {"risks"}
SOLVERS = RISKS | {"solvers"}
MODEL = WORKERS | EXECUTORS | {"model"}
TRAINING = SOLVERS | MODEL | {"training"}
ALLOWED = {
    "wording": set(),
    "errors": {"wording"},
    "kinds": {"wording"},
    "options": {"errors", "kinds", "wording"},
    "version": set(),
    "blas": set(),
    "team": set(),
    "oracles.structure": set(),
    "registry": NAMES | {"oracles.task", "solvers.base"},  # for its types only
    "vectors": BASE,
    "messages": BASE | {"vectors"},
    "archives": BASE,
    "checks": BASE,
    "uris": BASE,
    "stores": STORES,
    "storage": STORES | {"archives"},
    "kernels": {"kernels"},
    "data": DATA,
    "kernel_functions": DATA | {"kernel_functions"},
    "feature_maps": DATA | {"kernel_functions", "feature_maps"},
    "oracles": ORACLES,
    "testing": ORACLES | {"testing"},
    "workers": WORKERS,
    "executors": EXECUTORS,
    "qp": QP,
    "cuts": CUTS,
    "risks": RISKS,
    "solvers": SOLVERS,
    "model": MODEL,
    "training": TRAINING,
    "jobs": BASE | {"jobs"},
    "planning": TRAINING | {"planning"},
    "report": TRAINING | {"report"},
    "estimators": TRAINING | {"estimators"},
    "cli": TRAINING | {"estimators", "report", "jobs", "planning", "cli", "testing"},
}

# A structure knows the contracts and its own folder. What people see of it, and its estimator, may
# know more; a task, which every worker imports, may not.
CONTRACTS = ORACLES | {"workers"}
WORDS = {f"cli.{name}" for name in (
    "counts", "drawings", "formatting", "n_best", "output", "parser", "parts", "signs",
    "small_files", "strongest", "targets", "writer",
)}  # fmt: skip
SEEN = CONTRACTS | {"model"} | WORDS
OF_STRUCTURES = {
    "estimator.py": CONTRACTS | {"model", "estimators"},
    "kernel_estimator.py": CONTRACTS | {"model", "estimators"},
    "latent.py": CONTRACTS | {"training"},
    "drawing.py": CONTRACTS | {"model"},
    "linear.py": CONTRACTS | {"estimators"},
    "options.py": SEEN,
    "predictions.py": SEEN,
    "scores.py": SEEN,
    "inspection.py": SEEN,
}

# A heavy package is imported only where it is at home.
HOMES = {
    "numba": r"(.*/)?kernels\w*(/.*|\.py)",
    "ray": r"executors/ray\.py|executors/ray_session\.py|jobs/.*|training/metrics\.py|"
           r"data/ray_dataset\.py",
    "cvxpy": r"qp/cvxpy\.py",
    "sklearn": r"estimators/.*|structures/[\w/]+/(kernel_)?estimator\.py|cli/demo\.py",
    "pyarrow": r"data/.*",
}  # fmt: skip


def imports(path: Path) -> set[str]:
    """The dotted names of all modules that a file imports, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "distsvm":
                names |= {f"distsvm.{alias.name}" for alias in node.names}
            else:
                names.add(node.module)
    return names


def sources() -> list[Path]:
    return [p for p in sorted(PACKAGE.rglob("*.py")) if p != PACKAGE / "__init__.py"]


def engine() -> list[Path]:
    return [p for p in sources() if p.relative_to(PACKAGE).parts[0] != "structures"]


def part_of(module: str) -> str:
    """The part that a module below distsvm belongs to."""
    return module if module in ALLOWED else module.split(".")[0]


def may_import(relative: Path, module: str) -> bool:
    own = ".".join(relative.with_suffix("").parts)
    if relative.parts[0] != "structures":
        part, allowed = part_of(module), ALLOWED[part_of(own)]
        return part == part_of(own) or part in allowed or module in allowed
    home = ".".join(relative.parts[:2])
    if module == home or module.startswith(f"{home}."):
        return True
    allowed = OF_STRUCTURES.get(relative.name, CONTRACTS)
    return module in allowed or part_of(module) in allowed


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_follow_the_arrows(path):
    relative = path.relative_to(PACKAGE)
    for name in imports(path):
        top, _, rest = name.partition(".")
        if top == "distsvm" and rest:
            assert may_import(relative, rest), f"{relative} imports {name}"
        if top in HOMES:
            assert re.fullmatch(HOMES[top], str(relative)), f"{relative}: {name}"


@pytest.mark.parametrize("structure", structures().values(), ids=lambda one: one.name)
def test_a_structure_names_its_parts_without_importing_any(structure):
    (home,) = {reference.rpartition(".")[0] for reference in structure.tasks.values()}
    path = PACKAGE.parent.joinpath(*home.split("."), "__init__.py")
    assert imports(path) == {"distsvm.oracles.structure"}


def task_names() -> set[str]:
    """The names of all classes of tasks, estimators and readers that structures have."""
    found = set()
    for path in (PACKAGE / "structures").rglob("*.py"):
        if path.stem in ("task", "oracle", "estimator", "rows", "tree"):
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            found |= {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    return found


@pytest.mark.parametrize("path", engine(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_the_engine_names_no_class_of_a_structure_and_branches_on_no_name(path):
    classes = task_names()
    assert {"ClassTask", "SequenceTask", "ParseTask", "Tree", "TagRows"} <= classes
    names = {one.name for one in structures().values()} | {*task_classes(), "own"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Name, ast.Attribute)):
            name = node.id if isinstance(node, ast.Name) else node.attr
            assert name not in classes, f"{path}, line {node.lineno}: {name}"
        if isinstance(node, ast.Compare):
            texts = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
            assert not texts & names, f"{path}, line {node.lineno}: {texts & names}"


def test_import_distsvm_loads_no_heavy_package():
    code = (
        "import sys, distsvm\n"
        "heavy = {'ray', 'cvxpy', 'sklearn', 'numba', 'scipy', 'pyarrow', 'numpy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


LOADED = """
import pickle, sys
import numpy as np
loaded = {name: pickle.loads(found) for name, found in pickle.load(open(sys.argv[1], "rb")).items()}
assert len(loaded) == 8, loaded
import distsvm
model = distsvm.load_model(sys.argv[2])
model.predict(np.eye(3), executor="serial")
bad = [m for m in sys.modules if m.partition(".")[0] == "sklearn" or ".estimator" in m]
print(sorted(bad))
"""


def test_tasks_and_models_are_loaded_without_estimators_and_scikit_learn(tmp_path):
    tasks = {name: pickle.dumps(cls()) for name, cls in task_classes().items()}
    (tmp_path / "tasks").write_bytes(pickle.dumps(tasks))
    X, y = np.eye(3), np.array(["a", "b", "a"])
    distsvm.train(distsvm.MulticlassTask(), X, y, executor="serial").model.save(tmp_path / "model")
    words = [sys.executable, "-c", LOADED, tmp_path / "tasks", tmp_path / "model"]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_every_public_name_can_be_had():
    for name in distsvm.__all__:
        assert getattr(distsvm, name) is not None
    assert set(public_names()) <= set(distsvm.__all__)


def test_public_paths_of_what_moved_into_structures_stay():
    from distsvm.data.synthetic import make_tagged_sentences
    from distsvm.data.synthetic_trees import make_treebank
    from distsvm.data.templates import Templates
    from distsvm.data.tree_drawing import draw_tree

    assert all(map(callable, (make_tagged_sentences, make_treebank, Templates, draw_tree)))


@pytest.mark.parametrize("path", sorted((PACKAGE / "solvers").glob("*.py")), ids=lambda p: p.name)
def test_solvers_leave_products_of_vectors_to_points_and_risks(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "distsvm.vectors":
            assert {alias.name for alias in node.names} <= {"Vector"}
        assert not (isinstance(node, ast.ImportFrom) and node.module == "distsvm.risks.algebra")
        assert not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult))
