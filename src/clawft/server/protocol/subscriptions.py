"""What changed on disk, as everybody who subscribed to `skills` is told (R142)."""

from typing import Literal

from msgspec import Struct

from clawft.protocol.base import Answer, Problem

__all__ = ["Also", "Kind", "PathChange", "SkillChange", "SkillsChanged"]

Kind = Literal["added", "modified", "deleted"]
Also = Literal["config", "approvals", "agents", "hooks", "plugins"]


class SkillChange(Struct, frozen=True, kw_only=True):
    """One skill that came, went or changed. `was_state` is '' for one that was not there, `state` for one that went."""

    name: str
    scope: str
    state: str
    was_state: str
    path: str


class PathChange(Struct, frozen=True, kw_only=True):
    """One file or folder that was seen to change: R142's SkillReloadEvent."""

    path: str
    kind: Kind


class SkillsChanged(Answer, frozen=True, kw_only=True, tag="skills_changed"):
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
