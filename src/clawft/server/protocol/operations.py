"""The one table of what a client may ask for: which message, what it is answered with, who may, and where over HTTP."""

from functools import reduce
from operator import or_

import msgspec
from msgspec import Struct

from clawft.protocol.audit import AuditList, AuditVerdict, ListAudit, VerifyAudit
from clawft.protocol.base import Answer, Refusal, Request, Scope
from clawft.protocol.changes import SkillsChanged
from clawft.protocol.deciding import (
    ApproveSkill,
    BlockSkill,
    EnableSkill,
    ReviewSkill,
    RevokeSkill,
    SkillDecided,
    SkillReview,
)
from clawft.protocol.registries import (
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
from clawft.protocol.running import (
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
from clawft.protocol.runs import (
    AnswerRun,
    CancelRun,
    GetRun,
    ListRuns,
    RetryRun,
    RunAnswer,
    RunsChanged,
    RunsList,
    RunStarted,
    StartRun,
)
from clawft.protocol.sessions import GetSession, ListSessions, SessionAnswer, SessionsList
from clawft.protocol.skills import (
    GetSkill,
    GetSkillFile,
    ListSkills,
    ScanResult,
    ScanSkill,
    SearchSkills,
    SkillAnswer,
    SkillFile,
    SkillsFound,
    SkillsList,
)
from clawft.protocol.usage import GetUsage, UsageAnswer
from clawft.protocol.watching import GetStatus, Status, Subscribe, Subscribed, Topic, Unsubscribe

__all__ = ["OPERATIONS", "PUSHED", "Operation", "decode_answer", "decode_request", "find_operation", "type_name"]


class Operation(Struct, frozen=True):
    """One thing a client may ask for. Without a `path` it is for connections that stay, and not for HTTP."""

    request: type[Request]
    answer: type[Answer]
    scope: Scope
    method: str = ""
    path: str = ""
    streams: bool = False  # events come before the answer

    @property
    def name(self) -> str:
        return type_name(self.request)

    @property
    def summary(self) -> str:
        """What it does: the words of the request."""
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
PUSHED: dict[type[Answer], Topic | None] = {
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
_BY_TYPE = {one.request: one for one in OPERATIONS}
_ANSWERS = dict.fromkeys([*(one.answer for one in OPERATIONS), *PUSHED])
_decoder: msgspec.json.Decoder[Request] = msgspec.json.Decoder(reduce(or_, _BY_TYPE))
_answer_decoder: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(reduce(or_, _ANSWERS))


def type_name(kind: type[Struct]) -> str:
    """The `type` that a message carries."""
    return str(kind.__struct_config__.tag)


def find_operation(request: Request) -> Operation:
    return _BY_TYPE[type(request)]


def decode_request(text: bytes | str) -> Request:
    """Raises: msgspec.DecodeError, msgspec.ValidationError for what is none."""
    return _decoder.decode(text)


def decode_answer(text: bytes | str) -> Answer:
    """Raises: msgspec.DecodeError, msgspec.ValidationError for what this version does not know."""
    return _answer_decoder.decode(text)
