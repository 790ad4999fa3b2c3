"""How much is done unasked: plan < ask < auto-edit < full. A person chooses; projects and agents may only lower it."""

import os
from enum import StrEnum

from clawft.config import Config
from clawft.errors import ClawftError, find_close
from clawft.format.model import Agent

__all__ = ["CLAUDE_MODES", "MODES", "Mode", "agent_mode", "default_mode", "get_mode", "lower_mode"]


class Mode(StrEnum):
    """What a session may do without a question."""

    PLAN = "plan"
    ASK = "ask"
    AUTO_EDIT = "auto-edit"
    FULL = "full"


MODES = {
    Mode.PLAN: "only looks: nothing is written, and no command runs but those that read",
    Mode.ASK: "asks before every edit, fetch, memory and command that is not on the list",
    Mode.AUTO_EDIT: "edits files of the project unasked, and asks for the rest",
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
    mode, ceiling = Mode.AUTO_EDIT, Mode.FULL
    for layer in config.layers:
        written = layer.values.get("agents", {}).get("defaults", {}).get("mode")
        if written is None:
            continue
        if os.path.isabs(layer.source) and os.path.dirname(layer.source) != user_dir:
            ceiling = Mode(written)
        elif os.path.isabs(layer.source):
            mode = Mode(written)
        else:  # a variable is the person's own, and later
            mode, ceiling = Mode(written), Mode.FULL
    return lower_mode(mode, ceiling)


def agent_mode(agent: Agent, mode: Mode) -> Mode:
    """A session's mode with an agent, whose file may ask for less."""
    asked = CLAUDE_MODES.get(agent.permission_mode)
    return mode if asked is None or agent.permission_mode == "default" else lower_mode(mode, asked)
