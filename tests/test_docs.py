"""What the pages say runs, runs: every code block of the README and of the documentation."""

import json
import os
import re
import runpy
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack

import numpy as np
import pytest
from docs_pages import PAGES, ROOT, blocks_of, shape
from installing import EXTENSION, installed

from distsvm.cli import exits, main
from distsvm.cli.program import parse
from distsvm.data.synthetic import (
    make_alignments,
    make_multiclass,
    make_tagged_sentences,
    make_taxonomy_data,
    write_fasta,
)
from distsvm.data.synthetic_trees import make_treebank
from distsvm.data.writers import write_svmlight
from distsvm.structures.sequences.writers import write_conll
from distsvm.version import __version__

NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
EXCUSED = {
    "README.md": {"not run": 2},
    "CONTRIBUTING.md": {"not run": 1},
    "cluster/README.md": {"not run": 2, "parsed only": 1},
    "docs/architecture.md": {"not run": 1},
    "docs/certificate.md": {"not run": 1},
    "docs/large-data.md": {"parsed only": 1},
    "docs/runs-and-jobs.md": {"not run": 1, "parsed only": 1},
    "docs/service.md": {"not run": 2, "parsed only": 3},
    "docs/templates.md": {"not run": 1},
}
"""How many blocks of each page a comment excuses. Another number is an error."""


def make_files(folder):
    """Write the small files that the commands of the pages name."""
    X, y = make_multiclass(240, 6, 3, seed=0)
    write_svmlight(folder / "train.svm", X[:200], y[:200])
    write_svmlight(folder / "test.svm", X[200:], y[200:])
    (folder / "spam" / "train").mkdir(parents=True)
    rows = [
        {"x": x.tolist(), "y": "spam" if label else "ham"}
        for x, label in zip(X, y > 0, strict=True)
    ]
    write_lines(folder / "spam" / "train" / "part.jsonl", rows)
    (folder / "features.py").write_text("")
    sentences = make_tagged_sentences(60, seed=0)
    write_conll(folder / "train.conll", sentences[:50])
    write_conll(folder / "dev.conll", sentences[50:])
    text = "".join(" ".join(words) + "\n" for words, _ in sentences[50:])
    (folder / "new.txt").write_text(text)
    (folder / "templates.txt").write_text("bias\nword\nsuffix(2)\n")
    trees = make_treebank(60)
    (folder / "wsj").mkdir()
    (folder / "wsj" / "train.mrg").write_text("\n".join(map(str, trees[:50])))
    (folder / "new.mrg").write_text("\n".join(map(str, trees[50:])))
    write_fasta(
        folder / "decoys.fasta", *make_alignments(12, length=20, n_operations=8, n_decoys=2)
    )
    X, y = make_taxonomy_data(60, 4, (2, 2))
    rows = [{"x": x.tolist(), "y": path.split("/")} for x, path in zip(X, y, strict=True)]
    write_lines(folder / "topics.jsonl", rows)
    (folder / "tree.json").write_text('{"a0": ["b0", "b1"], "a1": ["b0", "b1"]}')
    inputs = np.random.default_rng(0).normal(size=(30, 4))
    rows = [{"x": x.tolist(), "y": (x[:3] > 0).astype(int).tolist()} for x in inputs]
    write_lines(folder / "labels.jsonl", rows)


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_block_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    every = blocks_of(page)
    blocks = [block for block in every if not block.markers.keys() & {"not run", "quoted"}]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    make_files(tmp_path)
    for block in blocks:
        if "file" in block.markers:
            (tmp_path / block.markers["file"]).write_text(block.text, encoding="utf-8")
    with ExitStack() as stack:
        if any(str(EXTENSION) in str(ROOT / b.markers.get("quoted", "")) for b in every):
            (tmp_path / "site").mkdir()
            for folder in (EXTENSION, tmp_path / "site"):
                monkeypatch.syspath_prepend(str(folder))
            stack.enter_context(installed(tmp_path / "site"))
        run_blocks(blocks, page, tmp_path, capsys)


def run_blocks(blocks, page, folder, capsys):
    """Run blocks one after another, and compare what they print with what the page says."""
    for block in blocks:
        where = f"{page.name}, line {block.line}"
        if block.language == "python":
            printed = run_python(block.text, where)
        elif block.language == "sh":
            printed = "".join(run_command(words, block, where, capsys) for words in block.commands)
        elif block.language == "toml":
            parse(["train", block.markers["file"]])
            parse(["submit", block.markers["file"]])
            continue
        else:
            first, _, output = block.text.partition("\n")
            assert first.startswith("$ "), f"{where}: neither code nor the output of a command"
            printed, block.output = run_command(first[2:].split(), block, where, capsys), output
        if block.output is not None:
            assert shape(printed) == shape(block.output), where


def run_python(text, where):
    """Run a block as a program of its own and return what it prints."""
    with open("block.py", "w", encoding="utf-8") as file:
        file.write(text)
    path = os.pathsep.join(filter(None, sys.path))
    run = subprocess.run(
        [sys.executable, "block.py"], capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert run.returncode == 0, f"{where}:\n{run.stderr}"
    return run.stdout


def run_command(words, block, where, capsys):
    """Run a command of distsvm, or only parse it, and return what it prints."""
    assert words[0] == "distsvm", f"{where}: {words[0]} is not run, and no comment says why"
    if "parsed only" in block.markers:
        parse(words[1:])
        return ""
    capsys.readouterr()
    code = main(words[1:])
    shown = capsys.readouterr()
    assert code in (exits.DONE, exits.STOPPED_EARLY), f"{where}: {' '.join(words)}\n{shown.err}"
    return shown.out


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_blocks_that_quote_a_file_are_its_text(page):
    for block in blocks_of(page):
        if "quoted" in block.markers:
            text = (ROOT / block.markers["quoted"]).read_text(encoding="utf-8")
            assert block.text == text, f"{page.name}, line {block.line}"


def test_the_page_of_a_structure_quotes_every_file_of_the_extensions():
    blocks = blocks_of(ROOT / "docs" / "add-a-structure.md")
    quoted = {ROOT / block.markers["quoted"] for block in blocks if "quoted" in block.markers}
    assert {*(EXTENSION / "distsvm_example" / "rings").glob("*.py")} <= quoted


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_blocks_that_do_not_run_are_counted(page):
    found = Counter(
        marker
        for block in blocks_of(page)
        for marker in block.markers
        if marker not in ("file", "quoted")
    )
    assert dict(found) == EXCUSED.get(str(page.relative_to(ROOT)), {})


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        found = (page.parent / path) if path else page
        assert found.exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.+)$", found.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in heads]


def test_the_readme_fits_on_a_few_screens():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 170


def test_every_promise_names_tests_that_are_there():
    text = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?!promise|---)(.+?) \| (.+) \|$", text, re.MULTILINE)
    assert len(rows) > 40
    for promise, behind in rows:
        paths = re.findall(r"`([^`]+\.py)`", behind)
        assert paths, promise
        for path in paths:
            assert (ROOT / path).is_file(), f"{promise}: {path}"


def test_the_index_names_every_page():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"]({page.name})" in index


def test_ci_runs_exactly_the_test_command():
    script = ROOT / ".ci" / "run"
    lines = script.read_text(encoding="utf-8").splitlines()
    extract = next(line for line in lines if line.startswith("command="))
    shown = subprocess.run(
        ["bash", "-c", f"{extract}\necho \"$command\""],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found = re.search(r"<!-- test command -->.*\n```sh\n(.*?)```", PAGES[0].read_text(), re.DOTALL)
    assert found is not None
    assert shown.strip() == found.group(1).strip()


def test_the_citation_names_the_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {__version__}\n" in text


def test_the_package_declares_that_it_has_types_and_needs_posix():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert (ROOT / "distsvm" / "py.typed").is_file()
    assert 'distsvm = ["py.typed"' in text
    assert '"Operating System :: POSIX"' in text


@pytest.mark.slow
def test_the_picture_of_the_terminal_can_be_drawn_again(tmp_path):
    pictures = runpy.run_path(str(ROOT / "docs" / "pictures.py"))
    path = os.pathsep.join(filter(None, sys.path))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        words = [sys.executable, "-m", "distsvm.cli", "demo"]
        display, end = pictures["moments"](pictures["terminal_output"](words, str(tmp_path)))
    drawn = pictures["terminal_svg"]([*display, None, *end])
    for word in ("gap", "primal", "certificate", "accuracy"):
        assert word in drawn
    assert drawn.startswith("<svg")
    assert "\x1b" not in drawn
