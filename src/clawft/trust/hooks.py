"""The state of a hook, and why: as for skills, one function decides it, and every surface prints its answer."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, structs

from clawft.config.extensions import HookEntry, HooksSettings
from clawft.config.skills import SkillEntry
from clawft.errors import ClawftError, Diagnostic
from clawft.files import is_within, real_path
from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.skills.discovery.digest import Digest, compute_digest
from clawft.skills.discovery.hooks import DiscoveredHook
from clawft.skills.discovery.requirements import LocalMachine, check_requirements
from clawft.trust.approvals import Approval, check_approval
from clawft.trust.overrides import ScreenedSkills, check_screening
from clawft.trust.status import SkillState, SkillStatus, TrustStatus
from clawft.workspace import Workspace

_ORIGIN_REASONS = {
    "project": "It comes with the project",
    "plugin": "It comes with the plugin {}",
    "installed": "It is of {}",
}
_NO_ENTRY = HookEntry()


class HookStatus(TrustStatus[DiscoveredHook, SkillState], frozen=True):
    """The status of a hook. An untrusted hook runs only on files with the `digest` that was approved."""

    digest: str = ""
    hosts: tuple[str, ...] | None = None  # that an untrusted hook's text may lead a model to; None: the user's own


class HookRules(Struct, frozen=True):
    """The inputs that hooks are judged by. `skills` are those that brought some, by folder; `get_approval`
    returns the approval of an untrusted skill, None for the user's own, whose digest is not taken, and refuses what
    is not approved; `screen` asks the scanner."""

    settings: HooksSettings
    host: LocalMachine
    workspace: Workspace
    skills: Mapping[str, SkillStatus]
    find_approval: Callable[[str, str], Approval | None]
    get_approval: Callable[[DiscoveredSkill, Callable[[], Digest]], Approval | None]
    screen: Callable[[Sequence[DiscoveredHook]], ScreenedSkills | None]


def get_hook_entry(found: DiscoveredHook, settings: HooksSettings) -> HookEntry:
    """Return the settings of a hook, by its name or its key; a skill's hook has none."""
    key = found.hook.key if found.hook and found.skill is None else ""
    return settings.entries.get(found.name) or settings.entries.get(key) or _NO_ENTRY


def compute_hook_digest(found: DiscoveredHook) -> Digest:
    """The digest of all that belongs to a hook, with its HOOK.md as it was read."""
    return compute_digest(found.root, {found.file: found.content} if found.content else None)


def why_untrusted(found: DiscoveredHook, workspace: Workspace) -> str:
    """Return why a hook needs an approval of its own; '' for the user's own.

    Everything in the project counts as the project's, whatever names it: its programs can change it. Only the user's
    folder is closed to them where the project is the home folder.
    """
    if found.scope in _ORIGIN_REASONS:
        return _ORIGIN_REASONS[found.scope].format(found.layer)
    project, place = real_path(workspace.project), real_path(found.folder)
    if workspace.project == workspace.home and found.scope == "user" and is_within(place, f"{project}/.clawft"):
        return ""
    return _ORIGIN_REASONS["project"] if not place or is_within(place, project) else ""


def judge_hooks(found: Sequence[DiscoveredHook], rules: HookRules) -> tuple[HookStatus, ...]:
    """The state of every hook found, in the order found."""
    found = [hook if _is_own(hook, rules) else _drop_key(hook) for hook in found]
    blocked = _screen(found, rules)
    judged = _tell_apart([_judge(hook, rules, blocked.get(hook.folder)) for hook in found])
    own = {
        status.name: status
        for status in reversed(judged)
        if status.found.skill is None and _is_own(status.found, rules)
    }
    return tuple(_shadow(judged, own))


def _tell_apart(judged: list[HookStatus]) -> list[HookStatus]:
    """The same; a hint that names one of several of a name says which."""
    several = {name for name, count in Counter(status.name for status in judged).items() if count > 1}
    for index, status in enumerate(judged):
        bare = f"weft hooks enable {status.name}"
        if status.name in several and status.found.skill is None:
            exact = f"weft hooks enable {status.found.scope}:{status.name}"
            reasons = tuple(structs.replace(each, hint=each.hint.replace(bare, exact)) for each in status.reasons)
            judged[index] = structs.replace(status, reasons=reasons)
    return judged


def _drop_key(found: DiscoveredHook) -> DiscoveredHook:
    """Remove the key of an untrusted hook: it could take the key of another hook, and with it that hook's settings."""
    return structs.replace(found, hook=structs.replace(found.hook, key="")) if found.hook else found


def _is_own(found: DiscoveredHook, rules: HookRules) -> bool:
    return not why_untrusted(found, rules.workspace)


def _screen(found: Sequence[DiscoveredHook], rules: HookRules) -> dict[str, tuple[bool, tuple[Diagnostic, ...]]]:
    """Return the scanner's findings about hooks, by folder. Those of skills were scanned with them."""
    alone = [
        hook for hook in found if hook.skill is None and hook.hook is not None and not _why_off(hook, rules.settings)
    ]
    roots = {hook.root: hook for hook in reversed(alone)}  # a pack is looked at once, however many it names
    scanned = rules.screen(list(roots.values())) if alone else None
    if scanned is None:
        return {}
    screenings = dict(zip(roots, scanned.screenings, strict=True))
    pairs = [(hook, screening) for hook in alone if (screening := screenings[hook.root]) is not None]
    return {hook.folder: check_screening(hook, screening, scanned) for hook, screening in pairs}


def _judge(
    found: DiscoveredHook, rules: HookRules, scanned: tuple[bool, tuple[Diagnostic, ...]] | None = None
) -> HookStatus:
    if found.hook is None:
        return HookStatus(found, "broken", (found.problem,) if found.problem else ())
    off = _why_off(found, rules.settings)
    if off is not None:
        return HookStatus(found, "disabled", (off,))
    blocked, scan_reasons = scanned or (False, ())
    if blocked:
        return HookStatus(found, "blocked", scan_reasons)
    trusted = _trust(found, rules)
    if trusted.objection is not None:
        return HookStatus(found, trusted.state, (trusted.objection, *scan_reasons))
    entry = SkillEntry(env=get_hook_entry(found, rules.settings).env)
    unmet = check_requirements(found.hook.about, rules.host, entry, found.file)
    reasons = (*unmet, *found.hook.diagnostics, *scan_reasons)
    state: SkillState = "ready" if found.hook.events and not unmet else "ineligible"
    return HookStatus(found, state, reasons, digest=trusted.digest, hosts=trusted.hosts)


def _why_off(found: DiscoveredHook, settings: HooksSettings) -> Diagnostic | None:
    if settings.enabled and get_hook_entry(found, settings).enabled:
        return None
    name, hint = "hooks.enabled", "Run: weft config set hooks.enabled true"
    if settings.enabled:
        name, hint = f"hooks.entries.{found.name}.enabled", f"Run: weft hooks enable {found.name}"
    return Diagnostic("disabled", "note", f"The config has {name} = false", found.file, 0, hint)


class _Trusted(Struct, frozen=True):
    """The digest that an untrusted hook was approved with and the hosts of that; or why it may not run."""

    digest: str = ""
    hosts: tuple[str, ...] | None = None
    objection: Diagnostic | None = None
    state: SkillState = "untrusted"


def _trust(found: DiscoveredHook, rules: HookRules) -> _Trusted:
    if found.skill is not None:
        return _trust_skill(found, found.skill, rules)
    why = why_untrusted(found, rules.workspace)
    if not why:
        return _Trusted()
    hint = f"Look at it, then: weft hooks enable {found.name}"
    known, objection = check_approval(
        lambda: rules.find_approval("hook", found.folder),
        lambda: compute_hook_digest(found).value,
        found.file,
        hint,
        f"{why} and is not approved",
    )
    return _Trusted(known.digest, known.power.network) if known else _Trusted(objection=objection)


def _trust_skill(found: DiscoveredHook, brought: DiscoveredSkill, rules: HookRules) -> _Trusted:
    """A hook of a skill stands and falls with it, and runs as the skill was approved: for good, or for this run."""
    skill = rules.skills.get(brought.folder)
    hint = f"Run: weft skills why {brought.name}"
    if skill is None or not skill.usable:
        state: SkillState = skill.state if skill else "broken"
        if state == "untrusted":
            hint = f"Look at it, then: weft skills trust {brought.name}"
        return _distrust(found, f"Its skill '{brought.name}' is {state}", hint, state)
    try:
        approval = rules.get_approval(brought, lambda: compute_hook_digest(found))
    except ClawftError as error:
        return _distrust(found, f"Its skill '{brought.name}' is not approved", error.hint or hint)
    return _Trusted(approval.digest, approval.power.network) if approval else _Trusted()


def _distrust(found: DiscoveredHook, message: str, hint: str, state: SkillState = "untrusted") -> _Trusted:
    code = "untrusted" if state == "untrusted" else "hook-skill"
    return _Trusted(objection=Diagnostic(code, "warning", message, found.file, 0, hint), state=state)


def _shadow(statuses: list[HookStatus], own: Mapping[str, HookStatus]) -> list[HookStatus]:
    """Mark all but the first of the runnable hooks of a name as shadowed. An untrusted hook never replaces the user's
    own, even where that one cannot run: settings were meant for that one."""
    first: dict[str, HookStatus] = {}
    for index, status in enumerate(statuses):
        if status.state != "ready":
            continue
        winner = own.get(status.name, status) if status.hosts is not None else status
        winner = first.setdefault(status.name, winner) if winner is status else winner
        if winner is not status:
            message = f"{winner.found.scope} has '{status.name}' too and comes first"
            reason = Diagnostic("shadowed", "warning", message, winner.found.file)
            statuses[index] = structs.replace(status, state="shadowed", reasons=(reason,))
    return statuses
