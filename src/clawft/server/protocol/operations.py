"""The table of operations: request, answer, scope and HTTP route of each.

JSON Schemas are generated from the same message types, and so are the explanations of requests that do not decode.
"""

import re
from collections.abc import Iterator
from functools import reduce
from operator import or_
from typing import Any

import msgspec
from msgspec import Struct, inspect, structs

from clawft.errors import find_close
from clawft.server.protocol.envelope import VERSION, DaemonAnswer, DaemonRequest, Refusal, Scope
from clawft.server.protocol.executions import (
    AnswerQuestion,
    Cancel,
    Cancelled,
    Chat,
    ExecuteSkill,
    ExecutionFinished,
    ExecutionsList,
    ExecutionStarted,
    ListExecutions,
    ListQuestions,
    QuestionAnswered,
    QuestionAsked,
    QuestionClosed,
    QuestionsList,
    SkillResult,
    TurnEvent,
    TurnResult,
)
from clawft.server.protocol.records import (
    AnswerRun,
    AuditList,
    AuditVerdict,
    CancelRun,
    GetRun,
    GetSession,
    GetUsage,
    ListAudit,
    ListRuns,
    ListSessions,
    RetryRun,
    RunAnswer,
    RunsChanged,
    RunsList,
    RunStarted,
    SessionAnswer,
    SessionsList,
    StartRun,
    UsageAnswer,
    VerifyAudit,
)
from clawft.server.protocol.registries import (
    InstallPlan,
    InstallProgress,
    InstallSkill,
    ListRegistries,
    PlanInstall,
    RegistriesList,
    RegistryFound,
    SearchRegistry,
    SkillInstalled,
)
from clawft.server.protocol.skills import (
    ApproveSkill,
    BlockSkill,
    EnableSkill,
    GetSkill,
    GetSkillFile,
    ListSkills,
    ReviewSkill,
    RevokeSkill,
    ScanResult,
    ScanSkill,
    SearchSkills,
    SkillAnswer,
    SkillDecided,
    SkillFile,
    SkillReview,
    SkillsFound,
    SkillsList,
)
from clawft.server.protocol.subscriptions import (
    GetStatus,
    SkillsChanged,
    Status,
    Subscribe,
    Subscribed,
    Topic,
    Unsubscribe,
)


class Operation(Struct, frozen=True):
    """One thing a client may ask for. Without a `path` it is for connections that stay, and not for HTTP."""

    request: type[DaemonRequest]
    answer: type[DaemonAnswer]
    scope: Scope
    method: str = ""
    path: str = ""
    streams: bool = False  # events come before the answer

    @property
    def name(self) -> str:
        return type_name(self.request)

    @property
    def summary(self) -> str:
        """A summary of the operation: the docstring of its request."""
        return " ".join((self.request.__doc__ or "").split())


OPERATIONS = (
    Operation(ListSkills, SkillsList, "read", "GET", "/skills"),
    Operation(GetSkill, SkillAnswer, "read", "GET", "/skills/{name}"),
    Operation(GetSkillFile, SkillFile, "read", "GET", "/skills/{name}/file"),
    Operation(SearchSkills, SkillsFound, "read", "GET", "/search"),
    Operation(ScanSkill, ScanResult, "read", "POST", "/scan"),
    Operation(ExecuteSkill, SkillResult, "run", "POST", "/skills/{name}/execute", streams=True),
    Operation(Chat, TurnResult, "run", "POST", "/chat", streams=True),
    Operation(ListExecutions, ExecutionsList, "run", "GET", "/executions"),
    Operation(Cancel, Cancelled, "run", "POST", "/executions/{execution}/cancel"),
    Operation(ListQuestions, QuestionsList, "approve", "GET", "/questions"),
    Operation(AnswerQuestion, QuestionAnswered, "approve", "POST", "/questions/{question}"),
    Operation(ReviewSkill, SkillReview, "approve", "GET", "/skills/{name}/review"),
    Operation(ApproveSkill, SkillDecided, "approve", "POST", "/skills/{name}/approve"),
    Operation(RevokeSkill, SkillDecided, "approve", "POST", "/skills/{name}/revoke"),
    Operation(BlockSkill, SkillDecided, "approve", "POST", "/skills/{name}/block"),
    Operation(EnableSkill, SkillDecided, "approve", "POST", "/skills/{name}/enable"),
    Operation(GetStatus, Status, "read", "GET", "/status"),
    Operation(ListSessions, SessionsList, "admin", "GET", "/sessions"),
    Operation(GetSession, SessionAnswer, "admin", "GET", "/session"),  # a key may have any characters: not in a path
    Operation(ListRuns, RunsList, "admin", "GET", "/runs"),
    Operation(GetRun, RunAnswer, "run", "GET", "/runs/{run}"),
    Operation(StartRun, RunStarted, "run", "POST", "/runs"),
    Operation(CancelRun, RunAnswer, "run", "POST", "/runs/{run}/cancel"),
    Operation(RetryRun, RunAnswer, "run", "POST", "/runs/{run}/retry"),
    Operation(AnswerRun, RunAnswer, "approve", "POST", "/runs/{run}/answer"),
    Operation(GetUsage, UsageAnswer, "admin", "GET", "/usage"),
    Operation(ListAudit, AuditList, "admin", "GET", "/audit"),
    Operation(VerifyAudit, AuditVerdict, "admin", "GET", "/audit/verify"),
    Operation(ListRegistries, RegistriesList, "admin", "GET", "/registries"),
    Operation(SearchRegistry, RegistryFound, "admin", "GET", "/registries/search"),
    Operation(PlanInstall, InstallPlan, "admin", "POST", "/registries/plan", streams=True),
    Operation(InstallSkill, SkillInstalled, "admin", "POST", "/registries/install", streams=True),
    Operation(Subscribe, Subscribed, "read"),
    Operation(Unsubscribe, Subscribed, "read"),
)
# What comes without being an answer, by the topic that it is pushed for; None where it comes for one's own request.
PUSHED: dict[type[DaemonAnswer], Topic | None] = {
    Refusal: None,
    TurnEvent: None,
    QuestionAsked: "approvals",  # and for one's own request
    QuestionClosed: "approvals",
    ExecutionStarted: "executions",
    ExecutionFinished: "executions",
    SkillsChanged: "skills",
    RunsChanged: "runs",
    InstallProgress: None,
}
_BY_TYPE = {operation.request: operation for operation in OPERATIONS}
_ANSWERS = dict.fromkeys([*(operation.answer for operation in OPERATIONS), *PUSHED])
_decoder: msgspec.json.Decoder[DaemonRequest] = msgspec.json.Decoder(reduce(or_, _BY_TYPE))
_answer_decoder: msgspec.json.Decoder[DaemonAnswer] = msgspec.json.Decoder(reduce(or_, _ANSWERS))


def type_name(kind: type[Struct]) -> str:
    """The `type` that a message carries."""
    return str(kind.__struct_config__.tag)


def find_operation(request: DaemonRequest) -> Operation:
    return _BY_TYPE[type(request)]


def decode_request(text: bytes | str) -> DaemonRequest:
    """Raises: msgspec.DecodeError, msgspec.ValidationError for what is none."""
    return _decoder.decode(text)


def decode_answer(text: bytes | str) -> DaemonAnswer:
    """Raises: msgspec.DecodeError, msgspec.ValidationError for what this version does not know."""
    return _answer_decoder.decode(text)


# Every message there is, by its type.
MESSAGES: dict[str, type[DaemonRequest] | type[DaemonAnswer]] = {
    type_name(kind): kind
    for kind in (*(kind for operation in OPERATIONS for kind in (operation.request, operation.answer)), *PUSHED)
}


def schema_name(message: str) -> str:
    """The name that the schema of a message is published under."""
    return f"{message}.{VERSION}.json"


def schema_of(message: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a message, whole. Raises: KeyError."""
    document = msgspec.json.schema(MESSAGES[message])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": schema_name(message), **document}


def list_schemas() -> dict[str, Any]:
    """List every operation with the schemas of its request and answer, and the pushed messages by topic."""
    operations = [
        {
            "name": operation.name,
            "summary": operation.summary,
            "scope": operation.scope,
            "streams": operation.streams,
            "request": schema_name(operation.name),
            "answer": schema_name(type_name(operation.answer)),
        }
        for operation in OPERATIONS
    ]
    pushed = [
        {"name": type_name(kind), "topic": topic, "schema": schema_name(type_name(kind))}
        for kind, topic in PUSHED.items()
    ]
    return {"version": VERSION, "operations": operations, "pushed": pushed}


_UNKNOWN = re.compile(r"Object contains unknown field `(.{1,60}?)`")
_VALUE = re.compile(r"Invalid enum value .* at `\$\.(\w+)")


def explain_invalid_request(error: Exception, kind: type[DaemonRequest]) -> tuple[str, str]:
    """Return an explanation of the error, and a hint; '' where the explanation needs none."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply", ""
    message, fields = str(error), {field.encode_name: field.type for field in structs.fields(kind)}
    if found := _UNKNOWN.search(message):
        close = find_close(found[1], fields)
        meant = f"Did you mean '{close}'? " if close else ""
        return message, f"{meant}It has {', '.join(fields)}"
    if (found := _VALUE.search(message)) and found[1] in fields:
        values = [*dict.fromkeys(_values(inspect.type_info(fields[found[1]])))]
        return message, f"One of {', '.join(repr(value) for value in values)}" if values else ""
    return message, ""


def _values(info: Any) -> Iterator[object]:
    """All values that are written down for a type, or for what it holds."""
    match info:
        case inspect.LiteralType(values=values):
            yield from values
        case inspect.EnumType(cls=cls):
            yield from (member.value for member in cls)
        case inspect.Metadata(type=one) | inspect.VarTupleType(item_type=one):
            yield from _values(one)
        case inspect.UnionType(types=types):
            for member_type in types:
                yield from _values(member_type)
