"""A client of the service, with nothing but the standard library."""

from __future__ import annotations

import json
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from distsvm.errors import ConfigError, JobError

TOKEN = "DISTSVM_SERVICE_TOKEN"
TOKEN_FILE = "DISTSVM_SERVICE_TOKEN_FILE"
TIMEOUT_S = 60.0
EVENTS_TIMEOUT_S = 60.0
"""The service gives a sign of life every 15 s on a stream of events."""


class ServiceError(JobError):
    """The service refused a request, or cannot be reached.

    Attributes
    ----------
    status : int
        The status of the answer; 0 where there was none.
    """

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class Event:
    """A round or a state of a run, as it came."""

    kind: str
    data: dict[str, Any]


class Client:
    """Asks one service.

    Parameters
    ----------
    address : str
        Such as http://127.0.0.1:8300.
    token : str, optional
        Default: the variable DISTSVM_SERVICE_TOKEN, or the file that DISTSVM_SERVICE_TOKEN_FILE
        names.
    certificates : path, optional
        Of authorities that sign the service's certificate, where the system does not know them.
    """

    def __init__(
        self, address: str, token: str | None = None, *,
        certificates: str | os.PathLike[str] | None = None,
    ) -> None:  # fmt: skip
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise ConfigError(f"address {address!r:.100}: expected http://HOST:PORT of a service")
        if parts.username or parts.password:
            raise ConfigError("the address has a password; give the token apart")
        self.address = address.rstrip("/")
        self._token = token or _token_here()
        self._context = None
        if parts.scheme == "https":
            self._context = ssl.create_default_context(
                cafile=None if certificates is None else os.fspath(certificates)
            )

    # --- runs ------------------------------------------------------------------------------

    def submit(self, config: Mapping[str, Any] | str, name: str | None = None) -> dict[str, Any]:
        """Begin a run with these options, or with a configuration in TOML."""
        if isinstance(config, str):
            return self._json("POST", "/api/runs", config.encode(), "application/toml", name=name)
        body: dict[str, Any] = {"config": dict(config)}
        if name is not None:
            body["name"] = name
        return self._json("POST", "/api/runs", body)

    def runs(self, state: str | None = None) -> list[dict[str, Any]]:
        """Return the facts of all runs, the newest first."""
        found: list[dict[str, Any]] = []
        while True:
            part = self._json("GET", "/api/runs", state=state, first=len(found), most=1000)
            found += part["runs"]
            if not part["runs"] or len(found) >= part["n_runs"]:
                return found

    def run(self, name: str) -> dict[str, Any]:
        return self._json("GET", f"/api/runs/{_quoted(name)}")

    def history(self, name: str, first: int = 0) -> list[dict[str, Any]]:
        """Return the rounds from a number on."""
        path = f"/api/runs/{_quoted(name)}/history?from={first}"
        return self._json("GET", path)["rounds"]

    def events(self, name: str) -> Iterator[Event]:
        """Yield the rounds and states of a run as they come, until it is deleted."""
        kind, data = "", ""
        with self._opened(
            "GET", f"/api/runs/{_quoted(name)}/events", timeout=EVENTS_TIMEOUT_S
        ) as lines:
            for line in lines:
                key, _, value = line.decode("utf-8").rstrip("\n").partition(": ")
                if key == "event":
                    kind = value
                elif key == "data":
                    data = value
                elif not key and kind:
                    yield Event(kind, json.loads(data))
                    if kind == "gone":
                        return
                    kind = ""

    def stop(self, name: str) -> dict[str, Any]:
        return self._json("POST", f"/api/runs/{_quoted(name)}/stop")

    def resume(self, name: str, **changes: Any) -> dict[str, Any]:
        """Resume a run; changes are options by their names in TOML or in Python."""
        table = {key.replace("_", "-"): value for key, value in changes.items()}
        return self._json("POST", f"/api/runs/{_quoted(name)}/resume", table)

    def delete(self, name: str) -> None:
        """Delete a run's folder, with its model."""
        self._bytes("DELETE", f"/api/runs/{_quoted(name)}", word=name)

    def logs(self, name: str, first: int | None = None) -> str:
        """Return what its processes have printed: the end, or from a byte on."""
        since = "" if first is None else f"?from={first}"
        return self._bytes("GET", f"/api/runs/{_quoted(name)}/logs{since}").decode()

    def log_part(self, name: str, first: int) -> tuple[str, int]:
        """Return output from a byte on, and the place behind it."""
        with self._opened("GET", f"/api/runs/{_quoted(name)}/logs?from={first}") as answer:
            return answer.read().decode(), int(answer.headers["Next-Byte"])

    def config(self, name: str) -> str:
        return self._bytes("GET", f"/api/runs/{_quoted(name)}/config").decode()

    def report(self, name: str) -> str:
        """Return the report of a run, as a page of HTML."""
        return self._bytes("GET", f"/api/runs/{_quoted(name)}/report").decode()

    def save_model(self, name: str, path: str | os.PathLike[str]) -> Path:
        """Write the model of a run to a ZIP archive."""
        target = Path(path)
        target.write_bytes(self._bytes("GET", f"/api/runs/{_quoted(name)}/model"))
        return target

    def sign_in_link(self) -> str:
        """Return a link that signs a browser in, once and within ten minutes."""
        return self.address + self._json("POST", "/api/sign-in-links")["path"]

    # --- models ----------------------------------------------------------------------------

    def models(self) -> list[dict[str, Any]]:
        return self._json("GET", "/api/models")["models"]

    def predict(self, model: str, inputs: list[Any], version: str | None = None) -> list[Any]:
        """Return the outputs of inputs, in their order."""
        return self.answer(model, inputs, version)["outputs"]

    def answer(
        self, model: str, inputs: list[Any], version: str | None = None, details: bool = False
    ) -> dict[str, Any]:
        """Return outputs with name and version of the model, and details if asked for."""
        body: dict[str, Any] = {"inputs": inputs, "details": details}
        if version is not None:
            body["version"] = version
        return self._json("POST", f"/api/models/{_quoted(model)}/predict", body)

    # --- requests --------------------------------------------------------------------------

    def _json(self, method: str, path: str, body: Any = None, kind: str = "", **query: Any) -> Any:
        return json.loads(self._bytes(method, path, body, kind, **query))

    def _bytes(
        self, method: str, path: str, body: Any = None, kind: str = "", **query: Any
    ) -> bytes:
        with self._opened(method, path, body, kind, **query) as answer:
            return answer.read()

    def _opened(
        self, method: str, path: str, body: Any = None, kind: str = "", timeout: float = TIMEOUT_S,
        **query: Any,
    ) -> Any:  # fmt: skip
        given = {name: value for name, value in query.items() if value is not None}
        address = f"{self.address}{path}" + (f"?{urlencode(given)}" if given else "")
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        if body is not None:
            headers["Content-Type"] = kind or "application/json"
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(address, body, headers, method=method)
        try:
            return _opener(self._context).open(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            raise ServiceError(_said(error), error.code) from error
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise ServiceError(f"{self.address} cannot be reached: {reason}") from error


def _opener(context: ssl.SSLContext | None) -> urllib.request.OpenerDirector:
    """Return an opener that follows no redirection: the token is for one address."""
    handlers: list[Any] = [_NoRedirection]
    if context is not None:
        handlers.append(urllib.request.HTTPSHandler(context=context))
    return urllib.request.build_opener(*handlers)


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **more: Any) -> None:
        return None


def _said(error: urllib.error.HTTPError) -> str:
    """Return the sentence of a problem."""
    try:
        return str(json.loads(error.read(1 << 20))["detail"])
    except (ValueError, KeyError, TypeError, OSError):
        return f"the service answered {error.code} {error.reason}"


def _quoted(name: str) -> str:
    if not isinstance(name, str) or not name:
        raise ConfigError(f"name {name!r:.60}: expected the name of a run or model")
    return quote(name, safe="")


def _token_here() -> str | None:
    token = os.environ.get(TOKEN)
    path = os.environ.get(TOKEN_FILE)
    if token or not path:
        return token or None
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{TOKEN_FILE}={path}: cannot be read: {error}") from error
