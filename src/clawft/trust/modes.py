"""How much is done unasked: plan < ask < auto-edit < full. A person chooses; projects and agents may only lower it."""

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from clawft.config import Config
from clawft.errors import ClawftError, find_close
from clawft.format.model import Agent

__all__ = ["CLAUDE_MODES", "MODES", "Mode", "agent_mode", "default_mode", "get_mode", "ignored_mode", "lower_mode"]


class Mode(StrEnum):
    """What a session may do without a question."""

    PLAN = "plan"
    ASK = "ask"
    AUTO_EDIT = "auto-edit"
    FULL = "full"


MODES = {
    Mode.PLAN: "only looks: nothing is written, and no command runs but those that read",
    Mode.ASK: "asks before every edit, fetch, memory and command off the list",
    Mode.AUTO_EDIT: "edits the project, fetches and remembers unasked; asks for commands off the list, and the rest",
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
    """The mode that a project's config asks for in vain, since it would do more unasked; None if there is none."""
    mode, ceiling = _written_modes(config, user_dir)
    written = any(_is_projects(layer.source, user_dir) and _mode_of(layer.values) for layer in config.layers)
    return ceiling if written and lower_mode(mode, ceiling) != ceiling else None


def _is_projects(source: str, user_dir: str) -> bool:
    return os.path.isabs(source) and os.path.dirname(source) != user_dir


def _mode_of(values: Mapping[str, Any]) -> Any:
    return values.get("agents", {}).get("defaults", {}).get("mode")


def _written_modes(config: Config, user_dir: str) -> tuple[Mode, Mode]:
    """What the person wants, and the most that the project lets them have."""
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
