"""Bodies of requests, bounded while they come."""

from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request

from clawft.web.errors import WebError

__all__ = ["MAX_JSON", "bound", "parse_json", "read_body", "read_json"]

MAX_JSON = 4 * 1024 * 1024


def bound(request: Request, most: int) -> Request:
    """The same request, whose body ends in a WebError where it gets too long."""
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > most:
        raise _too_large(most)
    got = 0

    async def receive() -> Any:
        nonlocal got
        message = await request.receive()
        got += len(message.get("body", b""))
        if got > most:
            raise _too_large(most)
        return message

    return Request(request.scope, receive)


async def read_body(request: Request, most: int) -> bytes:
    """Everything that comes, as long as it is no more than `most` bytes. Raises: WebError."""
    try:
        return await bound(request, most).body()
    except ClientDisconnect as error:
        raise WebError(400, "The body did not come to its end") from error


async def read_json(request: Request) -> Any:
    """A JSON document; {} where there is no body. Raises: WebError."""
    body = await read_body(request, MAX_JSON)
    return parse_json(body, "body") if body else {}


def parse_json(text: bytes | str, what: str) -> Any:
    """Raises: WebError, also where it is too deep."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise WebError(400, f"The {what} is no JSON") from error


def _too_large(most: int) -> WebError:
    return WebError(413, f"The body is too large: at most {most} bytes are taken")
