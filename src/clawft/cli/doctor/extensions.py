"""Checks of what a turn may use beside the model: sandbox, MCP servers, jobs, memory, hooks, plugins, registries."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import anyio

from clawft.agent.hooks.deno import find_deno
from clawft.agent.mcp.launch import HttpLaunch, resolve_launch
from clawft.agent.memory import open_memory
from clawft.app.app import App
from clawft.app.hooks import load_all_hooks
from clawft.app.jobs import open_app_runs
from clawft.app.plugins import load_missing, load_plugin_statuses
from clawft.cli.cron_jobs import find_unserved, has_jobs, quote_worker_command
from clawft.cli.doctor.check import CheckStatus, DoctorCheck, from_error, quote
from clawft.cli.plugins.settings import find_missing, make_plugin_owner
from clawft.config.agents import FILES
from clawft.config.keys import join_path
from clawft.config.registries import CLAWHUB, list_registries
from clawft.config.secret import find_names
from clawft.config.tools import ServerSettings
from clawft.errors import ClawftError
from clawft.files import is_there
from clawft.jobs import is_used
from clawft.sandbox.probe import KINDS
from clawft.sandbox.selftest import HOLES, run_self_test
from clawft.skills.discovery.instructions import load_instructions
from clawft.trust.modes import find_confined
from clawft.trust.network import is_loopback, read_url
from clawft.trust.plugins import PluginStatus
from clawft.trust.programs import find_program

if TYPE_CHECKING:
    from clawft.agent.mcp.launch import StdioLaunch


# Extra -> the package that is the heart of it, and what it is for.
_OPTIONAL = {
    "mcp": ("mcp", "tools of MCP servers"),
    "keyring": ("keyring", "keys in the system's keyring"),
    "durable": ("dbos", "runs in the background"),
    "deno": ("deno", "hooks in TypeScript"),
    "wasm": ("wasmtime", "plugins and skills in WebAssembly"),
    "telemetry": ("opentelemetry-exporter-otlp-proto-http", "traces and metrics of runs"),
    "hub": ("uvicorn", "a registry of your own, with weft hub serve"),
    "serve": ("watchfiles", "your skills for other programs, with weft serve and weft mcp"),
}
_INSTALLS = {"npx": "npx comes with Node.js", "uvx": "uvx comes with uv", "docker": "docker comes with Docker"}


def check_optional() -> Iterator[DoctorCheck]:
    for name, (package, purpose) in _OPTIONAL.items():
        found = _find_version(package)
        if found:
            yield DoctorCheck("part", "ok", f"{name} {found}: {purpose}")
        else:
            yield DoctorCheck("part", "note", f"{name} is not installed: {purpose}", hint=_install(name))


def _find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _install(name: str) -> str:
    return f"pip install 'clawft[{name}]'"


def check_sandbox(app: App) -> Iterator[DoctorCheck]:
    """Return whether commands are confined, tried with a program that does nothing."""
    status = app.open_sandbox().status()
    install = "apt install bubblewrap"
    if status.kind == "bubblewrap":
        yield DoctorCheck("sandbox", "ok", "bubblewrap")
    elif status.kind == "landlock":
        why = "commands can change what the project holds, but put nothing new right into its folder"
        fix = install if "not installed" in status.reason else ""
        yield DoctorCheck(
            "sandbox", "note", f"Landlock{f': {status.reason}' if status.reason else ''}", why=why, fix=fix
        )
    elif status.kind == "off":
        why = "commands run with all your rights"
        yield DoctorCheck(
            "sandbox", "note", "none: sandbox.mode is 'off'", why=why, fix="weft config set sandbox.mode auto"
        )
    else:
        why = "each command is asked for, and refused where nobody can answer"
        yield DoctorCheck("sandbox", "note", f"none: {status.reason}", why=why, fix=install)
    if status.kind in ("bubblewrap", "landlock"):
        yield from _test_sandboxes(app, status.kind)


def _test_sandboxes(app: App, used: str) -> Iterator[DoctorCheck]:
    """Test each sandbox of this machine from inside and report what it fails to confine."""
    for kind in KINDS:
        test = anyio.run(run_self_test, kind, app.host_programs)
        status: CheckStatus = "problem" if kind == used else "note"
        for hole in test.open:
            yield DoctorCheck("sandbox", status, f"{kind} does not hold: {HOLES[hole]}", why="a skill could use that")
        if test.reason and kind == used:
            yield DoctorCheck("sandbox", "problem", f"{kind} could not be tested: {test.reason}")
        elif not test.open and not test.reason:
            yield DoctorCheck("sandbox", "ok", f"{kind} holds: {len(HOLES)} known ways out were tried from inside")


def check_servers(app: App) -> Iterator[DoctorCheck]:
    """Check each MCP server as far as possible without starting it."""
    servers = {name: server for name, server in app.config.mcp.servers.items() if server.enabled}
    if servers and not _find_version("mcp"):
        why = f"{len(servers)} servers are configured, and none is started"
        yield DoctorCheck("mcp", "note", "The optional part 'mcp' is not installed", why=why, fix=_install("mcp"))
    for name, settings in servers.items():
        yield _check_server(name, settings, app)


def _check_server(name: str, settings: ServerSettings, app: App) -> DoctorCheck:
    why = "its tools are missing from every turn"
    off = f"weft config set {join_path(('mcp', 'servers', name, 'enabled'))} false"
    values = (settings.headers if settings.url else settings.env).values()
    unset = next((name for text in values for name in find_names(text) if name not in app.environ), "")
    try:
        confined = name in find_confined(app.config, app.workspace.user_dir)
        launch = resolve_launch(name, settings, app.workspace, app.host_programs, confined=confined)
        if isinstance(launch, HttpLaunch) or _is_there(launch):
            return DoctorCheck("mcp", "ok", name)
    except ClawftError as error:
        fix = f"export {unset}=VALUE" if error.code == "mcp-env" and unset else off
        return from_error("mcp", error, app.workspace, status="note", why=why, fix=fix)
    message = f"The command '{settings.command}' of the server '{name}' is not there"
    hint = _INSTALLS.get(settings.command, "Install it")
    return DoctorCheck("mcp", "note", message, f"{hint}; or leave the server out", why, off)


def _is_there(launch: "StdioLaunch") -> bool:
    """Return whether there is the program of a server. Raises: Refused for one that may not be started."""
    name, path = launch.command[0], launch.env.get("PATH", os.defpath)
    found = find_program(os.path.join(launch.cwd, name) if os.path.dirname(name) else name, path)
    if found and launch.confinement is None:
        launch.prepare()
    return bool(found)


def check_jobs(app: App) -> Iterator[DoctorCheck]:
    if not has_jobs(app):
        return
    try:
        jobs, unserved = _look_at_jobs(app)
    except ClawftError as error:
        if error.code == "cron-damaged":  # what is wrong with runs is said of them
            yield from_error("cron", error, app.workspace, why="no job runs")
        return
    many = f"{jobs} job{'s' * (jobs != 1)}"
    if jobs and unserved:
        yield DoctorCheck("cron", "note", f"{many}, and no worker", why="nothing runs when it is due", fix=unserved)
    elif jobs:
        yield DoctorCheck("cron", "ok", f"{many}, and a worker")


def _look_at_jobs(app: App) -> tuple[int, str]:
    """Return how many jobs are enabled, and the command that starts the missing worker ('' if none is missing).

    Nothing is changed. Raises: ClawftError.
    """
    settings = app.own_config.runs
    if not is_used(settings, app.workspace.user_dir):
        return 0, ""
    with closing(open_app_runs(app)) as runs:
        bad: list[ClawftError] = []
        enabled = [job for job in runs.jobs.load(bad.append) if job.enabled]
        if bad:
            raise bad[0]
        unserved = find_unserved(runs, enabled)
    return len(enabled), quote_worker_command(unserved[0]) if unserved else ""


def check_memory(app: App) -> Iterator[DoctorCheck]:
    name = app.own_config.memory.backend
    if app.config.memory.enabled and name != FILES:
        yield _check_brought(app, name)
        return
    if not app.config.memory.enabled or not is_there(os.path.join(app.workspace.user_dir, "memory")):
        return
    with closing(open_memory(app.workspace, app.config.memory)) as memory:
        try:
            damaged, index_problems = memory.check_files(), memory.check_index()
        except ClawftError as error:
            yield from_error("memory", error, app.workspace, why="memories are not found")
            return
    for damage in damaged:
        yield from_error("memory", damage, app.workspace, why="memories are not found")
    for problem in index_problems:
        yield from_error("memory", problem, app.workspace, status="note", why="memories are found by their words alone")
    if not damaged and not index_problems:
        yield DoctorCheck("memory", "ok", app.workspace.shorten(memory.folder))


def _check_brought(app: App, name: str) -> DoctorCheck:
    ready = [
        status for status in load_plugin_statuses(app) if status.state == "ready" and status.found.manifest is not None
    ]
    brought = [
        (plugin.id, memory) for plugin in ready if plugin.found.manifest for memory in plugin.found.manifest.memory
    ]
    found = [plugin for plugin, memory in brought if name in (memory, f"{plugin}:{memory}")]
    if len(found) == 1:
        return DoctorCheck("memory", "ok", f"{name}, of the plugin {found[0]}")
    why = "several plugins bring it" if found else "no plugin that may be used brings it"
    message = f"memory.backend is '{name}', and {why}"
    return DoctorCheck("memory", "problem", message, hint="Run: weft plugins list", why="nothing is remembered")


def check_approvals(app: App) -> Iterator[DoctorCheck]:
    """Check for instructions, agents and skills that are ignored because the user has not approved them."""
    why = "it is ignored: a stranger's project could tell agents what to do"
    fix = "weft agent --trust-instructions --show-prompt"
    for instruction in load_instructions(app.workspace)[0]:
        if not instruction.own and not app.approvals.has("instructions", instruction.path, instruction.content):
            yield DoctorCheck(
                "approval", "note", f"{app.workspace.shorten(instruction.path)} is not approved", why=why, fix=fix
            )
    for agent in app.agents:
        if agent.state == "untrusted":
            where = app.workspace.shorten(agent.found.file)
            fix = f"weft skills trust {quote(agent.found.name)}"
            yield DoctorCheck("approval", "note", f"{where} is not approved", why=why, fix=fix)
    waiting = [skill for skill in app.skills if skill.state == "untrusted"]
    if waiting:
        some = ", ".join(skill.name for skill in waiting[:3]) + (" and more" if len(waiting) > 3 else "")
        message = (
            f"{len(waiting)} skill{'s' * (len(waiting) > 1)} wait{'s' * (len(waiting) == 1)} for an approval: {some}"
        )
        ignored = "what strangers brought is ignored until somebody looked at it"
        yield DoctorCheck("approval", "note", message, why=ignored, fix="weft skills trust --all")


_HOOKS_NAME = "hooks"


def check_hooks(app: App) -> Iterator[DoctorCheck]:
    """Check which hooks run, which cannot, and which wait for approval. Yields nothing without hooks."""
    rows = load_all_hooks(app)
    ready = [row for row in rows if row.state == "ready"]
    if ready:
        yield from _check_deno(app, sum(hook.found.kind == "hook" for hook in ready), len(ready))
    for row in rows:
        if row.state in ("broken", "blocked", "ineligible"):
            reason = row.reasons[0].message if row.reasons else row.state
            message = f"{row.name} is {row.state}: {reason}"
            yield DoctorCheck(
                _HOOKS_NAME, "note", message, why="it hears nothing", fix=f"weft hooks show {quote(row.name)}"
            )
    waiting = [row for row in rows if row.state == "untrusted" and not row.found.origin.startswith("skill ")]
    if waiting:
        some = ", ".join(hook.name for hook in waiting[:3]) + (" and more" if len(waiting) > 3 else "")
        many = f"{len(waiting)} hook{'s' * (len(waiting) > 1)} wait{'s' * (len(waiting) == 1)} for an approval: {some}"
        why = "what strangers brought is ignored until somebody looked at it"
        yield DoctorCheck(_HOOKS_NAME, "note", many, why=why, fix=f"weft hooks enable {quote(waiting[0].name)}")


def _check_deno(app: App, wanting: int, ready: int) -> Iterator[DoctorCheck]:
    """Return whether Deno is there, where a hook needs it."""
    many = f"{ready} ready"
    if not wanting:
        yield DoctorCheck(_HOOKS_NAME, "ok", many)
        return

    try:
        find_deno()
    except ClawftError as error:
        why = f"{wanting} hook{'s' * (wanting != 1)} hear{'s' * (wanting == 1)} nothing"
        yield from_error(_HOOKS_NAME, error, app.workspace, status="note", why=why, fix="pip install 'clawft[deno]'")
    else:
        yield DoctorCheck(_HOOKS_NAME, "ok", many)


_PLUGINS_NAME = "plugins"


def check_plugins(app: App) -> Iterator[DoctorCheck]:
    """Check which plugins are ready, broken, waiting, or lack an optional part. Yields nothing without plugins."""
    statuses = load_plugin_statuses(app)
    for missing in load_missing(app, statuses, app.own_config.plugins):
        message = f"{missing.plugin} cannot be asked: {missing.why}"
        why = f"no turn goes on without its stage {', '.join(missing.stages)}"
        yield DoctorCheck(
            _PLUGINS_NAME, "problem", message, why=why, fix=f"weft plugins disable {quote(missing.plugin)}"
        )
    ready = [status for status in statuses if status.state == "ready"]
    if ready:
        yield DoctorCheck(_PLUGINS_NAME, "ok", f"{len(ready)} ready")
        yield from _check_variables(app, ready)
    lacking = [status for status in statuses if status.reasons and status.reasons[0].code == "wasm-missing"]
    yield from _tell_lacking(lacking)
    for status in statuses:
        if status.state in ("broken", "ineligible") and status not in lacking:
            reason = status.reasons[0].message if status.reasons else status.state
            message = f"{status.id} is {status.state}: {reason}"
            fix = f"weft plugins show {quote(status.id)}"
            yield DoctorCheck(_PLUGINS_NAME, "note", message, why="nothing of it is used", fix=fix)
    waiting = [status for status in statuses if status.state == "untrusted"]
    changed = [plugin for plugin in waiting if plugin.reasons and "was granted" in plugin.reasons[0].message]
    yield from _tell_waiting([plugin for plugin in waiting if plugin not in changed], "wait", "to be granted something")
    yield from _tell_waiting(changed, "changed", "since granted")


def _tell_waiting(statuses: Sequence[PluginStatus], verb: str, what: str) -> Iterator[DoctorCheck]:
    if not statuses:
        return
    some = ", ".join(status.id for status in statuses[:3]) + (" and more" if len(statuses) > 3 else "")
    one = len(statuses) == 1
    verb_form = f"{verb}{'s' * (one and verb == 'wait')}"
    message = f"{len(statuses)} plugin{'s' * (not one)} {verb_form} {what}: {some}"
    why = "nothing of a plugin is used until somebody looked at it as it is"
    yield DoctorCheck(_PLUGINS_NAME, "note", message, why=why, fix=f"weft plugins enable {quote(statuses[0].id)}")


def _check_variables(app: App, ready: Sequence[PluginStatus]) -> Iterator[DoctorCheck]:
    """Return whether there is a value for each variable that was granted."""
    for plugin in ready:
        missing = find_missing(app, plugin)
        if missing:
            message = (
                f"{plugin.id} was granted {', '.join(missing)}, which {'has' if len(missing) == 1 else 'have'} no value"
            )
            yield DoctorCheck(
                _PLUGINS_NAME, "note", message, why="it may need it", fix=make_plugin_owner(plugin).command(missing[0])
            )


def _tell_lacking(statuses: Sequence[PluginStatus]) -> Iterator[DoctorCheck]:
    """Plugins in WebAssembly, where that cannot be run."""
    if statuses:
        why = f"{len(statuses)} plugin{'s are' if len(statuses) != 1 else ' is'} not used"
        message = "The optional part 'wasm' is not installed"
        yield DoctorCheck(_PLUGINS_NAME, "note", message, why=why, fix="pip install 'clawft[wasm]'")


def check_registries(app: App) -> Iterator[DoctorCheck]:
    """Those of the user's own; ClawHub alone is nothing to tell of. Raises: ClawftError."""
    known = list_registries(app.own_config.registries)
    for name, registry in known.items():
        target = read_url(registry.url)
        if registry.token is not None and not registry.token.is_known(app.environ):
            fix = f"weft registries add {name} {registry.url} --token"
            yield DoctorCheck(
                "registry", "note", f"{name}: its token is not set: {registry.token}", why="it cannot be asked", fix=fix
            )
        elif registry.token is not None and target.scheme == "http" and not is_loopback(target.host):
            why = "its token would be sent unencrypted, so it cannot be asked"
            yield DoctorCheck(
                "registry", "note", f"{name}: {registry.url}", why=why, fix=f"weft registries add {name} https://…"
            )
        elif name != CLAWHUB:
            yield DoctorCheck("registry", "ok", f"{name}: {registry.url}")
