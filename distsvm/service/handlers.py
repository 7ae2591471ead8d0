"""The handlers of the endpoints: what each does, by its name."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse

from distsvm.errors import ConfigError, DistSVMError
from distsvm.report import page as report_page
from distsvm.report.view import read_run
from distsvm.service import metrics
from distsvm.service.endpoints import (
    EVENTS,
    HTML,
    JSON,
    LARGEST_NUMBER,
    ZIP,
    document,
    table_of,
)
from distsvm.service.requests import changes_of_resume, check_name, new_run
from distsvm.service.runs import Runs
from distsvm.service.serving import Service

LOOK_S = 0.5
"""Time between two looks at a run for its viewers."""
SILENT_S = 15.0
"""Time without an event after which a stream gives a sign of life, so that proxies keep it."""
TOML_TYPE = "application/toml"

Handler = Callable[[Service, Request], Any]


# --- parameters and bodies -------------------------------------------------------------------


def _runs(service: Service) -> Runs:
    assert service.runs is not None
    return service.runs


def _number(request: Request, name: str, least: int, most: int, default: int | None) -> Any:
    """Return a whole number of the query."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,16}", text) or not least <= int(text) <= most:
        raise ConfigError(f"{name}={text!r:.40}: expected a whole number from {least} to {most}")
    return int(text)


async def _table(request: Request, *others: str) -> tuple[dict[str, Any], str]:
    """Return the object in the body and its media type, which is JSON or one of `others`."""
    kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if kind not in (JSON, *others):
        raise HTTPException(
            415, f"the body is {kind!r:.60}, expected {' or '.join((JSON, *others))}"
        )
    return table_of(await request.body(), kind), kind


def _check_keys(table: Mapping[str, Any], types: Mapping[str, type]) -> None:
    for key, value in table.items():
        if key not in types:
            raise ConfigError(f"there is no key {key!r:.60}; expected {', '.join(types)}")
        if not isinstance(value, types[key]):
            raise ConfigError(f"{key} is {value!r:.60}, expected a {types[key].__name__}")


# --- handlers --------------------------------------------------------------------------------


async def health(service: Service, request: Request) -> Response:
    return PlainTextResponse("ok\n")


async def page_of_metrics(service: Service, request: Request) -> Response:
    def made() -> str:
        facts = [] if service.runs is None else list(_all_facts(service.runs))
        return metrics.page(facts, service.requests, service.models.counts())

    return PlainTextResponse(await run_in_threadpool(made), media_type="text/plain; version=0.0.4")


async def openapi(service: Service, request: Request) -> Response:
    return JSONResponse(document(service.title, service.offers))


def _all_facts(runs: Runs) -> Any:
    for name in runs.names():
        try:
            yield runs.facts(name)
        except DistSVMError:  # deleted meanwhile
            continue


async def new_link(service: Service, request: Request) -> Any:
    return {"path": f"/sign-in?code={service.codes.new()}"}


async def list_runs(service: Service, request: Request) -> Any:
    first = _number(request, "first", 0, LARGEST_NUMBER, 0)
    most, state = _number(request, "most", 1, 1000, 100), request.query_params.get("state")

    def made() -> Any:
        found = [one for one in _all_facts(_runs(service)) if state in (None, one["state"])]
        return {"runs": found[first : first + most], "n_runs": len(found)}

    return await run_in_threadpool(made)


async def begin_run(service: Service, request: Request) -> Any:
    table, kind = await _table(request, TOML_TYPE)
    name = request.query_params.get("name")
    if kind == JSON:
        _check_keys(table, {"name": str, "config": dict})
        if "config" not in table:
            raise ConfigError("the key 'config' is missing: the options of the run")
        name, table = table.get("name", name), table["config"]
    assert service.allowed is not None
    allowed = service.allowed
    if name is not None:
        check_name(name)

    def made() -> Any:
        wanted = new_run(name, table, allowed)
        return _runs(service).add(wanted.name, wanted.config)

    return await run_in_threadpool(made)


async def one_run(service: Service, request: Request) -> Any:
    return await run_in_threadpool(_runs(service).facts, request.path_params["name"])


async def delete_run(service: Service, request: Request) -> Response:
    word = request.query_params.get("word")
    if word is None:
        raise ConfigError("word is missing: repeat the name of the run, word=NAME")
    await run_in_threadpool(_runs(service).delete, request.path_params["name"], word)
    return Response(status_code=204)


async def history(service: Service, request: Request) -> Any:
    first = _number(request, "from", 0, LARGEST_NUMBER, 0)
    found = await run_in_threadpool(_runs(service).rounds, request.path_params["name"], first)
    return {"rounds": found}


async def events(service: Service, request: Request) -> Response:
    runs, name = _runs(service), request.path_params["name"]
    await run_in_threadpool(runs.facts, name)  # Missing, before the answer begins
    signs = runs.signs(name)

    def some() -> str:
        """Return the events up to the next look."""
        shown = []
        for kind, data in signs:
            if not kind:
                break
            shown.append(f"event: {kind}\ndata: {data}\n\n")
        return "".join(shown)

    async def stream() -> AsyncIterator[str]:
        silent = 0.0
        while not await request.is_disconnected():
            try:
                text = await run_in_threadpool(some)
            except DistSVMError:  # deleted
                yield "event: gone\ndata: {}\n\n"
                return
            silent = 0.0 if text else silent + LOOK_S
            if silent >= SILENT_S:
                silent, text = 0.0, ": alive\n\n"
            if text:
                yield text
            await asyncio.sleep(LOOK_S)

    return StreamingResponse(stream(), media_type=EVENTS)


async def config(service: Service, request: Request) -> Response:
    found = await run_in_threadpool(_runs(service).config, request.path_params["name"])
    return Response(found, media_type=TOML_TYPE)


async def logs(service: Service, request: Request) -> Response:
    first = _number(request, "from", 0, LARGEST_NUMBER, None)
    name, runs = request.path_params["name"], _runs(service)
    await run_in_threadpool(runs.facts, name)
    part = await run_in_threadpool(runs.log, name, first)
    return PlainTextResponse(part.text, headers={"Next-Byte": str(part.next)})


async def report(service: Service, request: Request) -> Response:
    def made() -> bytes:
        folder = _runs(service).folder(request.path_params["name"])
        return report_page(read_run(folder)).encode("utf-8", "replace")

    return Response(await run_in_threadpool(made), media_type=HTML)


async def model_of_run(service: Service, request: Request) -> Response:
    name = request.path_params["name"]
    await run_in_threadpool(_runs(service).facts, name)
    made = await run_in_threadpool(service.models.archive, name)
    headers = {"Content-Disposition": f'attachment; filename="{name}.zip"'}
    return Response(made, media_type=ZIP, headers=headers)


async def stop_run(service: Service, request: Request) -> Any:
    return await run_in_threadpool(_runs(service).stop, request.path_params["name"])


async def resume_run(service: Service, request: Request) -> Any:
    table, _ = await _table(request)
    name = request.path_params["name"]

    def made() -> Any:
        changes = changes_of_resume(table)
        return _runs(service).resume(name, changes)

    return await run_in_threadpool(made)


async def list_models(service: Service, request: Request) -> Any:
    def made() -> Any:
        return {"models": [named.as_dict() for named in service.models.all()]}

    return await run_in_threadpool(made)


async def one_model(service: Service, request: Request) -> Any:
    def made() -> Any:
        asked = service.models.asked(request.path_params["name"])
        example = asked.answers.example(asked.model)
        return asked.named.as_dict() | {"input": asked.answers.help, "example": example}

    return await run_in_threadpool(made)


async def predict(service: Service, request: Request) -> Any:
    table, _ = await _table(request)
    _check_keys(table, {"inputs": list, "version": str, "details": bool})
    if "inputs" not in table:
        raise ConfigError("the key 'inputs' is missing: the list of inputs")

    def made() -> Any:
        asked = service.models.asked(request.path_params["name"], table.get("version"))
        found = {
            "name": asked.named.name, "version": asked.named.version,
            "outputs": asked.predict(table["inputs"]),
        }  # fmt: skip
        if table.get("details"):
            found["details"] = asked.details(table["inputs"])
        return found

    return await run_in_threadpool(made)


HANDLERS: Mapping[str, Handler] = {
    "health": health, "metrics": page_of_metrics, "document": openapi, "new_link": new_link,
    "list_runs": list_runs,
    "new_run": begin_run, "run": one_run, "delete_run": delete_run, "history": history,
    "events": events, "config": config, "logs": logs, "report": report,
    "model_of_run": model_of_run, "stop_run": stop_run, "resume_run": resume_run,
    "list_models": list_models, "model": one_model, "predict": predict,
}  # fmt: skip
