"""OpenAPI documents of the daemon and of the hub."""

import re
from collections.abc import Mapping
from typing import Any

from clawft import __version__

SECURED: list[dict[str, list[str]]] = [{"token": []}]
_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
_TEXT = {"type": "string"}


def make_openapi(title: str, paths: Mapping[str, Any], *, description: str = "", **components: Any) -> dict[str, Any]:
    """The document of a server; `paths` are written as its routes are."""
    described = {"description": description} if description else {}
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__, **described},
        "paths": {_PARAMETER.sub(r"{\1}", path): operations for path, operations in paths.items()},
        "components": {**components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def find_path_names(path: str) -> list[str]:
    """Return the names of the parameters in a path."""
    return _PARAMETER.findall(path)


def describe_path_parameters(path: str, schemas: Mapping[str, Any] = {}) -> list[dict[str, Any]]:
    """Describe the parameters in a path; one without a schema is a text."""
    return [
        {"name": name, "in": "path", "required": True, "schema": schemas.get(name, _TEXT)}
        for name in find_path_names(path)
    ]
