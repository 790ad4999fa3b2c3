"""The composition root of hooks: from an app to the hooks there are, with their state, and to those that run."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from clawft.config.hooks import HooksSettings, own_hooks
from clawft.discovery.claude_hooks import load_claude_hooks, load_skill_commands
from clawft.discovery.hooks import FoundHook, load_hooks, load_skill_hooks
from clawft.discovery.locations import hook_locations
from clawft.errors import ClawftError, Diagnostic, NotFound, find_close
from clawft.hooks.absent import Absent
from clawft.hooks.deno import Deno
from clawft.hooks.handlers import DenoHandler, make_job
from clawft.hooks.host import Hosts
from clawft.hooks.notes import Notes
from clawft.hooks.registry import Handler, Hooks, Remembered
from clawft.trust.hooks import HookRules, HookStanding, entry_of, judge_hooks
from clawft.trust.state import State

if TYPE_CHECKING:  # what commands need is loaded where there are some
    from clawft.app import App
    from clawft.discovery.locations import Location, PluginHooks
    from clawft.hooks.command import CommandHandler
    from clawft.sandbox.sandbox import Sandbox
    from clawft.trust import Standing
    from clawft.trust.command_hooks import CommandStanding
    from clawft.trust.hook_lines import LinePolicy

__all__ = [
    "HookRow",
    "check_folders",
    "find_plugin_hooks",
    "find_row",
    "hook_settings",
    "line_policy",
    "load_command_standings",
    "load_rows",
    "load_standings",
    "make_handlers",
    "open_hooks",
    "open_hosts",
]


class HookRow(Struct, frozen=True):
    """One hook as every list shows it, of whichever kind. `origin` tells where it comes from."""

    name: str
    kind: Literal["deno", "command"]
    state: State
    events: tuple[str, ...]
    origin: str
    file: str
    description: str = ""
    reasons: tuple[Diagnostic, ...] = ()
    standing: "HookStanding | CommandStanding | None" = None


def hook_settings(app: "App") -> HooksSettings:
    """What the user's own config says of hooks."""
    return own_hooks(app.config, app.workspace.user_dir, app.environ)


def find_plugin_hooks(app: "App") -> "tuple[tuple[Location, ...], tuple[PluginHooks, ...]]":
    """Where plugins have hooks of either kind."""
    places = app.plugin_places
    return (places.hooks, places.hook_files) if places else ((), ())


def load_standings(
    app: "App", skills: "Sequence[Standing]", settings: HooksSettings | None = None
) -> tuple[HookStanding, ...]:
    """Every hook with its state, in order of precedence; `skills` are those that may bring some.

    `settings` are looked up unless they are given.
    """
    settings = settings or hook_settings(app)
    own = load_hooks(hook_locations(app.workspace, settings.load.extra_dirs, find_plugin_hooks(app)[0]))
    brought = load_skill_hooks([one.found for one in skills if one.found.skill is not None])
    rules = HookRules(
        settings,
        app.host,
        app.workspace,
        {one.found.folder: one for one in skills},
        lambda: app.approvals.load(),
        lambda found, digest: app.strangers.clear(found, digest(), []) if app.strangers.is_strange(found) else None,
        app.screen,
    )
    return judge_hooks((*own, *brought), rules)


def line_policy(app: "App") -> "LinePolicy":
    """How the lines of command hooks are judged. Raises: ClawftError."""
    from clawft.trust.hook_lines import LinePolicy
    from clawft.trust.rules import load_rules

    rules = load_rules(app.config, app.workspace.project)
    return LinePolicy(app.config.tools.exec, rules, app.workspace)


def load_command_standings(
    app: "App", skills: "Sequence[Standing]", settings: HooksSettings | None = None
) -> "tuple[CommandStanding, ...]":
    """Claude Code's command hooks with their state: of its settings files, then of skills. Raises: ClawftError."""
    found = load_claude_hooks(app.workspace, find_plugin_hooks(app)[1])
    brought = load_skill_commands([one.found for one in skills])
    if not found and not brought:
        return ()
    from clawft.trust.command_hooks import judge_commands

    by_folder = {one.found.folder: one for one in skills}
    return judge_commands(
        (*found, *brought),
        settings or hook_settings(app),
        line_policy(app),
        app.workspace,
        by_folder,
        lambda: app.approvals.load(),
    )


def load_rows(app: "App", settings: HooksSettings | None = None) -> tuple[HookRow, ...]:
    """Every hook there is, of both kinds, with its state, in order of precedence. Raises: ClawftError."""
    deno = load_standings(app, app.skills, settings)
    commands = load_command_standings(app, app.skills, settings)
    return (*(_row(one) for one in deno), *(_command_row(one) for one in commands))


def check_folders(app: "App") -> list[Diagnostic]:
    """Folders that the config names and that are not there."""
    named = hook_locations(app.workspace, hook_settings(app).load.extra_dirs)
    lost = [one.path for one in named if one.scope == "extra" and not os.path.isdir(one.path)]
    hint = "It stands in hooks.load.extra_dirs"
    return [Diagnostic("no-folder", "warning", "There is no such folder", path, 0, hint) for path in lost]


def _row(one: HookStanding) -> HookRow:
    found, hook = one.found, one.found.hook
    origin = f"{found.scope} {found.layer}" if found.scope == "plugin" else found.scope
    if found.skill is not None:
        origin = f"skill {found.skill.name}"
    events, said = (hook.events, hook.about.description) if hook else ((), "")
    return HookRow(one.name, "deno", one.state, events, origin, found.file, said, one.reasons, one)


def _command_row(one: "CommandStanding") -> HookRow:
    found = one.found
    origin = f"skill {found.skill.name}" if found.skill is not None else found.scope
    if found.scope == "plugin" and found.skill is None:
        origin = found.name.replace(":", " ", 1)
    return HookRow(one.name, "command", one.state, found.events, origin, found.file, "", one.reasons, one)


def find_row(rows: Sequence[HookRow], reference: str) -> HookRow:
    """The hook of a name, or of `ORIGIN:NAME`; one that runs before one that does not. Raises: NotFound."""
    exact = [one for one in rows if one.name == reference]
    origin, _, bare = reference.rpartition(":")
    named = exact or [one for one in rows if one.name == bare and origin in (one.origin, one.origin.split()[0])]
    if not named:
        close = find_close(bare, (one.name for one in rows))
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft hooks list"
        raise NotFound("hook-not-found", f"No hook '{reference}'", hint=hint)
    return next((one for one in named if one.state == "ready"), named[0])


def make_handlers(app: "App", sandbox: "Sandbox", row: HookRow, settings: HooksSettings) -> list[Handler]:
    """What is called for one hook that is ready, as a turn would call it. Raises: ClawftError."""
    one = row.standing
    if isinstance(one, HookStanding):
        job = make_job(one, settings, app.workspace, app.environ)
        notes = Notes(app.audit, app.secrets)
        return [DenoHandler(one, job, entry_of(one.found, settings), Deno(sandbox, notes), notes)]
    assert one is not None
    return list(_command_handlers(app, sandbox, [one], settings, Remembered()))


def open_hosts(app: "App", sandbox: "Sandbox") -> Hosts:
    """The processes of hooks that are kept: entered where they are to be ended, too."""
    return Hosts(Deno(sandbox, Notes(app.audit, app.secrets)))


def open_hooks(app: "App", sandbox: "Sandbox", only: str = "", hosts: Hosts | None = None) -> Hooks:
    """The hooks that hear what happens; looked up when the first event comes, and after `refresh`."""
    runner, notes = hosts or open_hosts(app, sandbox), Notes(app.audit, app.secrets)
    remembered = Remembered()

    def load(given: "Sequence[Standing] | None") -> tuple[Sequence[Handler], Sequence[Diagnostic]]:
        now = app.reopen()
        settings = hook_settings(now)
        handlers: list[Handler] = []
        problems: list[Diagnostic] = []
        absent: list[Absent] = []
        skills = now.load_skills(only) if given is None else given
        for one in load_standings(now, skills, settings):
            if one.state != "ready":
                absent += _find_absent(one, settings)
                problems += _find_kept(one)
                continue
            try:
                job = make_job(one, settings, now.workspace, now.environ)
            except ClawftError as error:
                said = f"The hook '{one.name}' cannot run: {error}"
                problems.append(structs.replace(error.diagnostic, message=said))
                absent += _find_absent(one, settings, error.diagnostic)
            else:
                handlers.append(DenoHandler(one, job, entry_of(one.found, settings), runner, notes))
        try:
            commands = load_command_standings(now, skills, settings)
            handlers += _command_handlers(now, sandbox, commands, settings, remembered)
        except ClawftError as error:
            problems.append(error.diagnostic)
        else:
            problems += [said for one in commands for said in _find_kept(one)]
            absent += [each for one in commands for each in _find_absent(one, settings)]
        there = {one.name for one in handlers}
        return [*handlers, *(one for one in absent if one.name not in there)], problems

    return Hooks(load)


def _find_absent(
    one: "HookStanding | CommandStanding", settings: HooksSettings, why: Diagnostic | None = None
) -> list[Absent]:
    """What stands for a hook that must be asked about tool calls and cannot be. One of a skill falls with the skill."""
    found = one.found
    if found.skill is not None or (one.state not in ("broken", "blocked", "untrusted", "ineligible") and why is None):
        return []
    if isinstance(found, FoundHook):
        entry = entry_of(found, settings)
        asked = found.hook is None or not found.hook.events or not {"tool", "tool:before"}.isdisjoint(found.hook.events)
    else:
        from clawft.trust.command_hooks import entry_for

        entry = entry_for(found.name, settings)
        asked = not found.hooks or "PreToolUse" in found.events
    reason = why or next(iter(one.reasons), None)
    return [Absent(one.name, reason)] if asked and entry.on_failure == "deny" else []


def _find_kept(one: "HookStanding | CommandStanding") -> list[Diagnostic]:
    """What keeps a hook, or a part of its commands, from being run, and is to be told in a turn.

    That a skill may not be used is told of the skill; of what nobody approved, only that.
    """
    kept = one.state in ("untrusted", "blocked", "broken")
    if (kept and one.found.skill is not None) or one.state in ("disabled", "shadowed"):
        return []
    said = one.reasons if kept or not isinstance(one, HookStanding) else ()
    said = said[:1] if one.state == "untrusted" else said
    return [reason for reason in said if reason.severity != "note"]


def _command_handlers(
    app: "App",
    sandbox: "Sandbox",
    standings: "Sequence[CommandStanding]",
    settings: HooksSettings,
    remembered: Remembered,
) -> "list[CommandHandler]":
    """Raises: ClawftError."""
    if not any(one.state == "ready" for one in standings):
        return []
    from clawft.hooks.command import Surroundings
    from clawft.hooks.command_jobs import make_command_handlers
    from clawft.tools.environment import command_env
    from clawft.tools.skill_env import Supplies
    from clawft.trust.rules import load_rules

    supplies = Supplies(lambda: app.reopen().config.skills.entries, app.environ, app.secrets, app.audit)
    env = command_env(app.config.tools.exec, app.environ, {})
    rules = load_rules(app.config, app.workspace.project)
    around = Surroundings(sandbox, line_policy(app), rules, env, app.audit, remembered)
    return make_command_handlers(standings, settings, app.environ, around, (app.load_cleared, supplies.take))
