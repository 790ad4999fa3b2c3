"""Text and JSON about what a plugin provides and asks for."""

import os
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from clawft.cli.output import one_line
from clawft.contracts import Permissions
from clawft.errors import Diagnostic
from clawft.server.protocol.base import diagnostic_json
from clawft.skills.discovery.plugins import DiscoveredPlugin, PluginContents
from clawft.skills.parse.plugin import PluginManifest
from clawft.trust.plugins import PluginStatus, list_granted

_MAX_ABOUT = 120
_DIALECTS = {"agent-plugins": "Agent Plugins 1.0", "claude": "Claude Code"}


def permission_words(permissions: Permissions) -> dict[tuple[str, str], str]:
    """Each permission in words, by its kind and value."""
    words = {("filesystem", path): _path_words(path) for path in permissions.filesystem}
    words |= {("network", host): _host_words(host) for host in permissions.network}
    words |= {("env_vars", name): f"is given the variable {name}" for name in permissions.env_vars}
    return words | ({("shell", "shell"): "may start programs"} if permissions.shell else {})


def _path_words(path: str) -> str:
    bare = path.removesuffix(":ro")
    where = "the project" if bare in (".", "./") else bare if bare.startswith(("/", "~")) else f"{bare} of the project"
    return f"may read {where}" if bare != path else f"may read and change {where}"


def _host_words(host: str) -> str:
    name, colon, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    name, at = (name, f" at port {port}") if colon and port.isdigit() else (host, "")
    if name == "*":
        return f"may reach every host of the internet{at}"
    return f"may reach every host below {name[2:]}{at}" if name.startswith("*.") else f"may reach {host}"


def permission_lines(permissions: Permissions, mark: Callable[[tuple[str, str]], str]) -> list[str]:
    """One line for each, with a mark after it."""
    words = permission_words(permissions)
    width = max((len(one_line(text)) for text in words.values()), default=0)
    return [f"  {one_line(text):{width}}  {mark(key)}".rstrip() for key, text in words.items()]


def render_granted(key: tuple[str, str], granted: Permissions) -> str:
    """Render how much of one requested permission was granted."""
    held = list_granted(*key, granted)
    if key[1] in held:
        return "granted"
    return one_line(f"granted only {', '.join(held)}") if held else "not granted"


def render_no_permissions(manifest: PluginManifest) -> str:
    """Render the permissions of a plugin that asks for nothing."""
    has = " beside its own folder, which it reads, and a folder for its data" if manifest.has_code else ""
    return f"Asks for: nothing{has}"


def render_contents_summary(found: DiscoveredPlugin) -> str:
    """Summarize in a few words what a plugin brings."""
    manifest = found.manifest
    if manifest is None:
        return ""
    parts = [
        _count("tool", [tool.name for tool in manifest.tools]),
        _count("channel", manifest.channels),
        _count("stage", [stage.name for stage in manifest.stages]),
        f"memory {', '.join(manifest.memory)}" if manifest.memory else "",
        "skills" if _holds(found, manifest.skill_dirs) else "",
        "commands" if _holds(found, manifest.command_dirs) else "",
        "agents" if _holds(found, manifest.agent_dirs) else "",
        "hooks" if _holds(found, (*manifest.hook_files, "hooks")) else "",
        _count("server", [server.name for server in manifest.servers]),
    ]
    return ", ".join(filter(None, parts))


def _holds(found: DiscoveredPlugin, paths: tuple[str, ...]) -> bool:
    """Return whether one of them is there: other dialects name the usual places, too."""
    return any(os.path.lexists(os.path.join(found.folder, path)) for path in paths)


def _count(word: str, names: "tuple[str, ...] | list[str]") -> str:
    if len(names) == 1:
        return f"{word} {names[0]}"
    return f"{len(names)} {word}s" if names else ""


def render_contents(manifest: PluginManifest, contents: PluginContents) -> list[str]:
    """Everything that it brings, one line each: what the manifest declares, and what lies in its folder."""
    lines = [*_declared(manifest), *_found(contents)]
    return ["Brings:", *(f"  {one_line(line)}" for line in lines)] if lines else []


def _found(contents: PluginContents) -> Iterator[str]:
    for kind, found in (("skill", contents.skills), ("command", contents.commands)):
        for entry in found:
            about = entry.skill.description if entry.skill else ""
            why = _why_not(entry.problem) if entry.problem else about[:_MAX_ABOUT]
            yield f"{kind} {entry.name}{f': {why}' if why else ''}"
    for agent in contents.agents:
        about = agent.agent.description[:_MAX_ABOUT] if agent.agent else "cannot be read"
        yield f"agent {agent.name}{f': {about}' if about else ''}"
    for hook in contents.hooks:
        events = ", ".join(hook.hook.events) if hook.hook else "nothing: it cannot be read"
        yield f"hook {hook.name}, which hears {events or 'no event that happens here'}"
    for commands in contents.command_hooks:
        for each in commands.hooks:
            yield f"a command at {each.event}{f' ({each.matcher})' if each.matcher else ''}: {each.command}"
    for server in contents.servers:
        what = f"reaches {server.url}" if server.url else f"starts {shlex.join((server.command, *server.args))}"
        yield f"MCP server {server.name}, which {what}"


def _why_not(problem: Diagnostic) -> str:
    left_out = problem.code == "skill-nonconforming"  # it can be read, and says so itself
    return problem.message if left_out else f"cannot be read: {problem.message}"


def _declared(manifest: PluginManifest) -> list[str]:
    lines = []
    for tool in manifest.tools:
        asks = "says it changes nothing, so nobody is asked" if tool.read_only else "asks before it is used"
        lines.append(f"tool {tool.name}{_arguments(tool.parameters)}: {tool.description} ({asks})")
    lines += [f"channel {name}, once the gateway runs" for name in manifest.channels]
    for stage in manifest.stages:
        ends = "; a turn ends where it fails" if stage.on_failure == "stop" else ""
        lines.append(f"stage {stage.name}, in every turn at {stage.phase}{ends}")
    lines += [f'memory {name}, if memory.backend is "{name}"' for name in manifest.memory]
    return lines


def _arguments(parameters: dict[str, object]) -> str:
    """The names of a tool's arguments; those that may be left out have a `?`."""
    known, needed = parameters.get("properties"), parameters.get("required")
    if not isinstance(known, dict) or not known:
        return "()"
    wanted = needed if isinstance(needed, list) else []
    return f"({', '.join(f'{name}' if name in wanted else f'{name}?' for name in known)})"


def render_kind(found: DiscoveredPlugin) -> str:
    """Render how the plugin's own code runs."""
    manifest = found.manifest
    if manifest is None:
        return ""
    if manifest.wasm_module:
        return "WebAssembly: it computes, and reaches what it was granted"
    if manifest.has_code:
        return "Python, in a process of its own inside the sandbox"
    whose = _DIALECTS.get(manifest.dialect)
    return f"no code of its own{f', a plugin for {whose}' if whose else ''}"


def plugin_json(status: PluginStatus) -> dict[str, Any]:
    """The summary of one plugin."""
    found, manifest = status.found, status.found.manifest
    return {
        "id": status.id,
        "name": manifest.name if manifest else None,
        "version": manifest.version if manifest else None,
        "state": status.state,
        "scope": found.scope,
        "path": found.folder,
        "dialect": manifest.dialect if manifest else None,
        "description": manifest.description if manifest else None,
        "capabilities": [capability.value for capability in manifest.capabilities] if manifest else [],
        "tools": [tool.name for tool in manifest.tools] if manifest else [],
        "channels": manifest.channels if manifest else [],
        "stages": [stage.name for stage in manifest.stages] if manifest else [],
        "memory": manifest.memory if manifest else [],
        "asked": permissions_json(manifest.permissions) if manifest else None,
        "granted": permissions_json(status.granted) if status.grant else None,
        "reasons": [diagnostic_json(reason) for reason in status.reasons],
    }


def permissions_json(permissions: Permissions) -> dict[str, Any]:
    """Permissions with every field, also those that are empty."""
    fields: dict[str, Any] = msgspec.to_builtins(msgspec.structs.asdict(permissions))
    return fields
