"""The pages' routes: the same runs and models as the API, for people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from distsvm.cli.config_file import parsed
from distsvm.cli.words import TOML
from distsvm.errors import ConfigError, DistSVMError
from distsvm.report.view import RunView, read_run
from distsvm.service.access import COOKIE, COOKIE_S, Rate, code_in, new_cookie, same
from distsvm.service.pages import form, frame, model, run, runs, sign_in, static
from distsvm.service.problems import status_of
from distsvm.service.requests import changes_of_resume, check_name, new_run
from distsvm.service.runs import Missing
from distsvm.service.serving import Service
from distsvm.wording import message_of

MOST_COMPARED = 8
CHANGES = ("max-rounds", "eps", "rel-gap")

Page = Callable[[Service, Request], Awaitable[Response]]


def routes(service: Service) -> list[Route]:
    """Return the routes of all pages."""
    sign_ins = Rate(10, 60.0)

    async def signed_in(service: Service, request: Request) -> Response:
        return await _sign_in(service, request, sign_ins)

    def made(path: str, page: Page, method: str = "GET") -> Route:
        async def answer(request: Request) -> Response:
            try:
                return await page(service, request)
            except DistSVMError as error:
                text, name = message_of(error).worded(TOML), request.path_params.get("name", "")
                known = "" if isinstance(error, Missing) else name
                body = run.failed_page(service.root_path, known, text)
                return frame.page(service.root_path, "refused", body, status_of(error))

        return Route(path, answer, methods=[method])

    return [
        made("/", all_runs),
        made("/table", table_alone),
        made("/compare", compare),
        made("/new", new_form),
        made("/new", new_from_form, "POST"),
        made("/runs/{name}", one_run),
        made("/runs/{name}/live", live_alone),
        made("/runs/{name}/stop", stop, "POST"),
        made("/runs/{name}/resume", resume, "POST"),
        made("/runs/{name}/delete", delete, "POST"),
        made("/models", all_models),
        made("/models/{name}", one_model),
        made("/models/{name}", try_model, "POST"),
        made("/sign-in", signed_in),
        made("/sign-in", signed_in, "POST"),
        made("/static/style.css", style),
        made("/static/page.js", script),
    ]


async def _fields(request: Request) -> dict[str, str]:
    """Return the fields of a form; several of one name are joined by line ends."""
    body = (await request.body()).decode("utf-8", "replace")
    found: dict[str, str] = {}
    for name, value in parse_qsl(body, keep_blank_values=True, max_num_fields=1000):
        found[name] = f"{found[name]}\n{value}" if name in found else value
    return found


def _back(service: Service, path: str) -> Response:
    return RedirectResponse(f"{service.root_path}{path}", 303)


# --- runs ------------------------------------------------------------------------------------


def _facts(service: Service) -> tuple[list[dict[str, Any]], int]:
    assert service.runs is not None
    names = service.runs.names()
    found = []
    for name in names[: runs.MOST_SHOWN]:
        try:
            found.append(service.runs.facts(name))
        except DistSVMError:  # deleted meanwhile
            continue
    return found, len(names)


async def all_runs(service: Service, request: Request) -> Response:
    found, n = await run_in_threadpool(_facts, service)
    return frame.page(service.root_path, "runs", runs.runs_page(service.root_path, found, n))


async def table_alone(service: Service, request: Request) -> Response:
    found, n = await run_in_threadpool(_facts, service)
    return frame.fragment(runs.runs_table(service.root_path, found, n))


def _seen(service: Service, name: str) -> tuple[dict[str, Any], RunView | None, str, bool]:
    """Return facts, view, log and whether there is a model."""
    assert service.runs is not None
    facts = service.runs.facts(name)
    view = None
    if facts.get("task") and facts["state"] != "damaged":
        view = read_run(service.runs.home / name)
    has_model = (service.runs.home / name / "model").is_dir()
    return facts, view, service.runs.log(name).text, has_model


async def one_run(service: Service, request: Request) -> Response:
    name = request.path_params["name"]
    seen = await run_in_threadpool(_seen, service, name)
    body = await run_in_threadpool(run.run_page, service.root_path, *seen)
    return frame.page(service.root_path, name, body)


async def live_alone(service: Service, request: Request) -> Response:
    seen = await run_in_threadpool(_seen, service, request.path_params["name"])
    return frame.fragment(await run_in_threadpool(run.live, service.root_path, *seen))


async def compare(service: Service, request: Request) -> Response:
    names = list(dict.fromkeys(request.query_params.getlist("run")))

    def made() -> str:
        views, problems = [], []
        if len(names) > MOST_COMPARED:
            problems.append(f"{len(names)} runs are marked; the first {MOST_COMPARED} are shown")
        for name in names[:MOST_COMPARED]:
            assert service.runs is not None
            try:
                views.append((name, read_run(service.runs.folder(name))))
            except DistSVMError as error:
                problems.append(str(error))
        return runs.compare_page(views, problems)

    return frame.page(service.root_path, "compare", await run_in_threadpool(made))


async def new_form(service: Service, request: Request) -> Response:
    earlier = request.query_params.get("from")
    given: dict[str, str] = {}
    if earlier:
        assert service.runs is not None
        text = await run_in_threadpool(service.runs.config, earlier)
        given = form.texts_of_table(parsed(text, f"the configuration of {earlier}"))
    return frame.page(service.root_path, "new run", form.form_page(service.root_path, given))


async def new_from_form(service: Service, request: Request) -> Response:
    given = await _fields(request)
    name = given.pop("name", "").strip() or None

    def made() -> str:
        assert service.runs is not None
        assert service.allowed is not None
        if name is not None:
            check_name(name)
        wanted = new_run(name, form.table_of_form(given), service.allowed)
        service.runs.add(wanted.name, wanted.config)
        return wanted.name

    try:
        chosen = await run_in_threadpool(made)
    except DistSVMError as error:
        text = message_of(error).worded(TOML)
        body = form.form_page(service.root_path, given | {"name": name or ""}, text)
        return frame.page(service.root_path, "new run", body, status_of(error))
    return _back(service, f"/runs/{chosen}")


async def stop(service: Service, request: Request) -> Response:
    name = request.path_params["name"]
    assert service.runs is not None
    await run_in_threadpool(service.runs.stop, name)
    return _back(service, f"/runs/{name}")


async def resume(service: Service, request: Request) -> Response:
    name, given = request.path_params["name"], await _fields(request)
    for key in given:
        if key not in CHANGES:
            raise ConfigError(f"a resumed run cannot change {key!r} here")
    table = form.table_of_form(given)
    assert service.runs is not None
    await run_in_threadpool(service.runs.resume, name, changes_of_resume(table))
    return _back(service, f"/runs/{name}")


async def delete(service: Service, request: Request) -> Response:
    name, given = request.path_params["name"], await _fields(request)
    assert service.runs is not None
    await run_in_threadpool(service.runs.delete, name, given.get("word", ""))
    return _back(service, "/")


# --- models ----------------------------------------------------------------------------------


async def all_models(service: Service, request: Request) -> Response:
    body = await run_in_threadpool(
        lambda: model.models_page(service.root_path, service.models.all())
    )
    return frame.page(service.root_path, "models", body)


async def one_model(service: Service, request: Request) -> Response:
    name = request.path_params["name"]

    def made() -> str:
        return model.model_page(service.root_path, service.models.asked(name))

    return frame.page(service.root_path, name, await run_in_threadpool(made))


async def try_model(service: Service, request: Request) -> Response:
    name, given = request.path_params["name"], await _fields(request)
    text = given.get("input", "")

    def made() -> tuple[str, int]:
        asked = service.models.asked(name)
        try:
            return model.model_page(service.root_path, asked, text), 200
        except DistSVMError as error:
            problem = message_of(error).worded(TOML)
            return model.model_page(service.root_path, asked, text, problem), status_of(error)

    body, status = await run_in_threadpool(made)
    return frame.page(service.root_path, name, body, status)


# --- sign-in and files -------------------------------------------------------------------------


async def _sign_in(service: Service, request: Request, sign_ins: Rate) -> Response:
    root = service.root_path
    code = code_in(request.url.query)
    given = (await _fields(request)).get("token", "") if request.method == "POST" else ""
    problem = ""
    if code or given:
        who = request.client.host if request.client else "unknown"
        if not sign_ins.passes(who):
            problem = "too many tries; wait a minute"
        elif (code and service.codes.take(code)) or (given and same(given.strip(), service.token)):
            return _signed_in(service, request)
        else:
            problem = "the link has been used or is too old" if code else "the token is wrong"
    body = sign_in.sign_in_page(root, problem)
    return frame.page(root, "sign in", body, 403 if problem else 200, nav=False)


def _signed_in(service: Service, request: Request) -> Response:
    answer = _back(service, "/")
    answer.set_cookie(
        COOKIE, new_cookie(service.token), max_age=COOKIE_S, path=service.root_path or "/",
        secure=request.url.scheme == "https", httponly=True, samesite="strict",
    )  # fmt: skip
    return answer


async def style(service: Service, request: Request) -> Response:
    return Response(static.style(), media_type="text/css")


async def script(service: Service, request: Request) -> Response:
    return Response(static.script(), media_type="text/javascript")
