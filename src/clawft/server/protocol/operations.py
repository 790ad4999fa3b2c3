"""The table of operations: request, answer, scope and HTTP route of each.

All else follows from it: the client's methods, the routes, the JSON Schemas, the OpenAPI description, and the
explanations of requests that do not decode. What does an operation is the function of its name in `server/operations/`.
"""

import re
from collections.abc import Callable, Coroutine, Iterator
from functools import reduce
from operator import or_
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

import msgspec
from msgspec import Struct, inspect, structs

from clawft.errors import find_close
from clawft.server.protocol import executions, records, registries, skills, subscriptions
from clawft.server.protocol.base import VERSION, DaemonAnswer, DaemonRequest, Refusal, TokenScope
from clawft.server.protocol.subscriptions import Topic

P = ParamSpec("P")
A = TypeVar("A", bound=DaemonAnswer)


class Requester(Protocol):
    """A client: it sends a request, and returns the answer."""

    async def request(self, request: DaemonRequest, answer: type[A]) -> A: ...


class Operation(Generic[P, A]):
    """One thing a client may ask for. Without a `route` it is for connections that stay, and not for HTTP.

    As a part of a client's class it is a method, which takes the fields of the request and returns the answer.
    """

    def __init__(
        self,
        request: Callable[P, DaemonRequest],
        answer: type[A],
        scope: TokenScope,
        route: str = "",
        *,
        streams: bool = False,
    ) -> None:
        self.request: type[DaemonRequest] = request  # type: ignore[assignment]  # a class, typed by how it is called
        self._make = request
        self.answer = answer
        self.scope = scope
        self.method, _, self.path = route.partition(" ")
        self.streams = streams  # events come before the answer
        self.name = type_name(self.request)
        self.summary = " ".join((self.request.__doc__ or "").split())

    def __get__(self, client: Requester, _owner: type) -> Callable[P, Coroutine[Any, Any, A]]:
        async def ask(*values: P.args, **named: P.kwargs) -> A:
            return await client.request(self._make(*values, **named), self.answer)

        return ask


def type_name(kind: type[Struct]) -> str:
    """The `type` that a message carries."""
    return str(kind.__struct_config__.tag)


class ClientMethods:
    """The table. What begins with `_` is not a method of the client as it is: its work, and its subscriptions."""

    list_skills = Operation(skills.ListSkills, skills.SkillsList, "read", "GET /skills")
    get_skill = Operation(skills.GetSkill, skills.SkillAnswer, "read", "GET /skills/{name}")
    get_skill_file = Operation(skills.GetSkillFile, skills.SkillFile, "read", "GET /skills/{name}/file")
    search_skills = Operation(skills.SearchSkills, skills.SkillsFound, "read", "GET /search")
    scan_skill = Operation(skills.ScanSkill, skills.ScanResult, "read", "POST /scan")
    _execute = Operation(
        executions.ExecuteSkill, executions.SkillResult, "run", "POST /skills/{name}/execute", streams=True
    )
    _chat = Operation(executions.Chat, executions.TurnResult, "run", "POST /chat", streams=True)
    list_executions = Operation(executions.ListExecutions, executions.ExecutionsList, "run", "GET /executions")
    cancel = Operation(executions.Cancel, executions.Cancelled, "run", "POST /executions/{execution}/cancel")
    list_questions = Operation(executions.ListQuestions, executions.QuestionsList, "approve", "GET /questions")
    answer_question = Operation(
        executions.AnswerQuestion, executions.QuestionAnswered, "approve", "POST /questions/{question}"
    )
    review_skill = Operation(skills.ReviewSkill, skills.SkillReview, "approve", "GET /skills/{name}/review")
    approve_skill = Operation(skills.ApproveSkill, skills.SkillDecided, "approve", "POST /skills/{name}/approve")
    revoke_skill = Operation(skills.RevokeSkill, skills.SkillDecided, "approve", "POST /skills/{name}/revoke")
    block_skill = Operation(skills.BlockSkill, skills.SkillDecided, "approve", "POST /skills/{name}/block")
    enable_skill = Operation(skills.EnableSkill, skills.SkillDecided, "approve", "POST /skills/{name}/enable")
    get_status = Operation(subscriptions.GetStatus, subscriptions.Status, "read", "GET /status")
    list_sessions = Operation(records.ListSessions, records.SessionsList, "admin", "GET /sessions")
    get_session = Operation(records.GetSession, records.SessionAnswer, "admin", "GET /session")  # a key: any characters
    list_runs = Operation(records.ListRuns, records.RunsList, "admin", "GET /runs")
    get_run = Operation(records.GetRun, records.RunAnswer, "run", "GET /runs/{run}")
    start_run = Operation(records.StartRun, records.RunStarted, "run", "POST /runs")
    cancel_run = Operation(records.CancelRun, records.RunAnswer, "run", "POST /runs/{run}/cancel")
    retry_run = Operation(records.RetryRun, records.RunAnswer, "run", "POST /runs/{run}/retry")
    answer_run = Operation(records.AnswerRun, records.RunAnswer, "approve", "POST /runs/{run}/answer")
    get_usage = Operation(records.GetUsage, records.UsageAnswer, "admin", "GET /usage")
    list_audit = Operation(records.ListAudit, records.AuditList, "admin", "GET /audit")
    verify_audit = Operation(records.VerifyAudit, records.AuditVerdict, "admin", "GET /audit/verify")
    list_registries = Operation(registries.ListRegistries, registries.RegistriesList, "admin", "GET /registries")
    search_registry = Operation(registries.SearchRegistry, registries.RegistryFound, "admin", "GET /registries/search")
    plan_install = Operation(
        registries.PlanInstall, registries.InstallPlan, "admin", "POST /registries/plan", streams=True
    )
    install_skill = Operation(
        registries.InstallSkill, registries.SkillInstalled, "admin", "POST /registries/install", streams=True
    )
    _subscribe = Operation(subscriptions.Subscribe, subscriptions.Subscribed, "read")
    _unsubscribe = Operation(subscriptions.Unsubscribe, subscriptions.Subscribed, "read")


AnyOperation = Operation[..., DaemonAnswer]
OPERATIONS: tuple[AnyOperation, ...] = tuple(
    operation for operation in vars(ClientMethods).values() if isinstance(operation, Operation)
)
# What comes without being an answer, by the topic that it is pushed for; None where it comes for one's own request.
PUSHED: dict[type[DaemonAnswer], Topic | None] = {
    Refusal: None,
    executions.TurnEvent: None,
    executions.QuestionAsked: "approvals",  # and for one's own request
    executions.QuestionClosed: "approvals",
    executions.ExecutionStarted: "executions",
    executions.ExecutionFinished: "executions",
    subscriptions.SkillsChanged: "skills",
    records.RunsChanged: "runs",
    registries.InstallProgress: None,
}
_BY_TYPE = {operation.request: operation for operation in OPERATIONS}
_ANSWERS = dict.fromkeys([*(operation.answer for operation in OPERATIONS), *PUSHED])
_decoder: msgspec.json.Decoder[DaemonRequest] = msgspec.json.Decoder(reduce(or_, _BY_TYPE))
_answer_decoder: msgspec.json.Decoder[DaemonAnswer] = msgspec.json.Decoder(reduce(or_, _ANSWERS))


def find_operation(request: DaemonRequest) -> AnyOperation:
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
