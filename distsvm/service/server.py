"""The server: uvicorn around the application, with its address and a sign-in link."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from distsvm.errors import ConfigError
from distsvm.service.app import make_app
from distsvm.service.serving import Service
from distsvm.storage import write_json

log = logging.getLogger(__name__)

GRACE_S = 10
"""Time that open requests have to end when the service ends."""


def run(
    service: Service,
    host: str,
    port: int,
    *,
    certificate: str | None = None,
    key: str | None = None,
    address_file: Path | None = None,
    on_start: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve until SIGTERM or SIGINT; `on_start` gets the address once it can be asked."""
    import uvicorn

    bound = _bound(host, port)
    scheme = "http" if certificate is None else "https"
    shown = host if host not in ("0.0.0.0", "::") else socket.gethostname()
    shown = f"[{shown}]" if ":" in shown else shown
    address = f"{scheme}://{shown}:{bound.getsockname()[1]}{service.root_path}"
    config = uvicorn.Config(
        make_app(service), log_level="warning", access_log=False, lifespan="on",
        ssl_certfile=certificate, ssl_keyfile=key, root_path=service.root_path,
        timeout_graceful_shutdown=GRACE_S, server_header=False, limit_concurrency=2000,
    )  # fmt: skip
    server = uvicorn.Server(config)
    if address_file is not None:
        write_json(address_file, {"address": address})

    class Started:
        """Tells the address when the server accepts requests."""

        def __init__(self) -> None:
            self._startup = server.startup

        async def __call__(self, *words: Any, **more: Any) -> None:
            await self._startup(*words, **more)
            on_start(address)

    server.startup = Started()  # type: ignore[method-assign]
    try:
        server.run(sockets=[bound])
    finally:
        bound.close()
        if address_file is not None:
            address_file.unlink(missing_ok=True)


def _bound(host: str, port: int) -> socket.socket:
    """Return a listening socket; a ConfigError says who has the port."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(found[0], socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(found[4])
        made.listen(2048)
    except OSError as error:
        raise ConfigError(f"--host {host} --port {port}: cannot listen there: {error}") from error
    return made
