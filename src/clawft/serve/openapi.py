"""The HTTP interface described as OpenAPI 3.1, from the same table and values that it is made of."""

import re
from typing import Any

import msgspec

from clawft import __version__
from clawft.protocol.base import Refusal
from clawft.protocol.operations import OPERATIONS, Operation
from clawft.protocol.schemas import MESSAGES

__all__ = ["describe_api"]

_REF = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"\{(\w+)\}")
_JSON = "application/json"
_EVENTS = "text/event-stream"
_ALL = "One of: " + ", ".join(f"`{one}`" for one in ("skills", "approvals", "executions", "runs"))


def describe_api(prefix: str) -> dict[str, Any]:
    """The document."""
    _, components = msgspec.json.schema_components([*MESSAGES.values()], ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    for one in OPERATIONS:
        if one.path:
            paths.setdefault(f"{prefix}{one.path}", {})[one.method.lower()] = _describe(one, components)
    paths[f"{prefix}/events"] = {"get": _events()}
    paths["/healthz"] = {"get": _plain("healthz", "Whether every part of the daemon is well; 503 if not.", _JSON, [])}
    paths["/metrics"] = {"get": _plain("metrics", "What is counted, for Prometheus. Scope: `read`.", "text/plain")}
    told = "The skills of one machine, for programs. The same operations go over a WebSocket at `/ws`."
    return {
        "openapi": "3.1.0",
        "info": {"title": "weft serve", "version": __version__, "description": told},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _describe(operation: Operation, components: dict[str, Any]) -> dict[str, Any]:
    schema = components[operation.request.__name__]
    in_path = _PARAMETER.findall(operation.path)
    rest = {name: one for name, one in schema["properties"].items() if name not in (*in_path, "type", "id")}
    needed = [name for name in schema["required"] if name in rest]
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": f"Scope: `{operation.scope}`.",
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": schema["properties"][name]} for name in in_path
        ],
        "responses": _responses(operation),
    }
    if operation.method == "GET":
        described["parameters"] += [
            {"name": name, "in": "query", "required": name in needed, "schema": one} for name, one in rest.items()
        ]
    else:
        body = {"type": "object", "properties": rest, "required": needed, "additionalProperties": False}
        described["requestBody"] = {"required": bool(needed), "content": {_JSON: {"schema": body}}}
    return described


def _responses(operation: Operation) -> dict[str, Any]:
    content = {_JSON: {"schema": _ref(operation.answer)}}
    if operation.streams:
        content[_EVENTS] = {"schema": {"type": "string"}}
    return {"200": {"description": _words(operation.answer), "content": content}, "default": _refusal()}


def _events() -> dict[str, Any]:
    topics = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    parameter = {"name": "topics", "in": "query", "required": True, "explode": False, "schema": topics}
    described = _plain("events", "Be told of what happens, as server-sent events, until the client goes.", _EVENTS)
    return described | {"parameters": [parameter | {"description": _ALL}]}


def _plain(name: str, summary: str, media_type: str, security: list[Any] | None = None) -> dict[str, Any]:
    schema = {} if media_type == _JSON else {"type": "string"}
    found = {
        "operationId": name,
        "summary": summary,
        "responses": {
            "200": {"description": summary, "content": {media_type: {"schema": schema}}},
            "default": _refusal(),
        },
    }
    return found if security is None else found | {"security": security}


def _refusal() -> dict[str, Any]:
    return {"description": _words(Refusal), "content": {_JSON: {"schema": _ref(Refusal)}}}


def _ref(kind: type) -> dict[str, str]:
    return {"$ref": _REF.format(name=kind.__name__)}


def _words(kind: type) -> str:
    return " ".join((kind.__doc__ or kind.__name__).split())
