"""The pages: a run begun from the form, watched, compared and deleted; models tried."""

import http.client
import json
from html.parser import HTMLParser
from urllib.parse import urlencode, urlsplit

import pytest
from serving import service_of

from distsvm.data.synthetic import make_tagged_sentences
from distsvm.structures.sequences.writers import write_conll
from distsvm.structures.trees.synthetic import make_treebank, write_treebank

VOID = {"input", "meta", "link", "br", "img"}


class Checked(HTMLParser):
    """Fails where elements are not closed in order, or a script or handler stands in the page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        assert not [name for name in given if name.startswith("on") or name == "style"], (
            tag,
            given,
        )
        assert tag != "script" or given.get("src", "").endswith("/static/page.js")
        self.ids += [given["id"]] if "id" in given else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """One service with a finished run of each of three structures."""
    serving = service_of(tmp_path_factory.mktemp("pages"))
    found = next(serving)
    write_conll(found.data / "tags.conll", make_tagged_sentences(40, seed=0))
    write_treebank(found.data / "trees.mrg", make_treebank(20, max_length=8))
    rows = {"task": "multiclass", "data": [str(found.data / "rows.svm")], "executor": "serial"}
    quick = {"executor": "serial", "max-rounds": 5}
    found.client.submit(rows, "rows")
    found.client.submit(
        {"task": "sequence", "data": [str(found.data / "tags.conll")]} | quick, "tags"
    )
    found.client.submit(
        {"task": "parse", "data": [str(found.data / "trees.mrg")], "words": True} | quick, "trees"
    )
    for name in ("rows", "tags", "trees"):
        found.wait(name, "finished", "stopped")
    link = urlsplit(found.client.sign_in_link())
    answer = ask(found, "GET", f"{link.path}?{link.query}", cookie=None)
    found.cookie = answer[1]["set-cookie"].partition(";")[0]
    yield found
    next(serving, None)


def ask(served, method, path, fields=None, cookie="own"):
    """Return status, headers and text of a page, as a signed-in browser asks."""
    parts = urlsplit(served.address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    headers = {"Accept": "text/html"}
    if cookie == "own":
        headers["Cookie"] = served.cookie
    body = None if fields is None else urlencode(fields)
    if method == "POST":
        headers |= {"Origin": served.address, "Content-Type": "application/x-www-form-urlencoded"}
    try:
        connection.request(method, path, body, headers)
        found = connection.getresponse()
        return found.status, {k.lower(): v for k, v in found.getheaders()}, found.read().decode()
    finally:
        connection.close()


def page(served, path, status=200, **how):
    found = ask(served, how.pop("method", "GET"), path, **how)
    assert found[0] == status, found[2][:2000]
    checked = Checked()
    checked.feed(found[2])
    assert not checked.open
    assert len(set(checked.ids)) == len(checked.ids)
    return found[2]


@pytest.mark.parametrize(
    "path",
    ["/", "/table", "/new", "/new?from=rows", "/compare?run=rows&run=tags", "/compare", "/models",
     "/models/rows", "/models/tags", "/models/trees", "/runs/rows", "/runs/tags/live"],
)  # fmt: skip
def test_every_page_is_whole_and_has_no_script_or_style_of_its_own(served, path):
    page(served, path)


def test_who_is_not_signed_in_is_led_to_the_page_for_that(served):
    status, headers, _ = ask(served, "GET", "/runs/rows", cookie=None)
    assert (status, headers["location"]) == (303, "/sign-in")


def test_a_run_begins_from_the_form_and_again_with_changes(served):
    data = str(served.data / "rows.svm")
    fields = {"name": "formed", "task": "multiclass", "data": data, "executor": "serial", "C": "3"}
    status, headers, _ = ask(served, "POST", "/new", fields)
    assert (status, headers["location"]) == (303, "/runs/formed")
    served.wait("formed", "finished")
    again = page(served, "/new?from=formed")
    assert 'name="C" value="3.0"' in again
    assert data in again
    status, headers, _ = ask(served, "POST", "/runs/formed/delete", {"word": "wrong"})
    assert status == 409
    status, headers, _ = ask(served, "POST", "/runs/formed/delete", {"word": "formed"})
    assert (status, headers["location"]) == (303, "/")
    assert not (served.home / "formed").exists()


def test_a_form_with_a_mistake_comes_back_with_its_values_and_the_sentence(served):
    data = str(served.data / "rows.svm")
    fields = {"name": "bad", "task": "multiclass", "data": data, "C": "-1"}
    shown = page(served, "/new", 422, method="POST", fields=fields)
    assert 'role="alert"' in shown
    assert "C" in shown[shown.index('role="alert"') :][:200]
    assert 'name="C" value="-1"' in shown


@pytest.mark.parametrize(
    ("model", "given", "expected"),
    [
        ("rows", "2 0 0 0", "scores"),
        ("rows", "[0, 2, 0, 0]", "features that decided"),
        ("tags", "the cat sat", 'class="tokens"'),
        ("trees", "rules found", "<svg"),
    ],
)
def test_a_model_is_tried_with_one_input(served, model, given, expected):
    shown = page(served, f"/models/{model}", method="POST", fields={"input": given})
    assert "prediction" in shown
    assert expected in shown


@pytest.mark.parametrize("given", ["1 2", '[1, 2, 3, "x"]', "[", '{"a": 1}'])
def test_an_input_that_does_not_fit_is_said(served, given):
    shown = page(served, "/models/rows", 422, method="POST", fields={"input": given})
    assert 'role="alert"' in shown


HOSTILE = '"><script>alert(1)</script><b onclick="x">'


def test_foreign_text_is_never_html(served):
    assert HOSTILE not in page(
        served,
        "/new",
        422,
        method="POST",
        fields={"task": HOSTILE, "data": HOSTILE, "name": HOSTILE},
    )
    assert HOSTILE not in page(
        served, "/models/tags", method="POST", fields={"input": f"word {HOSTILE}"}
    )
    folder = served.home / "hostile"
    folder.mkdir()
    run = json.loads((served.home / "rows" / "run.json").read_text())
    run["task"]["task"] = HOSTILE
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "service").mkdir()
    (folder / "service" / "log.txt").write_text(HOSTILE)
    for path in ("/", "/runs/hostile", "/compare?run=hostile", "/new?from=hostile"):
        shown = ask(served, "GET", path)[2]
        assert HOSTILE not in shown
        Checked().feed(shown)
