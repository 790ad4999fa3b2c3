"""The composition root of hooks: from an app to the hooks there are, with their state, and to those that run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clawft.config.hooks import HooksSettings, own_hooks
from clawft.discovery.hooks import load_hooks, load_skill_hooks
from clawft.discovery.locations import find_plugins, hook_locations
from clawft.errors import ClawftError, Diagnostic
from clawft.hooks.deno import Deno
from clawft.hooks.handlers import DenoHandler, make_job
from clawft.hooks.registry import Handler, Hooks
from clawft.trust.hooks import HookRules, HookStanding, entry_of, judge_hooks

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.sandbox.sandbox import Sandbox
    from clawft.trust import Standing

__all__ = ["hook_settings", "load_standings", "open_hooks"]


def hook_settings(app: "App") -> HooksSettings:
    """What the user's own config says of hooks."""
    return own_hooks(app.config, app.workspace.user_dir, app.environ)


def load_standings(
    app: "App", skills: "Sequence[Standing]", settings: HooksSettings | None = None
) -> tuple[HookStanding, ...]:
    """Every hook with its state, in order of precedence; `skills` are those that may bring some.

    `settings` are looked up unless they are given.
    """
    settings = settings or hook_settings(app)
    own = load_hooks(hook_locations(app.workspace, settings.load.extra_dirs, find_plugins(app.workspace)))
    brought = load_skill_hooks([one.found for one in skills if one.found.skill is not None])
    rules = HookRules(
        settings,
        app.host,
        app.workspace,
        {one.found.folder: one for one in skills},
        lambda: app.approvals.load(),
        lambda found, digest: app.strangers.clear(found, digest, []),
        app.screen,
    )
    return judge_hooks((*own, *brought), rules)


def open_hooks(app: "App", sandbox: "Sandbox", only: str = "") -> Hooks:
    """The hooks that hear what happens; looked up when the first event comes, and after `refresh`."""
    deno = Deno(sandbox)

    def load() -> tuple[Sequence[Handler], Sequence[Diagnostic]]:
        now = app.reopen()
        settings = hook_settings(now)
        handlers: list[Handler] = []
        problems: list[Diagnostic] = []
        for one in load_standings(now, now.load_skills(only)):
            if one.state != "ready":
                continue
            try:
                job = make_job(one, settings, now.workspace, now.environ)
            except ClawftError as error:
                problems.append(error.diagnostic)
            else:
                handlers.append(DenoHandler(one, job, entry_of(one.found, settings), deno))
        return handlers, problems

    return Hooks(load)
