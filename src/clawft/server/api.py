"""The operations over HTTP: a route for each of the table, whose path, query and JSON body make the request."""

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
from clawft.protocol.base import VERSION, Answer, Request
from clawft.protocol.operations import OPERATIONS, Operation
from clawft.protocol.watching import Subscribe
from clawft.serve.answers import make_refusal
from clawft.serve.caller import Call
from clawft.serve.daemon import Daemon
from clawft.serve.door import Visitor, visitor_of
from clawft.serve.explaining import explain
from clawft.serve.metrics import Metrics
from clawft.serve.outbox import Outbox
from clawft.serve.sse import EventStream, frame_answer, frame_encoded, frame_refusal, watch_client
from clawft.serve.subscriptions import Subscriptions
from clawft.serve.topics import Listener
from clawft.web.bodies import read_body
from clawft.web.errors import WebError
from clawft.web.visit import Log

__all__ = ["PREFIX", "Api"]

PREFIX = f"/api/{VERSION}"


class Api:
    """What is under `/api/v1`, and the streams of events that are open."""

    def __init__(self, daemon: Daemon, metrics: Metrics, log: Log | None) -> None:
        self._daemon = daemon
        self._metrics = metrics
        self._log = log
        self._streams: set[Outbox] = set()  # of those who subscribed

    def routes(self) -> list[Route]:
        """One route for each path, whatever is done there, so that a wrong method is told all that are right."""
        paths: dict[str, dict[str, Operation]] = {}
        for one in OPERATIONS:
            if one.path:
                paths.setdefault(one.path, {})[one.method] = one
        events = Route(f"{PREFIX}/events", self._events, methods=["GET"])
        events.methods = {"GET"}  # the head of what never ends would never come to its end either
        return [*(self._route(path, by_method) for path, by_method in paths.items()), events]

    def end_streams(self, why: Diagnostic) -> None:
        """Tell all who listen that it is over, after what waits for them."""
        for one in tuple(self._streams):
            one.put(frame_refusal(why))
            one.finish()

    def _route(self, path: str, by_method: Mapping[str, Operation]) -> Route:
        async def endpoint(request: HttpRequest) -> Response:
            operation = by_method["GET" if request.method == "HEAD" else request.method]
            return await self._operate(operation, request)

        return Route(f"{PREFIX}{path}", endpoint, methods=[*by_method])

    async def _operate(self, operation: Operation, request: HttpRequest) -> Response:
        """Raises: ClawftError, WebError."""
        request.scope["operation"] = operation.name
        visitor = visitor_of(request.scope)
        visitor.caller.need(operation.scope)  # before anything is read
        asked = await self._parse(operation, request)
        if operation.streams and _wants_events(request):
            return self._stream(visitor, asked)
        call = Call(visitor.caller, _unheard, is_known=visitor.is_known)
        if operation.streams:
            return self._answer(await self._while_there(request, call, asked), asked)
        return self._answer(await self._daemon.answer(call, asked), asked)

    def _answer(self, answer: Answer, asked: Request) -> Response:
        return Response(self._daemon.registry.encode(answer, asked.id), media_type="application/json")

    async def _while_there(self, request: HttpRequest, call: Call, asked: Request) -> Answer:
        """What takes long ends when the client goes."""
        found: list[Answer | ClawftError] = []
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

    async def _parse(self, operation: Operation, request: HttpRequest) -> Request:
        """Raises: WebError for what is no such request."""
        fields = _query_fields(operation.request, request) if operation.method == "GET" else await self._body(request)
        for name, value in request.path_params.items():
            if name in fields:
                raise WebError(400, f"'{name}' stands in the path already")
            fields[name] = value
        try:
            return msgspec.convert(fields, operation.request, strict=operation.method != "GET")
        except (msgspec.ValidationError, RecursionError, UnicodeError) as error:
            said, hint = explain(error, operation.request)
            raise _invalid(f"This is no {operation.name}: {said}", hint) from error

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

    def _stream(self, visitor: Visitor, asked: Request) -> Response:
        outbox = Outbox(self._daemon.settings.limits.unread_kb << 10)

        def send(answer: Answer) -> None:
            outbox.put(frame_answer(_named(answer, asked.id)))

        async def work() -> None:
            with self._counting(outbox, visitor):
                send(await self._daemon.answer(Call(visitor.caller, send, can_answer=True), asked))

        return EventStream(outbox, work, visitor)

    async def _events(self, request: HttpRequest) -> Response:
        """What is subscribed to, until the client goes."""
        request.scope["operation"] = "events"
        visitor = visitor_of(request.scope)
        fields = _query_fields(Subscribe, request)
        try:
            asked = msgspec.convert(fields, Subscribe)
        except msgspec.ValidationError as error:
            said, hint = explain(error, Subscribe)
            raise _invalid(f"Name topics, as in ?topics=skills,approvals: {said}", hint) from error
        outbox = Outbox(self._daemon.settings.limits.unread_kb << 10)
        listener = Listener(visitor.caller, lambda message: outbox.put(frame_encoded(message)))
        told = Subscriptions(self._daemon.topics, listener)

        async def work() -> None:
            with self._counting(outbox, visitor):
                self._streams.add(outbox)
                try:
                    call = Call(visitor.caller, _unheard, subscriptions=told)
                    outbox.put(frame_answer(await self._daemon.answer(call, asked)))
                    await anyio.sleep_forever()
                finally:
                    self._streams.discard(outbox)
                    told.remove(told.topics)

        return EventStream(outbox, work, visitor)

    @contextmanager
    def _counting(self, outbox: Outbox, visitor: Visitor) -> Iterator[None]:
        """A stream while it is there, and those whose client did not read."""
        try:
            with self._metrics.connected("events"):
                yield
        finally:
            if outbox.is_slow:
                self._metrics.dropped("events")
                visitor.tell_slow(self._log)


def _invalid(message: str, hint: str) -> WebError:
    return make_refusal(400, Diagnostic("request-invalid", "error", message, hint=hint))


def _unheard(_answer: Answer) -> None:
    """Nobody listens before the result."""


def _named(answer: Answer, request: str) -> Answer:
    return structs.replace(answer, id=request) if request else answer


def _wants_events(request: HttpRequest) -> bool:
    return any(
        one.partition(";")[0].strip().lower() == "text/event-stream"
        for one in request.headers.get("accept", "").split(",")
    )


def _query_fields(kind: type[Request], request: HttpRequest) -> dict[str, Any]:
    """A query as fields: what may be several comes with commas, or more than once. Raises: WebError."""
    several = {one.name for one in structs.fields(kind) if _is_several(one.type)}
    fields: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in several:
            fields.setdefault(name, []).extend(value.split(","))
        elif name in fields:
            raise WebError(400, f"'{name}' is given twice")
        else:
            fields[name] = value
    return fields


def _is_several(kind: Any) -> bool:
    return isinstance(msgspec.inspect.type_info(kind), msgspec.inspect.VarTupleType)
