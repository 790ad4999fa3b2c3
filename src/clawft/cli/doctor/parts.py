"""What a turn may use beside the model: MCP servers, jobs, memory, optional parts; and what waits for an approval."""

import os
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from clawft.app import App
from clawft.cli.doctor.check import Check, from_error, quote
from clawft.config.keys import join_path
from clawft.config.mcp import ServerSettings, find_confined
from clawft.config.secret import find_names
from clawft.errors import ClawftError
from clawft.files import is_there
from clawft.programs import find_program

if TYPE_CHECKING:
    from clawft.mcp.launch import StdioLaunch

__all__ = ["check_approvals", "check_jobs", "check_memory", "check_optional", "check_sandbox", "check_servers"]

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


def check_optional() -> Iterator[Check]:
    for name, (package, purpose) in _OPTIONAL.items():
        found = _find_version(package)
        if found:
            yield Check("part", "ok", f"{name} {found}: {purpose}")
        else:
            yield Check("part", "note", f"{name} is not installed: {purpose}", hint=_install(name))


def _find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _install(name: str) -> str:
    return f"pip install 'clawft[{name}]'"


def check_sandbox(app: App) -> Iterator[Check]:
    """Whether commands are confined, tried with a program that does nothing."""
    status = app.open_sandbox().status()
    install = "apt install bubblewrap"
    if status.kind == "bubblewrap":
        yield Check("sandbox", "ok", "bubblewrap")
    elif status.kind == "landlock":
        why = "commands can change what the project holds, but put nothing new right into its folder"
        fix = install if "not installed" in status.reason else ""
        yield Check("sandbox", "note", f"Landlock{f': {status.reason}' if status.reason else ''}", why=why, fix=fix)
    elif status.kind == "off":
        why = "commands run with all your rights"
        yield Check("sandbox", "note", "none: sandbox.mode is 'off'", why=why, fix="weft config set sandbox.mode auto")
    else:
        why = "each command is asked for, and refused where nobody can answer"
        yield Check("sandbox", "note", f"none: {status.reason}", why=why, fix=install)


def check_servers(app: App) -> Iterator[Check]:
    """Each MCP server, as far as can be told without starting it."""
    servers = {name: one for name, one in app.config.mcp.servers.items() if one.enabled}
    if servers and not _find_version("mcp"):
        why = f"{len(servers)} servers are configured, and none is started"
        yield Check("mcp", "note", "The optional part 'mcp' is not installed", why=why, fix=_install("mcp"))
    for name, settings in servers.items():
        yield _check_server(name, settings, app)


def _check_server(name: str, settings: ServerSettings, app: App) -> Check:
    from clawft.mcp.launch import HttpLaunch, resolve_launch

    why = "its tools are missing from every turn"
    off = f"weft config set {join_path(('mcp', 'servers', name, 'enabled'))} false"
    values = (settings.headers if settings.url else settings.env).values()
    unset = next((one for text in values for one in find_names(text) if one not in app.environ), "")
    try:
        confined = name in find_confined(app.config, app.workspace.user_dir)
        launch = resolve_launch(name, settings, app.workspace, app.launcher, confined=confined)
        if isinstance(launch, HttpLaunch) or _is_there(launch):
            return Check("mcp", "ok", name)
    except ClawftError as error:
        fix = f"export {unset}=VALUE" if error.code == "mcp-env" and unset else off
        return from_error("mcp", error, app.workspace, status="note", why=why, fix=fix)
    message = f"The command '{settings.command}' of the server '{name}' is not there"
    hint = _INSTALLS.get(settings.command, "Install it")
    return Check("mcp", "note", message, f"{hint}; or leave the server out", why, off)


def _is_there(launch: "StdioLaunch") -> bool:
    """Whether there is the program of a server. Raises: Refused for one that may not be started."""
    name, path = launch.command[0], launch.env.get("PATH", os.defpath)
    found = find_program(os.path.join(launch.cwd, name) if os.path.dirname(name) else name, path)
    if found and launch.confinement is None:
        launch.prepare()
    return bool(found)


def check_jobs(app: App) -> Iterator[Check]:
    from clawft.cli.cron._open import has_jobs
    from clawft.cron.file import file_path

    if not has_jobs(app):
        return
    try:
        jobs, unserved = _look_at_jobs(app)
    except ClawftError as error:
        if error.diagnostic.path == file_path(app.workspace.user_dir):  # what is wrong with runs is said of them
            yield from_error("cron", error, app.workspace, why="no job runs")
        return
    many = f"{jobs} job{'s' * (jobs != 1)}"
    if jobs and unserved:
        yield Check("cron", "note", f"{many}, and no worker", why="nothing runs when it is due", fix=unserved)
    elif jobs:
        yield Check("cron", "ok", f"{many}, and a worker")


def _look_at_jobs(app: App) -> tuple[int, str]:
    """How many jobs are to run, and what starts the worker that is missing. Nothing is changed. Raises: ClawftError."""
    from clawft.cli.cron._open import find_unserved, start_of
    from clawft.cron.file import load_file
    from clawft.run.durable import is_used
    from clawft.working import open_app_runs, run_settings

    jobs = load_file(app.workspace.user_dir)  # they are taken over by the next command that needs them
    settings = run_settings(app)
    if not is_used(settings, app.workspace.user_dir):
        return sum(one.enabled for one in jobs), start_of(settings.queue)
    with closing(open_app_runs(app)) as runs:
        bad: list[ClawftError] = []
        kept = [one for one in runs.jobs.load(bad.append) if one.enabled]
        if bad:
            raise bad[0]
        unserved = find_unserved(runs, kept)
    return len(kept) + sum(one.enabled for one in jobs), start_of(unserved[0]) if unserved else ""


def check_memory(app: App) -> Iterator[Check]:
    from clawft.config.memory import FILES, own_backend
    from clawft.memory import open_memory

    name = own_backend(app.config, app.workspace.user_dir, app.environ)
    if app.config.memory.enabled and name != FILES:
        yield _check_brought(app, name)
        return
    if not app.config.memory.enabled or not is_there(os.path.join(app.workspace.user_dir, "memory")):
        return
    with closing(open_memory(app.workspace, app.config.memory)) as memory:
        try:
            damaged, said = memory.check_files(), memory.check_index()
        except ClawftError as error:
            yield from_error("memory", error, app.workspace, why="memories are not found")
            return
    for one in damaged:
        yield from_error("memory", one, app.workspace, why="memories are not found")
    for one in said:
        yield from_error("memory", one, app.workspace, status="note", why="memories are found by their words alone")
    if not damaged and not said:
        yield Check("memory", "ok", app.workspace.shorten(memory.folder))


def _check_brought(app: App, name: str) -> Check:
    from clawft.plugging import load_plugin_standings

    ready = [one for one in load_plugin_standings(app) if one.state == "ready" and one.found.manifest is not None]
    brought = [(one.id, memory) for one in ready if one.found.manifest for memory in one.found.manifest.memory]
    found = [plugin for plugin, memory in brought if name in (memory, f"{plugin}:{memory}")]
    if len(found) == 1:
        return Check("memory", "ok", f"{name}, of the plugin {found[0]}")
    why = "several plugins bring it" if found else "no plugin that may be used brings it"
    message = f"memory.backend is '{name}', and {why}"
    return Check("memory", "problem", message, hint="Run: weft plugins list", why="nothing is remembered")


def check_approvals(app: App) -> Iterator[Check]:
    """What the project would tell every agent, what it would let answer and act, and nobody approved."""
    from clawft.discovery.instructions import load_instructions

    why = "it is ignored: a stranger's project could tell agents what to do"
    fix = "weft agent --trust-instructions --show-prompt"
    for one in load_instructions(app.workspace)[0]:
        if not one.own and not app.approvals.has("instructions", one.path, one.content):
            yield Check("approval", "note", f"{app.workspace.shorten(one.path)} is not approved", why=why, fix=fix)
    for agent in app.agents:
        if agent.state == "untrusted":
            where = app.workspace.shorten(agent.found.file)
            fix = f"weft skills trust {quote(agent.found.name)}"
            yield Check("approval", "note", f"{where} is not approved", why=why, fix=fix)
    waiting = [one for one in app.skills if one.state == "untrusted"]
    if waiting:
        some = ", ".join(one.name for one in waiting[:3]) + (" and more" if len(waiting) > 3 else "")
        message = (
            f"{len(waiting)} skill{'s' * (len(waiting) > 1)} wait{'s' * (len(waiting) == 1)} for an approval: {some}"
        )
        ignored = "what strangers brought is ignored until somebody looked at it"
        yield Check("approval", "note", message, why=ignored, fix="weft skills trust --all")
