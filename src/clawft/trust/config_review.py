"""Review of a project's config: what each setting would change; and changes of settings as lines of the audit log."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from clawft.config import Config, ConfigLayer
from clawft.config.changes import ConfigScope, SettingChange
from clawft.config.keys import join_path
from clawft.config.listing import leaves, list_settings, redact
from clawft.config.secret import find_names, find_secrets
from clawft.config.tools import DEFAULT_COMMANDS, ExecSettings
from clawft.errors import Refused
from clawft.skills.parse.model import find_hidden
from clawft.trust.audit.log import AuditEntry
from clawft.trust.modes import is_followed

MAX_ENTRIES = 400  # settings, and entries of their lists: more than that nobody reads
MAX_CHARS = 2_000  # of one setting


class ReviewedSetting(Struct, frozen=True):
    """One setting of the file. `now` is what counts without the file, `was` what the approved version of it has."""

    key: str
    value: Any
    now: Any = UNSET
    was: Any = UNSET
    is_new: bool = False
    followed: bool = True


class ConfigReview(Struct, frozen=True):
    """The effects of a config file, with the settings that the version approved on `approved_at` had and this one
    lacks."""

    path: str
    settings: tuple[ReviewedSetting, ...]
    removed_settings: tuple[ReviewedSetting, ...] = ()
    consequences: tuple[tuple[str, str], ...] = ()  # what follows, and from which setting
    approved_at: str = ""


def review_config(
    layer: ConfigLayer,
    own: Config,
    user_dir: str,
    environ: Mapping[str, str],
    approved: ConfigLayer | None = None,
    at: str = "",
) -> ConfigReview:
    """Review a project's config against the settings without it, and against the version that was approved before.

    Raises: Refused for one that cannot be shown in full.
    """
    now = {setting.path: setting.value for setting in list_settings(own, environ, defaults=True)}
    values, before = _flatten(layer, environ), _flatten(approved, environ) if approved else {}
    _check_shown(layer.source, values)
    settings: list[ReviewedSetting] = []
    consequences: list[tuple[str, str]] = []
    for path, value in values.items():
        key, followed = join_path(path), is_followed(path, value, own, user_dir)
        adds_up = path[0] == "permissions"  # the user's own rules stay
        current = UNSET if adds_up else now.get(path, UNSET)
        was = before.get(path, UNSET)
        is_new = approved is not None and was is UNSET
        settings.append(
            ReviewedSetting(key, value, current, was if was != value else UNSET, is_new=is_new, followed=followed)
        )
        consequences += [(text, key) for text in _explain(path, value, current)] if followed else []
    removed = tuple(ReviewedSetting(join_path(path), value) for path, value in before.items() if path not in values)
    return ConfigReview(layer.source, tuple(settings), removed, tuple(consequences), at if approved else "")


def _flatten(layer: ConfigLayer, environ: Mapping[str, str]) -> dict[tuple[str, ...], Any]:
    """The settings of a file by their paths; of a secret what it refers to."""
    secrets = dict(find_secrets(layer.values, environ))
    return {
        path: str(secrets[path]) if path in secrets else msgspec.to_builtins(value)
        for path, value in leaves(layer.values, secrets)
    }


def _check_shown(source: str, values: Mapping[tuple[str, ...], Any]) -> None:
    """Raises: Refused."""
    parts = {join_path(path): [*_parts(value)] for path, value in values.items()}
    count = sum(max(1, len(part)) for part in parts.values())
    if count > MAX_ENTRIES:
        message = f"The project's config has {count} settings and entries of lists, too many to be reviewed"
        raise _unreviewable(message, source, f"At most {MAX_ENTRIES} can be approved: remove what is not needed")
    for key, texts in parts.items():
        name = "".join(char if char.isprintable() else "\ufffd" for char in key[:80])
        if any(len(text) > MAX_CHARS for text in (key, *texts)):
            hint = f"A key or text may have up to {MAX_CHARS} characters"
            raise _unreviewable(f"{name} is too long to be reviewed", source, hint)
        hidden = next(filter(None, map(find_hidden, (key, *texts))), "")
        if hidden:
            hint = "Remove it: nobody would see what they approve"
            raise _unreviewable(f"{name} holds the invisible character {hidden}", source, hint)


def _parts(value: Any) -> Iterator[str]:
    """Every key and every single value in a setting, as text."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _parts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _parts(inner)
    else:
        yield f"{value:x}" if type(value) is int else str(value)  # Python writes no long decimals


def _unreviewable(message: str, path: str, hint: str) -> Refused:
    return Refused("config-unreviewable", message, path=path, hint=hint)


def _explain(path: tuple[str, ...], value: Any, now: Any) -> Iterator[str]:
    """Yield what follows from a setting that lowers protection, starts a program, reaches a host or hands something
    out."""
    for pattern, explain in _EFFECTS.items():
        parts = pattern.split(".")
        if len(parts) == len(path) and all(want in ("*", have) for want, have in zip(parts, path, strict=True)):
            text = explain(_Setting(path, value, now))
            yield from [text] if isinstance(text, str) and text else text or ()


class _Setting(Struct, frozen=True):
    path: tuple[str, ...]
    value: Any
    now: Any

    @property
    def name(self) -> str:
        """The name that the user or the file gives the server, provider or skill."""
        return self.path[2] if self.path[0] in ("mcp", "skills") else self.path[1]

    @property
    def joined(self) -> str:
        return ", ".join(map(str, self.value)) if isinstance(self.value, list) else str(self.value)

    def beyond(self, known: tuple[str, ...]) -> str:
        """The entries that are not among those known."""
        return ", ".join(str(entry) for entry in self.value if entry not in known)


def _explain_allow(setting: _Setting) -> list[str]:
    return [
        "every tool may be used without a question" if text.strip() == "*" else f"done without a question: {text}"
        for text in map(str, setting.value)
    ]


def _explain_mode(setting: _Setting) -> str:
    which = {"disabled": "every command runs", "denylist": "every command that no pattern denies runs"}
    known = which.get(setting.value)
    return f"{known} without a question, as far as no rule forbids it" if known else ""


def _make_receiver(receiver: str) -> Callable[[_Setting], list[str]]:
    """Return a function that lists the variables that a variable or header of the file gives away: `${NAME}` is a
    variable of the user's."""
    return lambda one: [f"{receiver.format(one.name)} gets your variable {name}" for name in find_names(str(one.value))]


def _replaces(what: str) -> Callable[[_Setting], str]:
    return lambda one: f"your own {what} do not count any more" if one.now else ""


def _changes(what: str) -> Callable[[_Setting], str]:
    return lambda one: f"the {what} becomes {one.value}, not {one.now}" if one.now not in (None, UNSET) else ""


_SERVER, _PROVIDER = "the server '{}'", "'{}'"
_EFFECTS: dict[str, Callable[[_Setting], str | list[str]]] = {
    "permissions.allow": _explain_allow,
    "mcp.servers.*.command": lambda one: f"the server '{one.name}' starts: {one.value}",
    "mcp.servers.*.args": lambda one: f"the server '{one.name}' is started with: {' '.join(map(str, one.value))}",
    "mcp.servers.*.url": lambda one: f"the server '{one.name}' is reached at {one.value}",
    "mcp.servers.*.env.*": lambda one: (
        _make_receiver(_SERVER)(one) or f"the server '{one.name}' is started with {one.path[-1]}={one.value}"
    ),
    "mcp.servers.*.cwd": lambda one: f"the server '{one.name}' starts in {one.value}",
    "mcp.servers.*.headers.*": _make_receiver(_SERVER),
    "mcp.servers.*.trusted": lambda one: (
        f"the tools of the server '{one.name}' are used without a question" if one.value else ""
    ),
    "mcp.servers.*.hosts": lambda one: f"the server '{one.name}' may reach {one.joined}",
    "mcp.servers.*.writable": lambda one: f"the server '{one.name}' may change {one.joined}",
    "mcp.servers.*.readable": lambda one: f"the server '{one.name}' may read {one.joined}",
    "providers.*.base_url": lambda one: f"conversations with models of '{one.name}' go to {one.value}",
    "providers.*.script": lambda one: f"models of '{one.name}' answer what the file {one.value} says",
    "providers.*.headers.*": _make_receiver(_PROVIDER),
    "providers.*.api_key": lambda one: f"'{one.name}' gets the key {one.value}",
    "agents.budget.*": _changes("budget"),
    "agents.defaults.agent": lambda one: f"the agent {one.value} answers",
    "agents.defaults.model": lambda one: f"conversations go to the model {one.value}",
    "agents.routing.tiers": lambda one: f"conversations go to {', '.join(str(tier['model']) for tier in one.value)}",
    "tools.exec.mode": _explain_mode,
    "tools.exec.allowed_commands": lambda one: (
        f"commands that run without a question: {beyond}" if (beyond := one.beyond(DEFAULT_COMMANDS)) else ""
    ),
    "tools.exec.also_allowed": lambda one: f"commands that run without a question: {one.joined}" if one.value else "",
    "tools.exec.env": lambda one: (
        f"commands get your variables {beyond}" if (beyond := one.beyond(ExecSettings().env)) else ""
    ),
    "tools.exec.denied_patterns": _replaces("denied patterns of commands"),
    "tools.web.blocked_domains": _replaces("blocked domains"),
    "tools.web.block_private_ips": lambda one: "" if one.value else "fetches may reach private and local addresses",
    "tools.web.rate_limit.max_requests": _changes("limit of fetches"),
    "tools.web.search.base_url": lambda one: f"searches go to {one.value}",
    "tools.delegate.target": lambda one: f"tasks are delegated to {one.value}",
    "tools.delegate.command": lambda one: f"delegated tasks start: {' '.join(map(str, one.value))}",
    "skills.security.scan_on_load": lambda one: "" if one.value else "skills are not scanned before they are used",
    "skills.security.block_critical": lambda one: "" if one.value else "skills with critical findings may be used",
    "skills.security.allowed_command_prefixes": lambda one: f"commands that the text of skills runs: {one.joined}",
    "skills.load.extra_dirs": lambda one: f"skills are loaded from {one.joined}",
    "skills.entries.*.env.*": lambda one: f"the skill '{one.name}' gets {one.path[-1]} = {one.value}",
    "skills.entries.*.api_key": lambda one: f"the skill '{one.name}' gets the key {one.value}",
}


def list_replaced(
    scope: ConfigScope, replaced: Sequence[tuple[SettingChange, Any]], environ: Mapping[str, str]
) -> list[AuditEntry]:
    """A line for each setting that gets another value, with what it has and had, as they may be shown."""

    def show(path: tuple[str, ...], value: Any) -> str:
        return msgspec.json.encode(redact(path, value, environ, free=False)).decode()

    lines = []
    for change, before in replaced:
        key = join_path(change.path)
        subject = f"{key} taken out" if change.value is UNSET else f"{key} = {show(change.path, change.value)}"
        detail = {} if before is UNSET else {"before": show(change.path, before)}
        lines.append(AuditEntry("setting", subject, "allow", {"rule": f"the {scope}'s config", "detail": detail}))
    return lines
