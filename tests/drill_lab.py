"""The namespaces of the kill drill, for tests: its folder is no package."""

import importlib.util
from pathlib import Path

PATH = Path(__file__).parents[1] / "cluster" / "drill" / "namespaces.py"
_spec = importlib.util.spec_from_file_location("drill_namespaces", PATH)
assert _spec is not None
assert _spec.loader is not None
namespaces = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(namespaces)
Lab, why_not = namespaces.Lab, namespaces.why_not
