"""What the API offers: each endpoint once, for routes and for the OpenAPI document alike."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from distsvm.cli.at_service import CHANGEABLE
from distsvm.cli.config_file import parsed
from distsvm.cli.program import build_parser
from distsvm.errors import ConfigError
from distsvm.options import Option
from distsvm.service.problems import TYPE
from distsvm.service.requests import NAME, OF_SERVICE
from distsvm.version import __version__
from distsvm.wording import PYTHON

LARGEST_NUMBER = 1 << 53


@dataclass(frozen=True)
class Parameter:
    """A parameter of a path or of a query, as JSON schema."""

    name: str
    help: str
    schema: Mapping[str, Any]
    required: bool = False


@dataclass(frozen=True)
class Endpoint:
    """One method of one path.

    Parameters
    ----------
    answers : mapping of media type to schema
        Of the answer with `status`.
    errors : tuple of int
        Statuses of problems, beside those that every endpoint may give.
    body : mapping of media type to schema
    """

    method: str
    path: str
    name: str
    summary: str
    answers: Mapping[str, Any]
    status: int = 200
    parameters: tuple[Parameter, ...] = ()
    body: Mapping[str, Any] = field(default_factory=dict)
    errors: tuple[int, ...] = ()


TEXT, HTML, ZIP, EVENTS, JSON = (
    "text/plain", "text/html", "application/zip", "text/event-stream", "application/json"
)  # fmt: skip
STRING, BINARY = {"type": "string"}, {"type": "string", "format": "binary"}
ALWAYS = (400, 401, 403, 413, 421, 429)

_NAME = {"type": "string", "pattern": f"^{NAME.pattern}$"}
_RUN = Parameter("name", "the name of the run", _NAME, required=True)
_MODEL = Parameter("name", "the name of the model", _NAME, required=True)
_FROM = {"type": "integer", "minimum": 0, "maximum": LARGEST_NUMBER}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


_A_RUN = _object(
    name=STRING, state=STRING, task=STRING, round={"type": ["integer", "null"]},
    gap={"type": ["number", "null"]},
)  # fmt: skip
_A_MODEL = _object(name=STRING, version=STRING, task=STRING)
_INPUTS = {
    "type": "object", "required": ["inputs"], "additionalProperties": False,
    "properties": {
        "inputs": {"type": "array", "maxItems": 100_000},
        "version": {"type": "string"},
        "details": {"type": "boolean"},
    },
}  # fmt: skip

_CONFIG = {"$ref": "#/components/schemas/Config"}

ENDPOINTS = (
    Endpoint("GET", "/healthz", "health", "whether the service lives", {TEXT: STRING}),
    Endpoint("GET", "/metrics", "metrics", "numbers for Prometheus", {TEXT: STRING}),
    Endpoint("GET", "/api/openapi.json", "document", "this document", {JSON: {"type": "object"}}),
    Endpoint(
        "POST", "/api/sign-in-links", "new_link", "a link that signs a browser in once",
        {JSON: _object(path=STRING)}, status=201,
    ),
    Endpoint(
        "GET", "/api/runs", "list_runs", "the runs, the newest first",
        {JSON: _object(runs={"type": "array", "items": _A_RUN}, n_runs={"type": "integer"})},
        parameters=(
            Parameter("state", "only runs in this state", STRING),
            Parameter("first", "leave out so many", _FROM),
            Parameter("most", "return at most so many", {"type": "integer", "minimum": 1,
                                                         "maximum": 1000}),
        ),
        errors=(422,),
    ),
    Endpoint(
        "POST", "/api/runs", "new_run", "begin a run, or let it wait for its turn", {JSON: _A_RUN},
        status=201,
        parameters=(Parameter("name", "the name of a run in TOML", _NAME),),
        body={
            JSON: {"type": "object", "required": ["config"], "additionalProperties": False,
                   "properties": {"name": _NAME, "config": _CONFIG}},
            "application/toml": STRING,
        },
        errors=(409, 415, 422),
    ),
    Endpoint("GET", "/api/runs/{name}", "run", "one run", {JSON: _A_RUN}, parameters=(_RUN,),
             errors=(404,)),
    Endpoint(
        "DELETE", "/api/runs/{name}", "delete_run", "delete the folder of a run that does not run",
        {}, status=204, parameters=(_RUN, Parameter("word", "the name again", STRING, True)),
        errors=(404, 409, 422),
    ),
    Endpoint(
        "GET", "/api/runs/{name}/history", "history", "its rounds, from a number on",
        {JSON: _object(rounds={"type": "array", "items": {"type": "object"}})},
        parameters=(_RUN, Parameter("from", "the number of the first round", _FROM)),
        errors=(404, 409, 422),
    ),
    Endpoint(
        "GET", "/api/runs/{name}/events", "events",
        "its rounds and states as they come: events `round` and `state`", {EVENTS: STRING},
        parameters=(_RUN,), errors=(404,),
    ),
    Endpoint(
        "GET", "/api/runs/{name}/config", "config", "its configuration, for another run",
        {"application/toml": STRING}, parameters=(_RUN,), errors=(404, 409),
    ),
    Endpoint(
        "GET", "/api/runs/{name}/logs", "logs", "what its processes have printed: the end, or from "
        "a byte on; the header Next-Byte has the place behind it",
        {TEXT: STRING}, parameters=(_RUN, Parameter("from", "the first byte", _FROM)),
        errors=(404, 422),
    ),
    Endpoint(
        "GET", "/api/runs/{name}/report", "report", "its report, as one page", {HTML: STRING},
        parameters=(_RUN,), errors=(404, 409),
    ),
    Endpoint(
        "GET", "/api/runs/{name}/model", "model_of_run", "its model, as an archive",
        {ZIP: BINARY}, parameters=(_RUN,), errors=(404, 409),
    ),
    Endpoint(
        "POST", "/api/runs/{name}/stop", "stop_run",
        "end it after its round, with a checkpoint, or take it out of the queue", {JSON: _A_RUN},
        status=202, parameters=(_RUN,), errors=(404, 409),
    ),
    Endpoint(
        "POST", "/api/runs/{name}/resume", "resume_run", "resume it, with other limits if given",
        {JSON: _A_RUN}, status=202, parameters=(_RUN,),
        body={JSON: {"$ref": "#/components/schemas/Changes"}}, errors=(404, 409, 415, 422),
    ),
    Endpoint("GET", "/api/models", "list_models", "the models that can be asked",
             {JSON: _object(models={"type": "array", "items": _A_MODEL})}),
    Endpoint("GET", "/api/models/{name}", "model", "one model, and the JSON of its inputs",
             {JSON: _A_MODEL}, parameters=(_MODEL,), errors=(404, 409)),
    Endpoint(
        "POST", "/api/models/{name}/predict", "predict", "the outputs of inputs, in their order",
        {JSON: _object(outputs={"type": "array"}, name=STRING, version=STRING)},
        parameters=(_MODEL,), body={JSON: _INPUTS}, errors=(404, 409, 415, 422),
    ),
)  # fmt: skip


def document(title: str, names: Callable[[str], bool] = lambda name: True) -> dict[str, Any]:
    """Return the OpenAPI document of the endpoints with these names."""
    paths: dict[str, Any] = {}
    for one in ENDPOINTS:
        if names(one.name):
            paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__},
        "paths": paths,
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Problem": _object(title=STRING, status={"type": "integer"}, detail=STRING),
                "Config": options_schema("train"),
                "Changes": options_schema("resume"),
            },
        },
    }


def _operation(one: Endpoint) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        "responses": {
            str(one.status): {
                "description": one.summary,
                **(
                    {"content": {kind: {"schema": s} for kind, s in one.answers.items()}}
                    if one.answers
                    else {}
                ),
            },
        },
    }
    problem = {TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status in sorted({*one.errors, *ALWAYS}):
        found["responses"][str(status)] = {"description": "a problem", "content": problem}
    if one.parameters:
        found["parameters"] = [
            {"name": own.name, "in": "path" if f"{{{own.name}}}" in one.path else "query",
             "required": own.required, "description": own.help, "schema": own.schema}
            for own in one.parameters
        ]  # fmt: skip
    if one.body:
        found["requestBody"] = {"content": {kind: {"schema": s} for kind, s in one.body.items()}}
    return found


@cache
def options_of(verb: str) -> tuple[Option, ...]:
    """Return the declared options that a request for `train` or `resume` may have."""
    parser = build_parser(verb).get_default("own")
    return tuple(
        flag.option for key, flag in parser.flags.items()
        if key not in OF_SERVICE and (verb == "train" or flag.dest in CHANGEABLE)
    )  # fmt: skip


def options_schema(verb: str) -> dict[str, Any]:
    """Return the JSON schema of the options; their own checks say more than it can."""
    found = {
        own.key: {"description": own.described(PYTHON), **_typed(own)} for own in options_of(verb)
    }
    return {"type": "object", "additionalProperties": False, "properties": found}


_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array",
          dict: "object"}  # fmt: skip


def _typed(own: Option) -> dict[str, Any]:
    kinds = [_TYPES[one] for one in own.kind.toml if one in _TYPES]
    return {"type": kinds[0] if len(kinds) == 1 else sorted(kinds)} if kinds else {}


def table_of(body: bytes, kind: str) -> dict[str, Any]:
    """Return the object of a body in JSON or TOML; a ConfigError for anything else."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"the body is not UTF-8: {error}") from error
    if kind == "application/toml":
        return parsed(text, "the request")
    try:
        found = json.loads(text or "{}", parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"the body is {type(found).__name__}, expected an object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# Numbers of JSON may be of any length; Python refuses to read those of thousands of digits.
assert sys.get_int_max_str_digits() > 0
