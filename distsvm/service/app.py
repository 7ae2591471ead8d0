"""The application: endpoints over runs and models, for any ASGI server."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from distsvm.errors import DistSVMError
from distsvm.service.access import Guard, Rate, TooLarge
from distsvm.service.endpoints import (
    ENDPOINTS,
    JSON,
)
from distsvm.service.handlers import HANDLERS, Handler
from distsvm.service.problems import of_error, problem
from distsvm.service.serving import Service
from distsvm.storage import json_text

log = logging.getLogger(__name__)


def make_app(service: Service) -> Any:
    """Return the ASGI application of a service."""
    routes = [
        Route(one.path, _answering(service, HANDLERS[one.name], one.status), methods=[one.method],
              name=one.name)
        for one in ENDPOINTS if service.offers(one.name)
    ]  # fmt: skip

    if service.runs is not None:
        from distsvm.service import site

        routes += site.routes(service)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if service.runs is not None:
            service.runs.runner.start()
        yield
        if service.runs is not None:
            service.runs.runner.close()

    app = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _of_http}
    )  # fmt: skip
    app.router.redirect_slashes = False  # a path with another end is no page
    guard = Guard(
        app, token=service.token, hosts=service.hosts, largest=service.largest,
        rate=Rate(10 * service.rate, 10.0), root_path=service.root_path,
    )  # fmt: skip
    return Counted(guard, service.requests)


class Counted:
    """The middleware that counts requests by the status of their answers, and hardens answers."""

    def __init__(self, app: Any, counts: Counter[int]) -> None:
        self._app, self._counts = app, counts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def counted(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._counts[message["status"]] += 1
                message.setdefault("headers", []).extend(_HEADERS)
            await send(message)

        await self._app(scope, receive, counted)


_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"x-frame-options", b"DENY"),
]


def _answering(service: Service, handler: Handler, status: int) -> Any:
    """Return the endpoint that calls a handler; what it returns becomes the answer."""

    async def endpoint(request: Request) -> Response:
        try:
            found = await handler(service, request)
        except DistSVMError as error:
            return of_error(error)
        except TooLarge:
            return problem(413, f"the body is larger than {service.largest >> 20} MB")
        except ClientDisconnect:
            return Response(status_code=400)
        except HTTPException:
            raise
        except Exception as error:
            log.exception("%s %s", request.method, request.url.path)
            return problem(500, f"unexpected {type(error).__name__}; the service's log has more")
        if isinstance(found, Response):
            return found
        return _json(found, status)

    return endpoint


def _json(found: Any, status: int = 200) -> Response:
    return Response(json_text(found, ensure_ascii=False), status, media_type=JSON)


async def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    shown = {404: "there is no such page", 405: f"{request.method} is not for this page"}
    headers = dict(error.headers or {})
    return problem(error.status_code, shown.get(error.status_code, error.detail), headers=headers)
