"""The page as a whole: complete, well-formed, safe and alone."""

import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from handmade_runs import odd_history, record, write_run

from distsvm.errors import CheckpointError
from distsvm.report import write_report

CHARTS = ["gap-time", "gap-calls", "bounds", "phases", "workers", "cuts", "calls"]
HOSTILE = "</script><script>alert('x')</script>\"'><img src=x onerror=alert(1)>&amp;"


class Balance(HTMLParser):
    """Checks that tags close in the order they opened, and keeps text, ids and attributes."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.text, self.tags, self.attributes = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parsed(path):
    page = Balance()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()
    assert page.open == []
    return page


def words(path):
    return " ".join(" ".join(parsed(path).text).split())


def coordinates(page):
    return [value for name, value in page.attributes if name == "d"]


def test_a_full_run_has_every_chart_and_table(tmp_path):
    history = [record(n, validation_loss=1 / n, validation_accuracy=0.9) for n in range(1, 31)]
    report = write_report(write_run(tmp_path / "run", history))
    page, text = parsed(report), words(report)
    assert page.ids == ["gap-time", "gap-calls", "bounds", "validation", *CHARTS[3:]]
    for title in ("Configuration", "Task", "Data", "Versions", "Optimal to within eps"):
        assert title in text
    assert "lowest in round 30: loss 0.0333, accuracy 90.00%" in text
    assert "gap / primal" in text
    assert all(path for path in coordinates(page))


def test_without_validation_data_there_is_no_validation_chart(tmp_path):
    assert parsed(write_report(write_run(tmp_path / "run"))).ids == CHARTS


def test_it_is_written_into_the_run_or_where_it_was_asked(tmp_path):
    folder = write_run(tmp_path / "run")
    assert write_report(str(folder)) == folder / "report.html"
    elsewhere = tmp_path / "new" / "picture.html"
    assert write_report(folder, elsewhere) == elsewhere
    assert elsewhere.read_bytes() == (folder / "report.html").read_bytes()
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("n", [1, 2, 3, 500])
@pytest.mark.parametrize("result", [True, False])
def test_runs_of_any_length_are_drawn(tmp_path, n, result):
    page = parsed(write_report(write_run(tmp_path / "run", n, result)))
    assert page.ids == CHARTS
    assert not re.search(r"nan|inf", " ".join(coordinates(page)))


def test_a_run_without_a_result_says_so_and_shows_what_is_known(tmp_path):
    text = words(write_report(write_run(tmp_path / "run", 30, result=False)))
    assert "Not finished" in text
    assert "The charts show 30 rounds" in text
    assert "≤ eps" in text or "> eps" in text
    assert "load and other" in text


def test_a_default_C_is_not_guessed_before_the_run_has_said_it(tmp_path):
    folder = write_run(tmp_path / "run", 30, result=False, config={"max_rounds": 100})
    text = words(write_report(folder))
    assert "C is the default, which is recorded when the run ends" in text
    assert "Gap / C" not in text
    assert "target C·eps" not in text


def test_a_run_without_rounds_is_no_error(tmp_path):
    report = write_report(write_run(tmp_path / "run", 0, result=False))
    assert "No round yet" in words(report)
    assert parsed(report).ids == []
    (tmp_path / "run" / "history.jsonl").unlink()
    assert "No round yet" in words(write_report(tmp_path / "run"))


def test_a_resumed_run_is_not_taken_for_the_result_of_its_first_session(tmp_path):
    folder = write_run(tmp_path / "run", 30, result={"n_rounds": 20})
    text = words(write_report(folder))
    assert "Not finished" in text
    assert "An earlier session ended after round 20." in text


def test_infinities_and_nan_leave_no_trace_in_the_drawing(tmp_path):
    for result in (False, {"gap": math.inf, "primal": math.inf, "certificate": "none"}):
        page = parsed(write_report(write_run(tmp_path / "run", odd_history(), result)))
        assert page.ids == CHARTS
        styles = [value for name, value in page.attributes if name in ("style", "x", "width", "y")]
        assert not re.search(r"nan|inf", " ".join(coordinates(page) + styles))


def test_only_infinities_and_nan_still_make_a_page(tmp_path):
    empty = {"best_primal": math.inf, "dual": math.nan, "gap": math.inf, "violation": math.nan}
    history = [record(n, kind="cached", primal=None, **empty) for n in (1, 2)]
    report = write_report(write_run(tmp_path / "run", history, result=False))
    assert parsed(report).ids == CHARTS
    assert "no fresh round yet" in words(report)


def test_a_very_long_run_makes_a_small_file(tmp_path):
    noise = np.random.default_rng(0).normal(size=20_000)
    history = [
        record(n, kind="fresh" if n % 3 else "cached", violation=noise[n - 1], gap=1e3 / n,
               best_primal=100 + 1e3 / n, dual=100.0, validation_loss=abs(noise[n - 1]),
               n_cuts=n % 97, n_support_cuts=n % 31)
        for n in range(1, 20_001)
    ]  # fmt: skip
    folder = write_run(tmp_path / "run", history)
    report = write_report(folder)
    assert report.stat().st_size < 1_000_000
    assert "validation" in parsed(report).ids


def test_the_file_refers_to_nothing_outside_itself(tmp_path):
    report = write_report(write_run(tmp_path / "run"))
    text = report.read_text(encoding="utf-8")
    assert not re.search(r"https?:|//|url\(|@import|\bsrc=|\bhref=|srcset|xmlns", text)
    page = parsed(report)
    assert not {"link", "img", "iframe", "object", "use", "image", "base"} & set(page.tags)
    assert ("http-equiv", "Content-Security-Policy") in page.attributes
    assert ("name", "viewport") in page.attributes


def test_whatever_comes_from_files_is_escaped(tmp_path):
    folder = tmp_path / "run <b>&amp;"
    write_run(
        folder, [record(n, kind=HOSTILE) for n in (1, 2)], {"stop_reason": HOSTILE,
                                                            "certificate": HOSTILE},
        config={"cache_dir": HOSTILE, "run_dir": HOSTILE, "executor_options": {HOSTILE: [HOSTILE]}},
        task={"task": HOSTILE, "fields": {HOSTILE: HOSTILE, "c": {"dict": [[HOSTILE, HOSTILE]]}}},
        data={"paths": [HOSTILE, "\udcff"], "options": {HOSTILE: HOSTILE}},
        validation={"paths": [HOSTILE], "options": {}}, version=HOSTILE,
    )  # fmt: skip
    page = parsed(write_report(folder))
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "".join(page.text).count(HOSTILE) >= 12


def test_a_phase_with_a_hostile_name_is_escaped(tmp_path):
    history = [record(n, seconds={HOSTILE: 1.0}) for n in (1, 2)]
    page = parsed(write_report(write_run(tmp_path / "run", history)))
    assert page.tags.count("script") == 1
    assert "img" not in page.tags


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.mkdir(), lambda p: p.write_text("")])
def test_a_folder_that_is_no_run_is_refused(tmp_path, make):
    make(tmp_path / "other")
    with pytest.raises(CheckpointError, match="not the folder of a run"):
        write_report(tmp_path / "other")
    assert not (tmp_path / "other" / "report.html").exists()


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"kind": "distsvm model"}', '{"kind": "distsvm run"}']
)
def test_a_damaged_run_is_refused(tmp_path, text):
    folder = write_run(tmp_path / "run")
    (folder / "run.json").write_text(text)
    with pytest.raises(CheckpointError):
        write_report(folder)


@pytest.mark.parametrize("text", ["{", "[]", "{}"])
def test_a_damaged_result_is_refused(tmp_path, text):
    folder = write_run(tmp_path / "run")
    (folder / "result.json").write_text(text)
    with pytest.raises(CheckpointError, match="damaged"):
        write_report(folder)
