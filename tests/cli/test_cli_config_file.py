"""A TOML file says all that the command line can, and nothing else."""

import argparse
import math
import sys

import pytest
from cli_files import train_args
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from distsvm.cli import main, readers
from distsvm.cli.config_file import config_text, keys_of
from distsvm.cli.program import CONFIGURED, build_parser, parse
from distsvm.cli.toml_text import toml_pair
from distsvm.errors import ConfigError
from distsvm.structures.sequences.options import column, templates
from distsvm.training.run_folder import RunFolder

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXT = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=12)
WORD = st.text("abcXYZ/.09 é☃\"'\\#", min_size=1, max_size=8).filter(
    lambda word: word.strip() == word and "," not in word
)
FLOAT = st.floats(allow_nan=False)
NAME = st.text("abcdeXYZ", min_size=1, max_size=5)


def listed(items):
    return ",".join(str(item) for item in items)


def assigned(pairs):
    return ",".join(f"{name}={value}" for name, value in pairs.items())


# For every reader: texts that the command line may have for it.
TEXTS = {
    readers.text: WORD,
    readers.number: FLOAT.map(repr),
    readers.whole: st.integers(-(10**6), 10**6).map(str),
    readers.names: st.lists(NAME, min_size=1, max_size=3).map(listed),
    readers.numbers: st.lists(FLOAT, min_size=1, max_size=3).map(listed),
    readers.amounts: st.dictionaries(NAME, FLOAT, min_size=1, max_size=3).map(assigned),
    readers.class_weight: st.just("balanced")
    | st.dictionaries(NAME | st.integers(0, 9).map(str) | st.just('"7"'), FLOAT, min_size=1).map(
        assigned
    ),
    readers.settings: st.dictionaries(
        NAME, st.sampled_from(["1", "0.5", "true", "text"]), min_size=1
    ).map(assigned),
    column: st.sampled_from(["3", "-1", "upos"]),
    templates: st.sampled_from(["pos", "word[-1..+1]; suffix(1..3)", "word\nsuffix(2)"]),
}


def words_of(verb, draw):
    """A command line with some options, each with a value that it may have."""
    words = [verb]
    for action in keys_of(build_parser(verb).get_default("own")).values():
        if not (action.required or draw(st.booleans())):
            continue
        flag = draw(st.sampled_from([f for f in action.option_strings if f.startswith("--")]))
        if isinstance(action, argparse._CountAction):
            words += [flag] * draw(st.integers(1, 3))
        elif action.nargs == 0:
            words.append(flag)
        elif action.choices is not None:
            words.append(f"{flag}={draw(st.sampled_from(list(action.choices)))}")
        else:
            text = draw(TEXTS[action.type] if action.type in TEXTS else alternatives(action.type))
            words += [f"{flag}={text}"] if action.nargs is None else [flag, f"_{text}"]
    return words


def alternatives(reader):
    """The texts of a reader that also takes a word, or of one that only reads text."""
    if reader is None or not isinstance(reader, readers.Reader):
        return WORD
    number = "7" if "whole" in reader.expected else "0.25"
    return st.sampled_from([number, reader.expected.rpartition('"')[0].rpartition('"')[2]])


def values(args):
    return {k: v for k, v in vars(args).items() if k not in ("own", "config", "behind")}


@pytest.mark.parametrize("verb", CONFIGURED)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_written_and_read_gives_the_same_arguments(verb, tmp_path, data):
    args = parse(words_of(verb, data.draw))
    path = tmp_path / "config.toml"
    path.write_text(config_text(verb, args.own, args), encoding="utf-8")
    again = parse([verb, str(path)])
    assert values(again) == values(args)
    assert config_text(verb, again.own, again) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("verb", CONFIGURED)
def test_every_option_has_a_key_of_its_own_name(verb):
    own = build_parser(verb).get_default("own")
    flags = {flag for action in own._actions for flag in action.option_strings}
    negations = {f for f in flags if f.startswith("--no-") and f"--{f[5:]}" in flags} - {
        "--no-intercept"
    }
    assert {f"--{key}" for key in keys_of(own)} == {
        flag for flag in flags if flag.startswith("--") and flag != "--help"
    } - negations


@given(
    st.dictionaries(
        TEXT,
        st.recursive(
            TEXT | FLOAT | st.integers(-(2**63), 2**63 - 1) | st.booleans(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
            max_leaves=6,
        ),
    )
)
def test_what_is_written_is_toml(table):
    text = "\n".join(toml_pair(key, value) for key, value in table.items())
    assert tomllib.loads(text) == table


def test_numbers_that_are_none_are_written_too():
    found = tomllib.loads(toml_pair("x", [math.inf, -math.inf, math.nan]))["x"]
    assert found[:2] == [math.inf, -math.inf]
    assert math.isnan(found[2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rel_gap = 1", "there is no key 'rel_gap'; the nearest is 'rel-gap'"),
        ("max-round = 1", "the nearest is 'max-rounds'"),
        ("qqqqqq = 1", "there is no key 'qqqqqq'"),
        ("help = true", "there is no key 'help'"),
        ('C = "10"', 'C = "10": expected a number, found text'),
        ("C = true", "C = true: expected a number, found a truth value"),
        ("workers = 1.5", "workers = 1.5: expected a whole number, found a number"),
        ("max-rounds = 'never'", 'expected a whole number, or "none", found text'),
        ("scale = 1", "scale = 1: expected true or false, found a whole number"),
        ("data = [1]", r"data = \[1\]: expected a text or a list of texts, found a list"),
        ("data = []", "expected a text or a list of texts"),
        ("resources = 4", "expected a table of numbers, found a whole number"),
        ("unfit = 'maybe'", 'unfit = "maybe": expected one of error, drop'),
        ("eps = 2026-11-16", "eps = 2026-11-16: expected a number, found a date or time"),
        ("no-intercept = true\nintercept-scaling = 2.0", "two words for one thing"),
        ("C = ]", "is not TOML: .*line 1"),
        ("a = " + "[" * 5000, "is not TOML"),
    ],
)
def test_what_is_wrong_is_refused_by_file_and_key(tmp_path, text, message):
    path = tmp_path / "my.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as error:
        parse(["train", str(path), "--task", "multiclass", "--data", "a"])
    assert str(path) in str(error.value)


def test_a_file_that_cannot_be_read_is_said(tmp_path, capsys):
    assert main(["train", str(tmp_path / "none.toml")]) == 2
    assert "none.toml: there is no such file" in capsys.readouterr().err
    (tmp_path / "large.toml").write_bytes(b"#" * (1 << 21))
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    for name in ("large.toml", "bytes.toml", "."):
        assert main(["train", str(tmp_path / name)]) == 2


def test_the_command_line_comes_before_the_file(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text('task = "binary"\ndata = ["a", "b"]\nC = 1\nstrip-empty = true\nquiet = true')
    args = parse(["train", str(path), "--C", "2", "--data", "c", "--no-strip-empty"])
    assert (args.C, args.data, args.strip_empty, args.task) == (2.0, ["c"], False, "binary")
    assert args.quiet
    path.write_text('task = "binary"\ndata = "a"\nverbose = 2')
    assert parse(["-v", "train", str(path)]).verbose == 1
    assert parse(["-v", "train", "--task", "binary", "--data", "a"]).verbose == 1


def test_a_file_begins_the_run_that_it_was_written_for(files, tmp_path, capsys):
    first = tmp_path / "first"
    words = train_args(files.train, "--run-dir", first, "--eps", "0.01", "-q")
    assert main(words) == 0
    again = tmp_path / "again"
    assert main(["train", str(first / "config.toml"), "--run-dir", str(again)]) == 0
    one, two = (RunFolder(folder).read() for folder in (first, again))
    assert one["problem"] == two["problem"]
    results = [(folder / "result.json").read_text().splitlines()[:5] for folder in (first, again)]
    assert results[0] == results[1]
