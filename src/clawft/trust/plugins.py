"""The status of plugins, the permissions granted to each, and whether one can work on this machine."""

import importlib.util
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct, structs

from clawft import __version__
from clawft.config.extensions import PluginEntry, PluginsSettings, replace_references
from clawft.config.tools import WebSettings
from clawft.contracts import Permissions
from clawft.errors import ClawftError, Diagnostic, Severity
from clawft.files import is_within, real_path
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.plugins import DiscoveredPlugin, find_code
from clawft.skills.parse.schema import Unresolved, check_arguments
from clawft.trust.approvals import current_user
from clawft.trust.records import RecordErrorCodes, Seal, SealedRecords
from clawft.trust.status import SkillState, TrustStatus
from clawft.workspace import Workspace, resolve_path

Covers = Callable[[str, str], bool]


def covers_host(wide: str, narrow: str) -> bool:
    """Return whether every host and port that one grant means is meant by another. What is no grant covers only
    itself."""
    if wide == narrow:
        return True
    from clawft.trust.network import parse_grant  # most plugins are granted what they ask for

    try:
        return parse_grant(wide).includes(parse_grant(narrow))
    except ClawftError:
        return False


def covers_path(wide: str, narrow: str) -> bool:
    """Return whether a path, with what may be done there, is a part of another one. `..` is never followed.

    What stays closed inside a folder unless it is named, such as `.env`, has to be asked for by name.
    """
    if wide == narrow:
        return True
    outer, inner = wide.removesuffix(":ro"), narrow.removesuffix(":ro")
    read_only = inner != narrow
    if outer != wide and not read_only:
        return False
    above, below = _split(outer), _split(inner)
    if not above or below[: len(above)] != above:
        return False
    rest = below[len(above) :]
    return not rest or not is_closed("/".join(rest), at_home=above == ["~"], read_only=read_only)


def is_closed(relative: str, *, at_home: bool, read_only: bool) -> bool:
    """Return whether a path below a folder stays closed to who was granted the folder."""
    from clawft.trust.protected_paths import is_private, is_protected, steers_home

    if is_private(relative):
        return True
    return not read_only and (is_protected(relative) or (at_home and steers_home(relative.split("/")[0])))


def _split(path: str) -> list[str]:
    """Split a path into its start and its names; empty for one that cannot be compared as it is written."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in names or "\0" in path or path.startswith("//"):
        return []
    if path.startswith("/"):
        return ["/", *names]
    return names if names[:1] == ["~"] and not path.startswith("./") else [".", *names]


def _same(one: str, other: str) -> bool:
    return one == other


COVERS: dict[str, Covers] = {"filesystem": covers_path, "network": covers_host, "env_vars": _same, "shell": _same}


def intersect_grants(covers: Covers, asked: Sequence[str], granted: Sequence[str]) -> tuple[str, ...]:
    """Intersect two lists of grants: of each thing that is asked for all of it, or the parts that were granted."""
    met: dict[str, None] = {}
    for permission in asked:
        whole = permission in granted or any(
            covers(other, permission) for other in granted
        )  # most are granted as they are asked for
        met |= dict.fromkeys([permission] if whole else [other for other in granted if covers(permission, other)])
    return tuple(met)


def list_uncovered(covers: Covers, before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """List what is in `after` and not covered by anything in `before`."""
    return tuple(
        permission
        for permission in after
        if permission not in before and not any(covers(other, permission) for other in before)
    )


def list_granted(kind: str, asked: str, granted: Permissions) -> tuple[str, ...]:
    """List what was granted of one thing that is asked for: the thing itself, parts of it, or nothing."""
    if kind == "shell":
        return (asked,) if granted.shell else ()
    return intersect_grants(COVERS[kind], (asked,), getattr(granted, kind))


_NAMED_IN = re.compile(r"'([A-Za-z0-9_.-]+)['\[]")  # the setting that a complaint is about
_NO_ENTRY = PluginEntry()
_NAMED = ("filesystem", "network", "env_vars")  # in the order of `Permissions`


class PluginGrant(Struct, frozen=True, omit_defaults=True):
    """One decision: this plugin, as it is in this folder, may be used with these permissions."""

    id: str
    folder: str
    version: str
    digest: str
    at: str
    by: str = ""
    permissions: Permissions = Permissions()
    stages: tuple[str, ...] = ()  # those that no turn goes on without, from then on


class PluginGrants:
    """The permissions that the user granted to plugins, in one sealed file."""

    def __init__(self, path: str, seal: Seal) -> None:
        self.path = path
        codes = RecordErrorCodes("grants-damaged", "grants-unsafe", "grants-busy", "grants-tampered")
        self._records = SealedRecords(path, PluginGrant, "grants of plugins", codes, seal)

    def load(self) -> tuple[PluginGrant, ...]:
        """All of them. Raises: ClawftError for a file that cannot be understood: nothing is granted by accident."""
        return self._records.load()

    def find(self, found: DiscoveredPlugin) -> PluginGrant | None:
        """The decision about the plugin of a folder, whatever is there now. Raises: ClawftError."""
        return next((grant for grant in self.load() if (grant.id, grant.folder) == (found.id, found.folder)), None)

    def record(self, grant: PluginGrant, commit: Callable[[], object] | None = None) -> None:
        """Keep a decision, in the place of an older one about the same plugin. `commit` as for `SealedRecords.change`.

        Raises: ClawftError.
        """
        self._records.change(
            lambda known: (
                *(existing for existing in known if (existing.id, existing.folder) != (grant.id, grant.folder)),
                grant,
            ),
            commit,
        )

    def remove(self, found: DiscoveredPlugin) -> bool:
        """Take back what was decided about a plugin; whether there was anything. Raises: ClawftError."""
        before = len(self.load())
        self._records.change(
            lambda known: tuple(grant for grant in known if (grant.id, grant.folder) != (found.id, found.folder))
        )
        return len(self.load()) < before


def make_grant(found: DiscoveredPlugin, digest: str, permissions: Permissions) -> PluginGrant:
    """A decision of the current user, now."""
    assert found.manifest is not None
    at = datetime.now().astimezone().isoformat(timespec="seconds")
    stages = tuple(stage.name for stage in found.manifest.stages if stage.on_failure == "stop")
    return PluginGrant(found.id, found.folder, found.manifest.version, digest, at, current_user(), permissions, stages)


class PluginStatus(TrustStatus[DiscoveredPlugin, SkillState], frozen=True):
    """The status of a plugin. `grant` is the decision that it may be used by; one that is off keeps it."""

    grant: PluginGrant | None = None

    @property
    def id(self) -> str:
        return self.found.id

    @property
    def permissions(self) -> Permissions:
        """The permissions that are in effect: none while the plugin is off."""
        return self.granted if self.state != "disabled" else Permissions()

    @property
    def granted(self) -> Permissions:
        """The permissions that the plugin asks for and was granted."""
        if self.grant is None or self.found.manifest is None:
            return Permissions()
        return clip_permissions(self.found.manifest.permissions, self.grant.permissions)


def get_plugin_entry(found: DiscoveredPlugin, settings: PluginsSettings) -> PluginEntry:
    """Return the settings of a plugin."""
    return settings.entries.get(found.id, _NO_ENTRY)


def clip_permissions(asked: Permissions, granted: Permissions) -> Permissions:
    """Return the permissions that are within both: what is granted may be narrower than what is asked for, and never
    wider."""
    return _each(
        lambda kind: intersect_grants(COVERS[kind], getattr(asked, kind), getattr(granted, kind)),
        shell=asked.shell and granted.shell,
    )


def compare_permissions(before: Permissions, after: Permissions) -> Permissions:
    """Return the permissions that are asked for now and were not before, not even as a part of something."""
    return _each(
        lambda kind: list_uncovered(COVERS[kind], getattr(before, kind), getattr(after, kind)),
        shell=after.shell and not before.shell,
    )


def drop_permissions(one: Permissions, other: Permissions) -> Permissions:
    """Return the permissions of one that are not, as they are written, in the other."""
    return _each(
        lambda kind: tuple(text for text in getattr(one, kind) if text not in getattr(other, kind)),
        shell=one.shell and not other.shell,
    )


def join_permissions(one: Permissions, other: Permissions) -> Permissions:
    """Join two sets of permissions; what is covered by another of them is left out."""
    more = compare_permissions(one, other)
    rest = compare_permissions(more, one)
    return _each(lambda kind: (*getattr(rest, kind), *getattr(more, kind)), shell=one.shell or other.shell)


def _each(work: Callable[[str], tuple[str, ...]], *, shell: bool) -> Permissions:
    return Permissions(work("filesystem"), work("network"), work("env_vars"), shell)


def list_permissions(permissions: Permissions) -> list[tuple[str, str]]:
    """Kind and value of each; `shell` for starting programs."""
    named = [(kind, text) for kind in _NAMED for text in getattr(permissions, kind)]
    return [*named, ("shell", "shell")] if permissions.shell else named


def name_permissions(permissions: Permissions) -> list[str]:
    """Each as the manifest has it; `shell` for starting programs."""
    return [text for _, text in list_permissions(permissions)]


def judge_plugins(
    found: Sequence[DiscoveredPlugin],
    settings: PluginsSettings,
    grants: Callable[[], Sequence[PluginGrant]],
    *,
    by_digest: bool = True,
) -> tuple[PluginStatus, ...]:
    """The state of every plugin found, in the order found.

    Without `by_digest` a plugin counts as what was granted if only its version is: for lists that run nothing of it.
    """
    judged = [_judge(plugin, settings, grants, by_digest=by_digest) for plugin in found]
    first: dict[str, PluginStatus] = {}
    for index, status in enumerate(judged):
        if status.found.manifest is None:
            continue
        winner = first.setdefault(status.id, status)
        if winner is not status:
            message = f"{winner.found.scope} has '{status.id}' too and comes first"
            reason = Diagnostic("shadowed", "warning", message, winner.found.file)
            judged[index] = structs.replace(status, state="shadowed", reasons=(reason,))
    return tuple(judged)


def _judge(
    found: DiscoveredPlugin,
    settings: PluginsSettings,
    grants: Callable[[], Sequence[PluginGrant]],
    *,
    by_digest: bool,
) -> PluginStatus:
    manifest = found.manifest
    if manifest is None:
        return PluginStatus(found, "broken", (found.problem,) if found.problem else ())
    off = _why_off(found, settings)
    if off is not None:
        grant = _find_grant(found, grants, by_digest=by_digest)[0]
        return PluginStatus(found, "disabled", (off,), grant=grant)
    known, objection = _find_grant(found, grants, by_digest=by_digest)
    if objection is not None:
        return PluginStatus(found, "untrusted", (objection, *manifest.diagnostics))
    unmet = _find_unmet(found, settings)
    if unmet is not None:
        return PluginStatus(found, "ineligible", (unmet, *manifest.diagnostics), grant=known)
    return PluginStatus(found, "ready", (*_tell_withheld(found, known), *manifest.diagnostics), grant=known)


def _why_off(found: DiscoveredPlugin, settings: PluginsSettings) -> Diagnostic | None:
    if settings.enabled and get_plugin_entry(found, settings).enabled:
        return None
    name, hint = "plugins.enabled", "Run: weft config set plugins.enabled true"
    if settings.enabled:
        name, hint = f'plugins.entries."{found.id}".enabled', f"Run: weft plugins enable {found.id}"
    return Diagnostic("disabled", "note", f"The config has {name} = false", found.file, 0, hint)


def _find_grant(
    found: DiscoveredPlugin, grants: Callable[[], Sequence[PluginGrant]], *, by_digest: bool
) -> tuple[PluginGrant | None, Diagnostic | None]:
    """The decision that a plugin may be used by, or why there is none."""
    assert found.manifest is not None
    hint = f"Look at it, then: weft plugins enable {found.id}"
    try:
        known = next((grant for grant in grants() if (grant.id, grant.folder) == (found.id, found.folder)), None)
    except ClawftError as error:
        return None, Diagnostic("untrusted", "warning", str(error), found.file, 0, error.hint)
    if known is None:
        return None, Diagnostic("untrusted", "warning", "Nobody granted it anything yet", found.file, 0, hint)
    if known.version != found.manifest.version:
        message = f"It is version {found.manifest.version} now; {known.version} was granted on {known.at[:10]}"
        return None, Diagnostic("untrusted", "warning", message, found.file, 0, hint)
    if by_digest and compute_digest(found.folder).value != known.digest:
        message = f"It changed since it was granted on {known.at[:10]}"
        return None, Diagnostic("untrusted", "warning", message, found.file, 0, hint)
    return known, None


def _find_unmet(found: DiscoveredPlugin, settings: PluginsSettings) -> Diagnostic | None:
    manifest = found.manifest
    assert manifest is not None
    wanted = manifest.min_clawft_version
    if wanted and _version(wanted) > _version(__version__):
        message = f"It needs clawft {wanted} or newer; this is {__version__}"
        return Diagnostic("plugin-version", "warning", message, found.file, 0, "Upgrade clawft")
    plugin_config = get_plugin_entry(found, settings).config
    if manifest.config_schema is None:
        if plugin_config:
            message = f'It has no settings; plugins.entries."{found.id}".config is not used'
            return Diagnostic("plugin-config", "warning", message, found.file, 0, "Remove it")
        return None
    known = replace_references(plugin_config, manifest.config_schema, lambda *_: Unresolved())
    problem = check_arguments(known, manifest.config_schema)
    if problem:
        message = f"Its settings are not as its config_schema says: {problem}"
        named = _NAMED_IN.match(problem)
        name = named[1] if named else "NAME"
        hint = f"Run: weft config set 'plugins.entries.\"{found.id}\".config.{name}' VALUE"
        return Diagnostic("plugin-config", "warning", message, found.file, 0, hint)
    return None


def _version(text: str) -> tuple[tuple[int, ...], bool, str]:
    """A version to compare: a pre-release comes before its release."""
    numbers, dash, pre = text.partition("+")[0].partition("-")
    return tuple(int(part) for part in numbers.split(".")), not dash, pre


def _tell_withheld(found: DiscoveredPlugin, grant: PluginGrant | None) -> list[Diagnostic]:
    """Return diagnostics for permissions that the plugin asks for and did not get."""
    assert found.manifest is not None
    assert grant is not None
    missing = compare_permissions(grant.permissions, found.manifest.permissions)
    partly = {text: list_granted(kind, text, grant.permissions) for kind, text in list_permissions(missing)}
    none = ", ".join(text for text, held in partly.items() if not held)
    parts = [f"{none}, which it was not granted"] if none else []
    parts += [f"{text}, of which it was granted {', '.join(held)}" for text, held in partly.items() if held]
    if not parts:
        return []
    message = f"It asks for {'; for '.join(parts)}"
    return [Diagnostic("plugin-withheld", "note", message, found.file, 0, f"Run: weft plugins grant {found.id}")]


def fit_plugins(statuses: Iterable[PluginStatus], workspace: Workspace, web: WebSettings) -> tuple[PluginStatus, ...]:
    """Plugins with what they lack: one that could never be started is not eligible."""
    return tuple(_fit(status, workspace, web) if status.state == "ready" else status for status in statuses)


def _fit(status: PluginStatus, workspace: Workspace, web: WebSettings) -> PluginStatus:
    diagnostics = check_fit(status.found, status.permissions, workspace, web)
    if not diagnostics:
        return status
    state = "ineligible" if any(diagnostic.severity == "error" for diagnostic in diagnostics) else status.state
    downgraded = tuple(
        structs.replace(diagnostic, severity="warning") if diagnostic.severity == "error" else diagnostic
        for diagnostic in diagnostics
    )
    return structs.replace(status, state=state, reasons=(*downgraded, *status.reasons))


def check_fit(
    found: DiscoveredPlugin, permissions: Permissions, workspace: Workspace, web: WebSettings
) -> list[Diagnostic]:
    """Check that a plugin with these permissions works here; errors keep it from work, and warnings name what it will
    lack."""
    diagnostics = [
        *_check_code(found),
        *_check_hosts(found, permissions, web),
        *_check_paths(found, permissions, workspace),
    ]
    return sorted(diagnostics, key=lambda one: one.severity != "error")


def _check_code(found: DiscoveredPlugin) -> Iterator[Diagnostic]:
    manifest = found.manifest
    if manifest is None or not manifest.has_code:
        return
    if not manifest.wasm_module:
        files = _find_files(found)
        if not any(os.path.isfile(os.path.join(found.folder, file)) for file in files):
            message = f"It has no {files[0]}, where its code should be"
            yield Diagnostic("plugin-parts", "error", message, found.file)
        return
    if not os.path.isfile(os.path.join(found.folder, manifest.wasm_module)):
        message = f"It has no {manifest.wasm_module}, where its code should be"
        yield Diagnostic("wasm-no-module", "error", message, found.file)
    if importlib.util.find_spec("wasmtime") is None:
        message = "It is in WebAssembly, and the optional part 'wasm' is not installed"
        yield Diagnostic("wasm-missing", "error", message, found.file, 0, "Install clawft[wasm]")


def _find_files(found: DiscoveredPlugin) -> list[str]:
    """List the files that may hold the code of a Python plugin, below its folder."""
    module, _, package = find_code(found)
    inside = module.removeprefix(package).removeprefix(".") if package else module
    if not inside:
        return ["__init__.py"]
    path = inside.replace(".", "/")
    return [f"{path}.py", f"{path}/__init__.py"]


def _check_hosts(found: DiscoveredPlugin, permissions: Permissions, web: WebSettings) -> Iterator[Diagnostic]:
    if not permissions.network:
        return
    from clawft.trust.network import PolicyViolation, PrivateIp, UrlPolicy, parse_grant

    policy, private = UrlPolicy(web), []
    for text in permissions.network:
        try:
            grant = parse_grant(text)
            if not grant.subdomains:
                policy.read_allowed(f"https://{f'[{grant.host}]' if ':' in grant.host else grant.host}/")
        except PrivateIp:  # a name that leads to such an address is known when it is asked for, and not before
            private.append(text)
        except PolicyViolation as error:
            yield Diagnostic(error.code, "warning", str(error), found.file, 0, error.hint)
        except ClawftError as error:
            yield Diagnostic(error.code, "error", str(error), found.file, 0, error.hint)
    if private:
        are, them = ("are", "them") if len(private) > 1 else ("is", "it")
        message = f"{', '.join(private)} {are} private: tools.web.block_private_ips keeps {them} closed"
        hint = "Run: weft config set tools.web.block_private_ips false, which opens all that is private to every tool"
        yield Diagnostic("url-private-address", "warning", message, found.file, 0, hint)


def _check_paths(found: DiscoveredPlugin, permissions: Permissions, workspace: Workspace) -> Iterator[Diagnostic]:
    ours = real_path(workspace.user_dir) if permissions.filesystem else ""
    for granted in permissions.filesystem:
        text = granted.removesuffix(":ro")
        path = real_path(resolve_path(text, workspace.project, workspace.home))
        if not path or is_within(path, ours) or is_within(ours, path):
            message = f"Nobody can be granted {text}, which holds the folder of clawft itself, or lies in it"
            hint = f"Grant a folder beside it: weft plugins grant {found.id}"
            yield Diagnostic("plugin-permissions", "error", message, found.file, 0, hint)
        elif not os.path.lexists(path):
            # What is missing in one project may be there in the next.
            severity: Severity = "warning" if text.startswith(("/", "~")) else "note"
            yield Diagnostic("plugin-absent", severity, f"{text} is not there, which it would use", found.file)
