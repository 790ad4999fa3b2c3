"""The composition root of hooks: from an app to the hooks there are, with their state, and to those that run."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from clawft.agent.hooks.deno import DenoRunner
from clawft.agent.hooks.events import MissingHook
from clawft.agent.hooks.handlers import DenoHandler, HookAudit, make_hook_launch
from clawft.agent.hooks.processes import HookProcesses
from clawft.agent.hooks.registry import HookHandler, HookRunHistory, Hooks
from clawft.agent.tools.environment import SkillVariables, command_env
from clawft.config.extensions import HooksSettings
from clawft.errors import ClawftError, Diagnostic, NotFound, find_close
from clawft.skills.discovery.hooks import (
    DiscoveredHook,
    load_claude_hooks,
    load_hooks,
    load_skill_commands,
    load_skill_hooks,
)
from clawft.skills.discovery.locations import hook_locations
from clawft.trust.command_hooks import CommandHooksStatus, entry_for, judge_commands
from clawft.trust.hook_lines import LinePolicy
from clawft.trust.hooks import HookRules, HookStatus, get_hook_entry, judge_hooks
from clawft.trust.permissions import load_rules

if TYPE_CHECKING:  # what commands need is loaded where there are some
    from clawft.agent.hooks.commands import CommandHandler
    from clawft.app.app import App
    from clawft.sandbox.sandbox import Sandbox
    from clawft.skills.discovery.locations import Location, PluginHooks
    from clawft.trust.hook_lines import LinePolicy
    from clawft.trust.status import SkillStatus


AnyHookStatus = HookStatus | CommandHooksStatus


def find_plugin_hooks(app: "App") -> "tuple[tuple[Location, ...], tuple[PluginHooks, ...]]":
    """Find the hooks of plugins, of either kind."""
    places = app.plugin_places
    return (places.hooks, places.hook_files) if places else ((), ())


def load_hook_statuses(
    app: "App", skills: "Sequence[SkillStatus]", settings: HooksSettings | None = None
) -> tuple[HookStatus, ...]:
    """Every hook with its state, in order of precedence; `skills` are those that may bring some.

    `settings` are looked up unless they are given.
    """
    settings = settings or app.own_config.hooks
    own = load_hooks(hook_locations(app.workspace, settings.load.extra_dirs, find_plugin_hooks(app)[0]))
    brought = load_skill_hooks([skill.found for skill in skills if skill.found.skill is not None])
    rules = HookRules(
        settings,
        app.host,
        app.workspace,
        {skill.found.folder: skill for skill in skills},
        lambda kind, path: app.approvals.find(kind, path),
        lambda found, digest: (
            app.trust_policy.get_approval(found, digest(), []) if app.trust_policy.requires_approval(found) else None
        ),
        app.screen,
    )
    return judge_hooks((*own, *brought), rules)


def line_policy(app: "App") -> "LinePolicy":
    """Return the policy by which the lines of command hooks are judged. Raises: ClawftError."""
    rules = load_rules(app.config, app.workspace.project)
    return LinePolicy(app.config.tools.exec, rules, app.workspace)


def load_command_hook_statuses(
    app: "App", skills: "Sequence[SkillStatus]", settings: HooksSettings | None = None
) -> tuple[CommandHooksStatus, ...]:
    """Claude Code's command hooks with their state: of its settings files, then of skills. Raises: ClawftError."""
    found = load_claude_hooks(app.workspace, find_plugin_hooks(app)[1])
    brought = load_skill_commands([skill.found for skill in skills])
    if not found and not brought:
        return ()

    by_folder = {skill.found.folder: skill for skill in skills}
    return judge_commands(
        (*found, *brought),
        settings or app.own_config.hooks,
        line_policy(app),
        app.workspace,
        by_folder,
        lambda kind, path: app.approvals.find(kind, path),
    )


def load_all_hooks(app: "App", settings: HooksSettings | None = None) -> tuple[AnyHookStatus, ...]:
    """Every hook there is, of both kinds, with its state, in order of precedence. Raises: ClawftError."""
    deno = load_hook_statuses(app, app.skills, settings)
    return (*deno, *load_command_hook_statuses(app, app.skills, settings))


def check_folders(app: "App") -> list[Diagnostic]:
    """Folders that the config names and that are not there."""
    named = hook_locations(app.workspace, app.own_config.hooks.load.extra_dirs)
    lost = [location.path for location in named if location.scope == "extra" and not os.path.isdir(location.path)]
    hint = "It stands in hooks.load.extra_dirs"
    return [Diagnostic("no-folder", "warning", "There is no such folder", path, 0, hint) for path in lost]


def find_hook(hooks: Sequence[AnyHookStatus], reference: str) -> AnyHookStatus:
    """The hook of a name, or of `ORIGIN:NAME`; one that runs before one that does not. Raises: NotFound."""
    exact = [hook for hook in hooks if hook.name == reference]
    origin, _, bare = reference.rpartition(":")
    named = exact or [
        hook for hook in hooks if hook.name == bare and origin in (hook.found.origin, hook.found.origin.split()[0])
    ]
    if not named:
        close = find_close(bare, (hook.name for hook in hooks))
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft hooks list"
        raise NotFound("hook-not-found", f"No hook '{reference}'", hint=hint)
    return next((candidate for candidate in named if candidate.state == "ready"), named[0])


def make_handlers(app: "App", sandbox: "Sandbox", one: AnyHookStatus, settings: HooksSettings) -> list[HookHandler]:
    """Make the handlers that a turn would call for one hook that is ready. Raises: ClawftError."""
    if isinstance(one, HookStatus):
        job = make_hook_launch(one, settings, app.workspace, app.environ)
        notes = HookAudit(app.audit, app.secrets)
        return [DenoHandler(one, job, get_hook_entry(one.found, settings), DenoRunner(sandbox, notes), notes)]
    return list(_command_handlers(app, sandbox, [one], settings, HookRunHistory()))


def make_skill_variables(app: "App") -> SkillVariables:
    """Make what gives skills the variables that the user set for them, as the settings are then."""
    return SkillVariables(lambda: app.refresh_config().skills.entries, app.environ, app.secrets, app.audit)


def open_hosts(app: "App", sandbox: "Sandbox") -> HookProcesses:
    """The processes of hooks that are kept: entered where they are to be ended, too."""
    return HookProcesses(DenoRunner(sandbox, HookAudit(app.audit, app.secrets)))


def open_hooks(
    app: "App", sandbox: "Sandbox", only: str = "", hosts: HookProcesses | None = None, *, own_skills: bool = False
) -> Hooks:
    """The hooks that hear what happens; looked up when the first event comes, and after `refresh`.

    With `own_skills`, the skills that it is refreshed with are those that this app has just loaded: it has seen all
    else as it is on disk by then, too.
    """
    runner, notes = hosts or open_hosts(app, sandbox), HookAudit(app.audit, app.secrets)
    remembered = HookRunHistory()

    def load(loaded_skills: "Sequence[SkillStatus] | None") -> tuple[Sequence[HookHandler], Sequence[Diagnostic]]:
        skills = loaded_skills
        if skills is None:
            skills = app.load_skills(only)
        elif not own_skills:
            app.refresh()
        settings = app.own_config.hooks
        handlers: list[HookHandler] = []
        problems: list[Diagnostic] = []
        absent: list[MissingHook] = []
        for status in load_hook_statuses(app, skills, settings):
            if status.state != "ready":
                absent += _find_absent(status, settings)
                problems += _find_retained(status)
                continue
            try:
                job = make_hook_launch(status, settings, app.workspace, app.environ)
            except ClawftError as error:
                problem = f"The hook '{status.name}' cannot run: {error}"
                problems.append(structs.replace(error.diagnostic, message=problem))
                absent += _find_absent(status, settings, error.diagnostic)
            else:
                handlers.append(DenoHandler(status, job, get_hook_entry(status.found, settings), runner, notes))
        try:
            commands = load_command_hook_statuses(app, skills, settings)
            handlers += _command_handlers(app, sandbox, commands, settings, remembered)
        except ClawftError as error:
            problems.append(error.diagnostic)
        else:
            problems += [problem for command in commands for problem in _find_retained(command)]
            absent += [each for command in commands for each in _find_absent(command, settings)]
        there = {handler.name for handler in handlers}
        return [*handlers, *(missing_hook for missing_hook in absent if missing_hook.name not in there)], problems

    return Hooks(load)


def _find_absent(one: AnyHookStatus, settings: HooksSettings, why: Diagnostic | None = None) -> list[MissingHook]:
    """Return a placeholder for a hook that must be asked about tool calls but cannot run, so that those calls are
    denied.

    A skill's own hook needs none: without its skill it is not used.
    """
    found = one.found
    if found.skill is not None or (one.state not in ("broken", "blocked", "untrusted", "ineligible") and why is None):
        return []
    if isinstance(found, DiscoveredHook):
        entry = get_hook_entry(found, settings)
        asked = found.hook is None or not found.hook.events or not {"tool", "tool:before"}.isdisjoint(found.hook.events)
    else:
        entry = entry_for(found.name, settings)
        asked = not found.hooks or "PreToolUse" in found.events
    reason = why or next(iter(one.reasons), None)
    return [MissingHook(one.name, reason)] if asked and entry.on_failure == "deny" else []


def _find_retained(one: AnyHookStatus) -> list[Diagnostic]:
    """Return the reasons to report in a turn why a hook, or a part of its commands, does not run.

    A skill that may not be used is reported as a skill; for an unapproved hook only that it is unapproved.
    """
    unusable = one.state in ("untrusted", "blocked", "broken")
    if (unusable and one.found.skill is not None) or one.state in ("disabled", "shadowed"):
        return []
    reasons = one.reasons if unusable or not isinstance(one, HookStatus) else ()
    reasons = reasons[:1] if one.state == "untrusted" else reasons
    return [reason for reason in reasons if reason.severity != "note"]


def _command_handlers(
    app: "App",
    sandbox: "Sandbox",
    statuses: Sequence[CommandHooksStatus],
    settings: HooksSettings,
    remembered: HookRunHistory,
) -> "list[CommandHandler]":
    """Raises: ClawftError."""
    if not any(status.state == "ready" for status in statuses):
        return []
    from clawft.agent.hooks.commands import CommandEnvironment, make_command_handlers

    supplies = make_skill_variables(app)
    env = command_env(app.config.tools.exec, app.environ, {})
    rules = load_rules(app.config, app.workspace.project)
    around = CommandEnvironment(sandbox, line_policy(app), rules, env, app.audit, remembered)
    return make_command_handlers(statuses, settings, app.environ, around, (app.load_usable, supplies.take))
