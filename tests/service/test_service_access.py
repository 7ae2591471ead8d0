"""Who may ask: tokens, links, cookies, hosts, origins, paths and sizes."""

import http.client
import json
import re
from urllib.parse import quote, urlsplit

import pytest
from serving import service_of

from distsvm.service import Client, ServiceError


def asked(served, method, path, headers=None, body=None):
    """One request with just these headers; returns status, headers and text."""
    parts = urlsplit(served.address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode("utf-8", "replace")
    finally:
        connection.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """One service for all tests here, as none of them begins a run."""
    yield from service_of(tmp_path_factory.mktemp("access"))


@pytest.fixture
def bearer(served):
    return {"Authorization": f"Bearer {served.token}"}


def test_everything_but_health_and_sign_in_needs_the_token(served, bearer):
    document = json.loads(asked(served, "GET", "/api/openapi.json", bearer)[2])
    paths = [path.replace("{name}", "x") for path in document["paths"]]
    for path in [*paths, "/", "/new", "/compare", "/models", "/models/x", "/runs/x"]:
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            status = asked(served, "GET", path, headers)[0]
            assert status == (200 if path == "/healthz" else 401), (path, headers)
    assert asked(served, "GET", "/sign-in")[0] == 200


def test_the_token_is_for_the_user_alone(served):
    mode = (served.home / ".service" / "token").stat().st_mode
    assert mode & 0o777 == 0o600


def test_a_link_signs_in_once_with_a_cookie_that_scripts_do_not_see(served):
    link = urlsplit(served.client.sign_in_link())
    status, headers, _ = asked(served, "GET", f"{link.path}?{link.query}")
    assert status == 303
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    mine = {"Cookie": cookie.partition(";")[0]}
    status, headers, page = asked(served, "GET", "/", mine)
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "<script>" not in page
    assert asked(served, "GET", f"{link.path}?{link.query}")[0] == 403  # used
    forged = mine["Cookie"][:-1] + ("0" if mine["Cookie"][-1] != "0" else "1")
    assert asked(served, "GET", "/", {"Cookie": forged})[0] == 401


def test_a_change_with_a_cookie_needs_the_page_s_own_origin(served):
    link = urlsplit(served.client.sign_in_link())
    cookie = asked(served, "GET", f"{link.path}?{link.query}")[1]["set-cookie"].partition(";")[0]
    for origin in (None, "https://elsewhere.example", "null"):
        headers = {"Cookie": cookie} | ({} if origin is None else {"Origin": origin})
        assert asked(served, "POST", "/new", headers, "name=x")[0] == 403
    own = {"Cookie": cookie, "Origin": served.address}
    assert asked(served, "POST", "/new", own, "name=x")[0] == 422


def test_another_name_of_the_host_is_refused(served, bearer):
    for host in ("elsewhere.example", "elsewhere.example:80", "", "[", "127.0.0.1.example"):
        assert asked(served, "GET", "/api/runs", bearer | {"Host": host})[0] in (400, 421)


def test_a_body_that_is_too_large_is_refused_before_it_is_read(served, bearer):
    huge = bearer | {"Content-Length": str(1 << 30), "Content-Type": "application/json"}
    assert asked(served, "POST", "/api/runs", huge)[0] == 413


@pytest.mark.parametrize(
    "name", ["..", ".", "../x", "a/b", "a%2Fb", "%2e%2e", ".service", "a\\b", "x" * 101, "ü", "a b"]
)
def test_a_name_is_never_a_path(served, bearer, name):
    quoted = name if "%" in name else quote(name, safe="/")
    for method, path in (("GET", ""), ("GET", "/logs"), ("GET", "/model"), ("POST", "/stop")):
        status = asked(served, method, f"/api/runs/{quoted}{path}", bearer)[0]
        assert status in (400, 404, 405)
    with pytest.raises(ServiceError) as error:
        served.client.submit({"task": "binary", "data": []}, name)
    assert error.value.status == 422


BAD = {
    "data outside": ({"data": ["/etc/passwd"]}, "expected a path in the folders for data"),
    "data up": ({"data": ["{data}/../secret.svm"]}, "expected a path in the folders for data"),
    "pattern": ({"data": ["/etc/*.svm"]}, "expected a path in the folders for data"),
    "URI": ({"data": ["s3://bucket/x.svm"]}, "in its folders only"),
    "code": ({"task": "/tmp/evil.py:Evil"}, "allowed files only"),
    "folder": ({"run-dir": "/tmp/x"}, "the service chooses the folder"),
    "unknown": ({"maxrounds": 3}, "max-rounds"),
    "type": ({"max-rounds": "many"}, "max-rounds"),
    "value": ({"C": -1.0}, "C"),
    "missing": ({"data": None}, "data"),
    "executor": ({"executor": "ray"}, "executor"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_request_that_asks_for_too_much_is_refused_by_name(served, rows, name):
    changes, said = BAD[name]
    given = {
        key: [one.replace("{data}", str(served.data)) for one in value]
        if isinstance(value, list) else value
        for key, value in (rows | changes).items()
    }  # fmt: skip
    with pytest.raises(ServiceError, match=re.escape(said)) as error:
        served.client.submit(given, "bad")
    assert error.value.status == 422
    assert not (served.home / "bad").exists()
    assert served.client.runs() == []


def test_errors_are_problems_with_the_library_s_sentence(served, bearer):
    status, headers, text = asked(served, "GET", "/api/runs/none", bearer)
    assert (status, headers["content-type"]) == (404, "application/problem+json")
    assert json.loads(text)["detail"] == "there is no run 'none'"
    for body, kind, expected in (
        (b"{", "application/json", 422), (b"[]", "application/json", 422),
        (b"\xff", "application/json", 422), (b"x", "text/plain", 415),
        (b'{"config": 1}', "application/json", 422), (b"a = ", "application/toml", 422),
        (b"[" * 100_000, "application/json", 422), (b"1" * 10_000, "application/json", 422),
    ):  # fmt: skip
        found = asked(served, "POST", "/api/runs", bearer | {"Content-Type": kind}, body)
        assert found[0] == expected, (body[:20], found)


def test_a_client_without_a_token_or_service_says_so(served):
    with pytest.raises(ServiceError, match="a token is needed") as error:
        Client(served.address).runs()
    assert error.value.status == 401
    with pytest.raises(ServiceError, match="cannot be reached"):
        Client("http://127.0.0.1:1", "x" * 30).runs()
