"""The composition root of plugins: from an app to the plugins there are, with their state, and to those that run."""

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, TypeVar

from msgspec import structs

from clawft.config.plugins import PluginsSettings, own_plugins
from clawft.discovery.plugins import FoundPlugin, load_plugins, plugin_folders
from clawft.errors import NotFound, find_close
from clawft.trust.plugins import PluginGrant, PluginGrants, PluginStanding, entry_of_plugin, judge_plugins

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.contracts import Permissions
    from clawft.discovery.catalog import Found
    from clawft.discovery.plugin_contents import PluginContents
    from clawft.errors import Diagnostic
    from clawft.format.model import Skill
    from clawft.memory import MemoryBackend, MemoryFiles
    from clawft.plugins.host import Plugins
    from clawft.plugins.required import Missing
    from clawft.run.extension import Extension
    from clawft.run.turn import Insertion
    from clawft.sandbox.sandbox import Sandbox
    from clawft.scan.findings import Report
    from clawft.tools.provided import Provided
    from clawft.trust.kept import Kept
    from clawft.trust.plugin_review import PluginDesk, PluginReview

__all__ = [
    "change_grant",
    "check_skill_tools",
    "extend",
    "find_plugin",
    "grant_plugin",
    "guard_turns",
    "judge_here",
    "load_found",
    "load_missing",
    "load_plugin_contents",
    "load_plugin_standings",
    "open_granted",
    "open_grants",
    "open_plugin_desk",
    "open_plugins",
    "pick_memory",
    "plugin_settings",
    "revoke_plugin",
    "supply_plugin",
    "use_memory",
]

T = TypeVar("T")


def plugin_settings(app: "App") -> PluginsSettings:
    """What the user's own config says of plugins."""
    return own_plugins(app.config, app.workspace.user_dir, app.environ)


def open_grants(app: "App") -> PluginGrants:
    """What the user granted to plugins."""
    return PluginGrants(os.path.join(app.workspace.user_dir, "grants.json"), app.seal)


def open_granted(app: "App") -> "Kept":
    """Copies of plugins as they were when they were granted something."""
    from clawft.trust.kept import Kept

    return Kept(os.path.join(app.workspace.user_dir, "granted"))


def load_found(app: "App", settings: PluginsSettings | None = None) -> tuple[FoundPlugin, ...]:
    """Every plugin there is, by its manifest alone."""
    load = (settings or plugin_settings(app)).load
    return load_plugins(
        plugin_folders(app.workspace, load.extra_dirs, entry_points=load.entry_points, cache_dir=app.cache_dir)
    )


def load_plugin_standings(app: "App", *, by_digest: bool = True) -> tuple[PluginStanding, ...]:
    """Every plugin with its state, in order of precedence."""
    settings = plugin_settings(app)
    return judge_here(app, settings, by_digest=by_digest)


def judge_here(app: "App", settings: PluginsSettings, *, by_digest: bool = True) -> tuple[PluginStanding, ...]:
    """The same by settings that are not, or not yet, those of the user."""
    found = load_found(app, settings)
    if not found:
        return ()
    from clawft.trust.plugin_fit import fit_plugins

    judged = judge_plugins(found, settings, open_grants(app).load, by_digest=by_digest)
    return fit_plugins(judged, app.workspace, app.config.tools.web)


def load_plugin_contents(app: "App", found: FoundPlugin) -> "PluginContents":
    """What a plugin brings beside code of its own, read now."""
    from clawft.discovery.plugin_contents import load_contents

    return load_contents(found, app.config.skills.max_skill_prompt_bytes)


def find_plugin(standings: tuple[PluginStanding, ...], reference: str) -> PluginStanding:
    """The plugin of an id, of the last part of an id, or of a folder's name. Raises: NotFound."""
    exact = [one for one in standings if one.id == reference]
    short = [one for one in standings if reference in (one.id.rpartition(".")[2], os.path.basename(one.found.folder))]
    named = exact or (short if len({one.id for one in short}) == 1 else [])
    if named:
        return next((one for one in named if one.state != "shadowed"), named[0])
    if short:
        hint = f"Say which: {', '.join(sorted({one.id for one in short}))}"
        raise NotFound("plugin-not-found", f"Several plugins are called '{reference}'", hint=hint)
    close = find_close(reference, (one.id for one in standings))
    hint = (f"did you mean '{close}'? " if close else "") + "Run: weft plugins list"
    raise NotFound("plugin-not-found", f"No plugin '{reference}'", hint=hint)


def check_skill_tools(
    app: "App", skill: "Skill", found: "Found"
) -> "tuple[tuple[Provided, ...], tuple[Diagnostic, ...]]":
    """The tools of a skill that can be offered with what there is here, and what there is to say about them."""
    from clawft.tools.engines import find_means
    from clawft.tools.provided import check_provided

    if not skill.provided_tools:
        return (), ()
    standings = load_plugin_standings(app) if found.location.scope == "plugin" else ()
    ready = [one.id for one in standings if one.state == "ready" and one.found.manifest and one.found.manifest.has_code]
    means = find_means(found.location, plugin_settings(app).wasm, ready)
    return check_provided(skill, found.folder, found.file, means)


def open_plugin_desk(app: "App") -> "PluginDesk":
    """Where a person decides about plugins."""
    from clawft.trust.plugin_review import PluginDesk, PluginStores

    return PluginDesk(
        PluginStores(open_grants(app), open_granted(app), app.audit), app.load_report, partial(_object_to, app)
    )


def _object_to(app: "App", found: "Found", report: "Report") -> "Diagnostic | None":
    """What the scanner found that keeps a plugin from use, unless the user allowed it."""
    from clawft.scan.screening import screen_report
    from clawft.trust.blocking import Scanned, check_screening

    screening = screen_report(report)
    if screening is None:
        return None
    scanned = Scanned((screening,), app.overrides.load(), app.config.skills.security.block_critical)
    blocked, said = check_screening(found, screening, scanned)
    look = (f"weft skills show {quote(found.name)}", f"weft scan {quote(found.folder)}")
    return structs.replace(said[0], hint=said[0].hint.replace(*look)) if blocked else None


def grant_plugin(app: "App", review: "PluginReview", permissions: "Permissions") -> "tuple[Diagnostic, ...]":
    """Grant a plugin that was reviewed what was decided, and approve what it brings; what of that could not be.

    Raises: ClawftError.
    """
    from clawft.joining import approve_contents

    open_plugin_desk(app).grant(review, permissions)
    return approve_contents(app, review.found)


def revoke_plugin(app: "App", found: FoundPlugin) -> PluginGrant | None:
    """Take back what a plugin was granted, if it was anything, and what it brings with it. Raises: ClawftError."""
    from clawft.joining import revoke_contents

    revoke_contents(app, found)
    return open_plugin_desk(app).revoke(found)


def change_grant(app: "App", standing: PluginStanding, permissions: "Permissions") -> PluginGrant:
    """Grant more or less to a plugin that is granted something as it is now. Raises: ClawftError."""
    assert standing.grant is not None
    return open_plugin_desk(app).change(standing.found, standing.grant, permissions)


def open_plugins(app: "App", sandbox: "Sandbox") -> "Plugins":
    """The host of the plugins that may be used: entered where those that run are to be ended, too."""
    from clawft.config import config_files
    from clawft.plugins.host import Plugins
    from clawft.plugins.latest import Latest
    from clawft.plugins.running import Around

    def load() -> tuple[tuple[PluginStanding, ...], PluginsSettings]:
        now = app.reopen()
        return load_plugin_standings(now), plugin_settings(now)

    around = Around(app.workspace, app.environ, sandbox, app.secrets, app.audit)
    latest = Latest((open_grants(app).path, *config_files(app.workspace)), load)
    return Plugins(load_plugin_standings(app), plugin_settings(app), around, latest)


def extend(plugins: "Plugins") -> "tuple[Extension, ...]":
    """What plugins bring into turns. Where there are none, nothing is loaded for them."""
    if not plugins.standings:
        return ()
    from clawft.plugins.extending import plugin_extensions

    return plugin_extensions(plugins)


def supply_plugin(app: "App", standing: PluginStanding, settings: PluginsSettings) -> dict[str, str]:
    """The variables that a plugin was granted, for its servers; no text may hold those that are secrets from then on.

    Raises: ClawftError.
    """
    from clawft.plugins.given import note_given, take_env

    env = take_env(standing, entry_of_plugin(standing.found, settings), app.environ)
    note_given(standing, settings, ({}, env), app.secrets, app.audit)
    return env


def guard_turns(app: "App", plugins: "Plugins") -> "tuple[Insertion, ...]":
    """What ends every turn, as long as a stage cannot be asked that no turn goes on without."""
    from clawft.plugins.required import guard

    seen = -1
    known: tuple[Missing, ...] = ()

    def find() -> "tuple[Missing, ...]":
        nonlocal seen, known
        if seen != plugins.changes:
            seen, known = plugins.changes, load_missing(app, plugins.standings, plugins.settings)
        return known

    return guard(find)


def load_missing(app: "App", standings: Sequence[PluginStanding], settings: PluginsSettings) -> "tuple[Missing, ...]":
    """The plugins whose stages no turn goes on without, and that cannot be asked."""
    grants = open_grants(app)
    if not os.path.lexists(grants.path):
        return ()
    from clawft.plugins.required import find_missing

    pairs = plugin_folders(app.workspace, settings.load.extra_dirs).pairs
    bases = [base for _, base in pairs] + [one for one in sys.path if one.endswith("-packages")]
    return find_missing(standings, settings, grants.load, bases)


def pick_memory(app: "App", files: "MemoryFiles", plugins: "Plugins") -> "MemoryBackend":
    """The memory that the user chose: the files, or one that a plugin brings."""
    from clawft.config.memory import FILES, own_backend

    name = own_backend(app.config, app.workspace.user_dir, app.environ)
    if name == FILES:
        return files
    from clawft.plugins.memory import ChosenMemory

    return ChosenMemory(name, lambda: extend(plugins))


async def use_memory(app: "App", name: str, work: "Callable[[MemoryBackend], T]") -> T:
    """Do something with the memory of a plugin, in a thread; it is started for it, and ended. Raises: ClawftError."""
    from anyio import to_thread

    from clawft.plugins.memory import ChosenMemory

    async with open_plugins(app, app.open_sandbox()) as plugins:
        return await to_thread.run_sync(work, ChosenMemory(name, lambda: extend(plugins)))
