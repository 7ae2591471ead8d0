"""Compiled code on disk is of the sources as they are."""

import pytest

from distsvm.kernels.options import forget_stale_code, inner_kernel, kernel


@pytest.mark.parametrize("changed", ["own/inner.py", "engine/climb.py"])
def test_compiled_code_is_forgotten_when_any_kernel_changes(tmp_path, changed):
    own, engine = tmp_path / "own", tmp_path / "engine"
    for folder, names in ((own, ("inner.py", "outer.py")), (engine, ("climb.py",))):
        folder.mkdir()
        for name in names:
            (folder / name).write_text("a")
    forget_stale_code(own, engine)
    compiled = own / "__pycache__" / "outer.f-1.py311.nbi"
    compiled.write_text("")
    forget_stale_code(own, engine)
    assert compiled.exists()
    (tmp_path / changed).write_text("a changed")
    forget_stale_code(own, engine)
    assert not compiled.exists()


def test_a_value_passed_as_it_stands_compiles_no_kernel_of_its_own():
    @kernel
    def inner(x, n, doubled):
        return (2.0 * x if doubled else x) + n

    @kernel
    def outer(x, n, doubled):
        return inner(x, n, doubled) + inner(x, 0, False) + inner(x, -1, True)

    assert outer(1.5, 2, True) == 5.0 + 1.5 + 2.0
    assert len(inner.signatures) == 1


def test_an_inner_kernel_works_in_kernels_and_refuses_python():
    @inner_kernel
    def inner(x):
        return 2.0 * x

    @kernel
    def outer(x):
        return inner(x) + 1.0

    for _ in range(2):  # before and after it is compiled
        with pytest.raises(TypeError, match="inner is called by other kernels alone"):
            inner(1.0)
        assert outer(1.0) == 3.0
