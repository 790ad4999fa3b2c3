"""Load config files and environment variables into one frozen value: the user's file, the project's, then
CLAWFT_A__B."""

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from clawft.config.keys import DuplicateKey, is_free, join_path, normalise_keys
from clawft.config.secret import EnvValue, SecretRef, find_secrets
from clawft.config.skills import SkillsSettings
from clawft.errors import ClawftError, Diagnostic, Unreadable
from clawft.files import check_version, read_files
from clawft.workspace import MARKER, Workspace

if TYPE_CHECKING:  # a list of skills needs none of these; the sections of `Config` name them
    from clawft.config.agents import AgentsSettings, MemorySettings, ProviderSettings  # noqa: F401
    from clawft.config.extensions import HooksSettings, PluginsSettings  # noqa: F401
    from clawft.config.jobs import GatewaySettings, RunsSettings  # noqa: F401
    from clawft.config.registries import HubSettings, RegistrySettings  # noqa: F401
    from clawft.config.serve import ServeSettings  # noqa: F401
    from clawft.config.tools import McpSettings, PermissionsSettings, SandboxSettings, ToolsSettings, TrustSettings  # noqa: F401

T = TypeVar("T")
CONFIG_NAMES = ("config.toml", "config.json")
MAX_CONFIG_BYTES = 1 << 20
VERSION = 1  # of what a config file may say; one without a `version` is of the first
MAX_DOTS = 500  # in a line: keys that nest without end cost quadratic time
SECTIONS = (
    *("agents", "providers", "skills", "tools", "permissions", "sandbox", "mcp", "memory", "runs", "hooks"),
    *("plugins", "gateway", "registries", "hub", "serve", "trust"),
)


class ConfigLayer(Struct, frozen=True):
    """The values set by one file or variable. `source` is its path or its name, `data` the text of a file."""

    source: str
    values: dict[str, Any]
    data: bytes = b""

    def __repr__(self) -> str:
        return f"ConfigLayer({self.source!r})"  # the values may hold a secret


class _Section(Generic[T]):
    """One section of the config as settings; its type is loaded when the section is first used."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, config: "Config", owner: type) -> T:
        section: T
        if self._name in config.sections:
            section = config.sections[self._name]
        else:
            section = msgspec.convert({}, section_type(self._name))
        vars(config)[self._name] = section  # where it is found from now on, without this
        return section


class Config(Struct, frozen=True, dict=True):
    """All settings. `values` holds every section as written, for lookups by path; `files` those that were read."""

    skills: SkillsSettings = SkillsSettings()
    values: dict[str, Any] = {}
    files: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    layers: tuple[ConfigLayer, ...] = ()
    sections: dict[str, Any] = {}

    agents = _Section["AgentsSettings"]()
    providers = _Section["dict[str, ProviderSettings]"]()
    tools = _Section["ToolsSettings"]()
    permissions = _Section["PermissionsSettings"]()
    sandbox = _Section["SandboxSettings"]()
    mcp = _Section["McpSettings"]()
    memory = _Section["MemorySettings"]()
    runs = _Section["RunsSettings"]()
    hooks = _Section["HooksSettings"]()
    plugins = _Section["PluginsSettings"]()
    gateway = _Section["GatewaySettings"]()
    registries = _Section["dict[str, RegistrySettings]"]()
    hub = _Section["HubSettings"]()
    serve = _Section["ServeSettings"]()
    trust = _Section["TrustSettings"]()

    def own(self, user_dir: str, environ: Mapping[str, str] = MappingProxyType({})) -> "Config":
        """The settings of the user's own file and of variables. What a project's file says is left out: it could
        enable its own hooks, or send what is kept elsewhere."""
        values = own_values(self, user_dir)
        sections = _convert(values, environ, strict=False)
        return Config(sections.pop("skills", SkillsSettings()), values, sections=sections)

    def __repr__(self) -> str:
        return f"Config(files={self.files!r})"  # the values may hold a secret


# Where the type of each section is defined.
_SECTION_TYPES = {
    "agents": "clawft.config.agents:AgentsSettings",
    "gateway": "clawft.config.jobs:GatewaySettings",
    "hooks": "clawft.config.extensions:HooksSettings",
    "hub": "clawft.config.registries:HubSettings",
    "mcp": "clawft.config.tools:McpSettings",
    "memory": "clawft.config.agents:MemorySettings",
    "permissions": "clawft.config.tools:PermissionsSettings",
    "plugins": "clawft.config.extensions:PluginsSettings",
    "providers": "clawft.config.agents:ProviderSettings",
    "registries": "clawft.config.registries:RegistrySettings",
    "runs": "clawft.config.jobs:RunsSettings",
    "sandbox": "clawft.config.tools:SandboxSettings",
    "serve": "clawft.config.serve:ServeSettings",
    "skills": "clawft.config.skills:SkillsSettings",
    "tools": "clawft.config.tools:ToolsSettings",
    "trust": "clawft.config.tools:TrustSettings",
}
_NAMED = ("providers", "registries")  # sections that hold settings by name


def section_type(name: str) -> Any:
    """The type of a section; its module is loaded when the section is first used."""
    from importlib import import_module

    module, _, kind = _SECTION_TYPES[name].partition(":")
    section = getattr(import_module(module), kind)
    named: Any = dict
    return named[str, section] if name in _NAMED else section


def own_values(config: Config, user_dir: str) -> dict[str, Any]:
    """The sections as the user wrote them, in their own file and in variables."""
    values: dict[str, Any] = {}
    for layer in config.layers:
        if not os.path.isabs(layer.source) or os.path.dirname(layer.source) == user_dir:
            values = merge(values, layer.values)
    return values


def config_files(workspace: Workspace) -> tuple[str, ...]:
    """Return the possible config files, lowest precedence first, whether or not they exist."""
    folders = (workspace.user_dir, os.path.join(workspace.project, MARKER))
    return tuple(os.path.join(folder, name) for folder in dict.fromkeys(folders) for name in CONFIG_NAMES)


def load_config(
    workspace: Workspace, environ: Mapping[str, str], is_approved: Callable[[str, bytes], bool] = lambda *_: True
) -> Config:
    """Load the config. A project's file counts only if `is_approved` returns true, since the project may be untrusted.

    Raises: ClawftError for a file that cannot be read or a value that is not valid.
    """
    layers: list[ConfigLayer] = []
    diagnostics: list[Diagnostic] = []
    if workspace.ignored:
        diagnostics.append(_tell_ignored(workspace.ignored))
    for path, data in read_configs(workspace).items():
        if os.path.dirname(path) != workspace.user_dir and not is_approved(path, data):
            message, hint = "The project's config is not approved, so it is ignored", "Look at it: weft config trust"
            diagnostics.append(Diagnostic("config-untrusted", "warning", message, path, 0, hint))
            continue
        if layers and os.path.dirname(layers[-1].source) == os.path.dirname(path):
            names = f"{os.path.basename(layers[-1].source)} and {os.path.basename(path)}"
            raise ClawftError("config-twice", f"Both {names} exist", path=path, hint="Keep one of them")
        layer = parse_config(path, data, environ)
        diagnostics += _check_secrets(layer, environ)
        layers.append(layer)
    files = tuple(layer.source for layer in layers)
    values: dict[str, Any] = {}
    for layer in layers:
        values = merge(values, layer.values)
    if any(name.startswith("CLAWFT_") and "__" in name for name in environ):
        from clawft.config.schema import load_overrides

        overrides = load_overrides(environ, values)
        layers += overrides
        for layer in overrides:
            values = merge(values, layer.values)
    sections = _convert(values, environ, strict=len(layers) == len(files))
    skills = sections.pop("skills", SkillsSettings())
    return Config(skills, values, files, tuple(diagnostics), tuple(layers), sections)


def _tell_ignored(marker: str) -> Diagnostic:
    message = "This folder belongs to another account, so it does not make its parent the project"
    hint = f"To work on that project, set CLAWFT_PROJECT to {os.path.dirname(marker)}"
    return Diagnostic("project-not-yours", "warning", message, marker, 0, hint)


def parse_config(path: str, data: bytes, environ: Mapping[str, str]) -> ConfigLayer:
    """The bytes of one config file, checked on their own so that an error names the file it is in.

    Raises: ClawftError.
    """
    if any(line.count(b".") > MAX_DOTS for line in data.split(b"\n")):
        raise ClawftError("config-invalid", f"A line has more than {MAX_DOTS} dots", path=path)
    values = _decode(path, data)
    version = values.pop("version", VERSION)
    check_version(version, VERSION, path)
    if type(version) is not int or version < 1:
        raise ClawftError("config-invalid", "version: expected a number from 1 on", path=path, hint="Leave it out")
    layer = ConfigLayer(path, values, data)
    check_layer(layer, environ)
    return layer


def check_layer(layer: ConfigLayer, environ: Mapping[str, str], *, strict: bool = True) -> None:
    """Check that a layer is valid on its own. Raises: ClawftError."""
    try:
        if any(name not in SECTIONS for name in layer.values):
            raise msgspec.ValidationError("there is no such section")
        _convert(layer.values, environ, strict=strict)
    except msgspec.ValidationError as error:
        from clawft.config.syntax import explain_value

        raise explain_value(layer, _converter(environ, strict=strict)) from error


def read_configs(workspace: Workspace) -> dict[str, bytes]:
    """Read the config files that are there, lowest precedence first. Raises: Unreadable."""
    found: dict[str, bytes] = {}
    for path, data in read_files(config_files(workspace), MAX_CONFIG_BYTES, follow=True).items():
        if isinstance(data, Unreadable):
            raise data
        found[path] = data
    return found


def _decode(path: str, data: bytes) -> dict[str, Any]:
    try:
        text = data.decode("utf-8-sig")
        if path.endswith(".toml"):
            import tomllib  # only where there is such a file

            value: Any = tomllib.loads(text)
        else:
            value = decode_json(text) if text.strip() else {}
        if isinstance(value, dict):
            normal: dict[str, Any] = normalise_keys(value, is_free)
            return normal
    except DuplicateKey as error:
        from clawft.config.syntax import explain_duplicate

        raise explain_duplicate(path, data, error.path or None) from error
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, DecodeError, UnicodeDecodeError
        from clawft.config.syntax import explain_syntax

        raise explain_syntax(error, path, data) from error
    raise ClawftError("config-invalid", "The config is not a JSON object", path=path, line=1)


def decode_json(text: str) -> Any:
    """The value of a JSON text. Raises: ValueError; SetTwice, without a path, for an object with a key twice."""
    import json  # tells of keys that stand there twice

    def pair(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            raise DuplicateKey(())
        return table

    msgspec.json.decode(text)  # the stricter of the two: no NaN, no text behind the value
    return json.loads(text, object_pairs_hook=pair)


def _convert(values: dict[str, Any], environ: Mapping[str, str], *, strict: bool = True) -> dict[str, Any]:
    """The sections that are there, as values. Raises: msgspec.ValidationError."""
    convert = _converter(environ, strict=strict)
    return {name: convert(values[name], section_type(name)) for name in SECTIONS if name in values}


def _converter(environ: Mapping[str, str], *, strict: bool) -> Callable[[Any, Any], Any]:
    """Return the function that converts values to settings; not strict accepts a text in place of a number or a
    boolean."""

    def decode_secret(kind: type, written: Any) -> Any:
        secret = kind.parse(written, environ) if issubclass(kind, SecretRef) else None
        if secret is None:
            text = "a text, or " if kind is EnvValue else ""
            raise ValueError(f'expected {text}a reference: {{ env = "NAME" }} or {{ keystore = "NAME" }}')
        return secret

    def convert(value: Any, kind: Any) -> Any:
        return msgspec.convert(value, kind, strict=strict, dec_hook=decode_secret)

    return convert


def _check_secrets(layer: ConfigLayer, environ: Mapping[str, str]) -> list[Diagnostic]:
    """A secret in plain text is legal, but hardly meant."""
    literal = [path for path, secret in find_secrets(layer.values, environ) if secret.is_literal]
    if not literal:
        return []
    from clawft.config.syntax import line_of

    hint = 'Put it into a variable and write { env = "NAME" }'
    return [
        Diagnostic(
            "secret-literal",
            "warning",
            f"{join_path(path)} holds a secret in plain text",
            layer.source,
            line_of(layer, path),
            hint,
        )
        for path in literal
    ]


def merge(low: dict[str, Any], high: dict[str, Any]) -> dict[str, Any]:
    """Tables are merged key by key; any other value is replaced."""
    merged = dict(low)
    for key, value in high.items():
        both = isinstance(value, dict) and isinstance(low.get(key), dict)
        merged[key] = merge(low[key], value) if both else value
    return merged
