"""Permission modes (plan, ask, auto-edit, full), and the settings of a project's config that are not followed."""

import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from clawft.config import Config
from clawft.config.loader import own_values
from clawft.errors import ClawftError, Diagnostic, find_close
from clawft.skills.parse.model import Agent


class Mode(StrEnum):
    """The permission mode of a session: what it may do without asking."""

    PLAN = "plan"
    ASK = "ask"
    AUTO_EDIT = "auto-edit"
    FULL = "full"


MODES = {
    Mode.PLAN: "only looks: commands run in the sandbox, which writes nothing but its own /tmp and has no network",
    Mode.ASK: "asks before every edit, fetch and memory, and every command that does more than read",
    Mode.AUTO_EDIT: "edits the project, fetches, remembers and runs commands in the sandbox; asks for what leaves it",
    Mode.FULL: "asks nothing; what a policy or a rule forbids stays so, and commands stay in the sandbox",
}
_ORDER = tuple(Mode)
# What Claude Code calls them. Its `default` leaves an agent at the mode of the session.
CLAUDE_MODES = {
    "plan": Mode.PLAN,
    "default": Mode.ASK,
    "acceptEdits": Mode.AUTO_EDIT,
    "bypassPermissions": Mode.FULL,
}


def get_mode(text: str) -> Mode:
    """The mode of a name, ours or Claude's. Raises: ClawftError."""
    name = text.strip()
    if name in CLAUDE_MODES:
        return CLAUDE_MODES[name]
    try:
        return Mode(name.lower().replace("_", "-"))
    except ValueError as error:
        close = find_close(name, [*Mode])
        hint = f"did you mean '{close}'?" if close else f"There are {', '.join(Mode)}"
        raise ClawftError("mode-unknown", f"There is no mode '{name[:60]}'", hint=hint) from error


def lower_mode(one: Mode, other: Mode) -> Mode:
    """The one that does less unasked."""
    return min(one, other, key=_ORDER.index)


def default_mode(config: Config, user_dir: str) -> Mode:
    """The mode of the config: what the user set, or the project's if that is lower."""
    return lower_mode(*_written_modes(config, user_dir))


def ignored_mode(config: Config, user_dir: str) -> Mode | None:
    """Return the mode that a project's config asks for and does not get, since it would allow more without asking; None
    if there is none."""
    mode, ceiling = _written_modes(config, user_dir)
    written = any(_is_projects(layer.source, user_dir) and _mode_of(layer.values) for layer in config.layers)
    return ceiling if written and lower_mode(mode, ceiling) != ceiling else None


def _is_projects(source: str, user_dir: str) -> bool:
    return os.path.isabs(source) and os.path.dirname(source) != user_dir


def _mode_of(values: Mapping[str, Any]) -> Any:
    return values.get("agents", {}).get("defaults", {}).get("mode")


def _written_modes(config: Config, user_dir: str) -> tuple[Mode, Mode]:
    """Return the mode that the user wants, and the highest that the project allows."""
    mode, ceiling = Mode.AUTO_EDIT, Mode.FULL
    for layer in config.layers:
        written = _mode_of(layer.values)
        if written is None:
            continue
        if _is_projects(layer.source, user_dir):
            ceiling = Mode(written)
        elif os.path.isabs(layer.source):
            mode = Mode(written)
        else:  # a variable is the person's own, and later
            mode, ceiling = Mode(written), Mode.FULL
    return mode, ceiling


def agent_mode(agent: Agent, mode: Mode) -> Mode:
    """A session's mode with an agent, whose file may ask for less."""
    asked = CLAUDE_MODES.get(agent.permission_mode)
    return mode if asked is None or agent.permission_mode == "default" else lower_mode(mode, asked)


_OWN_SECTIONS = ("sandbox", "runs", "hooks", "plugins", "gateway", "registries", "hub", "serve", "trust")
_OWN_SETTINGS = {"memory": ("memory", "backend"), "signatures": ("skills", "security", "require_signature")}


def is_followed(path: tuple[str, ...], value: Any, own: Config, user_dir: str) -> bool:
    """Return whether a setting of a project's config counts; `own` is the config without it."""
    if path == ("agents", "defaults", "mode"):
        mode = default_mode(own, user_dir)
        return lower_mode(Mode(value), mode) != mode
    return path[0] not in _OWN_SECTIONS and path not in _OWN_SETTINGS.values()


def find_unfollowed(config: Config, user_dir: str) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each setting of the project's config that only the user's own config can make."""
    own = own_values(config, user_dir)
    for name, path in ({section: (section,) for section in _OWN_SECTIONS} | _OWN_SETTINGS).items():
        if _find_value(config.values, path) != _find_value(own, path):
            subject = "the sandbox" if name == "sandbox" else ".".join(path)
            message = f"What the project's config says of {subject} is not followed: only your own can"
            yield Diagnostic(f"{name}-ignored", "warning", message)
    mode = ignored_mode(config, user_dir)
    if mode is not None:
        message = f"The project's config asks for the mode {mode}, which only you can choose"
        yield Diagnostic("mode-ignored", "warning", message, hint=f"To choose it: --mode {mode}")


def _find_value(values: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Return the value at a path; None where nothing, or an empty table, is there."""
    value: Any = values
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value or None


def find_confined(config: Config, user_dir: str) -> frozenset[str]:
    """The servers that run in the sandbox.

    Where the sandbox is turned off, none of the user's own. A project's file can never say that one be left out; the
    user can, of a server that is not also their own: what they said of their own command is not said of one that a
    project puts in its place.
    """
    ours: dict[str, dict[str, Any]] = {}
    theirs: set[str] = set()
    for layer in config.layers:
        servers = layer.values.get("mcp", {}).get("servers", {})
        if os.path.isabs(layer.source) and os.path.dirname(layer.source) != user_dir:
            theirs |= set(servers)
        else:
            for name, server in servers.items():
                ours[name] = {**ours.get(name, {}), **server}
    off = config.own(user_dir).sandbox.mode == "off"
    return frozenset(name for name in {*ours, *theirs} if _is_confined(ours.get(name, {}), name in theirs, off=off))


def _is_confined(own: dict[str, Any], foreign: bool, *, off: bool) -> bool:
    if not foreign:
        return own.get("sandbox") == "confined" and not off
    return own.get("sandbox") != "none" or "command" in own
