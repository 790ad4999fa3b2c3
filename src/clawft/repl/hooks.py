"""Hooks hear what the person does at the prompt outside of turns: `/new`, `/reset`, and that a turn was stopped."""

from typing import TYPE_CHECKING, Literal

from clawft.errors import ClawftError

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["tell_command"]


async def tell_command(repl: "Repl", action: Literal["new", "reset", "stop"], key: str) -> None:
    """Tell of a command given in the session of a key; what hooks say is shown. None keeps it from being done."""
    from clawft.run.hooks import Outside

    try:
        runtime = await repl.runtime()
    except ClawftError as error:
        repl.show_error(error)
        return
    runtime.hooks.refresh()
    path = runtime.sessions.get(key).path if key in runtime.sessions else ""
    outside = Outside(runtime.hooks, runtime.secrets, runtime.workspace.project, key, repl.agent.name)
    for event in await outside.tell_command(action, path):
        repl.view.take(event)
