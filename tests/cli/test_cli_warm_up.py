"""`distsvm warm-up` leaves nothing to compile."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import distsvm

HOME = Path(distsvm.__file__).parent
SEEN = """
import importlib, json, pkgutil, sys
import distsvm
from distsvm.cli.program import main
code = main(["warm-up", "--json"])
found = {}
for module in pkgutil.walk_packages(distsvm.__path__, "distsvm."):
    if ".kernels." in module.name:
        for name, value in vars(importlib.import_module(module.name)).items():
            if hasattr(value, "overloads") and value.__module__ == module.name:
                found[module.name + "." + name] = len(value.overloads)
print(json.dumps({"code": code, "found": found}))
"""


def called_from_outside(kernels):
    """Those of the kernels, by module and name, that code outside of folders of kernels names."""
    names = set()
    for path in HOME.rglob("*.py"):
        if "kernels" in path.relative_to(HOME).parts:
            continue
        modules = {}
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and "kernels" in (node.module or "").split("."):
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
                modules |= {
                    alias.asname or alias.name: f"{node.module}.{alias.name}"
                    for alias in node.names
                }
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                names.add(f"{modules.get(node.value.id)}.{node.attr}")
    return names & set(kernels)


def test_warm_up_compiles_every_kernel_that_python_calls():
    done = subprocess.run([sys.executable, "-c", SEEN], capture_output=True, text=True)
    *events, seen = map(json.loads, done.stdout.splitlines())
    assert seen["code"] == 0
    assert [event["task"] for event in events[:-1]] == [
        "binary", "multiclass", "kernel-binary", "kernel-multiclass", "sequence", "parse", "align",
        "taxonomy",
    ]  # fmt: skip
    outside = called_from_outside(seen["found"])
    assert len(outside) > 20
    assert sorted(name for name in outside if not seen["found"][name]) == []
