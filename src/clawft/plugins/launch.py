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
from clawft.files import is_within, is_within_any, real_path
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


class PluginLaunch(Struct, frozen=True):
    """A plugin that may run as it was granted, in a process or as a component. `env` are the variables it was
    granted."""

    status: PluginStatus
    manifest: PluginManifest
    digest: str  # of its folder
    data_dir: str
    config: dict[str, Any]
    env: Mapping[str, str]
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    init_s: float
    call_s: float
    shutdown_s: float

    @property
    def id(self) -> str:
        return self.manifest.id

    @property
    def folder(self) -> str:
        return self.status.found.folder

    @property
    def permissions(self) -> Permissions:
        return self.status.permissions


def make_plugin_launch(status: PluginStatus, settings: PluginsSettings, around: PluginEnvironment) -> PluginLaunch:
    """Build the launch of a plugin. Raises: ClawftError for what cannot be granted, or a secret that cannot be read."""
    manifest, grant, entry = status.found.manifest, status.grant, get_plugin_entry(status.found, settings)
    assert manifest is not None
    assert grant is not None
    for host in status.permissions.network:
        parse_grant(host)
    readable, writable = find_paths(status, around)
    wasm_s = settings.wasm.timeout_s if manifest.wasm_module else None
    return PluginLaunch(
        status,
        manifest,
        grant.digest,
        os.path.join(around.workspace.user_dir, "plugin-data", manifest.id),
        resolve_plugin_config(status, entry, around.environ),
        find_granted_env(status, entry, around.environ),
        readable,
        writable,
        settings.init_timeout_s,
        entry.call_timeout_s or wasm_s or settings.call_timeout_s,
        settings.shutdown_timeout_s,
    )


class PythonProgram(Struct, frozen=True):
    """The program of a Python plugin: what of it is loaded, in which environment, within which limits."""

    job: PluginLaunch
    code: tuple[str, str, str]  # the module, the class, and the package that its folder is loaded as
    env: Mapping[str, str]
    limits: ResourceLimits

    @property
    def words(self) -> tuple[str, ...]:
        return (sys.executable, "-I", "-B", _GUEST, *_find_packages())

    def start(self, copy: str, *, confined: bool) -> PluginStart:
        """Build the first message to the plugin's process. Raises: ClawftError."""
        job, (module, name, package) = self.job, self.code
        declared = DeclaredParts(
            tuple(tool.name for tool in job.manifest.tools),
            job.manifest.channels,
            tuple((stage.name, stage.phase.value) for stage in job.manifest.stages),
            job.manifest.memory,
        )
        return PluginStart(
            copy,
            module,
            name,
            job.data_dir,
            package,
            job.config,
            tuple(job.env),
            job.permissions.network,
            declared,
            "" if job.permissions.shell else _find_filter().hex(),
            self.limits.data_bytes,
            job.id,
            (*job.readable, *job.writable),
            confined,
        )

    def confine(self, copy: str) -> Confinement:
        """Build the confinement of the plugin's process."""
        job = self.job
        return Confinement(
            writable=job.writable,
            whole={"program": _find_interpreter(), "named": job.readable},
            own=(job.data_dir,),
            hidden=("/etc/passwd", "/etc/group"),
            mounts=((copy, copy),),
            hosts=job.permissions.network,
            limits=self.limits,
            least=not job.permissions.shell,
            only=True,
            host_hint=f"If its manifest asks for it: weft plugins grant {job.id} --network {{host}}",
            quiet_s=_QUIET_S,
        )


def make_python_program(job: PluginLaunch, settings: PluginsSettings, around: PluginEnvironment) -> PythonProgram:
    """Build the program of a Python plugin. Raises: ClawftError."""
    memory, has_shell = (settings.memory_mb + _ROOM_MB) * _MB, job.permissions.shell
    processes = _WITH_SHELL if has_shell else _PROCESSES
    limits = structs.replace(around.sandbox.limits, memory_bytes=memory, data_bytes=memory, processes=processes)
    # Of the user's own environment only PATH, for a plugin that may start programs.
    path = around.sandbox.host_programs.limit_path(around.environ.get("PATH", os.defpath)) if has_shell else os.defpath
    # Tells projects apart, and nothing of them.
    project = blake2b(around.workspace.project.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    own = {"HOME": job.data_dir, "PATH": path, "LANG": "C.UTF-8", "CLAWFT_PROJECT_ID": project}
    return PythonProgram(job, find_code(job.status.found), {**job.env, **own}, limits)


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
            own = not read_only and is_within_any(path, own_folders())
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


def _find_filter() -> bytes:
    """Raises: ClawftError on a machine where nobody could keep it from starting programs."""
    program = build_lone_filter()
    if program is None:
        message = "On this kind of machine a plugin cannot be kept from starting programs"
        raise ClawftError("plugin-start", message, hint="Grant it shell, if you trust it with that")
    return program
