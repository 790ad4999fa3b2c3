"""The state of a hook, and why: as for skills, one function decides it, and every surface prints its answer."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from clawft.config.hooks import HookEntry, HooksSettings
from clawft.config.skills import SkillEntry
from clawft.discovery.digest import compute_digest
from clawft.discovery.hooks import FoundHook
from clawft.discovery.requirements import Host, check_requirements
from clawft.errors import ClawftError, Diagnostic
from clawft.trust.approvals import Approval
from clawft.trust.state import Standing, State

__all__ = ["HookStanding", "entry_of", "judge_hooks"]

STRANGE = frozenset({"project", "installed", "plugin"})
_NO_ENTRY = HookEntry()


class HookStanding(Struct, frozen=True):
    """One hook with its state and the reasons for it. A stranger's runs on what has the `digest` that was approved."""

    found: FoundHook
    state: State
    reasons: tuple[Diagnostic, ...] = ()
    digest: str = ""
    hosts: tuple[str, ...] | None = None  # which the text of a stranger's may lead a model to; None: one's own

    @property
    def name(self) -> str:
        return self.found.name


def entry_of(found: FoundHook, settings: HooksSettings) -> HookEntry:
    """What the settings say of a hook, by its name or its key."""
    key = found.hook.key if found.hook else ""
    return settings.entries.get(found.name) or settings.entries.get(key) or _NO_ENTRY


def judge_hooks(
    found: Sequence[FoundHook],
    settings: HooksSettings,
    host: Host,
    skills: Mapping[str, Standing],
    approvals: Callable[[], Sequence[Approval]],
) -> tuple[HookStanding, ...]:
    """The state of every hook found, in the order found. `skills` are the skills they belong to, by folder."""
    judged = [_judge(one, settings, host, skills, approvals) for one in found]
    return tuple(_shadow(judged))


def _judge(
    found: FoundHook,
    settings: HooksSettings,
    host: Host,
    skills: Mapping[str, Standing],
    approvals: Callable[[], Sequence[Approval]],
) -> HookStanding:
    if found.hook is None:
        return HookStanding(found, "broken", (found.problem,) if found.problem else ())
    entry = entry_of(found, settings)
    if not settings.enabled or not entry.enabled:
        name = f"hooks.entries.{found.name}.enabled" if settings.enabled else "hooks.enabled"
        hint = f"Run: weft hooks enable {found.name}" if settings.enabled else "Run: weft config set hooks.enabled true"
        return HookStanding(
            found, "disabled", (Diagnostic("disabled", "note", f"The config has {name} = false", found.file, 0, hint),)
        )
    digest, hosts, objection = _trust(found, skills, approvals)
    if objection is not None:
        return HookStanding(found, "untrusted" if objection.code == "untrusted" else "blocked", (objection,))
    given = SkillEntry(env=entry.env)
    unmet = check_requirements(found.hook.about, host, given, found.file)
    if unmet:
        return HookStanding(found, "ineligible", unmet)
    if not found.hook.events:
        return HookStanding(found, "ineligible", found.hook.diagnostics)
    return HookStanding(found, "ready", found.hook.diagnostics, digest, hosts)


_Trusted = tuple[str, tuple[str, ...] | None, Diagnostic | None]


def _trust(found: FoundHook, skills: Mapping[str, Standing], approvals: Callable[[], Sequence[Approval]]) -> _Trusted:
    """The digest that a stranger's hook was approved with and the hosts of that, or why it may not run."""
    if found.skill is not None:
        return _trust_skill(found, skills.get(found.skill.folder), approvals)
    if found.scope not in STRANGE:
        return "", None, None
    hint = f"Look at it, then: weft hooks enable {found.name}"
    try:
        known = next((one for one in approvals() if (one.kind, one.path) == ("hook", found.folder)), None)
    except ClawftError as error:
        return "", None, Diagnostic("untrusted", "warning", str(error), found.file, 0, error.hint)
    where = "with the project" if found.scope == "project" else f"from {found.layer}"
    if known is None:
        return (
            "",
            None,
            Diagnostic("untrusted", "warning", f"It comes {where} and is not approved", found.file, 0, hint),
        )
    if compute_digest(found.folder).value != known.digest:
        changed = f"It changed since it was approved on {known.at[:10]}"
        return "", None, Diagnostic("untrusted", "warning", changed, found.file, 0, hint)
    return known.digest, known.power.network, None


def _trust_skill(found: FoundHook, skill: Standing | None, approvals: Callable[[], Sequence[Approval]]) -> _Trusted:
    """A hook of a skill stands and falls with it."""
    assert found.skill is not None
    if skill is None or skill.state not in ("ready", "manual", "ineligible"):
        state = skill.state if skill else "not there"
        code = "untrusted" if state == "untrusted" else "blocked"
        hint = f"Run: weft skills why {found.skill.name}"
        return "", None, Diagnostic(code, "warning", f"Its skill '{found.skill.name}' is {state}", found.file, 0, hint)
    known = next((one for one in approvals() if (one.kind, one.path) == ("skill", found.skill.folder)), None)
    return (known.digest, known.power.network, None) if known else ("", None, None)


def _shadow(standings: list[HookStanding]) -> list[HookStanding]:
    """Of two hooks of a name that could run the first does."""
    first: dict[str, HookStanding] = {}
    for index, one in enumerate(standings):
        if one.state != "ready":
            continue
        winner = first.setdefault(one.name, one)
        if winner is not one:
            message = f"{winner.found.scope} has '{one.name}' too and comes first"
            standings[index] = HookStanding(
                one.found, "shadowed", (Diagnostic("shadowed", "warning", message, winner.found.file),)
            )
    return standings
