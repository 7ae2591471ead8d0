"""No text of a run's files becomes an element, an attribute or a rule of the page."""

import copy
import json
import re
import shutil
from base64 import b64encode
from collections import Counter
from hashlib import sha256
from html.parser import HTMLParser

import numpy as np
import pytest
from handmade_runs import record, write_run

import distsvm
from distsvm.errors import CheckpointError
from distsvm.report import write_report

PAYLOAD = "\"'></script></svg><script>alert(1)</script><img src=x onerror=alert(1) pwn=pwn style=x>"
# Text, and the containers of it that JSON has.
VALUES = (PAYLOAD, [PAYLOAD], {PAYLOAD: PAYLOAD})


class Elements(HTMLParser):
    """Counts elements, names of attributes, and the values of those that steer the page."""

    def __init__(self):
        super().__init__()
        self.elements, self.names, self.steering = Counter(), set(), set()
        self.policy = None

    def handle_starttag(self, tag, attrs):
        self.elements[tag] += 1
        self.names |= {name for name, _ in attrs}
        self.steering |= {v for name, v in attrs if name in ("class", "id", "scope", "role")}
        if ("http-equiv", "Content-Security-Policy") in attrs:
            self.policy = dict(attrs)["content"]


def parsed(path):
    page = Elements()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()
    return page


def places(value, path=()):
    """Every leaf and every key of a JSON value."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield "key", (*path, key)
            yield from places(inside, (*path, key))
    elif isinstance(value, list):
        for i, inside in enumerate(value):
            yield from places(inside, (*path, i))
    else:
        yield "leaf", path


def attacked(value, kind, path, payload):
    changed = copy.deepcopy(value)
    *above, last = path
    parent = changed
    for step in above:
        parent = parent[step]
    if kind == "key":
        parent[PAYLOAD] = parent.pop(last)
    else:
        parent[last] = payload
    return changed


def documents(path):
    """The JSON values of a file."""
    lines = path.suffix == ".jsonl"
    texts = path.read_text().splitlines() if lines else [path.read_text()]
    return [json.loads(text) for text in texts]


def write_documents(path, values):
    path.write_text("\n".join(map(json.dumps, values)) + "\n")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), np.repeat(["ant", "bee", "cat"], 4)
    folder = tmp_path_factory.mktemp("attacks") / "run"
    distsvm.train(
        distsvm.MulticlassTask(), (X, y), validation=(X[::4], y[::4]), C=10.0, n_shards=1,
        executor="serial", max_rounds=2, run_dir=str(folder),
    )  # fmt: skip
    shutil.rmtree(folder / "checkpoints")  # which the report does not open
    told = json.loads((folder / "run.json").read_text())
    told["data"] = told["validation"] = {"paths": ["a.svm"], "options": {"n_features": 2}}
    (folder / "run.json").write_text(json.dumps(told))
    return folder


def json_files(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in (".json", ".jsonl"))


def test_a_payload_in_any_leaf_or_key_of_any_file_is_text_or_refused(run):
    plain = parsed(write_report(run))
    n_shown = n_refused = 0
    assert {p.name for p in json_files(run)} >= {
        "run.json", "result.json", "history.jsonl", "state.json", "data.json", "manifest.json",
    }  # fmt: skip
    for path in json_files(run):
        values = documents(path)
        for number, value in enumerate(values):
            for kind, where in places(value):
                typed = kind == "leaf" and path.name == "result.json"
                for payload in VALUES if typed else (PAYLOAD,):
                    changed = attacked(value, kind, where, payload)
                    write_documents(path, [*values[:number], changed, *values[number + 1 :]])
                    try:
                        page = parsed(write_report(run))
                    except CheckpointError:
                        n_refused += 1
                        continue
                    n_shown += 1
                    told = f"{path.name}: {kind} {where}"
                    assert page.elements["script"] == page.elements["style"] == 1, told
                    assert page.elements.keys() <= plain.elements.keys(), told
                    assert page.names <= plain.names, told
                    strange = page.steering - plain.steering
                    assert not [v for v in strange if re.search(r"[^\w -]|pwn|alert", v)], told
        write_documents(path, values)
    assert n_shown > 100
    assert n_refused > 100


@pytest.mark.parametrize("field", ["worker", "busy_s", "shards", "n_restarts"])
@pytest.mark.parametrize("n_workers", [2, 40], ids=["rows", "columns"])
def test_what_a_worker_claims_of_itself_is_checked(tmp_path, field, n_workers):
    history = [record(1, busy_s=(0.1,) * n_workers)]
    activity = [
        {"worker": i, "shards": [i], "busy_s": 0.1, "n_restarts": 1} for i in range(n_workers)
    ]
    activity[1][field] = PAYLOAD
    folder = write_run(tmp_path / "run", history, {"activity": activity})
    with pytest.raises(CheckpointError, match=rf"result\.json is damaged: .*{field}"):
        write_report(folder)


def test_a_bound_that_was_never_found_is_null_in_the_result(tmp_path):
    unknown = {"primal": None, "dual": None, "gap": None, "certificate": "none"}
    report = write_report(write_run(tmp_path / "run", result=unknown))
    assert "<dd>∞</dd>" in report.read_text(encoding="utf-8")


def test_the_policy_allows_the_pages_own_style_and_script_and_nothing_else(tmp_path):
    report = write_report(write_run(tmp_path / "run"))
    text, page = report.read_text(encoding="utf-8"), parsed(report)
    rules = dict(rule.split(" ", 1) for rule in page.policy.split("; "))
    assert rules.keys() == {"default-src", "style-src", "script-src"}
    assert rules["default-src"] == "'none'"
    for tag in ("style", "script"):
        inside = text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
        digest = b64encode(sha256(inside.encode()).digest()).decode()
        assert rules[f"{tag}-src"] == f"'sha256-{digest}'"
    # The policy allows no attribute that holds a style or code.
    assert not [name for name in page.names if name == "style" or name.startswith("on")]
