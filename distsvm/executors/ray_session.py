"""The connection to Ray: own or joined, its access tokens, and its room for workers."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from distsvm.errors import ConfigError, PlacementError
from distsvm.executors.base import usable_cores
from distsvm.wording import Message, Setting, message

logger = logging.getLogger(__name__)

AUTH_MODE = "RAY_AUTH_MODE"
LONGEST_HOME = 20


class RaySession:
    """A connection to Ray, made on first use; its end ends a Ray that was started here.

    Parameters
    ----------
    address : of a cluster; None for RAY_ADDRESS, or else a Ray of our own on this machine
    placement_timeout_s : how long to wait for the address to answer

    Attributes
    ----------
    needs : mapping of resource to amount
        What one worker needs.
    n_expected : int
        Workers that a Ray started here must have room for.
    """

    def __init__(self, address: str | None, placement_timeout_s: float) -> None:
        self.placement_timeout_s = placement_timeout_s
        self.needs: Mapping[str, float] = {"CPU": 1.0}
        self.n_expected = 1
        self._address = address or os.environ.get("RAY_ADDRESS")
        self.ray = import_ray(own=self._address is None)
        self._owner = self._warned = False
        self._private: str | None = None

    def connect(self) -> None:
        ray = self.ray
        if ray.is_initialized():
            return
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self._address is not None:
            check_reachable(self._address, self.placement_timeout_s)
            try:
                ray.init(address=self._address, **quiet)
            except _refusals(ray) as error:
                raise PlacementError(_refused(self._address, error)) from error
        else:
            _write_token()
            n_cpus = max(usable_cores(), int(-(-self.n_expected * self.needs.get("CPU", 0) // 1)))
            logger.info("starting Ray on this machine with %d CPUs", n_cpus)
            ray.init(
                address="local", num_cpus=n_cpus, include_dashboard=False, **self._folder(), **quiet
            )  # fmt: skip
        self._owner = True

    def _folder(self) -> dict[str, str]:
        """Return the folder of sockets and logs of a Ray that starts here, unless RAY_TMPDIR does.

        Ray gives its own folder mode 0777, so it is made within a folder of this user alone.
        """
        if os.environ.get("RAY_TMPDIR"):
            return {}
        home = tempfile.gettempdir()
        if len(home) > LONGEST_HOME:
            home = "/tmp"  # paths of sockets have at most 107 bytes
        self._private = tempfile.mkdtemp(prefix="distsvm-ray-", dir=home)
        return {"_temp_dir": os.path.join(self._private, "ray")}

    def close(self) -> None:
        if self._owner:
            self.ray.shutdown()
            self._owner = False
        if self._private is not None:
            shutil.rmtree(self._private, ignore_errors=True)  # processes of Ray may still end
            self._private = None

    def note_token_auth(self, on: bool) -> None:
        """Warn, once, if the cluster asks for no token."""
        if on or self._warned:
            return
        self._warned = True
        logger.warning(
            "this Ray cluster runs without token authentication: whoever reaches its ports can run "
            "code on it. Start its nodes with %s=token (see cluster/README.md)",
            AUTH_MODE,
        )

    # --- room ------------------------------------------------------------------------------

    def capacity(self) -> int:
        """Return the number of workers that fit on the cluster, or without one on this machine."""
        if self._address is None and not self.ray.is_initialized():
            return usable_cores()
        self.connect()
        nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        return max(1, sum(room_on(node, self.needs) for node in nodes))

    def share_of_node(self, n_workers: int | None) -> int:
        """Return the CPUs of each of n_workers, of which each has a node or an equal share of one.

        1 where CPUs are in use already: a worker that needs a whole node might find no place.
        """
        if self._address is None and not self.ray.is_initialized():
            return max(1, usable_cores() // (n_workers or 1))
        self.connect()
        ray = self.ray
        cpus = [node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]]
        cpus = [int(n) for n in cpus if n >= 1]
        if not cpus or ray.available_resources().get("CPU", 0) < sum(cpus):
            return 1
        n_on_each = -(-(n_workers or len(cpus)) // len(cpus))
        return max(1, min(cpus) // n_on_each)

    def room(self) -> int:
        """Return the number of further workers that the cluster has room for now."""
        if not any(self.needs.values()):
            return 0
        return room_on(self.ray.available_resources(), self.needs)

    def no_room(self, n_asked: int, n_unplaced: int, timeout_s: float) -> Message:
        """Return the text of an error: the requested resources, and those of the cluster."""
        total, free = self.ray.cluster_resources(), self.ray.available_resources()
        return message(
            "{} of {} workers that need {} each found no place within {} s. The cluster has {} in "
            "total and {} free now. Ask for less ({n_workers}, {resources_per_worker}), add nodes, "
            "free what other jobs hold, or wait longer ({placement_timeout_s})",
            n_unplaced,
            n_asked,
            _listed(self.needs),
            f"{timeout_s:g}",
            _listed(total),
            _listed(free),
        )


def room_on(node: Mapping[str, float], needs: Mapping[str, float]) -> int:
    """Return the number of workers with these needs that fit on a node."""
    return min((int(node.get(key, 0) // need) for key, need in needs.items() if need), default=1)


def _listed(resources: Mapping[str, float]) -> str:
    hidden = ("node:", "object_store_memory", "memory")
    shown = [f"{k}: {v:g}" for k, v in sorted(resources.items()) if not k.startswith(hidden)]
    return "{" + ", ".join(shown) + "}"


# --- access ------------------------------------------------------------------------------------


def import_ray(*, own: bool) -> ModuleType:
    """Return the module Ray, with tokens on for a Ray that starts here.

    A cluster decides for itself, and the environment must say the same as the cluster: actors of a
    cluster without tokens cannot answer a driver that asks for one.
    """
    if own and "ray" not in sys.modules:
        os.environ.setdefault(AUTH_MODE, "token")  # which Ray reads when it is imported
    try:
        import ray
    except ImportError as error:
        raise ConfigError(
            message(
                '{} needs Ray, which is not installed: pip install "distsvm[ray]"',
                Setting("executor", "ray"),
            )
        ) from error
    return ray


def token_auth() -> bool:
    """Return whether this process of Ray asks for a token."""
    try:
        from ray._raylet import (  # type: ignore[attr-defined]
            AuthenticationMode,
            get_authentication_mode,
        )
    except ImportError:  # an older Ray, without tokens
        return False
    return get_authentication_mode() == AuthenticationMode.TOKEN


def _token_file() -> Path:
    return Path.home() / ".ray" / "auth_token"


def _has_token() -> bool:
    named = any(os.environ.get(name) for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
    return named or _token_file().exists()


def _write_token() -> None:
    """Make a token that only this user can read; all users can read the one that Ray makes."""
    if _has_token() or os.environ.get(AUTH_MODE, "token") != "token":
        return
    path = _token_file()
    with suppress(OSError):  # then Ray makes one, or says why it cannot
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32))


def _refusals(ray: ModuleType) -> tuple[type[Exception], ...]:
    refusal: Any = getattr(ray.exceptions, "AuthenticationError", ConnectionError)
    return (ConnectionError, refusal)


def _refused(address: str, error: Exception) -> str:
    return (
        f"the Ray cluster at {address} could not be joined: {type(error).__name__}. If it asks for "
        f"a token, set {AUTH_MODE}=token and put the cluster's token in ~/.ray/auth_token (or name "
        f"its file in RAY_AUTH_TOKEN_PATH) before the program starts; if not, unset {AUTH_MODE}"
    )


def check_reachable(address: str, timeout_s: float) -> None:
    """Refuse HOST:PORT where nothing listens: Ray itself would wait for minutes.

    Other addresses, such as "auto", are Ray's to judge.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not (host and colon and port.isdecimal()) or "/" in host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout_s).close()
    except (OSError, OverflowError, UnicodeError) as error:
        reason = f"no answer within {timeout_s:g} s" if isinstance(error, TimeoutError) else error
        raise PlacementError(
            f"no Ray cluster can be reached at {address}: {reason}. Check that the cluster runs "
            "(ray status on its head node), that the address is right (HOST:6379, or "
            "ray://HOST:10001 for Ray Client, unless set otherwise), and that no firewall is in "
            "between"
        ) from error
