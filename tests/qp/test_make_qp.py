"""QP solvers are chosen by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from distsvm.errors import ConfigError
from distsvm.qp import make_qp


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("native", "NativeQP"),
        ("line-search", "LineSearch"),
        ("cvxpy", "CvxpyQP"),
        ("cvxpy:CLARABEL", "CvxpyQP"),
    ],
)
def test_each_name_makes_its_solver(name, kind):
    if name.startswith("cvxpy"):
        pytest.importorskip("cvxpy")
    assert type(make_qp(name)).__name__ == kind


@pytest.mark.parametrize("name", ["", "magic", "cvxpy:", "native:", "CVXPY"])
def test_an_unknown_name_is_refused_with_the_choices(name):
    with pytest.raises(ConfigError, match=r"qp=.*native.*line-search.*cvxpy"):
        make_qp(name)


def test_choosing_one_solver_does_not_import_the_others():
    code = (
        "import sys, distsvm.qp as qp; assert 'numba' not in sys.modules;"
        "qp.make_qp('native'); assert 'cvxpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
