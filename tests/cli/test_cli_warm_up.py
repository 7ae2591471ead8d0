"""`distsvm warm-up` leaves nothing to compile."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import distsvm

HOME = Path(distsvm.__file__).parent
SEEN = """
import importlib, json, pkgutil, sys
import distsvm.kernels
from distsvm.cli.program import main
code = main(["warm-up", "--json"])
found = {}
for module in pkgutil.iter_modules(distsvm.kernels.__path__):
    for name, value in vars(importlib.import_module("distsvm.kernels." + module.name)).items():
        if hasattr(value, "overloads"):
            found[module.name + "." + name] = len(value.overloads)
print(json.dumps({"code": code, "found": found}))
"""


def called_from_outside():
    """The kernels, as module.name, that code outside of the kernels imports."""
    names = set()
    for path in HOME.rglob("*.py"):
        if "kernels" in path.relative_to(HOME).parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "distsvm.kernels."
            ):
                module = importlib.import_module(node.module)
                names |= {
                    f"{node.module.rpartition('.')[2]}.{alias.name}"
                    for alias in node.names
                    if hasattr(getattr(module, alias.name), "overloads")
                }
    return names


def test_warm_up_compiles_every_kernel_that_python_calls():
    done = subprocess.run([sys.executable, "-c", SEEN], capture_output=True, text=True)
    *events, seen = map(json.loads, done.stdout.splitlines())
    assert seen["code"] == 0
    assert [event["task"] for event in events[:-1]] == ["binary", "multiclass", "sequence", "parse"]
    outside = called_from_outside()
    assert len(outside) > 20
    assert sorted(name for name in outside if not seen["found"][name]) == []
