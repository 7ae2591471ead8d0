"""Data and settings that a few bytes unfold into much: refused before they take memory or time."""

import gzip

import pytest
from mutation import limited_memory

from distsvm.data import open_data
from distsvm.data.readers import lines
from distsvm.data.templates import MOST, Templates
from distsvm.errors import ConfigError, DataError
from distsvm.structures.trees.grammar import MAX_SYMBOLS, Grammar


@pytest.fixture(autouse=True)
def _bounded():
    with limited_memory():
        yield


@pytest.mark.parametrize("kind", ["svmlight", "conll", "svmhmm", "treebank"])
@pytest.mark.parametrize("ending", ["", ".gz"], ids=["plain", "packed"])
def test_a_line_without_end_is_refused(kind, ending, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE", 1 << 16)
    path = tmp_path / f"data.txt{ending}"
    bomb = b"1 1:1\n" + b"0" * (8 << 20)
    path.write_bytes(gzip.compress(bomb) if ending else bomb)
    assert not ending or path.stat().st_size < 20_000
    data = open_data(str(path), format=kind)
    with pytest.raises(DataError, match="a line of more than"):
        print([spec.load() for spec in data.specs(1)])  # noqa: T201 (if it was read after all)


def test_lines_as_long_as_allowed_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE", 1000)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 64)
    path = tmp_path / "data.svm"
    path.write_text("1 " + " ".join(f"{i}:1" for i in range(1, 100)) + "\n2 1:1\n")
    assert sum(spec.load().n for spec in open_data(str(path)).specs(1)) == 2


def test_templates_that_stand_for_too_many_are_refused():
    wide = "prefix(1..99)[-99..+99]"
    assert len(Templates.parse("prefix(1..50)[-99..+99]").combinations) <= MOST
    with pytest.raises(ConfigError, match=f"at most {MOST}"):
        Templates.parse(" & ".join([wide] * 5))


def test_a_grammar_of_too_many_labels_is_refused():
    rules = [f"TOP -> 'T{i}'" for i in range(MAX_SYMBOLS + 1)]
    with pytest.raises(DataError, match="labels of phrases and tags"):
        Grammar.of(rules)


def test_unary_rules_of_all_with_all_make_no_more_chains_than_allowed():
    names = [f"X{i}" for i in range(120)]
    rules = [f"{a} -> {b}" for a in names for b in names if a != b]
    grammar = Grammar.of([*rules, "TOP -> X0", "X0 -> 'a' 'b'"], max_chain=10**9)
    assert len(grammar.chains) < 120_000
