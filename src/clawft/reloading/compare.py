"""What is different between two generations, as people and programs are told of it."""

from collections.abc import Iterator

from clawft.errors import Diagnostic
from clawft.protocol.changes import Also, SkillChange, SkillsChanged
from clawft.reloading.generation import Generation
from clawft.trust import Standing

__all__ = ["compare"]


def compare(before: Generation, after: Generation) -> SkillsChanged | None:
    """What changed; None where nobody could tell the two apart."""
    same = set(map(id, before.app.skills)) & set(map(id, after.app.skills))  # most are taken over
    old = {(one.found.file, one.name): one for one in before.app.skills if id(one) not in same}
    new = {(one.found.file, one.name): one for one in after.app.skills if id(one) not in same}
    added = tuple(_tell(one, one.state, "") for key, one in new.items() if key not in old)
    removed = tuple(_tell(one, "", one.state) for key, one in old.items() if key not in new)
    both = ((old[key], one) for key, one in new.items() if key in old)
    changed = tuple(_tell(one, one.state, was.state) for was, one in both if _differs(was, one))
    also = tuple(_find_else(before, after))
    if not (added or removed or changed or also or _said(before) != _said(after)):
        return None
    return SkillsChanged(generation=after.number, at=after.at, added=added, removed=removed, changed=changed, also=also)


def _differs(was: Standing, one: Standing) -> bool:
    return was.found is not one.found or was.state != one.state or was.reasons != one.reasons


def _find_else(before: Generation, after: Generation) -> Iterator[Also]:
    """What changed beside skills."""
    old, new = before.read, after.read
    if _settings(before) != _settings(after):
        yield "config"
    if old is None or new is None or old.stamps.decided(old.depends) != new.stamps.decided(new.depends):
        yield "approvals"
    if before.app.agents != after.app.agents:
        yield "agents"
    if old is None or new is None or old.stamps.hook_state(old.depends) != new.stamps.hook_state(new.depends):
        yield "hooks"
    if old is None or new is None or old.stamps.plugins != new.stamps.plugins:
        yield "plugins"


def _said(one: Generation) -> tuple[Diagnostic, ...]:
    return one.app.catalog.diagnostics


def _settings(one: Generation) -> tuple[object, ...]:
    config = one.app.config  # its sections are decoded when they are asked for, so they do not count
    return config.values, config.skills, config.files, config.diagnostics


def _tell(one: Standing, state: str, was_state: str) -> SkillChange:
    at = one.found.location.scope
    return SkillChange(name=one.name, scope=at, state=state, was_state=was_state, path=one.found.file)
