"""The composition root of plugins: from an app to the plugins there are, with their state, and to those that run."""

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from clawft.config import config_files
from clawft.config.extensions import PluginsSettings
from clawft.errors import NotFound, find_close
from clawft.skills.discovery.plugins import DiscoveredPlugin, load_contents, load_plugins, plugin_folders
from clawft.trust.plugins import PluginGrant, PluginGrants, PluginStatus, fit_plugins, get_plugin_entry, judge_plugins

if TYPE_CHECKING:
    from clawft.agent.extension import Extension
    from clawft.agent.memory import MemoryBackend, MemoryFiles
    from clawft.agent.runtime import Insertion
    from clawft.agent.tools.skill_tools import DeclaredTool
    from clawft.app.app import App
    from clawft.contracts import Permissions
    from clawft.errors import Diagnostic
    from clawft.plugins.host import Plugins
    from clawft.plugins.notices import MissingStages
    from clawft.sandbox.sandbox import Sandbox
    from clawft.scanner.findings import Report
    from clawft.skills.discovery.catalog import DiscoveredSkill, ReviewSubject
    from clawft.skills.discovery.plugins import PluginContents
    from clawft.skills.parse.model import Skill
    from clawft.trust.approved_copies import ApprovedCopies
    from clawft.trust.plugin_review import PluginReview, PluginReviewer


T = TypeVar("T")


def open_grants(app: "App") -> PluginGrants:
    """Open the store of what the user granted to plugins."""
    return PluginGrants(os.path.join(app.workspace.user_dir, "grants.json"), app.seal)


def open_granted(app: "App") -> "ApprovedCopies":
    """Copies of plugins as they were when they were granted something."""
    from clawft.trust.approved_copies import ApprovedCopies

    return ApprovedCopies(os.path.join(app.workspace.user_dir, "granted"))


def load_found(app: "App", settings: PluginsSettings | None = None) -> tuple[DiscoveredPlugin, ...]:
    """Every plugin there is, by its manifest alone."""
    load = (settings or app.own_config.plugins).load
    return load_plugins(
        plugin_folders(app.workspace, load.extra_dirs, entry_points=load.entry_points, cache_dir=app.cache_dir)
    )


def load_plugin_statuses(
    app: "App", settings: PluginsSettings | None = None, *, by_digest: bool = True
) -> tuple[PluginStatus, ...]:
    """Load every plugin with its state, in order of precedence; `settings` where they are not, or not yet, the
    user's."""
    settings = settings or app.own_config.plugins
    found = load_found(app, settings)
    if not found:
        return ()
    judged = judge_plugins(found, settings, open_grants(app).load, by_digest=by_digest)
    return fit_plugins(judged, app.workspace, app.config.tools.web)


def load_plugin_contents(app: "App", found: DiscoveredPlugin) -> "PluginContents":
    """Load what a plugin brings apart from its own code, as it is on disk now."""

    return load_contents(found, app.config.skills.max_skill_prompt_bytes)


def find_plugin(statuses: tuple[PluginStatus, ...], reference: str) -> PluginStatus:
    """The plugin of an id, of the last part of an id, or of a folder's name. Raises: NotFound."""
    exact = [status for status in statuses if status.id == reference]
    short = [
        status
        for status in statuses
        if reference in (status.id.rpartition(".")[2], os.path.basename(status.found.folder))
    ]
    named = exact or (short if len({plugin.id for plugin in short}) == 1 else [])
    if named:
        return next((plugin for plugin in named if plugin.state != "shadowed"), named[0])
    if short:
        hint = f"Say which: {', '.join(sorted({plugin.id for plugin in short}))}"
        raise NotFound("plugin-not-found", f"Several plugins are called '{reference}'", hint=hint)
    close = find_close(reference, (status.id for status in statuses))
    hint = (f"did you mean '{close}'? " if close else "") + "Run: weft plugins list"
    raise NotFound("plugin-not-found", f"No plugin '{reference}'", hint=hint)


def check_skill_tools(
    app: "App", skill: "Skill", found: "DiscoveredSkill"
) -> "tuple[tuple[DeclaredTool, ...], tuple[Diagnostic, ...]]":
    """The tools of a skill that can be offered with what there is here, and what there is to say about them."""
    from clawft.agent.tools.skill_tools import check_declared_tools, find_skill_runtime

    if not skill.provided_tools:
        return (), ()
    statuses = load_plugin_statuses(app) if found.location.scope == "plugin" else ()
    ready = [
        status.id
        for status in statuses
        if status.state == "ready" and status.found.manifest and status.found.manifest.has_code
    ]
    runtime = find_skill_runtime(found.location, app.own_config.plugins.wasm, ready)
    return check_declared_tools(skill, found.folder, found.file, runtime)


def open_plugin_review(app: "App") -> "PluginReviewer":
    """Open the reviewer with which the user decides about plugins."""
    from clawft.trust.plugin_review import PluginReviewer

    return PluginReviewer(open_grants(app), open_granted(app), app.audit, app.load_report, partial(_object_to, app))


def _object_to(app: "App", found: "ReviewSubject", report: "Report") -> "Diagnostic | None":
    """Return the scanner finding that keeps a plugin from use; None if there is none, or the user allowed it."""
    from clawft.scanner.screening import screen_report
    from clawft.trust.overrides import ScreenedSkills, check_screening

    screening = screen_report(report)
    if screening is None:
        return None
    scanned = ScreenedSkills((screening,), app.overrides.load(), app.config.skills.security.block_critical)
    blocked, diagnostics = check_screening(found, screening, scanned)
    return diagnostics[0] if blocked else None


def grant_plugin(app: "App", review: "PluginReview", permissions: "Permissions") -> "tuple[Diagnostic, ...]":
    """Grant a plugin that was reviewed what was decided, and approve what it brings; what of that could not be.

    Raises: ClawftError.
    """
    from clawft.app.plugin_contents import approve_contents

    open_plugin_review(app).grant(review, permissions)
    return approve_contents(app, review.found)


def revoke_plugin(app: "App", found: DiscoveredPlugin) -> PluginGrant | None:
    """Take back what a plugin was granted, if it was anything, and what it brings with it. Raises: ClawftError."""
    from clawft.app.plugin_contents import revoke_contents

    revoke_contents(app, found)
    return open_plugin_review(app).revoke(found)


def change_grant(app: "App", status: PluginStatus, permissions: "Permissions") -> PluginGrant:
    """Grant more or less to a plugin that is granted something as it is now. Raises: ClawftError."""
    assert status.grant is not None
    return open_plugin_review(app).change(status.found, status.grant, permissions)


def open_plugins(app: "App", sandbox: "Sandbox") -> "Plugins":
    """The host of the plugins that may be used: entered where those that run are to be ended, too."""
    from clawft.plugins.host import PluginGrantWatch, Plugins
    from clawft.plugins.runtime import PluginEnvironment

    def load() -> tuple[tuple[PluginStatus, ...], PluginsSettings]:
        now = app.refresh()
        return load_plugin_statuses(now), now.own_config.plugins

    around = PluginEnvironment(app.workspace, app.environ, sandbox, app.secrets, app.audit)
    latest = PluginGrantWatch((open_grants(app).path, *config_files(app.workspace)), load)
    return Plugins(load_plugin_statuses(app), app.own_config.plugins, around, latest)


def extend(plugins: "Plugins") -> "tuple[Extension, ...]":
    """Return the extensions that plugins add to turns. Without plugins nothing is loaded."""
    if not plugins.statuses:
        return ()
    from clawft.plugins.extensions import plugin_extensions

    return plugin_extensions(plugins)


def supply_plugin(app: "App", status: PluginStatus, settings: PluginsSettings) -> dict[str, str]:
    """The variables that a plugin was granted, for its servers; no text may hold those that are secrets from then on.

    Raises: ClawftError.
    """
    from clawft.plugins.settings import find_granted_env, record_secrets

    env = find_granted_env(status, get_plugin_entry(status.found, settings), app.environ)
    record_secrets(status, settings, ({}, env), app.secrets, app.audit)
    return env


def guard_turns(app: "App", plugins: "Plugins") -> "tuple[Insertion, ...]":
    """Return the insertions that end every turn as long as a required stage of a plugin cannot run."""
    from clawft.plugins.notices import make_stage_guard

    seen = -1
    known: tuple[MissingStages, ...] = ()

    def find() -> "tuple[MissingStages, ...]":
        nonlocal seen, known
        if seen != plugins.changes:
            seen, known = plugins.changes, load_missing(app, plugins.statuses, plugins.settings)
        return known

    return make_stage_guard(find)


def load_missing(
    app: "App", statuses: Sequence[PluginStatus], settings: PluginsSettings
) -> "tuple[MissingStages, ...]":
    """The plugins whose stages no turn goes on without, and that cannot be asked."""
    grants = open_grants(app)
    if not os.path.lexists(grants.path):
        return ()
    from clawft.plugins.notices import find_missing_stages

    pairs = plugin_folders(app.workspace, settings.load.extra_dirs).pairs
    bases = [base for _, base in pairs] + [path for path in sys.path if path.endswith("-packages")]
    return find_missing_stages(statuses, settings, grants.load, bases)


def pick_memory(app: "App", files: "MemoryFiles", plugins: "Plugins") -> "MemoryBackend":
    """The memory that the user chose: the files, or one that a plugin brings."""
    from clawft.config.agents import FILES

    name = app.own_config.memory.backend
    if name == FILES:
        return files
    from clawft.plugins.extensions import ChosenMemory

    return ChosenMemory(name, lambda: extend(plugins))


async def use_memory(app: "App", name: str, work: "Callable[[MemoryBackend], T]") -> T:
    """Do something with the memory of a plugin, in a thread; it is started for it, and ended. Raises: ClawftError."""
    from anyio import to_thread

    from clawft.plugins.extensions import ChosenMemory

    async with open_plugins(app, app.open_sandbox()) as plugins:
        return await to_thread.run_sync(work, ChosenMemory(name, lambda: extend(plugins)))
