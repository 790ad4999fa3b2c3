"""The state of a plugin, and what it was granted: bound to its version and digest, so that a changed one asks again."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct, structs

from clawft import __version__
from clawft.config.plugin_secrets import replace_references
from clawft.config.plugins import PluginEntry, PluginsSettings
from clawft.contracts import Permissions
from clawft.discovery.digest import compute_digest
from clawft.discovery.plugins import FoundPlugin
from clawft.errors import ClawftError, Diagnostic
from clawft.format.schema import Unresolved, check_arguments
from clawft.trust.approvals import current_user
from clawft.trust.covering import COVERS, find_held, keep_met, keep_uncovered
from clawft.trust.records import Codes, Records
from clawft.trust.seal import Seal
from clawft.trust.state import State

__all__ = [
    "PLUGIN_STATES",
    "PluginGrant",
    "PluginGrants",
    "PluginStanding",
    "clip_permissions",
    "compare_permissions",
    "drop_permissions",
    "entry_of_plugin",
    "join_permissions",
    "judge_plugins",
    "list_permissions",
    "make_grant",
    "name_permissions",
]

PLUGIN_STATES: dict[State, str] = {
    "broken": "its manifest cannot be used",
    "shadowed": "another plugin of this id comes first",
    "disabled": "the config turns it off",
    "untrusted": "nobody granted it anything as it is now",
    "ineligible": "it needs another version, other settings, or something that is not here",
    "ready": "it may be used, with what it was granted",
}
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
    """What the user granted to plugins, in one sealed file."""

    def __init__(self, path: str, seal: Seal) -> None:
        self.path = path
        codes = Codes("grants-damaged", "grants-unsafe", "grants-busy", "grants-tampered")
        self._records = Records(path, PluginGrant, "grants of plugins", codes, seal)

    def load(self) -> tuple[PluginGrant, ...]:
        """All of them. Raises: ClawftError for a file that cannot be understood: nothing is granted by accident."""
        return self._records.load()

    def find(self, found: FoundPlugin) -> PluginGrant | None:
        """The decision about the plugin of a folder, whatever is there now. Raises: ClawftError."""
        return next((one for one in self.load() if (one.id, one.folder) == (found.id, found.folder)), None)

    def record(self, grant: PluginGrant, commit: Callable[[], object] | None = None) -> None:
        """Keep a decision, in the place of an older one about the same plugin. `commit` as for `Records.change`.

        Raises: ClawftError.
        """
        self._records.change(
            lambda known: (*(one for one in known if (one.id, one.folder) != (grant.id, grant.folder)), grant), commit
        )

    def remove(self, found: FoundPlugin) -> bool:
        """Take back what was decided about a plugin; whether there was anything. Raises: ClawftError."""
        before = len(self.load())
        self._records.change(
            lambda known: tuple(one for one in known if (one.id, one.folder) != (found.id, found.folder))
        )
        return len(self.load()) < before


def make_grant(found: FoundPlugin, digest: str, permissions: Permissions) -> PluginGrant:
    """A decision of the current user, now."""
    assert found.manifest is not None
    at = datetime.now().astimezone().isoformat(timespec="seconds")
    stages = tuple(one.name for one in found.manifest.stages if one.on_failure == "stop")
    return PluginGrant(found.id, found.folder, found.manifest.version, digest, at, current_user(), permissions, stages)


class PluginStanding(Struct, frozen=True):
    """One plugin with its state and the reasons for it. `grant` is the decision that it may be used by; one that is
    off keeps it."""

    found: FoundPlugin
    state: State
    reasons: tuple[Diagnostic, ...] = ()
    grant: PluginGrant | None = None

    @property
    def id(self) -> str:
        return self.found.id

    @property
    def permissions(self) -> Permissions:
        """What it has: nothing while it is off."""
        return self.granted if self.state != "disabled" else Permissions()

    @property
    def granted(self) -> Permissions:
        """Of what it asks for, that which was granted."""
        if self.grant is None or self.found.manifest is None:
            return Permissions()
        return clip_permissions(self.found.manifest.permissions, self.grant.permissions)


def entry_of_plugin(found: FoundPlugin, settings: PluginsSettings) -> PluginEntry:
    """What the settings say of a plugin."""
    return settings.entries.get(found.id, _NO_ENTRY)


def clip_permissions(asked: Permissions, granted: Permissions) -> Permissions:
    """What lies within both: what is granted may be narrower than what is asked for, and never wider."""
    return _each(
        lambda kind: keep_met(COVERS[kind], getattr(asked, kind), getattr(granted, kind)),
        shell=asked.shell and granted.shell,
    )


def compare_permissions(before: Permissions, after: Permissions) -> Permissions:
    """What is asked for now and was not before, not even as a part of something."""
    return _each(
        lambda kind: keep_uncovered(COVERS[kind], getattr(before, kind), getattr(after, kind)),
        shell=after.shell and not before.shell,
    )


def drop_permissions(one: Permissions, other: Permissions) -> Permissions:
    """What is in one and not, as it is written, in the other."""
    return _each(
        lambda kind: tuple(text for text in getattr(one, kind) if text not in getattr(other, kind)),
        shell=one.shell and not other.shell,
    )


def join_permissions(one: Permissions, other: Permissions) -> Permissions:
    """What is in one or the other; what lies within something else of it is not said twice."""
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
    found: Sequence[FoundPlugin],
    settings: PluginsSettings,
    grants: Callable[[], Sequence[PluginGrant]],
    *,
    by_digest: bool = True,
) -> tuple[PluginStanding, ...]:
    """The state of every plugin found, in the order found.

    Without `by_digest` a plugin counts as what was granted if only its version is: for lists that run nothing of it.
    """
    judged = [_judge(one, settings, grants, by_digest=by_digest) for one in found]
    first: dict[str, PluginStanding] = {}
    for index, one in enumerate(judged):
        if one.found.manifest is None:
            continue
        winner = first.setdefault(one.id, one)
        if winner is not one:
            message = f"{winner.found.scope} has '{one.id}' too and comes first"
            reason = Diagnostic("shadowed", "warning", message, winner.found.file)
            judged[index] = structs.replace(one, state="shadowed", reasons=(reason,))
    return tuple(judged)


def _judge(
    found: FoundPlugin,
    settings: PluginsSettings,
    grants: Callable[[], Sequence[PluginGrant]],
    *,
    by_digest: bool,
) -> PluginStanding:
    manifest = found.manifest
    if manifest is None:
        return PluginStanding(found, "broken", (found.problem,) if found.problem else ())
    off = _why_off(found, settings)
    if off is not None:
        return PluginStanding(found, "disabled", (off,), _find_grant(found, grants, by_digest=by_digest)[0])
    known, objection = _find_grant(found, grants, by_digest=by_digest)
    if objection is not None:
        return PluginStanding(found, "untrusted", (objection, *manifest.diagnostics))
    unmet = _find_unmet(found, settings)
    if unmet is not None:
        return PluginStanding(found, "ineligible", (unmet, *manifest.diagnostics), known)
    return PluginStanding(found, "ready", (*_tell_withheld(found, known), *manifest.diagnostics), known)


def _why_off(found: FoundPlugin, settings: PluginsSettings) -> Diagnostic | None:
    if settings.enabled and entry_of_plugin(found, settings).enabled:
        return None
    name, hint = "plugins.enabled", "Run: weft config set plugins.enabled true"
    if settings.enabled:
        name, hint = f'plugins.entries."{found.id}".enabled', f"Run: weft plugins enable {found.id}"
    return Diagnostic("disabled", "note", f"The config has {name} = false", found.file, 0, hint)


def _find_grant(
    found: FoundPlugin, grants: Callable[[], Sequence[PluginGrant]], *, by_digest: bool
) -> tuple[PluginGrant | None, Diagnostic | None]:
    """The decision that a plugin may be used by, or why there is none."""
    assert found.manifest is not None
    hint = f"Look at it, then: weft plugins enable {found.id}"
    try:
        known = next((one for one in grants() if (one.id, one.folder) == (found.id, found.folder)), None)
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


def _find_unmet(found: FoundPlugin, settings: PluginsSettings) -> Diagnostic | None:
    manifest = found.manifest
    assert manifest is not None
    wanted = manifest.min_clawft_version
    if wanted and _version(wanted) > _version(__version__):
        message = f"It needs clawft {wanted} or newer; this is {__version__}"
        return Diagnostic("plugin-version", "warning", message, found.file, 0, "Upgrade clawft")
    given = entry_of_plugin(found, settings).config
    if manifest.config_schema is None:
        if given:
            message = f'It has no settings; plugins.entries."{found.id}".config is not used'
            return Diagnostic("plugin-config", "warning", message, found.file, 0, "Remove it")
        return None
    known = replace_references(given, manifest.config_schema, lambda *_: Unresolved())
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
    return tuple(int(one) for one in numbers.split(".")), not dash, pre


def _tell_withheld(found: FoundPlugin, grant: PluginGrant | None) -> list[Diagnostic]:
    """What it asks for and did not get."""
    assert found.manifest is not None
    assert grant is not None
    missing = compare_permissions(grant.permissions, found.manifest.permissions)
    partly = {text: find_held(kind, text, grant.permissions) for kind, text in list_permissions(missing)}
    none = ", ".join(text for text, held in partly.items() if not held)
    said = [f"{none}, which it was not granted"] if none else []
    said += [f"{text}, of which it was granted {', '.join(held)}" for text, held in partly.items() if held]
    if not said:
        return []
    message = f"It asks for {'; for '.join(said)}"
    return [Diagnostic("plugin-withheld", "note", message, found.file, 0, f"Run: weft plugins grant {found.id}")]
