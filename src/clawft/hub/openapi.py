"""What the hub answers, as an OpenAPI document: made from its routes, so that it says neither more nor less."""

import re
from collections.abc import Iterable
from typing import Any

from starlette.routing import BaseRoute, Route

from clawft import __version__

__all__ = ["describe_routes"]

_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
_WRITES = ("POST", "PUT", "DELETE")


def describe_routes(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for one in routes:
        if isinstance(one, Route):
            path = _PARAMETER.sub(r"{\1}", one.path)
            paths.setdefault(path, {}).update(_describe(one, path))
    return {
        "openapi": "3.1.0",
        "info": {"title": "weft hub", "version": __version__},
        "paths": dict(sorted(paths.items())),
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _describe(route: Route, path: str) -> dict[str, Any]:
    names = _PARAMETER.findall(path)
    parameters = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
    summary = " ".join((route.endpoint.__doc__ or "").split())
    return {
        method.lower(): {
            "summary": summary,
            "parameters": parameters,
            "responses": {"200": {"description": "Done"}, "4XX": {"description": "Why not, as a line of text"}},
            **({"security": [{"token": []}]} if method in _WRITES else {}),
        }
        for method in sorted(route.methods or ())
        if method != "HEAD"
    }
