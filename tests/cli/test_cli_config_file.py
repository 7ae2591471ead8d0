"""A TOML file says all that the command line can, and nothing else."""

import math
import re
import sys
from functools import partial

import pytest
from cli_files import train_args
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from distsvm.cli import main
from distsvm.cli.config_file import config_text
from distsvm.cli.program import CONFIGURED, build_parser, parse
from distsvm.cli.words import toml_pair
from distsvm.errors import ConfigError
from distsvm.kinds import (
    Choice,
    Count,
    Listed,
    Number,
    Or,
    Several,
    Table,
    Text,
    Truth,
    Unfit,
)  # fmt: skip
from distsvm.oracles.label_weights import LabelWeight
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
FINITE = st.floats(allow_nan=False, allow_infinity=False)
NAME = st.text("abcdeXYZ", min_size=1, max_size=5)


def listed(items):
    return ",".join(str(item) for item in items)


def assigned(pairs):
    return ",".join(f"{name}={value}" for name, value in pairs.items())


def texts(kind):
    """Texts that the command line may have for an option of this kind."""
    if isinstance(kind, LabelWeight):
        labels = NAME | st.integers(0, 9).map(str) | st.just('"7"')
        amounts = st.floats(0, 1e9).filter(lambda amount: fits(kind, f"X={amount}"))
        return st.just("balanced") | st.dictionaries(labels, amounts, min_size=1).map(assigned)
    if isinstance(kind, Or):
        return st.just("none" if kind.value is None else kind.value) | texts(kind.kind)
    if isinstance(kind, Number):
        return st.sampled_from(["1", "3", "0.5", "-2", "0", "1e300"]).filter(partial(fits, kind))
    if isinstance(kind, Choice):
        return st.sampled_from([str(choice) for choice in kind.choices])
    if isinstance(kind, Table):
        values = FINITE if isinstance(kind.item, Number) else st.sampled_from(["1", "true", "text"])
        return st.dictionaries(NAME, values, min_size=1, max_size=3).map(assigned)
    if isinstance(kind, Listed):
        values = NAME if isinstance(kind.item, Text) else st.floats(1e-9, 1e9)
        return st.lists(values, min_size=1, max_size=3).map(listed)
    named = [text for text in OF_SOME_KINDS if fits(kind, text)]
    return st.sampled_from(named) if not fits(kind, "x") else WORD.filter(partial(fits, kind))


OF_SOME_KINDS = ("poly", "0.5", "median", "bio", "native", "line-search", "cvxpy:CLARABEL")


def fits(kind, text):
    try:
        kind.read(text)
    except Unfit:
        return False
    return True


def words_of(verb, draw):
    """A command line with some options, each with a value that it may have."""
    words = [verb]
    for flag in build_parser(verb).get_default("own").flags.values():
        if not (flag.action.required or draw(st.booleans())):
            continue
        name, kind = flag.option.flag, flag.option.kind
        if isinstance(kind, Truth):
            words.append(
                name.replace("--", "--no-", 1) if kind.both and draw(st.booleans()) else name
            )
        elif isinstance(kind, Count):
            words += [name] * draw(st.integers(1, 3))
        elif isinstance(kind, Several):
            words += [name, f"_{draw(WORD)}"]
        else:
            words.append(f"{name}={draw(texts(kind))}")
    return words


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
def test_every_flag_of_the_help_has_a_key_of_its_own_name(verb):
    own = build_parser(verb).get_default("own")
    shown = re.findall(r"^  (?:-\w, )?(--[\w-]+)", own.format_help(), re.M)
    assert {f"--{key}" for key in own.flags} == set(shown) - {"--help"}


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
        ('C = "10"', 'C = "10": expected a number > 0, found text'),
        ("C = true", "C = true: expected a number > 0, found a truth value"),
        ("C = -1", "C = -1: expected a number > 0$"),
        ("workers = 1.5", "workers = 1.5: expected a whole number ≥ 1, found a number"),
        ("max-rounds = 'never'", 'expected a whole number ≥ 1, or "none", found text'),
        ("scale = 1", "scale = 1: expected true or false, found a whole number"),
        ("data = [1]", r"data = \[1\]: expected a text or a list of texts, found a list"),
        ("data = []", "expected a text or a list of texts"),
        ("resources = 4", "expected a table of numbers, found a whole number"),
        ("unfit = 'maybe'", 'unfit = "maybe": expected one of error, drop'),
        ("eps = 2026-11-16", "eps = 2026-11-16: expected a number ≥ 0, found a date or time"),
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
