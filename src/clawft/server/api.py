"""The HTTP API: a route for each operation, its event streams, and its OpenAPI description."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import anyio
import msgspec
from msgspec import structs
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from clawft.errors import ClawftError, Diagnostic
from clawft.server.callers import DaemonCall, Listener, Subscriptions
from clawft.server.daemon import Daemon
from clawft.server.event_stream import (
    ClientOutbox,
    EventStream,
    frame_answer,
    frame_encoded,
    frame_refusal,
    watch_client,
)
from clawft.server.http.exchange import Log
from clawft.server.http.limits import WebError, read_body
from clawft.server.middleware import RequestClient, get_request_client, make_refusal
from clawft.server.observability import Metrics
from clawft.server.openapi import SECURED, describe_path_parameters, find_path_names, make_openapi
from clawft.server.protocol.base import VERSION, DaemonAnswer, DaemonRequest, Refusal
from clawft.server.protocol.operations import MESSAGES, OPERATIONS, AnyOperation, explain_invalid_request
from clawft.server.protocol.subscriptions import Subscribe

_REF = "#/components/schemas/{name}"
_JSON = "application/json"
_EVENTS = "text/event-stream"
_ALL = "One of: " + ", ".join(f"`{topic}`" for topic in ("skills", "approvals", "executions", "runs"))


def make_daemon_openapi(prefix: str) -> dict[str, Any]:
    """The OpenAPI document of the daemon."""
    _, components = msgspec.json.schema_components([*MESSAGES.values()], ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        if operation.path:
            paths.setdefault(f"{prefix}{operation.path}", {})[operation.method.lower()] = _describe(
                operation, components
            )
    paths[f"{prefix}/events"] = {"get": _events()}
    paths["/healthz"] = {"get": _plain("healthz", "Whether every part of the daemon is well; 503 if not.", _JSON, [])}
    paths["/metrics"] = {"get": _plain("metrics", "What is counted, for Prometheus. Scope: `read`.", "text/plain")}
    description = "The skills of one machine, for programs. The same operations go over a WebSocket at `/ws`."
    return make_openapi("weft serve", paths, description=description, schemas=components) | {"security": SECURED}


def _describe(operation: AnyOperation, components: dict[str, Any]) -> dict[str, Any]:
    schema = components[operation.request.__name__]
    in_path = find_path_names(operation.path)
    rest = {
        name: property_schema
        for name, property_schema in schema["properties"].items()
        if name not in (*in_path, "type", "id")
    }
    needed = [name for name in schema["required"] if name in rest]
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": f"Scope: `{operation.scope}`.",
        "parameters": describe_path_parameters(operation.path, schema["properties"]),
        "responses": _responses(operation),
    }
    if operation.method == "GET":
        described["parameters"] += [
            {"name": name, "in": "query", "required": name in needed, "schema": property_schema}
            for name, property_schema in rest.items()
        ]
    else:
        body = {"type": "object", "properties": rest, "required": needed, "additionalProperties": False}
        described["requestBody"] = {"required": bool(needed), "content": {_JSON: {"schema": body}}}
    return described


def _responses(operation: AnyOperation) -> dict[str, Any]:
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


PREFIX = f"/api/{VERSION}"


class HttpApi:
    """The HTTP API under `/api/v1`, and the event streams that are open."""

    def __init__(self, daemon: Daemon, metrics: Metrics, log: Log | None) -> None:
        self._daemon = daemon
        self._metrics = metrics
        self._log = log
        self._streams: set[ClientOutbox] = set()  # of those who subscribed

    def routes(self) -> list[Route]:
        """Return one route for each path, for all its methods, so that a response to a wrong method lists the right
        ones."""
        paths: dict[str, dict[str, AnyOperation]] = {}
        for operation in OPERATIONS:
            if operation.path:
                paths.setdefault(operation.path, {})[operation.method] = operation
        events = Route(f"{PREFIX}/events", self._events, methods=["GET"])
        events.methods = {"GET"}  # the head of what never ends would never come to its end either
        return [*(self._route(path, by_method) for path, by_method in paths.items()), events]

    def end_streams(self, why: Diagnostic) -> None:
        """Tell all who listen that it is over, after what waits for them."""
        for stream in tuple(self._streams):
            stream.put(frame_refusal(why))
            stream.finish()

    def _route(self, path: str, by_method: Mapping[str, AnyOperation]) -> Route:
        async def endpoint(request: HttpRequest) -> Response:
            operation = by_method["GET" if request.method == "HEAD" else request.method]
            return await self._operate(operation, request)

        return Route(f"{PREFIX}{path}", endpoint, methods=[*by_method])

    async def _operate(self, operation: AnyOperation, request: HttpRequest) -> Response:
        """Raises: ClawftError, WebError."""
        request.scope["operation"] = operation.name
        visitor = get_request_client(request.scope)
        visitor.caller.need(operation.scope)  # before anything is read
        asked = await self._parse(operation, request)
        if operation.streams and _wants_events(request):
            return self._stream(visitor, asked)
        call = DaemonCall(visitor.caller, _unheard, is_known=visitor.is_known)
        if operation.streams:
            return self._answer(await self._while_there(request, call, asked), asked)
        return self._answer(await self._daemon.answer(call, asked), asked)

    def _answer(self, answer: DaemonAnswer, asked: DaemonRequest) -> Response:
        return Response(self._daemon.registry.encode(answer, asked.id), media_type="application/json")

    async def _while_there(self, request: HttpRequest, call: DaemonCall, asked: DaemonRequest) -> DaemonAnswer:
        """Execute a long request, and cancel it when the client disconnects."""
        found: list[DaemonAnswer | ClawftError] = []
        async with anyio.create_task_group() as group:
            group.start_soon(watch_client, request.receive, group.cancel_scope)
            try:
                found.append(await self._daemon.answer(call, asked))
            except ClawftError as error:  # which the group would hide in one of its own
                found.append(error)
            group.cancel_scope.cancel()
        if not found:
            raise WebError(499, "The client went")
        if isinstance(found[0], ClawftError):
            raise found[0]
        return found[0]

    async def _parse(self, operation: AnyOperation, request: HttpRequest) -> DaemonRequest:
        """Raises: WebError for what is no such request."""
        fields = _query_fields(operation.request, request) if operation.method == "GET" else await self._body(request)
        for name, value in request.path_params.items():
            if name in fields:
                raise WebError(400, f"'{name}' stands in the path already")
            fields[name] = value
        try:
            return msgspec.convert(fields, operation.request, strict=operation.method != "GET")
        except (msgspec.ValidationError, RecursionError, UnicodeError) as error:
            message, hint = explain_invalid_request(error, operation.request)
            raise _invalid(f"This is no {operation.name}: {message}", hint) from error

    async def _body(self, request: HttpRequest) -> dict[str, Any]:
        if request.url.query:
            raise WebError(400, "What it needs stands in the body, not in the query")
        body = await read_body(request, self._daemon.settings.limits.message_kb << 10)
        if not body:
            return {}
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise WebError(415, "The body is to be JSON, and to say so: Content-Type: application/json")
        try:
            return msgspec.json.decode(body, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            raise WebError(400, f"The body is no JSON object: {error}") from error

    def _stream(self, visitor: RequestClient, asked: DaemonRequest) -> Response:
        outbox = ClientOutbox(self._daemon.settings.limits.unread_kb << 10)

        def send(answer: DaemonAnswer) -> None:
            outbox.put(frame_answer(structs.replace(answer, id=asked.id) if asked.id else answer))

        async def work() -> None:
            with self._counting(outbox, visitor):
                send(await self._daemon.answer(DaemonCall(visitor.caller, send, can_answer=True), asked))

        return EventStream(outbox, work, visitor)

    async def _events(self, request: HttpRequest) -> Response:
        """Stream the events of the subscribed topics until the client disconnects."""
        request.scope["operation"] = "events"
        visitor = get_request_client(request.scope)
        fields = _query_fields(Subscribe, request)
        try:
            asked = msgspec.convert(fields, Subscribe)
        except msgspec.ValidationError as error:
            problem, hint = explain_invalid_request(error, Subscribe)
            raise _invalid(f"Name topics, as in ?topics=skills,approvals: {problem}", hint) from error
        outbox = ClientOutbox(self._daemon.settings.limits.unread_kb << 10)
        listener = Listener(visitor.caller, lambda message: outbox.put(frame_encoded(message)))
        subscriptions = Subscriptions(self._daemon.topics, listener)

        async def work() -> None:
            with self._counting(outbox, visitor):
                self._streams.add(outbox)
                try:
                    call = DaemonCall(visitor.caller, _unheard, subscriptions=subscriptions)
                    outbox.put(frame_answer(await self._daemon.answer(call, asked)))
                    await anyio.sleep_forever()
                finally:
                    self._streams.discard(outbox)
                    subscriptions.remove(subscriptions.topics)

        return EventStream(outbox, work, visitor)

    @contextmanager
    def _counting(self, outbox: ClientOutbox, visitor: RequestClient) -> Iterator[None]:
        """A stream while it is there, and those whose client did not read."""
        try:
            with self._metrics.connected("events"):
                yield
        finally:
            if outbox.is_slow:
                self._metrics.dropped("events")
                visitor.log_slow_client(self._log)


def _invalid(message: str, hint: str) -> WebError:
    return make_refusal(400, Diagnostic("request-invalid", "error", message, hint=hint))


def _unheard(_answer: DaemonAnswer) -> None:
    """Nobody listens before the result."""


def _wants_events(request: HttpRequest) -> bool:
    return any(
        part.partition(";")[0].strip().lower() == "text/event-stream"
        for part in request.headers.get("accept", "").split(",")
    )


def _query_fields(kind: type[DaemonRequest], request: HttpRequest) -> dict[str, Any]:
    """A query as fields: what may be several comes with commas, or more than once. Raises: WebError."""
    inspect = msgspec.inspect
    several = {
        field.name for field in structs.fields(kind) if isinstance(inspect.type_info(field.type), inspect.VarTupleType)
    }
    fields: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in several:
            fields.setdefault(name, []).extend(value.split(","))
        elif name in fields:
            raise WebError(400, f"'{name}' is given twice")
        else:
            fields[name] = value
    return fields
