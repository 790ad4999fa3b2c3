"""Subscriptions to what happens, and how the daemon is."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from clawft.protocol.base import Answer, Problem, Request

__all__ = ["GetStatus", "Status", "Subscribe", "Subscribed", "SubsystemHealth", "Topic", "Unsubscribe"]

Topic = Literal["skills", "approvals", "executions", "runs"]
_Topics = Annotated[tuple[Topic, ...], Meta(min_length=1, max_length=8)]


class Subscribe(Request, frozen=True, kw_only=True, tag="subscribe"):
    """Be told from now on: of `skills` that change, of questions (`approvals`), of `executions` and of `runs`."""

    topics: _Topics


class Unsubscribe(Request, frozen=True, kw_only=True, tag="unsubscribe"):
    """Be told no more."""

    topics: _Topics


class Subscribed(Answer, frozen=True, kw_only=True, tag="subscribed"):
    """What this connection is told of now, and the generation of the skills at that moment."""

    topics: tuple[Topic, ...]
    generation: int


class SubsystemHealth(Struct, frozen=True, kw_only=True):
    """One part of the daemon, and what is wrong with it."""

    name: str
    problem: Problem | None = None


class GetStatus(Request, frozen=True, kw_only=True, tag="get_status"):
    """How the daemon is."""


class Status(Answer, frozen=True, kw_only=True, tag="status"):
    """`watching` tells how changes on disk are seen; `you` and `scopes` who asks, as the daemon knows them.

    `executions`, `waiting` and `questions` count everybody's, also where the caller is shown only its own.
    """

    version: str
    started: str
    generation: int
    skills: int
    watching: str
    project: str
    model: str
    subsystems: tuple[SubsystemHealth, ...]
    executions: int
    waiting: int
    questions: int
    you: str
    scopes: tuple[str, ...]
