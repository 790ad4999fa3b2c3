"""What the tools are given and give: values, whose JSON Schemas are what clients are shown."""

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from clawft.errors import ClawftError
from clawft.messages import Usage
from clawft.protocol.base import Key, Name, Problem, Words
from clawft.protocol.running import Ended
from clawft.protocol.skills import State

__all__ = [
    "ExecuteArguments",
    "ExecuteOutput",
    "FindingLine",
    "FoundLine",
    "ListArguments",
    "ListOutput",
    "ScanArguments",
    "ScanOutput",
    "SearchArguments",
    "SearchOutput",
    "SkillLine",
    "Which",
    "read_arguments",
    "schema_of",
]

Which = State | Literal["usable", "all"]
T = TypeVar("T", bound=Struct)


class _Given(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class ExecuteArguments(_Given, frozen=True, kw_only=True):
    name: Annotated[Name, Meta(description="The skill's name, as skill-list gives it.")]
    arguments: Annotated[Words, Meta(description="What it is to work on, as it would be typed after its name.")] = ""
    session: Annotated[Key, Meta(description="The session of an earlier result, to go on in it.")] = ""


class ListArguments(_Given, frozen=True, kw_only=True):
    state: Annotated[Which, Meta(description="Those of one state; 'usable', or 'all'.")] = "usable"


class SearchArguments(_Given, frozen=True, kw_only=True):
    query: Annotated[str, Meta(min_length=1, max_length=2_000, description="What is to be done, in any words.")]
    limit: Annotated[int, Meta(ge=1, le=100)] = 10


class ScanArguments(_Given, frozen=True, kw_only=True):
    name: Annotated[Name, Meta(description="The skill's name, as skill-list gives it.")]


class ExecuteOutput(Struct, frozen=True, kw_only=True):
    execution: str
    session: str
    status: Ended
    text: str
    usage: Usage
    refused: Annotated[int, Meta(description="How often a policy kept a tool from acting.")]
    events: int
    error: Problem | None


class SkillLine(Struct, frozen=True, kw_only=True):
    name: str
    description: str
    state: State
    scope: str
    version: str
    why: Annotated[str, Meta(description="Why it is not ready, where it is not.")]


class ListOutput(Struct, frozen=True, kw_only=True):
    generation: Annotated[int, Meta(description="It grows whenever something on disk changed.")]
    skills: tuple[SkillLine, ...]


class FoundLine(Struct, frozen=True, kw_only=True):
    name: str
    description: str
    state: State
    score: float


class SearchOutput(Struct, frozen=True, kw_only=True):
    query: str
    results: tuple[FoundLine, ...]


class FindingLine(Struct, frozen=True, kw_only=True):
    rule: str
    severity: str
    message: str
    path: str
    line: int
    why: str
    fix: str


class ScanOutput(Struct, frozen=True, kw_only=True):
    name: str
    verdict: Literal["clean", "suspicious", "malicious"]
    findings: tuple[FindingLine, ...]


def schema_of(kind: type[Struct]) -> dict[str, Any]:
    """The JSON Schema of a value, which is an object at its root: what clients ask for."""
    (root,), others = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    own = others.pop(root["$ref"].rpartition("/")[2])
    return {**own, **({"$defs": others} if others else {})}


def read_arguments(given: dict[str, Any] | None, kind: type[T]) -> T:
    """Raises: ClawftError for what the schema does not have."""
    try:
        return msgspec.convert(given or {}, kind)
    except msgspec.ValidationError as error:
        raise ClawftError("request-invalid", str(error), hint="The tool's input schema tells what it takes") from error
