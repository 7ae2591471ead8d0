"""No code comes out of files and requests: no pickle, eval or shell but where it is justified."""

import ast
from collections.abc import Iterator
from pathlib import Path

import distsvm

PACKAGE = Path(distsvm.__file__).parent

FORBIDDEN = {
    "eval", "exec", "compile", "__import__",
    "pickle.load", "pickle.loads", "pickle.Unpickler", "cloudpickle.load", "cloudpickle.loads",
    "marshal.load", "marshal.loads", "shelve.open", "dill.load", "dill.loads", "joblib.load",
    "os.system", "os.popen", "os.execvp", "os.spawnl", "pty.spawn",
    "subprocess.getoutput", "subprocess.getstatusoutput", "yaml.load", "yaml.unsafe_load",
    "np.load", "numpy.load", "np.memmap", "importlib.import_module", "runpy.run_path",
    "tarfile.open", "shutil.unpack_archive",
}  # fmt: skip

# Where something of that is done all the same, and why nobody else's bytes get there.
JUSTIFIED = {
    ("executors/wire.py", "pickle.loads"): "pipes to worker processes that we started ourselves",
    ("executors/host.py", "pickle.loads"): "an error of this process, pickled a moment before",
    ("oracles/python.py", "pickle.loads"): "an example of this process, pickled a moment before",
    ("testing.py", "pickle.loads"): "the caller's own task, pickled a moment before",
    ("oracles/structure.py", "importlib.import_module"): "names in the code of a structure",
    ("data/packed.py", "np.load"): "this user's own cache, mapped and never unpickled",
    ("workers/shelf.py", "np.load"): "this process's own file, which has no name; never unpickled",
    ("cli/models.py", "exec_module"): "a file of code that the caller names as such",
    ("cli/program.py", "importlib.import_module"): "the package's own modules, by the fixed verbs",
}


def dotted(node: ast.expr) -> str:
    """`a.b.c` of a name or an attribute, blank for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def calls(text: str) -> Iterator[tuple[str, ast.AST]]:
    """What is called or handed on by name, and any use of a shell."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Name, ast.Attribute)) and dotted(node) in FORBIDDEN:
            yield dotted(node), node
        elif isinstance(node, ast.Attribute) and node.attr == "exec_module":
            yield "exec_module", node
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if f"{node.module}.{alias.name}" in FORBIDDEN:
                    yield f"{node.module}.{alias.name}", node
        elif isinstance(node, ast.keyword) and _opens(node):
            yield f"{node.arg}=", node


def _opens(keyword: ast.keyword) -> bool:
    return keyword.arg in ("shell", "allow_pickle") and ast.unparse(keyword.value) != "False"


def test_nothing_in_the_package_runs_what_it_reads():
    found = {
        (str(path.relative_to(PACKAGE)), name)
        for path in sorted(PACKAGE.rglob("*.py"))
        for name, _ in calls(path.read_text(encoding="utf-8"))
    }
    assert found <= JUSTIFIED.keys()
    assert {key for key in JUSTIFIED if (PACKAGE / key[0]).exists()} <= found  # none is stale


def test_the_walk_finds_what_it_looks_for():
    text = (
        "import pickle\nfrom pickle import loads\npickle.load(f)\nmap(eval, x)\n"
        "run(c, shell=True)\nnp.savez(f, allow_pickle=flag)\nre.compile('x')\nnp.load(f)\n"
    )
    names = sorted(name for name, _ in calls(text))
    assert names == ["allow_pickle=", "eval", "np.load", "pickle.load", "pickle.loads", "shell="]
