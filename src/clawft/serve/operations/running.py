"""Work: skills that are executed, messages, ending them, and answers to what tools ask."""

from typing import Any

from anyio import to_thread
from msgspec import structs

from clawft.protocol.base import Request
from clawft.protocol.running import (
    AnswerQuestion,
    Cancel,
    Cancelled,
    Chat,
    ExecuteSkill,
    ExecutionsList,
    ListExecutions,
    ListQuestions,
    QuestionAnswered,
    QuestionsList,
    SkillResult,
    TurnResult,
)
from clawft.serve.caller import Call
from clawft.serve.daemon import Daemon, Handler
from clawft.serve.executions import Outcome, Work

__all__ = ["HANDLERS"]


async def execute_skill(daemon: Daemon, call: Call, request: ExecuteSkill) -> SkillResult:
    app = (await daemon.registry.live.refresh()).app  # what was just decided, or turned off, counts
    # One that is not there is told before anything begins; what was meant is looked for in a thread: that takes long.
    await to_thread.run_sync(app.get_skill, request.name)
    work = Work(request.arguments, request.name, request.session, request.model, request.agent)
    return SkillResult(**_fields(await daemon.executions.run(call, work)))


async def chat(daemon: Daemon, call: Call, request: Chat) -> TurnResult:
    await daemon.registry.live.refresh()
    work = Work(request.text, "", request.session, request.model, request.agent)
    return TurnResult(**_fields(await daemon.executions.run(call, work)))


def _fields(outcome: Outcome) -> dict[str, Any]:
    return structs.asdict(outcome)


async def cancel(daemon: Daemon, call: Call, request: Cancel) -> Cancelled:
    daemon.executions.cancel(call.caller, request.execution)
    return Cancelled(execution=request.execution)


async def list_executions(daemon: Daemon, call: Call, _request: ListExecutions) -> ExecutionsList:
    return ExecutionsList(executions=tuple(one for one in daemon.executions.entries if call.caller.owns(one.caller)))


async def list_questions(daemon: Daemon, _call: Call, _request: ListQuestions) -> QuestionsList:
    return QuestionsList(questions=daemon.questions.waiting)


async def answer_question(daemon: Daemon, call: Call, request: AnswerQuestion) -> QuestionAnswered:
    daemon.questions.answer(call.caller, request.question, request.answer)
    return QuestionAnswered(question=request.question, answer=request.answer)


HANDLERS: dict[type[Request], Handler] = {
    ExecuteSkill: execute_skill,
    Chat: chat,
    Cancel: cancel,
    ListExecutions: list_executions,
    ListQuestions: list_questions,
    AnswerQuestion: answer_question,
}
