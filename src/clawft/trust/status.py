"""The status of skills, agents, hooks and plugins: a state with its reasons; how skills and agents are judged."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

from msgspec import Struct, structs

from clawft.config import SkillEntry, SkillsSettings
from clawft.errors import Diagnostic, Severity
from clawft.skills.discovery.agents import DiscoveredAgent
from clawft.skills.discovery.catalog import Catalog, DiscoveredSkill
from clawft.skills.discovery.requirements import LocalMachine, check_requirements
from clawft.skills.parse.model import Skill

if TYPE_CHECKING:
    from clawft.trust.overrides import ScreenedSkills


SkillState = Literal["broken", "shadowed", "disabled", "blocked", "untrusted", "ineligible", "manual", "ready"]
ServedState = Literal["approved", "changed", "waiting", "refused", "unlisted"]  # of a skill that an MCP server offers
STATES: dict[SkillState, str] = {
    "broken": "it cannot be read",
    "shadowed": "another skill of this name comes first",
    "disabled": "the config turns it off",
    "blocked": "the scanner found an attack in it, or could not look at it",
    "untrusted": "it is a stranger's, and nobody approved it as it is now",
    "ineligible": "something it requires is missing",
    "manual": "only a person may start it",
    "ready": "a model may be offered it",
}
HOOK_STATES: dict[SkillState, str] = {
    **{state: why for state, why in STATES.items() if state != "manual"},
    "shadowed": "another hook of this name comes first",
    "ready": "it runs at its events",
}
PLUGIN_STATES: dict[SkillState, str] = {
    "broken": "its manifest cannot be used",
    "shadowed": "another plugin of this id comes first",
    "disabled": "the config turns it off",
    "untrusted": "nobody granted it anything as it is now",
    "ineligible": "it needs another version, other settings, or something that is not here",
    "ready": "it may be used, with what it was granted",
}
SERVED_STATES: dict[ServedState, str] = {
    "approved": "it may be used as it is now",
    "changed": "it is not what was approved any more",
    "waiting": "nobody approved it",
    "refused": "it breaks a rule of the extension",
    "unlisted": "it was approved, and the server does not list it",
}
_USABLE = frozenset({"ineligible", "manual", "ready"})


class Named(Protocol):
    """Anything found on disk that goes by a name."""

    @property
    def name(self) -> str: ...

    @property
    def file(self) -> str: ...


FoundT = TypeVar("FoundT", bound=Named, covariant=True)
StateT = TypeVar("StateT", bound=str, covariant=True)


class TrustStatus(Struct, Generic[FoundT, StateT], frozen=True):
    """A skill, an agent, a hook, command hooks or a plugin, with its state and the reasons for it."""

    found: FoundT
    state: StateT
    reasons: tuple[Diagnostic, ...] = ()
    name: str = ""  # of what was found

    def __post_init__(self) -> None:
        if not self.name:
            structs.force_setattr(self, "name", self.found.name)

    @property
    def file(self) -> str:
        return self.found.file

    @property
    def offered(self) -> bool:
        """Return whether a model is offered it."""
        return self.state == "ready"

    @property
    def usable(self) -> bool:
        """Return whether it is the one that its name refers to."""
        return self.state in _USABLE


_WORSE_THAN_UNTRUSTED = frozenset({"broken", "disabled", "blocked"})
_NO_ENTRY = SkillEntry()


class SkillStatus(TrustStatus[DiscoveredSkill, SkillState], frozen=True):
    """The status of a skill."""

    @property
    def user_may_invoke(self) -> bool:
        started = self.usable or self.state == "shadowed"
        return started and self.found.skill is not None and self.found.skill.user_invocable


AgentStatus = TrustStatus[DiscoveredAgent, SkillState]


def find_skill(skills: Sequence[SkillStatus], reference: str) -> SkillStatus | None:
    """Find the skill of a name, or of `scope:name` or `plugin:name`: the one that may be used, else the first."""
    scope, colon, bare = reference.rpartition(":")
    named = [
        skill for skill in skills if skill.name == bare and (not colon or skill.found.location.matches_reference(scope))
    ]
    return next((skill for skill in named if skill.usable), named[0] if named else None)


def judge_skills(
    catalog: Catalog,
    settings: SkillsSettings,
    host: LocalMachine,
    scanned: "ScreenedSkills | None" = None,
    distrust: Callable[[DiscoveredSkill], Diagnostic | None] = lambda _: None,
) -> tuple[SkillStatus, ...]:
    """The state of every skill found, in the order found.

    Without `scanned` none is blocked; `distrust` tells why a skill is untrusted, if it is.
    """
    return judge_together(judge_each(catalog.found, settings, host, scanned, distrust))


def judge_each(
    found: Sequence[DiscoveredSkill],
    settings: SkillsSettings,
    host: LocalMachine,
    scanned: "ScreenedSkills | None" = None,
    distrust: Callable[[DiscoveredSkill], Diagnostic | None] = lambda _: None,
) -> list[SkillStatus]:
    """The state of each skill as if it were the only one of its name."""
    statuses = [_judge(skill, settings, host) for skill in found]
    if scanned is not None:
        statuses = [_screen(status, scanned, number) for number, status in enumerate(statuses)]
    return [_distrust(status, distrust) for status in statuses]


def judge_together(statuses: Sequence[SkillStatus]) -> tuple[SkillStatus, ...]:
    """Judge skills of which some share a name: one of them wins."""
    return tuple(_shadow(list(statuses)))


def _distrust(status: SkillStatus, distrust: Callable[[DiscoveredSkill], Diagnostic | None]) -> SkillStatus:
    """Return the status as untrusted where something speaks against its origin, else as it was."""
    if status.state in _WORSE_THAN_UNTRUSTED or (objection := distrust(status.found)) is None:
        return status
    scan_reasons = tuple(reason for reason in status.reasons if reason.code.startswith("scan-"))
    return SkillStatus(status.found, "untrusted", (objection, *scan_reasons), status.name)


def _screen(status: SkillStatus, scanned: "ScreenedSkills", number: int) -> SkillStatus:
    """Return the status with the scanner's reasons: blocked where it found an attack, else in the state it had."""
    screening = scanned.screenings[number]
    if screening is None or status.state in ("broken", "disabled"):
        return status
    from clawft.trust.overrides import check_screening  # most skills are clean

    blocked, scan_reasons = check_screening(status.found, screening, scanned)
    if blocked:
        return SkillStatus(status.found, "blocked", scan_reasons, status.name)
    return structs.replace(status, reasons=(*status.reasons, *scan_reasons))


def _judge(found: DiscoveredSkill, settings: SkillsSettings, host: LocalMachine) -> SkillStatus:
    """The state of a skill as if it were alone; the first match wins."""
    skill = found.skill
    if skill is None:
        return SkillStatus(found, "broken", found.diagnostics)
    key = skill.name if skill.name in settings.entries else skill.skill_key
    entry = settings.entries.get(key, _NO_ENTRY)
    off = _why_disabled(found, key, settings, entry)
    if off:
        return SkillStatus(found, "disabled", (Diagnostic("disabled", "note", off, found.file),), skill.name)
    if skill.requires != _NO_REQUIRES and (unmet := check_requirements(skill, host, entry, found.file)):
        return SkillStatus(found, "ineligible", unmet, skill.name)
    if skill.disable_model_invocation:
        reason = Diagnostic(
            "manual", "note", "It keeps models from starting it: a person starts it by name", found.file
        )
        return SkillStatus(found, "manual", (reason,), skill.name)
    if not skill.description:
        reason = Diagnostic("manual", "warning", "It has no description, so a model could not choose it", found.file)
        return SkillStatus(found, "manual", (reason,), skill.name)
    return SkillStatus(found, "ready", (), skill.name)


_NO_REQUIRES = Skill(name="-").requires


def _why_disabled(found: DiscoveredSkill, key: str, settings: SkillsSettings, entry: SkillEntry) -> str:
    if not settings.enabled:
        return "The config has skills.enabled = false"
    if not entry.enabled:
        return f"The config has skills.entries.{key}.enabled = false"
    bundled = settings.allow_bundled
    if found.location.scope == "bundled" and bundled is not None and found.name not in bundled:
        return "The config's skills.allow_bundled does not name it"
    return ""


def _shadow(statuses: list[SkillStatus]) -> list[SkillStatus]:
    """Let the first usable skill of a name hide the later ones; an unusable one hides nothing."""
    by_name: dict[str, list[int]] = {}
    for index, status in enumerate(statuses):
        by_name.setdefault(status.name, []).append(index)
    for name, indexes in by_name.items():
        if len(indexes) == 1:
            continue
        first = next((index for index in indexes if statuses[index].usable), None)
        if first is None:
            continue
        if statuses[first].found.location.scope == "mcp":
            _keep_apart(statuses, indexes)
            continue
        for index in indexes:
            if index < first:
                statuses[index] = _not_hiding(statuses[index], statuses[first])
            elif index > first and statuses[index].usable and is_copy(statuses[index].found, statuses[first].found):
                statuses[index] = _copied(statuses[index], statuses[first])
            elif index > first and statuses[index].usable:
                statuses[first] = _overriding(statuses[first], statuses[index])
                statuses[index] = _hidden(statuses[index], statuses[first], name)
    return statuses


def _keep_apart(statuses: list[SkillStatus], indexes: list[int]) -> None:
    """Keep the skill of an MCP server from taking the place of any other: neither of one that is not usable now, nor of
    another server's. It is still there by the server's name."""
    for index in indexes:
        one = statuses[index]
        prefix = one.found.location.prefix
        other = next((statuses[at] for at in indexes if statuses[at].found.location.prefix != prefix), None)
        if one.usable and other is not None:
            message = f"{_where(other)} has '{one.name}' too, and no MCP server's skill takes the place of another's"
            diagnostic = Diagnostic(
                "shadowed", "warning", message, other.found.file, 0, f"Name it as {prefix}:{one.name}"
            )
            statuses[index] = SkillStatus(one.found, "shadowed", (diagnostic,))


def is_copy(found: DiscoveredSkill, other: DiscoveredSkill) -> bool:
    """Return whether two skills of one scope are one, in the folders of two clients: what `install --to` makes."""
    same = found.location.scope == other.location.scope and found.skill == other.skill
    if not same or not found.base_dir or os.path.basename(found.folder) != os.path.basename(other.folder):
        return False
    from clawft.skills.discovery.digest import compute_digest  # few are alike up to here

    digest = compute_digest(found.folder).value
    return bool(digest) and digest == compute_digest(other.folder).value


def _copied(copy: SkillStatus, winner: SkillStatus) -> SkillStatus:
    message = f"It is a copy of the one in {_where(winner)}, which comes first"
    return SkillStatus(copy.found, "shadowed", (Diagnostic("skill-copy", "note", message, winner.found.file),))


def _where(status: SkillStatus) -> str:
    at = status.found.location
    return f"{at.scope} ({at.layer})" if at.layer != at.scope else at.scope


def _hidden(loser: SkillStatus, winner: SkillStatus, name: str) -> SkillStatus:
    where, prefix = _where(winner), loser.found.location.prefix
    hint = f"Name it as {prefix}:{name}" if winner.found.location.prefix != prefix else "Rename one"
    return SkillStatus(
        loser.found,
        "shadowed",
        (Diagnostic("shadowed", "warning", f"{where} has '{name}' too and comes first", winner.found.file, 0, hint),),
    )


def _overriding(winner: SkillStatus, loser: SkillStatus) -> SkillStatus:
    """Add a diagnostic that a skill takes the place of another of its name; a warning where the project's does."""
    above, below = winner.found.location.scope, loser.found.location.scope
    severity: Severity = "warning" if above == "project" and below != above else "note"
    message, hint = f"It takes the place of the one in {below}", f"The other: {loser.found.file}"
    diagnostic = Diagnostic("overrides", severity, message, winner.found.file, 0, hint)
    return structs.replace(winner, reasons=(*winner.reasons, diagnostic))


def _not_hiding(unusable: SkillStatus, winner: SkillStatus) -> SkillStatus:
    message = f"The usable '{winner.name}' of {winner.found.location.scope} stays in use in its place"
    note = Diagnostic("not-hiding", "warning", message, winner.found.file)
    return structs.replace(unusable, reasons=(*unusable.reasons, note))


def judge_agents(
    found: tuple[DiscoveredAgent, ...], distrust: Callable[[DiscoveredAgent], Diagnostic | None] = lambda _: None
) -> tuple[AgentStatus, ...]:
    """The state of every agent: broken, untrusted, shadowed by an earlier one of its name, or ready."""
    statuses: list[AgentStatus] = []
    winners: dict[str, int] = {}
    for agent in found:
        name = agent.name
        if agent.agent is None:
            statuses.append(TrustStatus(agent, "broken", (agent.problem,) if agent.problem else (), name))
        elif (objection := distrust(agent)) is not None:
            statuses.append(TrustStatus(agent, "untrusted", (objection,), name))
        elif name in winners:
            winner = statuses[winners[name]]
            reason = Diagnostic(
                "shadowed", "note", f"{winner.found.scope} has '{name}' too and comes first", winner.found.file
            )
            statuses.append(TrustStatus(agent, "shadowed", (reason,), name))
            severity: Severity = "warning" if winner.found.scope == "project" else "note"
            diagnostic = Diagnostic(
                "overrides", severity, f"It takes the place of the one in {agent.scope}", winner.found.file
            )
            statuses[winners[name]] = structs.replace(winner, reasons=(*winner.reasons, diagnostic))
        else:
            winners[name] = len(statuses)
            statuses.append(TrustStatus(agent, "ready", (), name))
    return tuple(statuses)
