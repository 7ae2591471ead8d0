"""Compiled code on disk is of the sources as they are."""

from distsvm.kernels.options import forget_stale_code


def test_compiled_code_is_forgotten_when_any_kernel_changes(tmp_path):
    (tmp_path / "inner.py").write_text("a")
    (tmp_path / "outer.py").write_text("b")
    forget_stale_code(tmp_path)
    compiled = tmp_path / "__pycache__" / "outer.f-1.py311.nbi"
    compiled.write_text("")
    forget_stale_code(tmp_path)
    assert compiled.exists()
    (tmp_path / "inner.py").write_text("a changed")
    forget_stale_code(tmp_path)
    assert not compiled.exists()
