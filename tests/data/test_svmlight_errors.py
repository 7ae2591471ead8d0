"""Everything that can be wrong in a line of svmlight is refused with file and line."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from svmlight_files import load, no_function_check, read

from distsvm.data.readers import lines
from distsvm.errors import DataError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.svm"


BAD_LINES = {
    b"x 1:1": ("'x'", "a label"),
    b"1:1 2:2": ("'1:1'", "a label"),
    b"1,2 1:1": ("'1,2'", "a label"),
    b"nan 1:1": ("'nan'", "a label"),
    b"1e999 1:1": ("'1e999'", "a label"),
    b"1_0 1:1": ("'1_0'", "a label"),
    b"qid:3 1:1": ("'qid:3'", "a label"),
    b"1 qid:x 1:1": ("'qid:x'", "qid: and a whole number"),
    b"1 qid:-3": ("'qid:-3'", "qid: and a whole number"),
    b"1 1:1 qid:3": ("'qid:3'", "a whole index"),
    b"1 abc": ("'abc'", "a whole index"),
    b"1 -1:2": ("'-1:2'", "a whole index"),
    b"1 1.5:2": ("'1.5:2'", "a whole index"),
    b"1 3": ("'3'", "a whole index"),
    b"1 :3": ("':3'", "a whole index"),
    b"1 1 :3": ("'1'", "a whole index"),
    b"1 2:1 2:1": ("'2:1'", "indices that increase"),
    b"1 5:1 3:1": ("'3:1'", "indices that increase"),
    b"1 1000000000000000000:1": ("'1000000000000000000:1'", "below 10^18"),
    b"1 99999999999999999999999:1": ("'99999999999999999999999:1'", "below 10^18"),
    b"1 1:": ("'1:'", "a finite number"),
    b"1 1: 2": ("'1:'", "a finite number"),
    b"1 1:abc": ("'1:abc'", "a finite number"),
    b"1 1:2x": ("'1:2x'", "a finite number"),
    b"1 1:2:3": ("'1:2:3'", "a finite number"),
    b"1 1:nan": ("'1:nan'", "a finite number"),
    b"1 1:-inf": ("'1:-inf'", "a finite number"),
    b"1 3:1e999": ("'3:1e999'", "a finite number"),
    b"1 1:.": ("'1:.'", "a finite number"),
    b"1 1:1e": ("'1:1e'", "a finite number"),
    b"1 1:0x10": ("'1:0x10'", "a finite number"),
    b"1 1:--1": ("'1:--1'", "a finite number"),
    b"1 1:1.2.3": ("'1:1.2.3'", "a finite number"),
    b"1 1:\xff\xfe": ("'1:\\\\xff\\\\xfe'", "a finite number"),
    b"1 1:1\x00": ("'1:1\\x00'", "a finite number"),
    b"\xef\xbb\xbf1 1:1": ("'\\ufeff1'", "a label"),
}


@pytest.mark.parametrize("bad", BAD_LINES)
@pytest.mark.parametrize("packed", [False, True])
def test_malformed_line_is_refused_with_file_line_and_expectation(tmp_path, bad, packed):
    found, expected = BAD_LINES[bad]
    text = b"# head\n" + b"1 1:1\n\n" * 5 + bad + b"\r\n2 1:1\n"
    path = tmp_path / ("bad.svm.gz" if packed else "bad.svm")
    path.write_bytes(gzip.compress(text) if packed else text)
    with pytest.raises(DataError) as caught:
        load(path, 3)
    message = str(caught.value)
    assert message.startswith(f"{path}, line 12: found {found}, expected ")
    assert expected in message


@no_function_check
@given(st.integers(0, 39), st.integers(1, 12), st.integers(1, 100))
def test_line_numbers_count_in_the_whole_file(tmp_path, bad, n_shards, block):
    rows = [b"1 1:1 2:2"] * 40
    rows[bad] = b"1 1:oops"
    path = tmp_path / "bad.svm"
    path.write_bytes(b"\n".join(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", block)
        with pytest.raises(DataError, match=rf"bad\.svm, line {bad + 1}: found '1:oops'"):
            load(path, n_shards)


def test_values_beyond_float32_are_refused_when_it_is_asked_for(path):
    for text in (b"1 1:3.5e38\n", b"1 1:" + b"9" * 39 + b"\n"):
        read(path, text)
        with pytest.raises(DataError, match=r"line 1: found '1:.*', expected .* a finite number"):
            read(path, text, dtype=np.float32)


def test_long_tokens_are_shortened_in_messages(path):
    with pytest.raises(DataError) as caught:
        read(path, b"1 1:" + b"z" * 10000 + b"\n")
    assert len(str(caught.value)) < 300
