"""The launch of a Python plugin: interpreter, approved copy, environment, and what the sandbox lets it reach."""

import os
import sys
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from msgspec import Struct, structs

from clawft.config.extensions import PluginsSettings
from clawft.contracts import Permissions
from clawft.errors import ClawftError, Refused
from clawft.files import is_within, real_path
from clawft.plugins.guest.wire import DeclaredParts, PluginStart
from clawft.plugins.runtime import PluginEnvironment
from clawft.plugins.settings import find_granted_env, resolve_plugin_config
from clawft.sandbox.confinement import Confinement, ResourceLimits
from clawft.sandbox.filter import build_lone_filter
from clawft.skills.discovery.plugins import find_code
from clawft.skills.parse.plugin import PluginManifest
from clawft.trust.network import parse_grant
from clawft.trust.plugins import PluginStatus, covers_path, get_plugin_entry, is_closed
from clawft.trust.protected_paths import own_folders
from clawft.workspace import resolve_path

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_GUEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guest", "__main__.py")
_MB = 1024 * 1024
_ROOM_MB = 64  # of the interpreter itself, beside what the plugin may take
_PROCESSES, _WITH_SHELL = 64, 256
_QUIET_S = 3600.0  # an IMAP connection waits for up to 29 minutes


class PluginTimeouts(Struct, frozen=True):
    """The timeouts of a plugin's operations, in seconds."""

    init_s: float
    call_s: float
    shutdown_s: float


class PluginLaunch(Struct, frozen=True):
    """A plugin that may run as it was granted. `digest` is that of `folder`; `env` are all variables that it gets."""

    id: str
    version: str
    folder: str
    digest: str
    permissions: Permissions
    module: str
    name: str
    package: str
    data_dir: str
    config: dict[str, Any]
    env: Mapping[str, str]
    own_env: Mapping[str, str]
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    declared: DeclaredParts
    limits: ResourceLimits
    times: PluginTimeouts

    @property
    def words(self) -> tuple[str, ...]:
        return (sys.executable, "-I", "-B", _GUEST, *_find_packages())

    def start(self, copy: str) -> PluginStart:
        """Build the first message to the plugin's process."""
        return PluginStart(
            copy,
            self.module,
            self.name,
            self.data_dir,
            self.package,
            self.config,
            tuple(self.env),
            self.permissions.network,
            self.declared,
            "" if self.permissions.shell else _find_filter().hex(),
            self.limits.data_bytes,
        )

    def confine(self, copy: str) -> Confinement:
        """Build the confinement of the plugin's process."""
        return Confinement(
            writable=self.writable,
            whole={"program": _find_interpreter(), "named": self.readable},
            own=(self.data_dir,),
            hidden=("/etc/passwd", "/etc/group"),
            mounts=((copy, copy),),
            hosts=self.permissions.network,
            limits=self.limits,
            least=not self.permissions.shell,
            only=True,
            host_hint=f"If its manifest asks for it: weft plugins grant {self.id} --network {{host}}",
            quiet_s=_QUIET_S,
        )


def make_plugin_launch(status: PluginStatus, settings: PluginsSettings, around: PluginEnvironment) -> PluginLaunch:
    """Build the launch of a Python plugin. Raises: ClawftError for what cannot be granted, or a secret that cannot be
    read."""
    found, manifest = status.found, status.found.manifest
    assert manifest is not None
    assert status.grant is not None
    entry, workspace, permissions = get_plugin_entry(found, settings), around.workspace, status.permissions
    module, name, package = find_code(found)
    data_dir = os.path.join(workspace.user_dir, "plugin-data", manifest.id)
    readable, writable = find_paths(status, around)
    for host in permissions.network:
        parse_grant(host)
    memory = settings.memory_mb + _ROOM_MB
    return PluginLaunch(
        manifest.id,
        manifest.version,
        found.folder,
        status.grant.digest,
        permissions,
        module,
        name,
        package,
        data_dir,
        resolve_plugin_config(status, entry, around.environ),
        find_granted_env(status, entry, around.environ),
        _own_env(data_dir, permissions, around),
        readable,
        writable,
        _declare(manifest),
        structs.replace(
            around.sandbox.limits,
            memory_bytes=memory * _MB,
            data_bytes=memory * _MB,
            processes=_WITH_SHELL if permissions.shell else _PROCESSES,
        ),
        PluginTimeouts(
            settings.init_timeout_s, entry.call_timeout_s or settings.call_timeout_s, settings.shutdown_timeout_s
        ),
    )


def _declare(manifest: PluginManifest) -> DeclaredParts:
    return DeclaredParts(
        tuple(tool.name for tool in manifest.tools),
        manifest.channels,
        tuple((stage.name, stage.phase.value) for stage in manifest.stages),
        manifest.memory,
    )


def find_paths(status: PluginStatus, around: PluginEnvironment) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths that a plugin may read, and those that it may change. Raises: ClawftError."""
    readable: list[str] = []
    writable: list[str] = []
    ours, file = real_path(around.workspace.user_dir), status.found.file
    for granted in status.permissions.filesystem:
        text = granted.removesuffix(":ro")
        path = _lead(granted, around)
        if not path or is_within(path, ours) or is_within(ours, path):
            message = f"It was granted {text}, which holds the folder of clawft itself, or lies in it"
            raise Refused("plugin-permissions", message, path=file, hint="Ask for a folder beside it")
        if is_within(path, "/proc") or is_within(path, "/sys") or is_within(path, "/dev"):
            message = f"It was granted {text}, where the kernel shows programs and devices"
            raise Refused("plugin-permissions", message, path=file, hint="Ask for a folder of files")
        if _is_led_astray(granted, path, status, around) or not _is_asked(granted, path, status, around):
            message = f"It was granted {text}, which leads to something that it did not ask for"
            hint = f"Look where its links lead, then: weft plugins grant {status.id}"
            raise Refused("plugin-permissions", message, path=file, hint=hint)
        (readable if granted.endswith(":ro") else writable).append(path)
    return tuple(readable), tuple(writable)


def _lead(text: str, around: PluginEnvironment) -> str:
    """Resolve a path that is requested or granted."""
    return real_path(resolve_path(text.removesuffix(":ro"), around.workspace.project, around.workspace.home))


def _is_led_astray(granted: str, path: str, status: PluginStatus, around: PluginEnvironment) -> bool:
    """Return whether a link makes more of a path than what a person was shown: one that leads out of the project, to
    what stays closed, or out of another folder that the plugin itself may change."""
    project, read_only = around.workspace.project, granted.endswith(":ro")
    written = resolve_path(granted.removesuffix(":ro"), project, around.workspace.home)
    if not granted.startswith(("/", "~")) and is_within(written, project) and not is_within(path, real_path(project)):
        return True
    shown = written.split("/")
    if is_closed("/".join(part for part in path.split("/") if part not in shown), at_home=False, read_only=read_only):
        return True
    changeable = [
        changeable_path
        for changeable_path in status.permissions.filesystem
        if changeable_path != granted and covers_path(changeable_path, granted)
    ]
    return not all(
        is_within(path, _lead(changeable_path, around))
        for changeable_path in changeable
        if not changeable_path.endswith(":ro")
    )


def _is_asked(granted: str, path: str, status: PluginStatus, around: PluginEnvironment) -> bool:
    """Return whether what was granted leads into what was asked for, and to nothing that stays closed in there."""
    manifest = status.found.manifest
    asked = manifest.permissions.filesystem if manifest else ()
    home, read_only = real_path(around.workspace.home), granted.endswith(":ro")
    if granted in asked:
        return True
    for root in (_lead(asked_path, around) for asked_path in asked if covers_path(asked_path, granted)):
        if path == root:
            return True
        if is_within(path, root):
            # A grant of what lies right in the home folder would open what one of all of it leaves closed.
            at_home = is_within(home, root) and is_within(path, home) and path != home
            inner = os.path.relpath(path, home if at_home else root)
            own = not read_only and any(is_within(path, folder) for folder in own_folders())
            if not own and not is_closed(inner, at_home=at_home, read_only=read_only):
                return True
    return False


def _find_interpreter() -> tuple[str, ...]:
    """The interpreter, what is installed for it, and this package."""
    places = (sys.prefix, sys.base_prefix, os.path.realpath(sys.executable), *_find_packages(), _PACKAGE)
    return tuple(dict.fromkeys(place for place in places if os.path.exists(place)))


def _find_packages() -> list[str]:
    """Find the folders where packages are installed; also the user's, which an isolated interpreter does not search."""
    return [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]


def _own_env(data_dir: str, permissions: Permissions, around: PluginEnvironment) -> dict[str, str]:
    """Build the environment that every process needs; of the user's own only PATH, for a plugin that may start
    programs."""
    path = os.defpath
    if permissions.shell:
        path = around.sandbox.launcher.limit_path(around.environ.get("PATH", os.defpath))
    # Tells projects apart, and nothing of them.
    project = blake2b(around.workspace.project.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return {"HOME": data_dir, "PATH": path, "LANG": "C.UTF-8", "CLAWFT_PROJECT_ID": project}


def _find_filter() -> bytes:
    """Raises: ClawftError on a machine where nobody could keep it from starting programs."""
    program = build_lone_filter()
    if program is None:
        message = "On this kind of machine a plugin cannot be kept from starting programs"
        raise ClawftError("plugin-start", message, hint="Grant it shell, if you trust it with that")
    return program
