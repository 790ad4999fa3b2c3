"""JSON Schemas of every message, made of the values themselves: what is published is what is checked."""

from typing import Any

import msgspec

from clawft.protocol.base import VERSION, Answer, Refusal, Request
from clawft.protocol.changes import SkillsChanged
from clawft.protocol.operations import OPERATIONS, type_name
from clawft.protocol.running import ExecutionFinished, ExecutionStarted, QuestionAsked, QuestionClosed, TurnEvent

__all__ = ["MESSAGES", "PUSHED", "schema_name", "schema_of"]

# What comes without an answer being due, or before it.
PUSHED: tuple[type[Answer], ...] = (
    TurnEvent,
    Refusal,
    SkillsChanged,
    ExecutionStarted,
    ExecutionFinished,
    QuestionAsked,
    QuestionClosed,
)
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
