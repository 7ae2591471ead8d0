"""The jobs of a Ray cluster, through the HTTP server of its dashboard."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import time
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from distsvm.errors import DAMAGE, ConfigError, JobError

log = logging.getLogger(__name__)

CONNECT_S = 10.0
STOP_WAIT_S = 300
"""Time that a stopped job has for the end of its round and its checkpoint."""

AUTH_MODE = "RAY_AUTH_MODE"
ADDRESSES = ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS")
STATES = {
    "PENDING": "waiting",
    "RUNNING": "running",
    "STOPPED": "stopped",
    "SUCCEEDED": "finished",
    "FAILED": "failed",
}
STOPPED_CODES = (7, 130)  # of a command that ended before its target gap, or was interrupted


@dataclass(frozen=True)
class Job:
    """One job of the cluster; `state` is one of the states of runs, or "waiting"."""

    id: str
    state: str
    name: str | None = None
    run_dir: str | None = None
    began: float | None = None
    ended: float | None = None
    exit_code: int | None = None
    message: str | None = None

    @property
    def over(self) -> bool:
        return self.state not in ("waiting", "running")

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, details: Any) -> Job:
        """Return the job that Ray's JobDetails describe."""
        metadata = details.metadata or {}
        code = getattr(details, "driver_exit_code", None)
        state = STATES.get(str(getattr(details.status, "value", details.status)), "waiting")
        if state == "failed" and code in STOPPED_CODES:
            state = "stopped"
        return cls(
            details.submission_id or details.job_id, state, metadata.get("distsvm_run"),
            metadata.get("distsvm_run_dir"), _seconds(details.start_time),
            _seconds(details.end_time), code, details.message,
        )  # fmt: skip


class Jobs:
    """The jobs at one address. Every failure of the server is a JobError with the address.

    Parameters
    ----------
    address : str
        Of the dashboard, such as http://HEAD:8265.
    client : optional
        Default: Ray's JobSubmissionClient.
    """

    def __init__(self, address: str, client: Any = None) -> None:
        self.address = shown_address(address)
        self._client = connected(address) if client is None else client

    def submit(
        self, command: str, folder: Path, *, id: str, name: str, run_dir: str,
        modules: list[str] | None = None,
    ) -> None:  # fmt: skip
        """Submit a shell command that runs in a copy of a folder, on the cluster's head."""
        environment: dict[str, Any] = {
            "working_dir": str(folder),
            "env_vars": {
                "RAY_JOB_STOP_WAIT_TIME_S": str(STOP_WAIT_S),
                "PYTHONUNBUFFERED": "1",
                "DISTSVM_JOB": id,
                "DISTSVM_JOB_ADDRESS": self.address,
            },
        }
        if modules:
            environment["py_modules"] = modules
        with self._named_errors():
            self._client.submit_job(
                entrypoint=command, submission_id=id, runtime_env=environment,
                metadata={"distsvm_run": name, "distsvm_run_dir": run_dir},
            )  # fmt: skip

    def all(self) -> list[Job]:
        """Return the jobs of distsvm, the newest first."""
        with self._named_errors():
            found = [Job.of(details) for details in self._client.list_jobs()]
        ours = [job for job in found if job.name is not None]
        return sorted(ours, key=lambda job: -(job.began or time.time()))

    def find(self, word: str) -> Job:
        """Return the job with this id, or the newest one of the run with this name or folder."""
        jobs = self.all()
        for job in jobs:
            if job.id == word:
                return job
        for job in jobs:
            if word in (job.name, job.run_dir):
                return job
        known = ", ".join(dict.fromkeys(job.name or job.id for job in jobs[:5]))
        raise JobError(
            f"{self.address} has no job or run {word!r}; it has {known or 'none of distsvm'}"
        )

    def get(self, id: str) -> Job:
        with self._named_errors():
            return Job.of(self._client.get_job_info(id))

    def logs(self, id: str) -> str:
        """Return the job's output so far."""
        with self._named_errors():
            return self._client.get_job_logs(id)

    def follow(self, id: str) -> Iterator[str]:
        """Yield the job's output until the job ends."""
        loop = asyncio.new_event_loop()
        parts = self._client.tail_job_logs(id)
        step: asyncio.Task[str | None] | None = None
        try:
            while True:
                with self._named_errors():
                    step = loop.create_task(_next(parts))
                    part = loop.run_until_complete(step)
                if part is None:
                    return
                yield part
        finally:
            if step is not None:
                # After an interrupt the step is unfinished; a running generator cannot be closed.
                step.cancel()
                loop.run_until_complete(asyncio.wait([step]))
            loop.run_until_complete(parts.aclose())
            loop.close()

    def stop(self, id: str) -> None:
        """End a job after its round. The cluster kills it if it has not ended in five minutes."""
        with self._named_errors():
            self._client.stop_job(id)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except (KeyboardInterrupt, JobError, GeneratorExit):
            raise
        except Exception as error:
            raise JobError(f"{self.address}: {_first_line(error)}") from error


async def _next(parts: AsyncGenerator[str, None]) -> str | None:
    return await anext(parts, None)  # a coroutine, as create_task requires


def job_address(given: str | None) -> str:
    """Return the address of the jobs' server, from the option or from Ray's own variables."""
    candidates = [given, *(os.environ.get(name) for name in ADDRESSES)]
    address = next((a for a in candidates if a), None)
    if address is None:
        raise ConfigError(
            "--address is missing: where the dashboard of the cluster listens, such as "
            f"http://HEAD:8265 ({ADDRESSES[0]} counts too)"
        )
    if not is_job_address(address) or urlsplit(address).hostname is None:
        raise ConfigError(
            f"--address {shown_address(address)}: expected that of the dashboard, such as "
            "http://HEAD:8265"
        )
    return address


def is_job_address(address: str) -> bool:
    """Return whether this is the address of a dashboard, not that of a cluster to join."""
    return address.startswith(("http://", "https://"))


def shown_address(address: str) -> str:
    """Return the address without a user's name and password."""
    scheme, slashes, rest = address.partition("://")
    return f"{scheme}{slashes}{rest.rpartition('@')[2]}" if slashes else address.rpartition("@")[2]


def connected(address: str) -> Any:
    """Return Ray's client of the jobs' server at this address."""
    shown = shown_address(address)
    _check_reachable(address)
    guarded = _asks_for_token(shown)
    if guarded is False:
        # A cluster that asks for no token gets none, even if there is one. Ray reads this variable
        # at its import.
        os.environ[AUTH_MODE] = "disabled"
    elif _token_is_there():
        os.environ.setdefault(AUTH_MODE, "token")
    try:
        from ray.job_submission import JobSubmissionClient
    except ImportError as error:
        raise ConfigError('jobs need Ray and its dashboard: pip install "distsvm[jobs]"') from error
    logging.getLogger("ray").setLevel(logging.WARNING)
    for name in ("ray.dashboard.modules.job.sdk", "ray.dashboard.modules.dashboard_sdk"):
        logging.getLogger(name).setLevel(logging.WARNING)
    hidden = {name: os.environ.pop(name) for name in ADDRESSES if name in os.environ}
    try:
        client = JobSubmissionClient(address)  # hidden variables would replace the address
    except RuntimeError as error:
        if "ray[default]" in str(error):
            raise ConfigError(
                'jobs need the dashboard\'s part of Ray: pip install "distsvm[jobs]"'
            ) from error
        raise _refused(shown, error) from error
    except Exception as error:
        raise _refused(shown, error) from error
    finally:
        os.environ.update(hidden)
    if guarded is False:
        log.warning(
            "%s: without token authentication everyone who reaches this cluster can run code on "
            "it; start its nodes with %s=token. No token was sent there", shown, AUTH_MODE,
        )  # fmt: skip
    return client


def _asks_for_token(address: str) -> bool | None:
    """Return whether the cluster asks for a token; None if it does not answer that."""
    try:
        with urllib.request.urlopen(
            f"{address}/api/authentication_mode", timeout=CONNECT_S
        ) as page:
            mode = json.loads(page.read(1000))["authentication_mode"]
    except urllib.error.HTTPError as error:
        return False if error.code == HTTPStatus.NOT_FOUND else None  # Ray before it had tokens
    except (OSError, HTTPException, *DAMAGE):
        return None
    return mode != "disabled"


def _refused(shown: str, error: Exception) -> JobError:
    text = _first_line(error)
    if type(error).__name__ == "AuthenticationError" or "401" in text or "403" in text:
        return JobError(
            f"{shown} wants a token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN_PATH to a file "
            "that holds the cluster's (or RAY_AUTH_TOKEN to the token itself)"
        )
    return JobError(f"{shown} is not the address of a Ray dashboard with jobs: {text}")


def _token_is_there() -> bool:
    given = os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH")
    return bool(given) or (Path.home() / ".ray" / "auth_token").exists()


def _check_reachable(address: str) -> None:
    """Refuse a host that does not answer; Ray would wait for minutes."""
    parts = urlsplit(address)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), CONNECT_S).close()
    except (OSError, UnicodeError) as error:
        reason = f"no answer within {CONNECT_S:g} s" if isinstance(error, TimeoutError) else error
        raise JobError(
            f"{shown_address(address)} cannot be reached: {reason}. Check that the cluster runs "
            "and its dashboard listens there (port 8265 unless set otherwise), or forward the "
            "port: ssh -L 8265:localhost:8265 HEAD"
        ) from error


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def _seconds(milliseconds: int | None) -> float | None:
    return None if not milliseconds else milliseconds / 1000
