"""Messages about executions: skills and chat turns, their events and results, and the questions that tools ask."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from clawft.messages import Answer as PersonAnswer
from clawft.messages import AnyEvent, Usage
from clawft.server.protocol.base import DaemonAnswer, DaemonRequest, Id, Key, Name, Problem, Words

Ended = Literal["done", "failed", "cancelled", "max_iterations", "length"]
Verdict = Literal["once", "session", "always", "no"]
_Model = Annotated[str, Meta(max_length=256)]


class ExecuteSkill(DaemonRequest, frozen=True, tag="execute_skill"):
    """Start a skill, as a person would with `/name arguments`. Events come as they happen, then `skill_result`."""

    name: Name
    arguments: Words = ""
    session: Key = ""
    model: _Model = ""
    agent: _Model = ""


class Chat(DaemonRequest, frozen=True, tag="chat"):
    """A message to the agent, in a session that is new or goes on. Events come as they happen, then `turn_result`."""

    text: Words
    session: Key = ""
    model: _Model = ""
    agent: _Model = ""


class TurnEvent(DaemonAnswer, frozen=True, kw_only=True, tag="event"):
    """Something that happened in a turn. `sequence` counts from 1, without gaps."""

    execution: Id
    sequence: int
    event: AnyEvent


class _Result(DaemonAnswer, frozen=True, kw_only=True):
    execution: Id
    session: str
    status: Ended
    text: str
    usage: Usage
    refused: int = 0
    events: int = 0
    error: Problem | None = None


class SkillResult(_Result, frozen=True, kw_only=True, tag="skill_result"):
    """The outcome of a skill's execution. `events` counts the events before it.

    `refused` counts the calls that were refused: by a rule, by a person, or since nobody could be asked. With `done`
    the model finished all the same; whether that is a success is for the caller to judge.
    """


class TurnResult(_Result, frozen=True, kw_only=True, tag="turn_result"):
    """The outcome of a message; its fields are those of `skill_result`."""


class Cancel(DaemonRequest, frozen=True, tag="cancel"):
    """End an execution. Its result says `cancelled`; what came so far is kept in its session."""

    execution: Id


class Cancelled(DaemonAnswer, frozen=True, kw_only=True, tag="cancelled"):
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


class ListExecutions(DaemonRequest, frozen=True, tag="list_executions"):
    """List the executions that run now: the caller's own, or all of them with the scope `admin`."""


class ExecutionsList(DaemonAnswer, frozen=True, kw_only=True, tag="executions_list"):
    executions: tuple[ExecutionEntry, ...]


class ExecutionStarted(DaemonAnswer, frozen=True, kw_only=True, tag="execution_started"):
    """To the subscribers of `executions`."""

    execution: ExecutionEntry


class ExecutionFinished(DaemonAnswer, frozen=True, kw_only=True, tag="execution_finished"):
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
    """A question that a tool asks before it acts. A dangerous one is answered each time by a person: once or no."""

    question: Id
    execution: Id
    session: str
    skill: str
    caller: str
    tool: str
    text: str
    call: str = ""  # of the tool, as the events of the work name it
    reason: str = ""
    dangerous: bool = field(default=False, name="grave")
    asked: str = ""
    until: str = ""


class ListQuestions(DaemonRequest, frozen=True, tag="list_questions"):
    """Questions that wait for an answer."""


class QuestionsList(DaemonAnswer, frozen=True, kw_only=True, tag="questions_list"):
    questions: tuple[Question, ...]


class AnswerQuestion(DaemonRequest, frozen=True, tag="answer_question"):
    """Answer a question: the first answer counts."""

    question: Id
    answer: Verdict


class QuestionAnswered(DaemonAnswer, frozen=True, kw_only=True, tag="question_answered"):
    question: Id
    answer: Verdict


class QuestionAsked(DaemonAnswer, frozen=True, kw_only=True, tag="question_asked"):
    """A new question, for clients that may answer: the one whose work asks, and the subscribers of `approvals`."""

    question: Question


class QuestionClosed(DaemonAnswer, frozen=True, kw_only=True, tag="question_closed"):
    """To the same: it was answered, nobody did in time (`nobody`), or the work that asked was ended (`cancelled`)."""

    question: Id
    answer: PersonAnswer | Literal["cancelled"]
    by: str = ""
