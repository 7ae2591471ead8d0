"""A package holds what was asked for, and nothing else."""

import os

import pytest

from distsvm.errors import ConfigError
from distsvm.jobs.package import Package, job_name


@pytest.fixture
def tree(tmp_path):
    home = tmp_path / "code"
    for name in ("a.py", "sub/b.py", ".git/config", "sub/__pycache__/b.pyc", "sub/c.so",
                 "node_modules/x.js", ".env"):  # fmt: skip
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "secret").write_text("s")
    os.symlink(tmp_path / "secret", home / "link")
    return home


def test_a_folder_is_taken_without_what_is_hidden_compiled_or_elsewhere(tree, tmp_path):
    package = Package()
    package.include(tree)
    package.add_text("config.toml", "x = 1\n")
    assert package.sizes() == {"code/a.py": 4, "code/sub/b.py": 8, "config.toml": 6}
    target = tmp_path / "job"
    target.mkdir()
    package.write(target)
    found = {str(p.relative_to(target)) for p in target.rglob("*") if p.is_file()}
    assert found == set(package.sizes())
    assert (target / "code" / "sub" / "b.py").read_text() == "sub/b.py"


def test_what_is_too_large_is_refused_with_its_largest_file(tmp_path):
    (tmp_path / "data.svm").write_bytes(b"0" * 3_000_000)
    package = Package(largest_mb=2)
    package.add_file(tmp_path / "data.svm")
    with pytest.raises(ConfigError, match=r"3\.0 MB, more than 2 MB .*data\.svm with 3\.0 MB"):
        package.write(tmp_path)


def test_two_files_of_one_name_are_refused(tmp_path):
    package = Package()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.py").write_text("")
    package.add_file(tmp_path / "a" / "t.py")
    package.add_file(tmp_path / "a" / "t.py")
    with pytest.raises(ConfigError, match=r"have the name t\.py"):
        package.add_file(tmp_path / "b" / "t.py")
    with pytest.raises(ConfigError, match="no such file"):
        package.add_file(tmp_path / "none")


@pytest.mark.parametrize(("text", "name"), [("a b/c", "a-b-c"), ("..", "run"), ("x_1.2", "x_1.2")])
def test_names_are_safe(text, name):
    assert job_name(text) == name
