"""The state of a hook, and why: as for skills, one function decides it, and every surface prints its answer."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from shlex import quote

from msgspec import Struct, structs

from clawft.config.hooks import HookEntry, HooksSettings
from clawft.config.skills import SkillEntry
from clawft.discovery.catalog import Found
from clawft.discovery.digest import Digest, compute_digest
from clawft.discovery.hooks import FoundHook
from clawft.discovery.locations import Location
from clawft.discovery.requirements import Host, check_requirements
from clawft.errors import ClawftError, Diagnostic
from clawft.files import is_within, real_path
from clawft.trust.approvals import Approval
from clawft.trust.blocking import Scanned, check_screening
from clawft.trust.state import Standing, State
from clawft.workspace import Workspace

__all__ = [
    "HOOK_STATES",
    "HookRules",
    "HookStanding",
    "as_skill",
    "digest_of",
    "entry_of",
    "judge_hooks",
    "why_strange",
]

HOOK_STATES: dict[State, str] = {
    "broken": "it cannot be read",
    "shadowed": "another hook of this name comes first",
    "disabled": "the config turns it off",
    "blocked": "the scanner found an attack in it, or could not look at it",
    "untrusted": "it is a stranger's, and nobody approved it as it is now",
    "ineligible": "something it requires is missing",
    "ready": "it runs at its events",
}
_STRANGE = {"project": "It comes with the project", "plugin": "It comes with the plugin {}", "installed": "It is of {}"}
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


class HookRules(Struct, frozen=True):
    """What hooks are judged by. `skills` are those that brought some, by folder; `clear` gives the approval of a
    stranger's skill, None for one's own, whose digest is not taken, and refuses what is not approved; `screen` asks the
    scanner."""

    settings: HooksSettings
    host: Host
    workspace: Workspace
    skills: Mapping[str, Standing]
    approvals: Callable[[], Sequence[Approval]]
    clear: Callable[[Found, Callable[[], Digest]], Approval | None]
    screen: Callable[[Sequence[Found]], Scanned | None]


def entry_of(found: FoundHook, settings: HooksSettings) -> HookEntry:
    """What the settings say of a hook, by its name or its key; one of a skill has none."""
    key = found.hook.key if found.hook and found.skill is None else ""
    return settings.entries.get(found.name) or settings.entries.get(key) or _NO_ENTRY


def as_skill(found: FoundHook) -> Found:
    """A hook as the scanner and a review see it: all of what its digest covers."""
    location = Location(found.scope, found.layer, found.root.rpartition("/")[0])
    return Found(location, found.root, found.file, found.hook.about if found.hook else None, found.problem)


def digest_of(found: FoundHook) -> Digest:
    """The digest of all that belongs to a hook, with its HOOK.md as it was read."""
    return compute_digest(found.root, {found.file: found.content} if found.content else None)


def why_strange(found: FoundHook, workspace: Workspace) -> str:
    """Why a hook needs an approval of its own; nothing for the user's own.

    What lies in the project is the project's, whoever names it: its programs can change it. Only the user's folder
    is closed to them where the project is the home folder.
    """
    if found.scope in _STRANGE:
        return _STRANGE[found.scope].format(found.layer)
    project, place = real_path(workspace.project), real_path(found.folder)
    if workspace.project == workspace.home and found.scope == "user" and is_within(place, f"{project}/.clawft"):
        return ""
    return _STRANGE["project"] if not place or is_within(place, project) else ""


def judge_hooks(found: Sequence[FoundHook], rules: HookRules) -> tuple[HookStanding, ...]:
    """The state of every hook found, in the order found."""
    found = [one if _is_own(one, rules) else _drop_key(one) for one in found]
    blocked = _screen(found, rules)
    judged = _tell_apart([_judge(one, rules, blocked.get(one.folder)) for one in found])
    own = {one.name: one for one in reversed(judged) if one.found.skill is None and _is_own(one.found, rules)}
    return tuple(_shadow(judged, own))


def _tell_apart(judged: list[HookStanding]) -> list[HookStanding]:
    """The same; a hint that names one of several of a name says which."""
    several = {name for name, count in Counter(one.name for one in judged).items() if count > 1}
    for index, one in enumerate(judged):
        bare = f"weft hooks enable {one.name}"
        if one.name in several and one.found.skill is None:
            exact = f"weft hooks enable {one.found.scope}:{one.name}"
            said = tuple(structs.replace(each, hint=each.hint.replace(bare, exact)) for each in one.reasons)
            judged[index] = structs.replace(one, reasons=said)
    return judged


def _drop_key(found: FoundHook) -> FoundHook:
    """A stranger's hook, by its name alone: it could give itself the key of another, and what was meant for that."""
    return structs.replace(found, hook=structs.replace(found.hook, key="")) if found.hook else found


def _is_own(found: FoundHook, rules: HookRules) -> bool:
    return not why_strange(found, rules.workspace)


def _screen(found: Sequence[FoundHook], rules: HookRules) -> dict[str, tuple[bool, tuple[Diagnostic, ...]]]:
    """What the scanner says of hooks, by folder. Those of skills were scanned with them."""
    alone = [one for one in found if one.skill is None and one.hook is not None and not _why_off(one, rules.settings)]
    roots = {one.root: as_skill(one) for one in reversed(alone)}  # a pack is looked at once, however many it names
    scanned = rules.screen(list(roots.values())) if alone else None
    if scanned is None:
        return {}
    screenings = dict(zip(roots, scanned.screenings, strict=True))
    said = {}
    for one in alone:
        screening = screenings[one.root]
        if screening is not None:
            blocked, reasons = check_screening(as_skill(one), screening, scanned)
            look = (f"weft skills show {quote(one.name)}", f"weft scan {quote(one.root)}")
            said[one.folder] = blocked, tuple(structs.replace(each, hint=each.hint.replace(*look)) for each in reasons)
    return said


def _judge(
    found: FoundHook, rules: HookRules, scanned: tuple[bool, tuple[Diagnostic, ...]] | None = None
) -> HookStanding:
    if found.hook is None:
        return HookStanding(found, "broken", (found.problem,) if found.problem else ())
    off = _why_off(found, rules.settings)
    if off is not None:
        return HookStanding(found, "disabled", (off,))
    blocked, said = scanned or (False, ())
    if blocked:
        return HookStanding(found, "blocked", said)
    trusted = _trust(found, rules)
    if trusted.objection is not None:
        return HookStanding(found, trusted.state, (trusted.objection, *said))
    given = SkillEntry(env=entry_of(found, rules.settings).env)
    unmet = check_requirements(found.hook.about, rules.host, given, found.file)
    reasons = (*unmet, *found.hook.diagnostics, *said)
    state: State = "ready" if found.hook.events and not unmet else "ineligible"
    return HookStanding(found, state, reasons, trusted.digest, trusted.hosts)


def _why_off(found: FoundHook, settings: HooksSettings) -> Diagnostic | None:
    if settings.enabled and entry_of(found, settings).enabled:
        return None
    name, hint = "hooks.enabled", "Run: weft config set hooks.enabled true"
    if settings.enabled:
        name, hint = f"hooks.entries.{found.name}.enabled", f"Run: weft hooks enable {found.name}"
    return Diagnostic("disabled", "note", f"The config has {name} = false", found.file, 0, hint)


class _Trusted(Struct, frozen=True):
    """The digest that a stranger's hook was approved with and the hosts of that; or why it may not run."""

    digest: str = ""
    hosts: tuple[str, ...] | None = None
    objection: Diagnostic | None = None
    state: State = "untrusted"


def _trust(found: FoundHook, rules: HookRules) -> _Trusted:
    if found.skill is not None:
        return _trust_skill(found, found.skill, rules)
    why = why_strange(found, rules.workspace)
    if not why:
        return _Trusted()
    hint = f"Look at it, then: weft hooks enable {found.name}"
    try:
        known = next((one for one in rules.approvals() if (one.kind, one.path) == ("hook", found.folder)), None)
    except ClawftError as error:
        return _distrust(found, str(error), error.hint)
    if known is None:
        return _distrust(found, f"{why} and is not approved", hint)
    if digest_of(found).value != known.digest:
        return _distrust(found, f"It changed since it was approved on {known.at[:10]}", hint)
    return _Trusted(known.digest, known.power.network)


def _trust_skill(found: FoundHook, brought: Found, rules: HookRules) -> _Trusted:
    """A hook of a skill stands and falls with it, and runs as the skill was approved: for good, or for this run."""
    skill = rules.skills.get(brought.folder)
    hint = f"Run: weft skills why {brought.name}"
    if skill is None or not skill.usable:
        state: State = skill.state if skill else "broken"
        if state == "untrusted":
            hint = f"Look at it, then: weft skills trust {brought.name}"
        return _distrust(found, f"Its skill '{brought.name}' is {state}", hint, state)
    try:
        approval = rules.clear(brought, lambda: digest_of(found))
    except ClawftError as error:
        return _distrust(found, f"Its skill '{brought.name}' is not approved", error.hint or hint)
    return _Trusted(approval.digest, approval.power.network) if approval else _Trusted()


def _distrust(found: FoundHook, message: str, hint: str, state: State = "untrusted") -> _Trusted:
    code = "untrusted" if state == "untrusted" else "hook-skill"
    return _Trusted(objection=Diagnostic(code, "warning", message, found.file, 0, hint), state=state)


def _shadow(standings: list[HookStanding], own: Mapping[str, HookStanding]) -> list[HookStanding]:
    """Of two hooks of a name that could run the first does. A stranger's never takes the place of one's own, whatever
    keeps that from running: settings were meant for that one."""
    first: dict[str, HookStanding] = {}
    for index, one in enumerate(standings):
        if one.state != "ready":
            continue
        winner = own.get(one.name, one) if one.hosts is not None else one
        winner = first.setdefault(one.name, winner) if winner is one else winner
        if winner is not one:
            message = f"{winner.found.scope} has '{one.name}' too and comes first"
            reason = Diagnostic("shadowed", "warning", message, winner.found.file)
            standings[index] = structs.replace(one, state="shadowed", reasons=(reason,))
    return standings
