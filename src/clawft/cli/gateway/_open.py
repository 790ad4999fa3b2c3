"""What the commands of the gateway share: the channels that the user's config asks for, and its lock."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from clawft.errors import ClawftError, Diagnostic
from clawft.files import lock_file

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.config.gateway import GatewaySettings
    from clawft.gateway.channels import Chosen

__all__ = ["choose_here", "find_notes", "is_held", "settings_here", "take_lock"]

_LOCK = "gateway.lock"


def settings_here(app: "App") -> "GatewaySettings":
    """What the user's own config says of channels."""
    from clawft.config.gateway import own_gateway

    return own_gateway(app.config, app.workspace.user_dir, app.environ)


def choose_here(app: "App", settings: "GatewaySettings") -> "tuple[Chosen, ...]":
    """The channels that are asked for, with what keeps each from running. Raises: ClawftError for none at all."""
    from clawft.gateway.channels import choose_channels
    from clawft.plugging import load_plugin_standings

    return tuple(_check_agent(app, settings, one) for one in choose_channels(settings, load_plugin_standings(app)))


def find_notes(app: "App", chosen: Sequence["Chosen"]) -> dict[str, list[Diagnostic]]:
    """What else there is to say of channels that can run, by their names: variables that have no value."""
    from clawft.cli.plugins._variables import tell_missing
    from clawft.plugging import load_plugin_standings

    ready = {one.id: one for one in load_plugin_standings(app, by_digest=False) if one.state == "ready"}
    running = [one for one in chosen if one.problem is None and one.plugin in ready]
    return {one.name: tell_missing(app, ready[one.plugin]) for one in running}


def _check_agent(app: "App", settings: "GatewaySettings", chosen: "Chosen") -> "Chosen":
    """What cannot be is said now, not in every answer."""
    if chosen.problem is None:
        try:
            app.choose_agent(settings.channels[chosen.name].agent)
        except ClawftError as error:
            return structs.replace(chosen, problem=error.diagnostic)
    return chosen


def _open_lock(app: "App") -> int:
    return os.open(app.user_file(_LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def take_lock(app: "App") -> int:
    """Be the only gateway of the user until the descriptor is closed. Raises: ClawftError."""
    descriptor = _open_lock(app)
    if not lock_file(descriptor, wait_s=2):
        holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
        os.close(descriptor)
        message = f"A gateway runs already, as process {holder}" if holder.isdecimal() else "A gateway runs already"
        raise ClawftError("gateway-running", message, hint="Run: weft gateway status")
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def is_held(app: "App") -> str:
    """The process of the gateway that runs; '' if none does."""
    try:
        descriptor = os.open(os.path.join(app.workspace.user_dir, _LOCK), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return "" if lock_file(descriptor) else os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
    finally:
        os.close(descriptor)
