"""Messages about subscriptions: topics, the changes of skills on disk, and the status of the daemon."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from clawft.server.protocol.base import DaemonAnswer, DaemonRequest, Problem

ChangeKind = Literal["added", "modified", "deleted"]
Also = Literal["config", "approvals", "agents", "hooks", "plugins"]


class SkillChange(Struct, frozen=True, kw_only=True):
    """One skill that came, went or changed. `was_state` is '' for one that was not there, `state` for one that went."""

    name: str
    scope: str
    state: str
    was_state: str
    path: str


class PathChange(Struct, frozen=True, kw_only=True):
    """One file or folder that was seen to change."""

    path: str
    kind: ChangeKind


class SkillsChanged(DaemonAnswer, frozen=True, kw_only=True, tag="skills_changed"):
    """A new generation is current; or, with `failed`, why the settings, or all of the old one, stay as they were.

    `also` names what else changed. `paths` are the first of the `seen` files and folders that a watcher saw change;
    there are none where the change was noticed without one.
    """

    generation: int
    at: str
    added: tuple[SkillChange, ...] = ()
    removed: tuple[SkillChange, ...] = ()
    changed: tuple[SkillChange, ...] = ()
    also: tuple[Also, ...] = ()
    paths: tuple[PathChange, ...] = ()
    seen: int = 0
    failed: Problem | None = None
    took_ms: float = 0.0


Topic = Literal["skills", "approvals", "executions", "runs"]
_Topics = Annotated[tuple[Topic, ...], Meta(min_length=1, max_length=8)]


class Subscribe(DaemonRequest, frozen=True, tag="subscribe"):
    """Subscribe to topics: changes of `skills`, questions (`approvals`), `executions` and `runs`."""

    topics: _Topics


class Unsubscribe(DaemonRequest, frozen=True, tag="unsubscribe"):
    """Unsubscribe from topics."""

    topics: _Topics


class Subscribed(DaemonAnswer, frozen=True, kw_only=True, tag="subscribed"):
    """The topics of this connection, and the generation of the skills at that moment."""

    topics: tuple[Topic, ...]
    generation: int


class SubsystemHealth(Struct, frozen=True, kw_only=True):
    """One part of the daemon, and what is wrong with it."""

    name: str
    problem: Problem | None = None


class GetStatus(DaemonRequest, frozen=True, tag="get_status"):
    """Return the daemon's status."""


class Status(DaemonAnswer, frozen=True, kw_only=True, tag="status"):
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
