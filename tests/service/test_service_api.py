"""The API keeps to its document, whatever is asked."""

import http.client
import json
import random
from urllib.parse import quote, urlencode, urlsplit

import pytest
from serving import service_of

N_REQUESTS = 25
TEXTS = ["", "rows", "..", "a/b", "\x00", "ü", "x" * 300, "<script>", "-1", "1e9", "0", "99", "nan"]
VALUES = [None, True, 0, -1, 1.5, 1e308, "rows", "", [], [1, 2, 0, 0], ["a"], {}, {"a": 1}, [[]]]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    serving = service_of(tmp_path_factory.mktemp("api"))
    found = next(serving)
    rows = {"task": "multiclass", "data": [str(found.data / "rows.svm")], "executor": "serial"}
    found.client.submit(rows, "rows")
    found.wait("rows", "finished")
    found.document = found.client._json("GET", "/api/openapi.json")
    yield found
    next(serving, None)


def asked(served, method, path, body=None, kind=None):
    parts = urlsplit(served.address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    headers = {"Authorization": f"Bearer {served.token}"}
    if kind is not None:
        headers["Content-Type"] = kind
    try:
        connection.request(method, path, body, headers)
        found = connection.getresponse()
        kind = (found.getheader("content-type") or "").partition(";")[0]
        # A stream of events has no end.
        return found.status, kind, b"" if kind == "text/event-stream" else found.read()
    finally:
        connection.close()


def operations():
    from distsvm.service.endpoints import ENDPOINTS

    return [pytest.param(one, id=f"{one.method} {one.path}") for one in ENDPOINTS]


@pytest.mark.parametrize("one", operations() if pytest.importorskip("starlette") else [])
def test_any_request_has_a_documented_answer(served, one):
    draws = random.Random(one.name)
    documented = served.document["paths"][one.path][one.method.lower()]["responses"]
    for _ in range(N_REQUESTS):
        path = one.path.replace("{name}", quote(draws.choice(TEXTS), safe=""))
        query = {own.name: draws.choice(TEXTS) for own in one.parameters if draws.random() < 0.5}
        query.pop("name", None)
        query.pop("word", None)  # nothing is deleted here
        if query:
            path += f"?{urlencode(query)}"
        body, kind = None, None
        if one.body:
            keys = ["config", "name", "inputs", "version", "details", "C", "task", "data"]
            table = {draws.choice(keys): draws.choice(VALUES) for _ in range(draws.randrange(4))}
            body = draws.choice([json.dumps(table), "{", "", "a = 1", '{"inputs": [[1, 2, 0, 0]]}'])
            kind = draws.choice([*one.body, "text/plain"])
        status, found, text = asked(served, one.method, path, body, kind)
        assert status != 500, (path, body, text)
        if status in (404, 405) and str(status) not in documented:
            continue  # a name with a slash is another path
        answer = documented[str(status)]
        assert found in answer.get("content", {"": None, "text/plain": None}), (path, body, found)
        if found == "application/problem+json":
            problem = json.loads(text)
            assert problem["status"] == status
            assert problem["detail"]


def test_the_document_describes_every_option_of_a_run(served):
    options = served.document["components"]["schemas"]["Config"]["properties"]
    assert {"task", "data", "C", "eps", "solver", "max-rounds"} <= set(options)
    assert "run-dir" not in options
    assert all(one["description"] for one in options.values())
    changes = served.document["components"]["schemas"]["Changes"]["properties"]
    assert {"eps", "max-rounds"} <= set(changes) < set(options)


def test_the_metrics_have_the_names_that_are_declared(served):
    from distsvm.service.metrics import NAMES

    text = asked(served, "GET", "/metrics")[2].decode()
    assert {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")} == set(
        NAMES
    )
    assert 'distsvm_service_runs{state="finished"} 1' in text
