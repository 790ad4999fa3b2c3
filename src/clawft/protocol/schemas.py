"""JSON Schemas of every message, made of the values themselves: what is published is what is checked."""

from typing import Any

import msgspec

from clawft.protocol.base import VERSION, Answer, Request
from clawft.protocol.operations import OPERATIONS, PUSHED, type_name

__all__ = ["MESSAGES", "list_schemas", "schema_name", "schema_of"]

# Every message there is, by its type.
MESSAGES: dict[str, type[Request] | type[Answer]] = {
    type_name(kind): kind for kind in (*(kind for one in OPERATIONS for kind in (one.request, one.answer)), *PUSHED)
}


def schema_name(message: str) -> str:
    """The name that the schema of a message is published under."""
    return f"{message}.{VERSION}.json"


def schema_of(message: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a message, whole. Raises: KeyError."""
    document = msgspec.json.schema(MESSAGES[message])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": schema_name(message), **document}


def list_schemas() -> dict[str, Any]:
    """What there is: every operation with what is asked and answered, and what comes of itself, by topic."""
    operations = [
        {
            "name": one.name,
            "summary": one.summary,
            "scope": one.scope,
            "streams": one.streams,
            "request": schema_name(one.name),
            "answer": schema_name(type_name(one.answer)),
        }
        for one in OPERATIONS
    ]
    pushed = [
        {"name": type_name(kind), "topic": topic, "schema": schema_name(type_name(kind))}
        for kind, topic in PUSHED.items()
    ]
    return {"version": VERSION, "operations": operations, "pushed": pushed}
