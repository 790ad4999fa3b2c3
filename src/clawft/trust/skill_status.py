"""The state of a skill, and why (DESIGN.md). One function decides it; every surface prints its answer."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from clawft.config import SkillEntry, SkillsSettings
from clawft.discovery.agents import FoundAgent
from clawft.discovery.catalog import Catalog, Found
from clawft.discovery.requirements import Host, check_requirements
from clawft.errors import Diagnostic, Severity
from clawft.format.model import Skill

if TYPE_CHECKING:
    from clawft.trust.blocking import Scanned

__all__ = [
    "STATES",
    "AgentStanding",
    "Standing",
    "State",
    "is_copy",
    "judge_agents",
    "judge_each",
    "judge_skills",
    "judge_together",
]

State = Literal["broken", "shadowed", "disabled", "blocked", "untrusted", "ineligible", "manual", "ready"]
STATES: dict[State, str] = {
    "broken": "it cannot be read",
    "shadowed": "another skill of this name comes first",
    "disabled": "the config turns it off",
    "blocked": "the scanner found an attack in it, or could not look at it",
    "untrusted": "it is a stranger's, and nobody approved it as it is now",
    "ineligible": "something it requires is missing",
    "manual": "only a person may start it",
    "ready": "a model may be offered it",
}
_USABLE = frozenset({"ineligible", "manual", "ready"})
_WORSE_THAN_UNTRUSTED = frozenset({"broken", "disabled", "blocked"})
_NO_ENTRY = SkillEntry()


class Standing(Struct, frozen=True):
    """One skill with its state and the reasons for it."""

    found: Found
    state: State
    reasons: tuple[Diagnostic, ...] = ()

    @property
    def name(self) -> str:
        return self.found.name

    @property
    def offered(self) -> bool:
        """Whether a model is told of it."""
        return self.state == "ready"

    @property
    def usable(self) -> bool:
        """Whether it is the one that its name stands for."""
        return self.state in _USABLE

    @property
    def user_may_invoke(self) -> bool:
        started = self.usable or self.state == "shadowed"
        return started and self.found.skill is not None and self.found.skill.user_invocable


class AgentStanding(Struct, frozen=True):
    """One agent with its state and the reasons for it."""

    found: FoundAgent
    state: State
    reasons: tuple[Diagnostic, ...] = ()


def judge_skills(
    catalog: Catalog,
    settings: SkillsSettings,
    host: Host,
    scanned: "Scanned | None" = None,
    distrust: Callable[[Found], Diagnostic | None] = lambda _: None,
) -> tuple[Standing, ...]:
    """The state of every skill found, in the order found.

    Without `scanned` none is blocked; `distrust` tells why a skill is untrusted, if it is.
    """
    return judge_together(judge_each(catalog.found, settings, host, scanned, distrust))


def judge_each(
    found: Sequence[Found],
    settings: SkillsSettings,
    host: Host,
    scanned: "Scanned | None" = None,
    distrust: Callable[[Found], Diagnostic | None] = lambda _: None,
) -> list[Standing]:
    """The state of each skill as if it were the only one of its name."""
    standings = [_judge(one, settings, host) for one in found]
    if scanned is not None:
        standings = [_screen(one, scanned, number) for number, one in enumerate(standings)]
    return [_distrust(one, distrust) for one in standings]


def judge_together(standings: Sequence[Standing]) -> tuple[Standing, ...]:
    """The same where some share a name: one of them wins."""
    return tuple(_shadow(list(standings)))


def _distrust(standing: Standing, distrust: Callable[[Found], Diagnostic | None]) -> Standing:
    """A standing with what speaks against its origin: untrusted, or as it was."""
    if standing.state in _WORSE_THAN_UNTRUSTED or (objection := distrust(standing.found)) is None:
        return standing
    said = tuple(one for one in standing.reasons if one.code.startswith("scan-"))
    return Standing(standing.found, "untrusted", (objection, *said))


def _screen(standing: Standing, scanned: "Scanned", number: int) -> Standing:
    """A standing with what the scanner says: blocked, or as it was with that said too."""
    screening = scanned.screenings[number]
    if screening is None or standing.state in ("broken", "disabled"):
        return standing
    from clawft.trust.blocking import check_screening  # most skills are clean

    blocked, said = check_screening(standing.found, screening, scanned)
    if blocked:
        return Standing(standing.found, "blocked", said)
    return structs.replace(standing, reasons=(*standing.reasons, *said))


def _judge(found: Found, settings: SkillsSettings, host: Host) -> Standing:
    """The state of a skill as if it were alone; the first match wins."""
    skill = found.skill
    if skill is None:
        return Standing(found, "broken", found.diagnostics)
    key = skill.name if skill.name in settings.entries else skill.skill_key
    entry = settings.entries.get(key, _NO_ENTRY)
    off = _why_disabled(found, key, settings, entry)
    if off:
        return Standing(found, "disabled", (Diagnostic("disabled", "note", off, found.file),))
    if _requires_anything(skill) and (unmet := check_requirements(skill, host, entry, found.file)):
        return Standing(found, "ineligible", unmet)
    if skill.disable_model_invocation:
        reason = Diagnostic(
            "manual", "note", "It keeps models from starting it: a person starts it by name", found.file
        )
        return Standing(found, "manual", (reason,))
    if not skill.description:
        reason = Diagnostic("manual", "warning", "It has no description, so a model could not choose it", found.file)
        return Standing(found, "manual", (reason,))
    return Standing(found, "ready")


def _requires_anything(skill: Skill) -> bool:
    return skill.requires != _NO_REQUIRES


_NO_REQUIRES = Skill(name="-").requires


def _why_disabled(found: Found, key: str, settings: SkillsSettings, entry: SkillEntry) -> str:
    if not settings.enabled:
        return "The config has skills.enabled = false"
    if not entry.enabled:
        return f"The config has skills.entries.{key}.enabled = false"
    bundled = settings.allow_bundled
    if found.location.scope == "bundled" and bundled is not None and found.name not in bundled:
        return "The config's skills.allow_bundled does not name it"
    return ""


def _shadow(standings: list[Standing]) -> list[Standing]:
    """Let the first usable skill of a name hide the later ones; an unusable one hides nothing."""
    by_name: dict[str, list[int]] = {}
    for index, standing in enumerate(standings):
        by_name.setdefault(standing.name, []).append(index)
    for name, indexes in by_name.items():
        if len(indexes) == 1:
            continue
        first = next((index for index in indexes if standings[index].usable), None)
        if first is None:
            continue
        if standings[first].found.location.scope == "mcp":
            _keep_apart(standings, indexes)
            continue
        for index in indexes:
            if index < first:
                standings[index] = _not_hiding(standings[index], standings[first])
            elif index > first and standings[index].usable and is_copy(standings[index].found, standings[first].found):
                standings[index] = _copied(standings[index], standings[first])
            elif index > first and standings[index].usable:
                standings[first] = _overriding(standings[first], standings[index])
                standings[index] = _hidden(standings[index], standings[first], name)
    return standings


def _keep_apart(standings: list[Standing], indexes: list[int]) -> None:
    """What an MCP server served takes the place of nothing: not of another's skill that is not usable now, and not of
    another server's. It is still there by the server's name."""
    for index in indexes:
        one = standings[index]
        prefix = one.found.location.prefix
        other = next((standings[at] for at in indexes if standings[at].found.location.prefix != prefix), None)
        if one.usable and other is not None:
            message = f"{_where(other)} has '{one.name}' too, and no MCP server's skill takes the place of another's"
            said = Diagnostic("shadowed", "warning", message, other.found.file, 0, f"Name it as {prefix}:{one.name}")
            standings[index] = Standing(one.found, "shadowed", (said,))


def is_copy(found: Found, other: Found) -> bool:
    """Whether two skills of one scope are one, in the folders of two clients: what `install --to` makes."""
    same = found.location.scope == other.location.scope and found.skill == other.skill
    if not same or not found.base_dir or os.path.basename(found.folder) != os.path.basename(other.folder):
        return False
    from clawft.discovery.digest import compute_digest  # few are alike up to here

    digest = compute_digest(found.folder).value
    return bool(digest) and digest == compute_digest(other.folder).value


def _copied(copy: Standing, winner: Standing) -> Standing:
    message = f"It is a copy of the one in {_where(winner)}, which comes first"
    return Standing(copy.found, "shadowed", (Diagnostic("skill-copy", "note", message, winner.found.file),))


def _where(standing: Standing) -> str:
    at = standing.found.location
    return f"{at.scope} ({at.layer})" if at.layer != at.scope else at.scope


def _hidden(loser: Standing, winner: Standing, name: str) -> Standing:
    where, prefix = _where(winner), loser.found.location.prefix
    hint = f"Name it as {prefix}:{name}" if winner.found.location.prefix != prefix else "Rename one"
    return Standing(
        loser.found,
        "shadowed",
        (Diagnostic("shadowed", "warning", f"{where} has '{name}' too and comes first", winner.found.file, 0, hint),),
    )


def _overriding(winner: Standing, loser: Standing) -> Standing:
    """R116: that a skill takes the place of another of its name is said, and a project's warned of."""
    above, below = winner.found.location.scope, loser.found.location.scope
    severity: Severity = "warning" if above == "project" and below != above else "note"
    message, hint = f"It takes the place of the one in {below}", f"The other: {loser.found.file}"
    said = Diagnostic("overrides", severity, message, winner.found.file, 0, hint)
    return structs.replace(winner, reasons=(*winner.reasons, said))


def _not_hiding(unusable: Standing, winner: Standing) -> Standing:
    message = f"The usable '{winner.name}' of {winner.found.location.scope} stays in use in its place"
    note = Diagnostic("not-hiding", "warning", message, winner.found.file)
    return structs.replace(unusable, reasons=(*unusable.reasons, note))


def judge_agents(
    found: tuple[FoundAgent, ...], distrust: Callable[[FoundAgent], Diagnostic | None] = lambda _: None
) -> tuple[AgentStanding, ...]:
    """The state of every agent: broken, untrusted, shadowed by an earlier one of its name, or ready."""
    standings: list[AgentStanding] = []
    winners: dict[str, int] = {}
    for one in found:
        if one.agent is None:
            standings.append(AgentStanding(one, "broken", (one.problem,) if one.problem else ()))
        elif (objection := distrust(one)) is not None:
            standings.append(AgentStanding(one, "untrusted", (objection,)))
        elif one.name in winners:
            winner = standings[winners[one.name]]
            reason = Diagnostic(
                "shadowed", "note", f"{winner.found.scope} has '{one.name}' too and comes first", winner.found.file
            )
            standings.append(AgentStanding(one, "shadowed", (reason,)))
            severity: Severity = "warning" if winner.found.scope == "project" else "note"
            said = Diagnostic("overrides", severity, f"It takes the place of the one in {one.scope}", winner.found.file)
            standings[winners[one.name]] = structs.replace(winner, reasons=(*winner.reasons, said))
        else:
            winners[one.name] = len(standings)
            standings.append(AgentStanding(one, "ready"))
    return tuple(standings)
