"""FASTA, Stockholm and JSONL files give what was written; bad ones are refused with their place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distsvm import Alignment, AlignmentTask, open_data, train
from distsvm.errors import DataError
from distsvm.structures.alignments.alignment import encoded
from distsvm.structures.alignments.readers.fasta import FastaData, whole_rows, write_fasta
from distsvm.structures.alignments.readers.stockholm import StockholmData
from distsvm.structures.alignments.synthetic import make_alignments

FASTA = ">a native\nACD\nEF.\n>b decoy\nCCC\n>c homologue aligned\n.CDEFG\n"


def write_stockholm(path, inputs, outputs):
    lines = []
    for number, (x, y) in enumerate(zip(inputs, outputs, strict=True)):
        rows = dict(zip("nh", whole_rows(x, y), strict=True))
        lines += ["# STOCKHOLM 1.0", f"#=GF ID {number}", "#=GS n DE native", "#=GS h DE homologue"]
        lines += [f"n {rows['n'][:20]}", f"h {rows['h'][:20]}", ""]  # wrapped, as files are
        for k, other in enumerate(x.candidates):
            lines.append(f"h {rows['h'][20:]}" if k == y.candidate else f"d{k} {other}")
        lines += [f"n {rows['n'][20:]}", "//"]
    path.write_text("\n".join(lines) + "\n")


def write_jsonl(path, inputs, outputs):
    pairs = zip(inputs, outputs, strict=True)
    lines = [json.dumps({"x": x._asdict(), "y": encoded(y)}) for x, y in pairs]
    path.write_text("\n".join(lines) + "\n")


@given(
    n=st.integers(1, 25), n_shards=st.integers(1, 6), seed=st.integers(0, 99), known=st.booleans()
)
def test_fasta_gives_every_example_once_in_order(tmp_path_factory, n, n_shards, seed, known):
    inputs, outputs = make_alignments(n, length=12, n_operations=6, n_decoys=2, seed=seed)
    if not known:
        outputs = [Alignment(y.candidate) for y in outputs]
    path = tmp_path_factory.mktemp("fasta") / "some.fasta"
    write_fasta(path, inputs, outputs)
    shards = [spec.load() for spec in FastaData(path).specs(n_shards)]
    assert len(shards) == min(n, n_shards)
    assert [x for shard in shards for x in shard.x] == inputs
    assert [y.candidate for shard in shards for y in shard.y] == [y.candidate for y in outputs]
    pairs = zip(outputs, (y for shard in shards for y in shard.y), strict=True)
    assert all(
        y.columns == found.columns and list(y.pairs()) == list(found.pairs()) for y, found in pairs
    )
    assert all(spec.load().y is None for spec in FastaData(path).unlabelled().specs(n_shards))


def test_stockholm_gives_the_rows_as_alignment_and_decoys_without_gaps(tmp_path):
    inputs, outputs = make_alignments(9, length=30, n_operations=12, n_decoys=1, seed=3)
    write_stockholm(tmp_path / "a.sto", inputs, outputs)
    shards = [spec.load() for spec in StockholmData(tmp_path / "a.sto").specs(4)]
    x = [x for shard in shards for x in shard.x]
    assert len(shards) == 4
    assert [one.native for one in x] == [one.native for one in inputs]
    assert [set(one.candidates) for one in x] == [set(one.candidates) for one in inputs]
    y = [y for shard in shards for y in shard.y]
    assert [one.columns for one in y] == [one.columns for one in outputs]
    other = "# STOCKHOLM 1.0\na AC-D\nb A.CD\nc A--.\n//\n"
    (tmp_path / "b.sto").write_text(other.replace("A.CD", "AACD"))
    shard = StockholmData(tmp_path / "b.sto").specs(1)[0].load()
    assert shard.x == [("ACD", ("AACD", "A"))]
    assert shard.y == [Alignment(0, "MMIM")]


def test_all_formats_give_the_same_model(tmp_path):
    inputs, outputs = make_alignments(12, length=20, n_operations=8, n_decoys=2, seed=1)
    write_fasta(tmp_path / "a.fasta", inputs, outputs)
    write_jsonl(tmp_path / "a.jsonl", inputs, outputs)
    config = {"executor": "serial", "n_shards": 2, "C": 10.0}
    models = [
        train(AlignmentTask(), tmp_path / name, **config).model for name in ("a.fasta", "a.jsonl")
    ]
    assert (models[0].w == models[1].w).all()
    assert models[0].predict(tmp_path / "a.fasta") == models[0].predict(inputs)


BAD_FASTA = [
    (FASTA.replace(".CDEFG", "CDEFG"), "line 1: the rows of the alignment have 6 and 5"),
    (FASTA + ">x\nACD\n", "line 8: found '>x', expected native, homologue or decoy"),
    ("ACD\n" + FASTA, "line 1: found 'ACD', expected a line with '>'"),
    (">b decoy\nA\n" + FASTA, "line 1: found a decoy, expected a native sequence before it"),
    (FASTA + ">e homologue\nA\n", "line 1: the example has 2 sequences that are homologue"),
    (FASTA.replace("decoy", "homologue"), "has 2 sequences that are homologue, expected one"),
    (FASTA.replace(">b decoy\nCCC\n", ""), "line 1: the example has no decoys"),
    (FASTA.replace("CCC", ""), "line 1: the candidate 0 is '', expected a text of letters"),
    (FASTA.replace(".CDEFG", "AC.EFG"), 'has "." between its columns'),
]


@pytest.mark.parametrize(("text", "said"), BAD_FASTA)
def test_bad_fasta_is_refused_with_file_and_line(tmp_path, text, said):
    path = tmp_path / "bad.fasta"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        train(AlignmentTask(), path, executor="serial")
    assert str(path) in str(error.value)
    assert said in str(error.value)


BAD_STOCKHOLM = [
    ("# STOCKHOLM 1.0\na AC\nb A\n//\n", "the rows of the alignment have 2 and 1 columns"),
    ("# STOCKHOLM 1.0\na AC\nb AC\n", "line 3: the file ends within an alignment"),
    ("# STOCKHOLM 1.0\n# STOCKHOLM 1.0\n", "line 2: an alignment begins before //"),
    ("# STOCKHOLM 1.0\na A C\n//\n", "line 2: found 3 columns"),
    ("# STOCKHOLM 1.0\n//\n", "line 2: an alignment without sequences"),
]


@pytest.mark.parametrize(("text", "said"), BAD_STOCKHOLM)
def test_bad_stockholm_is_refused_with_file_and_line(tmp_path, text, said):
    path = tmp_path / "bad.sto"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        open_data(path).specs(1)[0].load()
    assert f"{path}, line" in str(error.value)
    assert said in str(error.value)


BAD_JSON = [
    (
        {"x": ["AC", ["AC", "A"]], "y": {"candidate": 0, "columns": "MMM"}},
        "takes the letters 0 to 2",
    ),
    ({"x": ["AC", ["AC", "A"]], "y": {"candidate": 0, "columns": "MX"}}, "the column 'X'"),
    ({"x": ["AC", ["AC", "A"]], "y": 2}, "candidate 2, but there are 2"),
    ({"x": ["AC", ["AC"]], "y": 0}, "no decoys"),
    ({"x": ["AC", []], "y": 0}, "no candidates"),
    ({"x": {"native": "AC"}, "y": 0}, "expected 'native' and 'candidates'"),
    ({"x": ["AC", ["AZ", "A"]], "y": 0}, "the letter 'Z', expected letters of the alphabet 'AC'"),
    ({"x": ["AC", ["AC", "A"]], "y": {"columns": "M"}}, "expected 'candidate'"),
]


@pytest.mark.parametrize(("example", "said"), BAD_JSON)
def test_a_bad_example_is_refused_with_file_and_line(tmp_path, example, said):
    path = tmp_path / "bad.jsonl"
    good = {"x": ["AC", ["AC", "CA"]], "y": {"candidate": 0, "columns": "MM"}}
    path.write_text(f"{json.dumps(good)}\n{json.dumps(example)}\n")
    with pytest.raises(DataError) as error:
        train(AlignmentTask(alphabet="AC"), path, executor="serial")
    assert f"{path}, line 2" in str(error.value)
    assert said in str(error.value)


def test_a_global_alignment_has_all_letters_and_residues_need_one():
    task, pair = AlignmentTask(alignment="global"), [("ACD", ("ACD", "A"))]
    with pytest.raises(
        DataError, match=r"takes 2 letters of the native sequence, and a global one takes all 3"
    ):
        train(task, pair, [Alignment(0, "MM")], executor="serial")
    with pytest.raises(DataError, match="alignment is not given"):
        train(AlignmentTask("residues"), [("ACD", "ACD")], [0], executor="serial")
    with pytest.raises(DataError, match="2 candidates, expected one"):
        train(AlignmentTask("residues"), pair, [Alignment(0, "MM")], executor="serial")
