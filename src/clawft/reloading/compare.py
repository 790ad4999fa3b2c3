"""What is different between two generations, as people and programs are told of it."""

from clawft.protocol.changes import Also, SkillChange, SkillsChanged
from clawft.reloading.generation import Generation
from clawft.trust import Standing

__all__ = ["compare"]


def compare(before: Generation, after: Generation) -> SkillsChanged | None:
    """What changed; None where nobody could tell the two apart."""
    old = {(one.found.file, one.name): one for one in before.app.skills}
    new = {(one.found.file, one.name): one for one in after.app.skills}
    added = tuple(_tell(one, one.state, "") for key, one in new.items() if key not in old)
    removed = tuple(_tell(one, "", one.state) for key, one in old.items() if key not in new)
    both = ((old[key], one) for key, one in new.items() if key in old)
    changed = tuple(_tell(one, one.state, was.state) for was, one in both if was != one)
    also: list[Also] = []
    if _settings(before) != _settings(after):
        also.append("config")
    if before.app.agents != after.app.agents:
        also.append("agents")
    if not (added or removed or changed or also):
        return None
    return SkillsChanged(
        generation=after.number, at=after.at, added=added, removed=removed, changed=changed, also=tuple(also)
    )


def _settings(one: Generation) -> tuple[object, ...]:
    config = one.app.config  # its sections are decoded when they are asked for, so they do not count
    return config.values, config.skills, config.files, config.diagnostics


def _tell(one: Standing, state: str, was_state: str) -> SkillChange:
    at = one.found.location.scope
    return SkillChange(name=one.name, scope=at, state=state, was_state=was_state, path=one.found.file)
