"""Parser of `clawft.plugin.json` or `.yaml`: what a plugin is, brings and asks for. Other dialects become the same."""

import json
import os
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawft.contracts import Capability, Permissions, Phase
from clawft.errors import ClawftError, Diagnostic
from clawft.skills.parse.diagnostics import DiagnosticCollector
from clawft.skills.parse.schema import check_arguments, check_schema
from clawft.skills.parse.text import decode_text
from clawft.skills.parse.yaml import load_yaml

Dialect = Literal["clawft", "agent-plugins", "claude"]
MANIFESTS: dict[str, Dialect] = {  # by file, the first that is there counts
    "clawft.plugin.json": "clawft",
    "clawft.plugin.yaml": "clawft",
    "plugin.json": "agent-plugins",
    ".claude-plugin/plugin.json": "claude",
}
_SCHEMA = "clawft.plugin.schema.json"
_NEEDS = {
    Capability.TOOL: "tools",
    Capability.CHANNEL: "channels",
    Capability.PIPELINE_STAGE: "stages",
    Capability.SKILL: "skill_dirs",
    Capability.MEMORY: "memory",
}


class PluginToolSpec(Struct, frozen=True, omit_defaults=True):
    """A tool as the manifest declares it."""

    name: str
    description: str
    parameters: dict[str, Any] = {}
    read_only: bool = False
    repeatable: bool = False


class StageSpec(Struct, frozen=True, omit_defaults=True):
    """A stage as the manifest declares it. `stop`: where it fails no turn goes on, as if it takes secrets out."""

    name: str
    phase: Phase
    on_failure: Literal["ignore", "stop"] = "ignore"


class ServerSpec(Struct, frozen=True, omit_defaults=True):
    """An MCP server that a plugin brings, as it is written: a program, or an address. Variables are filled in when it
    is started; of a `literal` one only those of the plugin's own folders."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    literal: bool = False


class PluginManifest(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A plugin's manifest, in any dialect. Folders and files are below the plugin's own."""

    id: str
    name: str
    version: str = "0.0.0"
    author: str | None = None
    description: str | None = None
    min_clawft_version: str | None = None
    capabilities: tuple[Capability, ...] = ()
    python: str | None = None
    wasm_module: str | None = None
    skill_dirs: tuple[str, ...] = ()
    tools: tuple[PluginToolSpec, ...] = ()
    channels: tuple[str, ...] = ()
    stages: tuple[StageSpec, ...] = ()
    memory: tuple[str, ...] = ()
    permissions: Permissions = Permissions()
    config_schema: dict[str, Any] | None = None
    # Of other dialects
    dialect: Dialect = "clawft"
    command_dirs: tuple[str, ...] = ()
    agent_dirs: tuple[str, ...] = ()
    hook_files: tuple[str, ...] = ()  # Claude's hooks.json
    servers: tuple[ServerSpec, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def has_code(self) -> bool:
        """Return whether anything of it is to be run by the host itself."""
        return bool(self.wasm_module or self.tools or self.channels or self.stages or self.memory or self.python)


_OF_OTHERS = {"dialect", "command_dirs", "agent_dirs", "hook_files", "servers", "diagnostics"}
_FIELDS = frozenset(PluginManifest.__struct_fields__) - _OF_OTHERS


def parse_manifest(data: bytes, file: str) -> PluginManifest:
    """The manifest in our own dialect. Raises: ClawftError."""
    raw = _decode(data, file)
    problem = check_arguments(raw, load_schema())
    if problem:
        raise ClawftError("plugin-manifest", f"The manifest is not as it should be: {problem}", path=file)
    fields = {name: value for name, value in raw.items() if value is not None and name in _FIELDS}
    manifest = msgspec.convert(fields, PluginManifest)
    _check(manifest, file)
    unknown = [name for name in raw if name not in _FIELDS and name != "$schema"]
    diagnostics = tuple(
        Diagnostic("plugin-unknown-key", "warning", f"'{name[:60]}' is not known and is not used", file)
        for name in unknown[:20]
    )
    for capability, field in _NEEDS.items():
        if capability in manifest.capabilities and not getattr(manifest, field):
            message = f"It has the capability '{capability}' and names no {field}: nothing comes of it"
            diagnostics += (Diagnostic("plugin-capability", "warning", message, file),)
    if Capability.VOICE in manifest.capabilities:
        message = "The capability 'voice' is reserved: nothing comes of it yet"
        diagnostics += (Diagnostic("plugin-voice", "note", message, file),)
    return msgspec.structs.replace(manifest, diagnostics=diagnostics) if diagnostics else manifest


def _decode(data: bytes, file: str) -> dict[str, Any]:
    try:
        if file.endswith(".json"):
            raw: Any = msgspec.json.decode(data)
        else:
            text = decode_text(data, file).text
            raw, complaint = load_yaml(text, DiagnosticCollector(file, text))
            if complaint:
                raise ValueError(complaint)
    except (ValueError, RecursionError) as error:
        raise ClawftError("plugin-manifest", f"The manifest cannot be read: {error}", path=file) from error
    if not isinstance(raw, dict) or not all(isinstance(key, str) for key in raw):
        raise ClawftError("plugin-manifest", "The manifest is not a mapping", path=file)
    return raw


def _check(manifest: PluginManifest, file: str) -> None:
    """Check what no schema can express. Raises: ClawftError."""

    def refuse(message: str, hint: str = "") -> ClawftError:
        return ClawftError("plugin-manifest", message, path=file, hint=hint)

    for capability, field in _NEEDS.items():  # a bundle of skills may come with anything
        if capability not in (*manifest.capabilities, Capability.SKILL) and getattr(manifest, field):
            raise refuse(f"It names {field} and does not have the capability '{capability}'")
    for path in (*manifest.skill_dirs, *((manifest.wasm_module,) if manifest.wasm_module else ())):
        if os.path.isabs(path) or ".." in path.split("/"):
            raise refuse(f"'{path}' does not lie in the plugin's folder")
    if manifest.wasm_module and (manifest.channels or manifest.stages or manifest.memory or manifest.python):
        raise refuse("A plugin in WebAssembly brings tools and skills, and nothing else", "Write that part in Python")
    if problem := _find_named_problem(manifest):
        raise refuse(problem)
    if manifest.config_schema is not None and (problem := check_schema(manifest.config_schema)):
        raise refuse(f"Its config_schema cannot be checked: {problem}")


def _find_named_problem(manifest: PluginManifest) -> str:
    """Find a problem with the plugin's tools and stages; '' if they can be used."""
    for tool in manifest.tools:
        if "__" in tool.name:
            return f"The tool '{tool.name}' has '__' in its name, which is for tools of MCP servers"
        if problem := check_schema(tool.parameters):
            return f"The parameters of the tool '{tool.name}' cannot be checked: {problem}"
    named = {"tools": [tool.name for tool in manifest.tools], "stages": [stage.name for stage in manifest.stages]}
    twice = (kind for kind, names in named.items() if len({name.lower() for name in names}) < len(names))
    return next((f"Two of its {kind} have the same name" for kind in twice), "")


@cache
def load_schema() -> Mapping[str, Any]:
    """The published schema of a manifest."""
    with open(os.path.join(os.path.dirname(__file__), _SCHEMA), encoding="utf-8") as file:
        schema: dict[str, Any] = json.load(file)
    return schema
