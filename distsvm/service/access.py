"""Who may ask: tokens, sign-in links, cookies, hosts and origins, sizes and rates."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from distsvm.errors import ConfigError
from distsvm.service.problems import problem
from distsvm.storage import write_bytes

COOKIE = "distsvm_service"
CODE_S = 600.0
COOKIE_S = 30 * 24 * 3600
OPEN = ("/healthz", "/sign-in", "/static/")
"""Paths without a token: whether the service lives, and where a person signs in."""
CHANGES = ("POST", "PUT", "PATCH", "DELETE")
LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})


def own_token(path: Path) -> str:
    """Return the token in a file that only its user can read; a first start makes it."""
    if not path.exists():
        write_bytes(path, (secrets.token_urlsafe(32) + "\n").encode())
        path.chmod(0o600)
    found = path.stat()
    if found.st_mode & 0o077 or found.st_uid != os.getuid():
        raise ConfigError(
            f"{path}: others can read the token of the service; expected mode 600 and your own file"
        )
    token = path.read_text(encoding="ascii").strip()
    if len(token) < 20:
        raise ConfigError(f"{path}: expected a token of at least 20 letters")
    return token


class Codes:
    """One-time codes of sign-in links."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        self._lock = threading.Lock()

    def new(self) -> str:
        code = secrets.token_urlsafe(18)
        with self._lock:
            self._until[code] = time.monotonic() + CODE_S
        return code

    def take(self, code: str) -> bool:
        """Whether the code is valid; it is valid once."""
        with self._lock:
            now = time.monotonic()
            self._until = {one: until for one, until in self._until.items() if until > now}
            return self._until.pop(code, None) is not None


class Rate:
    """At most `most` events in any `seconds` from one client; later ones are refused."""

    def __init__(self, most: int, seconds: float) -> None:
        self.most, self.seconds = most, seconds
        self._seen: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def passes(self, who: str) -> bool:
        now = time.monotonic()
        with self._lock:
            if len(self._seen) > 10_000:  # clients that are gone
                self._seen = {w: t for w, t in self._seen.items() if t[-1] > now - self.seconds}
            times = self._seen.setdefault(who, deque())
            while times and times[0] <= now - self.seconds:
                times.popleft()
            if len(times) >= self.most:
                return False
            times.append(now)
            return True


class Guard:
    """The middleware in front of everything.

    Parameters
    ----------
    app : ASGI application
    token : str
        Of the header `Authorization: Bearer TOKEN`; signs cookies, too.
    hosts : set of str
        The host names by which the service may be asked; any other is another site's name for this
        address.
    largest : int
        The most bytes of a body.
    rate : Rate
        Of requests.
    root_path : str
    """

    def __init__(
        self, app: Any, *, token: str, hosts: frozenset[str], largest: int, rate: Rate,
        root_path: str = "",
    ) -> None:  # fmt: skip
        self._app, self._token, self._hosts = app, token, hosts | LOCAL
        self._largest, self._rate, self._root = largest, rate, root_path.rstrip("/")
        self._failures = Rate(100, 60.0)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self._app(scope, self._limited(receive), send)

    def _refusal(self, scope: Any, headers: dict[str, str]) -> Any:
        """Return the answer that refuses a request; None if it may pass."""
        who = (scope.get("client") or ("unknown",))[0]
        path, changes = scope["path"].removeprefix(self._root), scope["method"] in CHANGES
        host = headers.get("host", "")
        if _host_name(host) not in self._hosts:
            return problem(421, "this service does not have the host name that was asked for")
        if not self._rate.passes(who):
            return problem(429, "too many requests; wait a second", headers={"Retry-After": "1"})
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self._largest:
            return problem(413, f"the body is larger than {self._largest >> 20} MB")
        origin = headers.get("origin")
        if changes and origin is not None and urlsplit(origin).netloc != host:
            return problem(403, "the request comes from another site")
        if any(path == one or (one.endswith("/") and path.startswith(one)) for one in OPEN):
            return None
        by_token = self._has_token(headers)
        if by_token is None and self.has_cookie(headers):
            if changes and origin is None:
                return problem(403, "a change by a signed-in page has the header Origin")
            return None
        if by_token:
            return None
        if not self._failures.passes(who):
            return problem(429, "too many requests without a valid token; wait a minute",
                           headers={"Retry-After": "60"})  # fmt: skip
        if "text/html" in headers.get("accept", "") and not changes:
            from starlette.responses import RedirectResponse

            return RedirectResponse(f"{self._root}/sign-in", 303)
        return problem(
            401,
            "the token is wrong"
            if by_token is False
            else "a token is needed: Authorization: "
            "Bearer TOKEN, or the sign-in link that the command prints",
            headers={"WWW-Authenticate": "Bearer"},
        )

    def _has_token(self, headers: dict[str, str]) -> bool | None:
        """Whether the token of a header is right; None if there is none."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        return same(given.strip(), self._token)

    def has_cookie(self, headers: dict[str, str]) -> bool:
        """Whether the request has a valid cookie of a sign-in."""
        for part in headers.get("cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if name == COOKIE:
                until, _, signature = value.partition(".")
                if until.isdigit() and len(until) < 16 and int(until) > time.time():
                    return hmac.compare_digest(signature, signed(self._token, until))
        return False

    def _limited(self, receive: Any) -> Any:
        """Return `receive` that ends a body without a length where it becomes too large."""
        n = 0

        async def limited() -> Any:
            nonlocal n
            message = await receive()
            n += len(message.get("body", b""))
            if n > self._largest:
                raise TooLarge(self._largest)
            return message

        return limited


def same(given: str, token: str) -> bool:
    """Return whether two tokens are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(given.encode(), token.encode())


class TooLarge(Exception):
    """A body is larger than the limit."""


def signed(token: str, until: str) -> str:
    """Return the signature of a cookie that is valid until a time."""
    return hmac.new(token.encode(), f"{COOKIE} {until}".encode(), hashlib.sha256).hexdigest()


def new_cookie(token: str) -> str:
    """Return the value of a cookie."""
    until = str(int(time.time()) + COOKIE_S)
    return f"{until}.{signed(token, until)}"


def code_in(query: str) -> str:
    """Return the code of a sign-in link."""
    return next(iter(parse_qs(query).get("code", [])), "")


def _host_name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
