"""May the command hooks of a settings file, or of a skill, be run, and which of them?

The user's own are the user's word, but for those that start a file of the project: what that does, the project says, so
they are approved for each project. A project's need an approval of what is written there, and of the scripts of the
project that it starts; a plugin's one of its whole folder. Those of a skill stand and fall with it.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from clawft.config.extensions import HookEntry, HooksSettings
from clawft.errors import ClawftError, Diagnostic
from clawft.files import is_within, read_regular, real_path
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.hooks import DiscoveredCommandHooks
from clawft.skills.parse.hooks import CommandHook
from clawft.trust.approvals import Approval, Approvals, check_approval, hash_bytes, make_approval
from clawft.trust.hook_lines import LinePolicy, fill_line, find_named, starts_file_of
from clawft.trust.status import SkillState, SkillStatus, TrustStatus
from clawft.workspace import Workspace

if TYPE_CHECKING:
    from clawft.trust.audit import AuditLog


FindApproval = Callable[[str, str], Approval | None]
KIND = "claude-hooks"
HERE = "claude-here"  # the user's commands that start files of this project
UNTRUSTED_ORIGINS = ("project", "plugin", "here")
MAX_SCRIPT = 4 << 20
_CHANGED = "They, or a script that they start, changed since they were approved on {}"


class CommandHooksStatus(TrustStatus[DiscoveredCommandHooks, SkillState], frozen=True):
    """The status of command hooks. `runs` are those that may be run, if it is ready.

    `digest` and `scripts` are what an approval of a project's is bound to, as it was looked at.
    """

    runs: tuple[CommandHook, ...] = ()
    digest: str = ""
    scripts: tuple[tuple[str, str], ...] = ()  # paths, each with the hash of the file


class _Bound(Struct, frozen=True):
    """The digests that an approval is bound to."""

    digest: str
    scripts: tuple[tuple[str, str], ...] = ()


def judge_commands(
    found: Sequence[DiscoveredCommandHooks],
    settings: HooksSettings,
    lines: LinePolicy,
    workspace: Workspace,
    skills: Mapping[str, SkillStatus],
    find_approval: FindApproval,
) -> tuple[CommandHooksStatus, ...]:
    """The state of all of them, in the order found. `skills` are those that they belong to, by folder."""
    all_off = any(source.off and source.scope == "user" for source in found)
    parts = [part for source in found for part in _part(source, lines, workspace)]
    return tuple(_judge(part, settings, (lines, workspace), skills, find_approval, all_off) for part in parts)


def _part(found: DiscoveredCommandHooks, lines: LinePolicy, workspace: Workspace) -> list[DiscoveredCommandHooks]:
    """The user's own commands, and apart from them those that start a file of the project."""
    if found.scope != "user" or found.skill is not None:
        return [found]
    here = tuple(hook for hook in found.hooks if starts_file_of(hook.command, lines.project, workspace.home))
    if not here:
        return [found]
    rest = tuple(hook for hook in found.hooks if hook not in here)
    written = "\n".join(f"{entry.event} {entry.matcher} {entry.command}" for entry in here).encode(
        "utf-8", "surrogatepass"
    )
    apart = DiscoveredCommandHooks(HERE, "here", lines.project, here, written=written, off=found.off)
    return [*([structs.replace(found, hooks=rest)] if rest or found.diagnostics else []), apart]


def _judge(
    found: DiscoveredCommandHooks,
    settings: HooksSettings,
    by: tuple[LinePolicy, Workspace],
    skills: Mapping[str, SkillStatus],
    find_approval: FindApproval,
    all_off: bool,
) -> CommandHooksStatus:
    if found.problem is not None:
        return CommandHooksStatus(found, "broken", (found.problem,))
    if why := _find_off(found, settings, all_off):
        hint = f"Run: weft hooks enable {found.name}" if ".entries." in why else ""
        return CommandHooksStatus(found, "disabled", (Diagnostic("disabled", "note", why, found.file, 0, hint),))
    lines, workspace = by
    bound = _Bound("")
    if found.skill is not None:
        objection = _check_skill(found, skills)
    elif found.scope in UNTRUSTED_ORIGINS:
        bound = _bind(found, lines, workspace)
        objection = _check_approval(found, bound.digest, find_approval)
    else:
        objection = None
    if objection is not None:
        state: SkillState = "untrusted" if objection.code == "untrusted" else "blocked"
        reasons = (objection, *found.diagnostics)
        return CommandHooksStatus(found, state, reasons, digest=bound.digest, scripts=bound.scripts)
    runs, refused = _sift(found, lines, workspace)
    reasons = (*found.diagnostics, *refused)
    if not runs:
        return CommandHooksStatus(found, "ineligible", reasons)
    return CommandHooksStatus(found, "ready", reasons, runs=runs, digest=bound.digest, scripts=bound.scripts)


def entry_for(name: str, settings: HooksSettings) -> HookEntry:
    """Return the settings of command hooks; the user's hooks that start files of this project share the entry of all of
    the user's."""
    known = settings.entries.get(name) or (settings.entries.get("claude-user") if name == HERE else None)
    return known or HookEntry()


def _find_off(found: DiscoveredCommandHooks, settings: HooksSettings, all_off: bool) -> str:
    """Return the setting that turns these hooks off; '' if none does."""
    entry = entry_for(found.name, settings)
    named = (
        ("The config has hooks.enabled = false", not settings.enabled),
        ("The config has hooks.claude = false", not settings.claude),
        (f"The config has hooks.entries.{found.name}.enabled = false", not entry.enabled),
        ("Claude's settings have disableAllHooks", found.off or all_off),
    )
    return next((why for why, holds in named if holds), "")


def _check_skill(found: DiscoveredCommandHooks, skills: Mapping[str, SkillStatus]) -> Diagnostic | None:
    """Check that the hooks of a skill may be run, and return why not. That the skill is unchanged since its approval is
    checked when a hook is run."""
    assert found.skill is not None
    skill = skills.get(found.skill.folder)
    if skill is not None and skill.usable:
        return None
    state = skill.state if skill else "not there"
    code, hint = "hook-skill", f"Run: weft skills why {found.skill.name}"
    if state == "untrusted":
        code, hint = "untrusted", f"Look at it, then: weft skills trust {found.skill.name}"
    return Diagnostic(code, "warning", f"Its skill is {state}", found.file, 0, hint)


def _check_approval(found: DiscoveredCommandHooks, digest: str, find_approval: FindApproval) -> Diagnostic | None:
    """Check a project's approval and return why its hooks may not be run as they are now, or None."""
    missing = f"They come with the {found.scope} and are not approved"
    if found.name == HERE:
        missing = "Your commands that start files of this project wait until you approve those"
    hint = f"Look at them, then: weft hooks enable {found.name}"
    return check_approval(lambda: find_approval(KIND, found.file), lambda: digest, found.file, hint, missing, _CHANGED)[
        1
    ]


def _bind(found: DiscoveredCommandHooks, lines: LinePolicy, workspace: Workspace) -> _Bound:
    if found.folder:
        return _Bound(compute_digest(found.folder).value)
    try:
        named = [
            path
            for hook in found.hooks
            for path in find_named(hook.command, lines.project, workspace.home)
            if is_within(real_path(path), lines.project)
        ]
        read = {path: read_regular(path, MAX_SCRIPT, follow=True)[0] for path in sorted(set(named))}
        scripts = tuple((path, hash_bytes(content)) for path, content in read.items())
    except (OSError, ClawftError):
        return _Bound("")
    parts = [
        hash_bytes(found.written),
        *(f"{os.path.relpath(path, lines.project)} {sum_}" for path, sum_ in scripts),
    ]
    return _Bound(hash_bytes("\n".join(parts).encode("utf-8", "surrogateescape")), scripts)


def _sift(
    found: DiscoveredCommandHooks, lines: LinePolicy, workspace: Workspace
) -> tuple[tuple[CommandHook, ...], tuple[Diagnostic, ...]]:
    """The hooks whose lines may be run, and what is to say of the others."""
    folder = found.skill.folder if found.skill else found.folder or workspace.project
    places = {
        "CLAUDE_PROJECT_DIR": workspace.project,
        "CLAUDE_SKILL_DIR": folder,
        "CLAUDE_PLUGIN_ROOT": folder,
        "HOME": workspace.home,
    }
    runs, refused = [], []
    for hook in found.hooks:
        if why := lines.object_to(fill_line(hook.command, places)):
            shown = " ".join(hook.command.split())[:80]
            message = f"`{shown}` for {hook.event} is not run: {why}"
            refused.append(Diagnostic("hook-command", "warning", message, found.file, 0, "See: weft permissions list"))
        else:
            runs.append(hook)
    return tuple(runs), tuple(refused)


def approve_commands(found: DiscoveredCommandHooks, digest: str, approvals: Approvals, audit: "AuditLog") -> None:
    """Approve untrusted command hooks as they were looked at. Raises: ClawftError."""
    if not digest:
        raise ClawftError("unreadable", "A file that the hooks start cannot be read", path=found.file)
    from clawft.trust.audit import AuditEntry

    with audit.last_step([AuditEntry("approval", f"{KIND} {found.file}", "allow", {"digest": digest})]) as commit:
        approvals.record([make_approval(KIND, found.file, digest, found.name)], commit)
