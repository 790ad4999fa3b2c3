"""All that is decided before a component is started: which module, and what it may reach."""

import os
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from clawft.config.plugins import PluginsSettings
from clawft.plugins.given import take_config, take_env
from clawft.plugins.job import Times, find_paths
from clawft.plugins.running import Around
from clawft.sandbox.wasm import WasmError
from clawft.trust.hosts import parse_grant
from clawft.trust.plugins import PluginStanding, entry_of_plugin

__all__ = ["WasmJob", "make_wasm_job"]


class WasmJob(Struct, frozen=True):
    """A component that may run as it was granted. `digest` is that of `folder`; `env` are the variables it gets."""

    id: str
    version: str
    folder: str
    digest: str
    module: str
    data_dir: str
    config: dict[str, Any]
    env: Mapping[str, str]
    granted_env: tuple[str, ...]
    hosts: tuple[str, ...]
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    times: Times


def make_wasm_job(standing: PluginStanding, settings: PluginsSettings, around: Around) -> WasmJob:
    """How a component is started. Raises: ClawftError for what cannot be granted, or a secret that cannot be read."""
    found, manifest, grant = standing.found, standing.found.manifest, standing.grant
    assert manifest is not None
    assert grant is not None
    if not manifest.wasm_module:
        raise WasmError("wasm-no-module", "The manifest names no wasm_module", path=found.file)
    entry, permissions = entry_of_plugin(found, settings), standing.permissions
    readable, writable = find_paths(standing, around)
    for host in permissions.network:
        parse_grant(host)
    call_s = entry.call_timeout_s or settings.wasm.timeout_s or settings.call_timeout_s
    return WasmJob(
        manifest.id,
        manifest.version,
        found.folder,
        grant.digest,
        manifest.wasm_module,
        os.path.join(around.workspace.user_dir, "plugin-data", manifest.id),
        take_config(standing, entry, around.environ),
        take_env(standing, entry, around.environ),
        permissions.env_vars,
        permissions.network,
        readable,
        writable,
        Times(settings.init_timeout_s, call_s, settings.shutdown_timeout_s),
    )
