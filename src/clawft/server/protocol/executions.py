"""Work: skills that are executed, messages of a chat, what they do meanwhile, and questions that tools ask."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from clawft.messages import Answer as PersonAnswer
from clawft.messages import AnyEvent, Usage
from clawft.protocol.base import Answer, Id, Key, Name, Problem, Request, Words

__all__ = [
    "AnswerQuestion",
    "Cancel",
    "Cancelled",
    "Chat",
    "Ended",
    "ExecuteSkill",
    "ExecutionEntry",
    "ExecutionFinished",
    "ExecutionStarted",
    "ExecutionsList",
    "ListExecutions",
    "ListQuestions",
    "Question",
    "QuestionAnswered",
    "QuestionAsked",
    "QuestionClosed",
    "QuestionsList",
    "SkillResult",
    "TurnEvent",
    "TurnResult",
    "Verdict",
]

Ended = Literal["done", "failed", "cancelled", "max_iterations", "length"]
Verdict = Literal["once", "session", "always", "no"]
_Model = Annotated[str, Meta(max_length=256)]


class ExecuteSkill(Request, frozen=True, kw_only=True, tag="execute_skill"):
    """Start a skill, as a person would with `/name arguments`. Events come as they happen, then `skill_result`."""

    name: Name
    arguments: Words = ""
    session: Key = ""
    model: _Model = ""
    agent: _Model = ""


class Chat(Request, frozen=True, kw_only=True, tag="chat"):
    """A message to the agent, in a session that is new or goes on. Events come as they happen, then `turn_result`."""

    text: Words
    session: Key = ""
    model: _Model = ""
    agent: _Model = ""


class TurnEvent(Answer, frozen=True, kw_only=True, tag="event"):
    """Something that happened in a turn. `sequence` counts from 1, without gaps."""

    execution: Id
    sequence: int
    event: AnyEvent


class _Result(Answer, frozen=True, kw_only=True):
    execution: Id
    session: str
    status: Ended
    text: str
    usage: Usage
    refused: int = 0
    events: int = 0
    error: Problem | None = None


class SkillResult(_Result, frozen=True, kw_only=True, tag="skill_result"):
    """How the execution of a skill ended, and how many `events` came before.

    `refused` counts what was kept back: by a rule, by a person's no, or since nobody could be asked. With `done` it
    says that the model came to an end all the same; whether that is a success is for whoever asked to say.
    """


class TurnResult(_Result, frozen=True, kw_only=True, tag="turn_result"):
    """How a message was answered: as `skill_result`."""


class Cancel(Request, frozen=True, kw_only=True, tag="cancel"):
    """End an execution. Its result says `cancelled`; what came so far is kept in its session."""

    execution: Id


class Cancelled(Answer, frozen=True, kw_only=True, tag="cancelled"):
    execution: Id


class ExecutionEntry(Struct, frozen=True, kw_only=True):
    """Work that goes on, or waits for its turn."""

    execution: Id
    session: str
    skill: str
    caller: str
    started: str
    waiting: bool = False
    events: int = 0


class ListExecutions(Request, frozen=True, kw_only=True, tag="list_executions"):
    """What goes on now: one's own, or with the scope `admin` everybody's."""


class ExecutionsList(Answer, frozen=True, kw_only=True, tag="executions_list"):
    executions: tuple[ExecutionEntry, ...]


class ExecutionStarted(Answer, frozen=True, kw_only=True, tag="execution_started"):
    """To the subscribers of `executions`."""

    execution: ExecutionEntry


class ExecutionFinished(Answer, frozen=True, kw_only=True, tag="execution_finished"):
    """To the subscribers of `executions`. `error` is the code of what went wrong."""

    execution: Id
    session: str
    skill: str
    status: Ended
    events: int
    caller: str = ""
    refused: int = 0
    error: str = ""
    ms: int = 0


class Question(Struct, frozen=True, kw_only=True):
    """A tool asks before it acts. A `grave` question is answered each time by a person: once or no."""

    question: Id
    execution: Id
    session: str
    skill: str
    caller: str
    tool: str
    text: str
    call: str = ""  # of the tool, as the events of the work name it
    reason: str = ""
    grave: bool = False
    asked: str = ""
    until: str = ""


class ListQuestions(Request, frozen=True, kw_only=True, tag="list_questions"):
    """Questions that wait for an answer."""


class QuestionsList(Answer, frozen=True, kw_only=True, tag="questions_list"):
    questions: tuple[Question, ...]


class AnswerQuestion(Request, frozen=True, kw_only=True, tag="answer_question"):
    """Answer a question: the first answer counts."""

    question: Id
    answer: Verdict


class QuestionAnswered(Answer, frozen=True, kw_only=True, tag="question_answered"):
    question: Id
    answer: Verdict


class QuestionAsked(Answer, frozen=True, kw_only=True, tag="question_asked"):
    """To whoever may answer: the client whose work asks, and the subscribers of `approvals`."""

    question: Question


class QuestionClosed(Answer, frozen=True, kw_only=True, tag="question_closed"):
    """To the same: it was answered, nobody did in time (`nobody`), or the work that asked was ended (`cancelled`)."""

    question: Id
    answer: PersonAnswer | Literal["cancelled"]
    by: str = ""
