"""The arrows of the design: who may import whom, and what `import distsvm` may load."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import distsvm

PACKAGE = Path(distsvm.__file__).parent

# Each part may import itself and the parts named here, and those only.
BASE = {"errors", "kinds", "options", "version", "wording"}
STORES = BASE | {"uris", "stores"}
VALUES = STORES | {"vectors", "messages", "storage", "archives", "checks", "blas"}
DATA = VALUES | {"data", "kernels"}
TASKS = DATA | {"tasks"}
QP = VALUES | {"qp", "kernels"}
CUTS = QP | {"cuts"}
WORKERS = TASKS | {"workers"}
EXECUTORS = BASE | {"executors", "blas"}
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
    "vectors": BASE,
    "messages": BASE | {"vectors"},
    "archives": BASE,
    "checks": BASE,
    "uris": BASE,
    "stores": STORES,
    "storage": STORES | {"archives"},
    "kernels": {"kernels"},
    "data": DATA,
    "tasks": TASKS,
    "testing": TASKS | {"testing"},
    "workers": WORKERS,
    "executors": EXECUTORS,
    "qp": QP,
    "cuts": CUTS,
    "risks": RISKS,
    "solvers": SOLVERS,
    "model": MODEL,
    "training": TRAINING,
    "jobs": BASE | {"jobs"},
    "planning": BASE | {"planning"},
    "report": TRAINING | {"report"},
    "estimators": TRAINING | {"estimators"},
    "cli": TRAINING | {"estimators", "report", "jobs", "planning", "cli", "testing"},
}

# A heavy package is imported only where it is at home.
HOMES = {
    "numba": ("kernels/",),
    "ray": (
        "executors/ray.py",
        "executors/ray_session.py",
        "jobs/",
        "training/metrics.py",
        "data/ray_dataset.py",
    ),
    "cvxpy": ("qp/cvxpy.py",),
    "sklearn": ("estimators/", "cli/demo.py"),
    "pyarrow": ("data/",),
}


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


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_follow_the_arrows(path):
    relative = path.relative_to(PACKAGE)
    part = relative.parts[0].removesuffix(".py")
    for name in imports(path):
        top, _, rest = name.partition(".")
        if top == "distsvm" and rest:
            target = rest.split(".")[0]
            assert target == part or target in ALLOWED[part], f"{relative} imports {name}"
        if top in HOMES:
            homes = HOMES[top]
            assert any(str(relative).startswith(home) for home in homes), f"{relative}: {name}"


def test_import_distsvm_loads_no_heavy_package():
    code = (
        "import sys, distsvm\n"
        "heavy = {'ray', 'cvxpy', 'sklearn', 'numba', 'scipy', 'pyarrow', 'numpy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_every_public_name_can_be_had():
    for name in distsvm.__all__:
        assert getattr(distsvm, name) is not None
