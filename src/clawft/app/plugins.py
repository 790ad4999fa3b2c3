"""The composition root of plugins: from an app to the plugins there are, with their state, and to those that run."""

import os
import sys
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from clawft.config.extensions import PluginsSettings
from clawft.errors import NotFound, find_close
from clawft.skills.discovery.plugin_folders import PluginPlaces
from clawft.skills.discovery.plugins import (
    DiscoveredPlugin,
    agent_places,
    hook_files,
    hook_place,
    load_contents,
    load_plugins,
    plugin_folders,
    skill_places,
)
from clawft.trust.plugins import PluginGrants, PluginStatus, fit_plugins, judge_plugins

if TYPE_CHECKING:
    from clawft.agent.tools.skill_tools import DeclaredTool
    from clawft.app.app import App
    from clawft.errors import Diagnostic
    from clawft.plugins.notices import MissingStages
    from clawft.skills.discovery.catalog import DiscoveredSkill
    from clawft.skills.discovery.plugins import PluginContents
    from clawft.skills.parse.model import Skill
    from clawft.trust.approved_copies import ApprovedCopies


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


def find_places(app: "App") -> PluginPlaces:
    """Find the folders in which plugins have skills, agents and hooks.

    Only the manifests are read, since each skill, agent and hook is judged by itself.
    """
    statuses = load_plugin_statuses(app, by_digest=False)
    listed_plugins = [status.found for status in statuses if _joins(status)]
    hooked = [status.found for status in statuses if _keeps_hooks(status)]
    skills, agents = map(skill_places, listed_plugins), map(agent_places, listed_plugins)
    return PluginPlaces(
        tuple(chain.from_iterable(skills)),
        tuple(chain.from_iterable(agents)),
        tuple(place for plugin in hooked if (place := hook_place(plugin)) is not None),
        tuple(files for plugin in hooked if (files := hook_files(plugin)) is not None),
    )


def _joins(one: PluginStatus) -> bool:
    """Return whether what it brings is listed. What nobody granted yet is, to be looked at, unless a project brought
    it."""
    return one.state == "ready" or (one.state == "untrusted" and one.found.scope != "project")


def _keeps_hooks(one: PluginStatus) -> bool:
    """Return whether its hooks count. One that is not eligible keeps them: they may be there to forbid something; and a
    folder without a manifest may be there for its hooks alone."""
    unapproved = one.state in ("untrusted", "broken") and one.found.scope != "project"
    return unapproved or one.state in ("ready", "ineligible")
