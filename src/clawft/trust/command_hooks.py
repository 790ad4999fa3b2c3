"""May the command hooks of a settings file, or of a skill, be run, and which of them?

The user's own are the user's word, but for those that start a file of the project: what that does, the project says, so
they are approved for each project. A project's need an approval of what is written there, and of the scripts of the
project that it starts; a plugin's one of its whole folder. Those of a skill stand and fall with it.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from clawft.config.hooks import HookEntry, HooksSettings
from clawft.discovery.claude_hooks import FoundCommands
from clawft.discovery.digest import compute_digest
from clawft.errors import ClawftError, Diagnostic
from clawft.files import is_within, read_regular, real_path
from clawft.format.command_hooks import CommandHook
from clawft.trust.approvals import Approval, Approvals, hash_bytes, make_approval
from clawft.trust.hook_lines import LinePolicy, fill_line, find_named, starts_file_of
from clawft.trust.state import Standing, State
from clawft.workspace import Workspace

if TYPE_CHECKING:
    from clawft.trust.audit import Audit

__all__ = ["KIND", "MAX_SCRIPT", "STRANGE", "CommandStanding", "approve_commands", "entry_for", "judge_commands"]

KIND = "claude-hooks"
HERE = "claude-here"  # the user's commands that start files of this project
STRANGE = ("project", "plugin", "here")
MAX_SCRIPT = 4 << 20


class CommandStanding(Struct, frozen=True):
    """Command hooks that were found, with their state. `runs` are those that may be run, if it is ready.

    `digest` and `scripts` are what an approval of a project's is bound to, as it was looked at.
    """

    found: FoundCommands
    state: State
    reasons: tuple[Diagnostic, ...] = ()
    runs: tuple[CommandHook, ...] = ()
    digest: str = ""
    scripts: tuple[tuple[str, str], ...] = ()  # paths, each with the hash of the file

    @property
    def name(self) -> str:
        return self.found.name

    @property
    def file(self) -> str:
        return self.found.file


class _Bound(Struct, frozen=True):
    """What an approval holds for."""

    digest: str
    scripts: tuple[tuple[str, str], ...] = ()


def judge_commands(
    found: Sequence[FoundCommands],
    settings: HooksSettings,
    lines: LinePolicy,
    workspace: Workspace,
    skills: Mapping[str, Standing],
    approvals: Callable[[], Sequence[Approval]],
) -> tuple[CommandStanding, ...]:
    """The state of all of them, in the order found. `skills` are those that they belong to, by folder."""
    all_off = any(one.off and one.scope == "user" for one in found)
    parts = [part for one in found for part in _part(one, lines, workspace)]
    return tuple(_judge(one, settings, (lines, workspace), skills, approvals, all_off) for one in parts)


def _part(found: FoundCommands, lines: LinePolicy, workspace: Workspace) -> list[FoundCommands]:
    """The user's own commands, and apart from them those that start a file of the project."""
    if found.scope != "user" or found.skill is not None:
        return [found]
    here = tuple(one for one in found.hooks if starts_file_of(one.command, lines.project, workspace.home))
    if not here:
        return [found]
    rest = tuple(one for one in found.hooks if one not in here)
    written = "\n".join(f"{one.event} {one.matcher} {one.command}" for one in here).encode("utf-8", "surrogatepass")
    apart = FoundCommands(HERE, "here", lines.project, here, written=written, off=found.off)
    return [*([structs.replace(found, hooks=rest)] if rest or found.diagnostics else []), apart]


def _judge(
    found: FoundCommands,
    settings: HooksSettings,
    by: tuple[LinePolicy, Workspace],
    skills: Mapping[str, Standing],
    approvals: Callable[[], Sequence[Approval]],
    all_off: bool,
) -> CommandStanding:
    if found.problem is not None:
        return CommandStanding(found, "broken", (found.problem,))
    if why := _find_off(found, settings, all_off):
        hint = f"Run: weft hooks enable {found.name}" if ".entries." in why else ""
        return CommandStanding(found, "disabled", (Diagnostic("disabled", "note", why, found.file, 0, hint),))
    lines, workspace = by
    bound = _Bound("")
    if found.skill is not None:
        objection = _check_skill(found, skills)
    elif found.scope in STRANGE:
        bound = _bind(found, lines, workspace)
        objection = _check_approval(found, bound.digest, approvals)
    else:
        objection = None
    if objection is not None:
        state: State = "untrusted" if objection.code == "untrusted" else "blocked"
        said = (objection, *found.diagnostics)
        return CommandStanding(found, state, said, (), bound.digest, bound.scripts)
    runs, refused = _sift(found, lines, workspace)
    said = (*found.diagnostics, *refused)
    if not runs:
        return CommandStanding(found, "ineligible", said)
    return CommandStanding(found, "ready", said, runs, bound.digest, bound.scripts)


def entry_for(name: str, settings: HooksSettings) -> HookEntry:
    """What the settings say of command hooks; of the user's that start files here what they say of all of theirs."""
    known = settings.entries.get(name) or (settings.entries.get("claude-user") if name == HERE else None)
    return known or HookEntry()


def _find_off(found: FoundCommands, settings: HooksSettings, all_off: bool) -> str:
    """Which setting turns these off, or nothing."""
    entry = entry_for(found.name, settings)
    named = (
        ("The config has hooks.enabled = false", not settings.enabled),
        ("The config has hooks.claude = false", not settings.claude),
        (f"The config has hooks.entries.{found.name}.enabled = false", not entry.enabled),
        ("Claude's settings have disableAllHooks", found.off or all_off),
    )
    return next((why for why, holds in named if holds), "")


def _check_skill(found: FoundCommands, skills: Mapping[str, Standing]) -> Diagnostic | None:
    """Why the hooks of a skill may not be run. That it is still what was approved is looked at when one is."""
    assert found.skill is not None
    skill = skills.get(found.skill.folder)
    if skill is not None and skill.usable:
        return None
    state = skill.state if skill else "not there"
    code, hint = "hook-skill", f"Run: weft skills why {found.skill.name}"
    if state == "untrusted":
        code, hint = "untrusted", f"Look at it, then: weft skills trust {found.skill.name}"
    return Diagnostic(code, "warning", f"Its skill is {state}", found.file, 0, hint)


def _check_approval(
    found: FoundCommands, digest: str, approvals: Callable[[], Sequence[Approval]]
) -> Diagnostic | None:
    """Why a project's may not be run as they are now, or None."""
    hint = f"Look at them, then: weft hooks enable {found.name}"
    try:
        known = next((one for one in approvals() if (one.kind, one.path) == (KIND, found.file)), None)
    except ClawftError as error:
        return Diagnostic("untrusted", "warning", str(error), found.file, 0, error.hint)
    if known is None:
        message = f"They come with the {found.scope} and are not approved"
        if found.name == HERE:
            message = "Your commands that start files of this project wait until you approve those"
        return Diagnostic("untrusted", "warning", message, found.file, 0, hint)
    if not digest or known.digest != digest:
        changed = f"They, or a script that they start, changed since they were approved on {known.at[:10]}"
        return Diagnostic("untrusted", "warning", changed, found.file, 0, hint)
    return None


def _bind(found: FoundCommands, lines: LinePolicy, workspace: Workspace) -> _Bound:
    if found.folder:
        return _Bound(compute_digest(found.folder).value)
    try:
        named = [
            path
            for one in found.hooks
            for path in find_named(one.command, lines.project, workspace.home)
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
    found: FoundCommands, lines: LinePolicy, workspace: Workspace
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
    for one in found.hooks:
        if why := lines.object_to(fill_line(one.command, places)):
            shown = " ".join(one.command.split())[:80]
            message = f"`{shown}` for {one.event} is not run: {why}"
            refused.append(Diagnostic("hook-command", "warning", message, found.file, 0, "See: weft permissions list"))
        else:
            runs.append(one)
    return tuple(runs), tuple(refused)


def approve_commands(found: FoundCommands, digest: str, approvals: Approvals, audit: "Audit") -> None:
    """Approve a stranger's command hooks as they were looked at. Raises: ClawftError."""
    if not digest:
        raise ClawftError("unreadable", "A file that the hooks start cannot be read", path=found.file)
    from clawft.trust.audit import Entry

    with audit.last_step([Entry("approval", f"{KIND} {found.file}", "allowed", {"digest": digest})]) as commit:
        approvals.record([make_approval(KIND, found.file, digest, found.name)], commit)
