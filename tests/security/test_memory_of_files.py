"""Whatever a small file holds, reading it takes no more than some memory and a multiple of it."""

import json
import tracemalloc

import numpy as np
import pytest
from folders import CASES, _sign, copied

from distsvm import load_model
from distsvm.cli import main
from distsvm.data import open_data
from distsvm.errors import CheckpointError, DistSVMError, ModelError
from distsvm.model import Model
from distsvm.storage import read_json
from distsvm.structures.trees.grammar import Grammar
from distsvm.structures.trees.task import ParseTask
from distsvm.structures.trees.tree import parse_trees

FIXED, TIMES = 32 << 20, 100
"""What no reading may exceed: bytes of memory, and so many for every byte of the file besides."""


def check_peak(n_bytes, read):
    """Call read() twice, first to import and compile, and measure the second call."""
    peak = 0
    for _ in range(2):
        tracemalloc.start()
        try:
            read()
        except DistSVMError:
            pass  # refused, which may not take more either
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    assert peak < FIXED + TIMES * n_bytes, f"{peak >> 20} MB for a file of {n_bytes >> 10} KB"


FILES = {
    "svmlight-wide": ("svmlight", "1 " + " ".join(f"{i}:1" for i in range(1, 9000)) + "\n2 1:1\n"),
    "svmlight-far": ("svmlight", "1 2000000000:1\n2 1:1\n" * 2000),
    "svmlight-empty": ("svmlight", "1\n2\n" * 15_000),
    "conll-long": ("conll", "w T\n" * 15_000),
    "conll-short": ("conll", "w T\n\n" * 12_000),
    "conll-columns": ("conll", "w " + "x " * 30_000 + "T\n"),
    "conllu": ("conllu", "1\tw\t_\tN\tN\t_\t0\troot\t_\t_\n\n" * 2000),
    "svmhmm": ("svmhmm", "".join(f"N qid:{i} 1:1\n" for i in range(5000))),
    "treebank-wide": ("treebank", "(S " + "(X a)" * 15_000 + ")\n"),
    "treebank-deep": ("treebank", "(S " * 15_000 + "(X a)" + ")" * 15_000 + "\n"),
    "jsonl": ("jsonl", '{"x":[1,2],"y":1}\n' * 4000),
    "jsonl-nested": ("jsonl", '{"x":' + "[" * 30_000 + "]" * 30_000 + ',"y":1}\n'),
}


@pytest.mark.parametrize("name", FILES)
def test_a_text_takes_a_multiple_of_itself(name, tmp_path):
    kind, text = FILES[name]
    path = tmp_path / "data.txt"
    path.write_text(text)
    check_peak(
        len(text), lambda: [spec.load() for spec in open_data(str(path), format=kind).specs()]
    )


def test_a_table_takes_a_multiple_of_itself(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    table = pa.table(
        {"a": rng.normal(size=4000), "b": rng.normal(size=4000), "y": ["x", "z"] * 2000}
    )
    path = tmp_path / "data.parquet"
    pq.write_table(table, path)

    def read():
        data = open_data(str(path), label="y")
        return [spec.load() for spec in data.specs()]

    assert sum(shard.n for shard in read()) == 4000
    check_peak(path.stat().st_size, read)


TREES = {
    "wide": "(S " + "(X a)" * 15_000 + ")",
    "labels": "(S " + "".join(f"(X{i} a)" for i in range(7000)) + ")",
    "deep": "(S " * 5000 + "(X a)(X b)" + ")" * 5000,
}


@pytest.mark.parametrize("name", TREES)
def test_a_grammar_takes_a_multiple_of_its_treebank(name):
    text, task = TREES[name], ParseTask()

    def learn():
        trees = list(parse_trees(text))
        shard = task.shard([tree.sentence() for tree in trees], trees)
        prepared = task.prepare(task.scan(shard))
        return prepared.oracle(shard, "margin")

    assert learn().truth is not None
    check_peak(len(text), learn)


def chain(n, end):
    return ["TOP -> X0", *(f"X{i} -> X{i + 1}" for i in range(n)), f"X{n} -> {end}"]


RULES = {
    "one rule of many children": ["TOP -> S", "S -> " + " ".join(["'a'"] * 15_000)],
    "one rule of many tags": ["TOP -> S", "S -> " + " ".join(f"'a{i}'" for i in range(8000))],
    "rules that branch": ["TOP -> S"] + [
        "S -> " + " ".join(f"'a{(7 * i + j * j) % 4000}'" for j in range(50)) for i in range(200)
    ],
    "pairs of many tags": ["TOP -> X0"] + [
        f"X{i % 2000} -> 'a{i % 4000}' 'a{(13 * i) % 4000}'" for i in range(8000)
    ],
    "a chain": chain(420, "'a' 'b'"),
    "a chain to a tag": chain(420, "'a'"),
    "first children in a row": ["TOP -> X0", "X3000 -> 'a' 'b'"] + [
        f"X{i} -> X{i + 1} 'a'" for i in range(3000)
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_a_model_of_a_parser_takes_a_multiple_of_itself(name, tmp_path):
    rules, folder = sorted(set(RULES[name])), tmp_path / "model"
    Model(ParseTask(rules=("TOP -> 'a'",), max_chain=10**9), np.zeros(1)).save(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["fields"]["rules"] = {"tuple": rules}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    np.savez(folder / "arrays.npz", w=np.zeros(len(rules)))
    _sign(folder)
    n_bytes = sum(path.stat().st_size for path in folder.iterdir())
    assert load_model(folder).w.size == len(rules)
    check_peak(n_bytes, lambda: load_model(folder))


def test_chains_that_were_not_seen_are_limited_by_their_length():
    grammar = Grammar.of(chain(420, "'a' 'b'"), max_chain=10**9)
    lengths = [len(symbols) for symbols in grammar.chains]
    assert sum(lengths) < 600_000
    assert max(lengths) > 5


@pytest.fixture(scope="module", params=["classes", "sequence", "trees-planes", "python"])
def run(request, tmp_path_factory):
    case, folder = CASES[request.param](), tmp_path_factory.mktemp("memory") / "run"
    case.train(folder, keep_checkpoints=1)
    return case, folder


def test_a_checkpoint_that_claims_much_is_refused_in_little_memory(run, tmp_path):
    """The room of planes, numbers of cuts, numbers of shards."""
    case, made = run
    for name, claim in (("size", 3000), ("number", 10**15), ("starts", 10**15)):
        folder = copied(made, tmp_path / "run")
        for file in folder.rglob("*.npz"):
            with np.load(file) as kept:
                arrays = dict(kept)
            for key in arrays.keys() & {name, f"cut_{name}"}:
                arrays[key] = np.full_like(arrays[key], claim)
            np.savez(file, **arrays)
        _sign(folder)
        n_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        check_peak(n_bytes, lambda: case.train(folder, resume=True, max_rounds=5))  # noqa: B023


def test_json_takes_a_multiple_of_itself(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("[" + ",".join(["{}"] * 40_000) + "]")
    check_peak(path.stat().st_size, lambda: read_json(path, CheckpointError))
    path.write_text("[" * 100_000)
    check_peak(path.stat().st_size, lambda: read_json(path, ModelError))


def test_a_configuration_takes_a_multiple_of_itself(tmp_path, capsys):
    path = tmp_path / "config.toml"
    path.write_text("a = [" + "{}," * 20_000 + "]\n")
    check_peak(path.stat().st_size, lambda: main(["train", str(path)]))
    path.write_text("a." * 5000 + "b = 1\n")
    check_peak(path.stat().st_size, lambda: main(["train", str(path)]))
    capsys.readouterr()
