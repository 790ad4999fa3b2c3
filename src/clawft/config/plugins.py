"""The section `[plugins]`: which plugins run, their settings, and how much each may use."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from clawft.config.load import Config, own_section
from clawft.config.secret import EnvValue

__all__ = ["PluginEntry", "PluginsSettings", "Section", "WasmSettings", "own_plugins"]

_Seconds = Annotated[float, Meta(gt=0, le=600)]
_Megabytes = Annotated[int, Meta(ge=1, le=65_536)]


class PluginEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """`[plugins.entries."ID"]`: settings of one plugin."""

    #: false takes the plugin out of use.
    enabled: bool = True
    #: Its own settings, checked against the `config_schema` of its manifest.
    config: dict[str, Any] = {}
    #: Variables for the plugin that it was granted by name. Each is a text or a reference to a secret, as
    #: `weft plugins env` writes it: `{ keystore = "NAME" }` or `{ env = "NAME" }`. One that is not here is taken from
    #: the environment.
    env: dict[str, EnvValue] = {}
    #: How long one call may take, in seconds; absent means `plugins.call_timeout_s`.
    call_timeout_s: _Seconds | None = None


class PluginLoad(Struct, frozen=True, forbid_unknown_fields=True):
    """`[plugins.load]`."""

    #: Further folders of plugins. `~` and paths relative to the project are understood.
    extra_dirs: tuple[str, ...] = ()
    #: Look for plugins among the installed Python packages (entry points `clawft.plugins`).
    entry_points: bool = True


class WasmSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[plugins.wasm]`: limits of WebAssembly, for plugins and for skills with `execution: wasm`."""

    #: How large a module or component may be, in bytes.
    max_bytes: Annotated[int, Meta(ge=1024, le=1 << 30)] = 300 * 1024
    #: The same, compressed with gzip.
    max_gzip_bytes: Annotated[int, Meta(ge=1024, le=1 << 30)] = 120 * 1024
    #: How much memory one may take, in megabytes.
    memory_mb: _Megabytes = 64
    #: How many instructions one call may take, about.
    fuel: Annotated[int, Meta(ge=1000, le=10**15)] = 1_000_000_000
    #: How long one call may take, in seconds; absent means `plugins.call_timeout_s`.
    timeout_s: _Seconds | None = None


class PluginsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[plugins]`. What a project's config says here is not followed."""

    #: false takes all plugins out of use.
    enabled: bool = True
    #: How long a plugin may take to start, in seconds.
    init_timeout_s: _Seconds = 10
    #: How long a plugin may take to end, in seconds.
    shutdown_timeout_s: _Seconds = 5
    #: How long one call may take, in seconds.
    call_timeout_s: _Seconds = 30
    #: How much memory the process of one plugin may take, in megabytes.
    memory_mb: Annotated[int, Meta(ge=64, le=65_536)] = 512
    #: How often in a row a plugin may fail before it is left alone for the rest of the session.
    max_failures: Annotated[int, Meta(ge=1, le=100)] = 3
    load: PluginLoad = PluginLoad()
    wasm: WasmSettings = WasmSettings()
    entries: dict[str, PluginEntry] = {}


def own_plugins(config: Config, user_dir: str, environ: Mapping[str, str]) -> PluginsSettings:
    """What the user says of plugins. A project's file says nothing of them: it could let its own run."""
    section: PluginsSettings = own_section(config, user_dir, "plugins", environ)
    return section


Section = PluginsSettings
