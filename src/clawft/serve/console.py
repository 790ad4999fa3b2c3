"""The console's files, as they are: a page for browsers, which speaks to the daemon by itself. Nothing is made here."""

import hashlib
import os

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["POLICY", "console_routes"]

_FOLDER = os.path.join(os.path.dirname(__file__), "console")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = "; ".join((
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",  # no text becomes markup, whoever tries
    "trusted-types 'none'",
))  # fmt: skip
_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class _File(Struct, frozen=True):
    content: bytes
    headers: dict[str, str]


def console_routes() -> list[Route]:
    """The page at `/`, and what it is made of. Only files that are there now have a path: no path leads elsewhere."""
    files = _load_files()
    page = files.pop("index.html")
    # Modules name each other; a browser that knows all of them fetches them at once.
    modules = ", ".join(f"</console/{name}>; rel=modulepreload" for name in sorted(files) if name.endswith(".js"))
    page = _File(page.content, {**page.headers, "Link": modules})
    return [_route("/", page), *(_route(f"/console/{name}", file) for name, file in files.items())]


def _load_files() -> dict[str, _File]:
    found = {}
    for folder, _, names in os.walk(_FOLDER):
        for name in names:
            kind = _TYPES.get(os.path.splitext(name)[1])
            if kind is not None:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, _FOLDER).replace(os.sep, "/")] = _load_file(path, kind)
    return found


def _load_file(path: str, kind: str) -> _File:
    with open(path, "rb") as file:
        content = file.read()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return _File(content, {**_HEADERS, "Content-Type": kind, "ETag": tag})


def _route(path: str, file: _File) -> Route:
    async def show(request: Request) -> Response:
        request.scope["operation"] = "console"
        known = request.headers.get("if-none-match", "")
        if file.headers["ETag"] in (one.strip().removeprefix("W/") for one in known.split(",")):
            return Response(status_code=304, headers=file.headers)
        return Response(file.content, headers=file.headers)

    return Route(path, show)
