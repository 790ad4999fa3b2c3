"""All that is decided before a Python plugin is started: what is run, on which copy, and what it may reach."""

import os
import sys
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from msgspec import Struct, structs

from clawft.config.plugins import PluginsSettings
from clawft.contracts import Permissions
from clawft.discovery.plugins import find_code
from clawft.errors import ClawftError, Refused
from clawft.files import is_within, real_path
from clawft.format.plugin import PluginManifest
from clawft.plugins.given import take_config, take_env
from clawft.plugins.guest.wire import Declared, Start
from clawft.plugins.running import Around
from clawft.sandbox.confinement import Confinement, Limits
from clawft.sandbox.filter import build_lone_filter
from clawft.trust.covering import covers_path, is_closed
from clawft.trust.hosts import parse_grant
from clawft.trust.places import own_folders
from clawft.trust.plugins import PluginStanding, entry_of_plugin
from clawft.workspace import resolve_path

__all__ = ["PluginJob", "Times", "find_paths", "make_job"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_GUEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guest", "__main__.py")
_MB = 1024 * 1024
_ROOM_MB = 64  # of the interpreter itself, beside what the plugin may take
_PROCESSES, _WITH_SHELL = 64, 256
_QUIET_S = 3600.0  # an IMAP connection waits for up to 29 minutes


class Times(Struct, frozen=True):
    """How long each thing may take, in seconds."""

    init_s: float
    call_s: float
    shutdown_s: float


class PluginJob(Struct, frozen=True):
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
    declared: Declared
    limits: Limits
    times: Times

    @property
    def words(self) -> tuple[str, ...]:
        return (sys.executable, "-I", "-B", _GUEST, *_find_packages())

    def start(self, copy: str) -> Start:
        """What its process is told first."""
        return Start(
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
        """What its process reaches."""
        return Confinement(
            writable=self.writable,
            readable=self.readable,
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


def make_job(standing: PluginStanding, settings: PluginsSettings, around: Around) -> PluginJob:
    """How a plugin is started. Raises: ClawftError for what cannot be granted, or a secret that cannot be read."""
    found, manifest = standing.found, standing.found.manifest
    assert manifest is not None
    assert standing.grant is not None
    entry, workspace, permissions = entry_of_plugin(found, settings), around.workspace, standing.permissions
    module, name, package = find_code(found)
    data_dir = os.path.join(workspace.user_dir, "plugin-data", manifest.id)
    readable, writable = find_paths(standing, around)
    for host in permissions.network:
        parse_grant(host)
    memory = settings.memory_mb + _ROOM_MB
    return PluginJob(
        manifest.id,
        manifest.version,
        found.folder,
        standing.grant.digest,
        permissions,
        module,
        name,
        package,
        data_dir,
        take_config(standing, entry, around.environ),
        take_env(standing, entry, around.environ),
        _own_env(data_dir, permissions, around),
        (*_find_interpreter(), *readable),
        writable,
        _declare(manifest),
        structs.replace(
            around.sandbox.limits,
            memory_bytes=memory * _MB,
            data_bytes=memory * _MB,
            processes=_WITH_SHELL if permissions.shell else _PROCESSES,
        ),
        Times(settings.init_timeout_s, entry.call_timeout_s or settings.call_timeout_s, settings.shutdown_timeout_s),
    )


def _declare(manifest: PluginManifest) -> Declared:
    return Declared(
        tuple(one.name for one in manifest.tools),
        manifest.channels,
        tuple((one.name, one.phase.value) for one in manifest.stages),
        manifest.memory,
    )


def find_paths(standing: PluginStanding, around: Around) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What it may read, and what it may change, of the machine. Raises: ClawftError."""
    readable: list[str] = []
    writable: list[str] = []
    ours, file = real_path(around.workspace.user_dir), standing.found.file
    for granted in standing.permissions.filesystem:
        text = granted.removesuffix(":ro")
        path = _lead(granted, around)
        if not path or is_within(path, ours) or is_within(ours, path):
            message = f"It was granted {text}, which holds the folder of clawft itself, or lies in it"
            raise Refused("plugin-permissions", message, path=file, hint="Ask for a folder beside it")
        if is_within(path, "/proc") or is_within(path, "/sys") or is_within(path, "/dev"):
            message = f"It was granted {text}, where the kernel shows programs and devices"
            raise Refused("plugin-permissions", message, path=file, hint="Ask for a folder of files")
        if _is_led_astray(granted, path, standing, around) or not _is_asked(granted, path, standing, around):
            message = f"It was granted {text}, which leads to something that it did not ask for"
            hint = f"Look where its links lead, then: weft plugins grant {standing.id}"
            raise Refused("plugin-permissions", message, path=file, hint=hint)
        (readable if granted.endswith(":ro") else writable).append(path)
    return tuple(readable), tuple(writable)


def _lead(text: str, around: Around) -> str:
    """Where a path leads that is asked for or granted."""
    return real_path(resolve_path(text.removesuffix(":ro"), around.workspace.project, around.workspace.home))


def _is_led_astray(granted: str, path: str, standing: PluginStanding, around: Around) -> bool:
    """Whether a link makes more of a path than what a person was shown: one that leads out of the project, to what
    stays closed, or out of another folder that the plugin itself may change."""
    project, read_only = around.workspace.project, granted.endswith(":ro")
    written = resolve_path(granted.removesuffix(":ro"), project, around.workspace.home)
    if not granted.startswith(("/", "~")) and is_within(written, project) and not is_within(path, real_path(project)):
        return True
    shown = written.split("/")
    if is_closed("/".join(one for one in path.split("/") if one not in shown), at_home=False, read_only=read_only):
        return True
    changeable = [one for one in standing.permissions.filesystem if one != granted and covers_path(one, granted)]
    return not all(is_within(path, _lead(one, around)) for one in changeable if not one.endswith(":ro"))


def _is_asked(granted: str, path: str, standing: PluginStanding, around: Around) -> bool:
    """Whether what was granted leads into what was asked for, and to nothing that stays closed in there."""
    manifest = standing.found.manifest
    asked = manifest.permissions.filesystem if manifest else ()
    home, read_only = real_path(around.workspace.home), granted.endswith(":ro")
    if granted in asked:
        return True
    for root in (_lead(one, around) for one in asked if covers_path(one, granted)):
        if path == root:
            return True
        if is_within(path, root):
            # A grant of what lies right in the home folder would open what one of all of it leaves closed.
            at_home = is_within(home, root) and is_within(path, home) and path != home
            inner = os.path.relpath(path, home if at_home else root)
            own = not read_only and any(is_within(path, one) for one in own_folders())
            if not own and not is_closed(inner, at_home=at_home, read_only=read_only):
                return True
    return False


def _find_interpreter() -> tuple[str, ...]:
    """The interpreter, what is installed for it, and this package."""
    places = (sys.prefix, sys.base_prefix, os.path.realpath(sys.executable), *_find_packages(), _PACKAGE)
    return tuple(dict.fromkeys(one for one in places if os.path.exists(one)))


def _find_packages() -> list[str]:
    """Where packages are installed; also those of the user, which an isolated interpreter does not look for."""
    return [one for one in sys.path if one.endswith(("site-packages", "dist-packages"))]


def _own_env(data_dir: str, permissions: Permissions, around: Around) -> dict[str, str]:
    """What every process needs; nothing of the user's environment but where programs are, for who may start some."""
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
