"""The gateway: which channels could run, and whether anybody may write there."""

from collections.abc import Iterator

from clawft.app import App
from clawft.cli.doctor.check import Check, from_error
from clawft.cli.gateway._open import choose_here, is_held, settings_here

__all__ = ["check_gateway"]

_NAME = "gateway"


def check_gateway(app: App) -> Iterator[Check]:
    """Without a channel in the config there is nothing to say."""
    settings = settings_here(app)
    if not any(one.enabled for one in settings.channels.values()):
        return
    ready: list[str] = []
    for one in choose_here(app, settings):
        if one.problem is not None:
            yield from_error(_NAME, one.problem, app.workspace, status="note", why=f"'{one.name}' is not run")
        elif not settings.channels[one.name].allow:
            message, hint = f"Nobody may write by '{one.name}'", f"Name them in gateway.channels.{one.name}.allow"
            yield Check(_NAME, "note", message, hint, "whatever comes in is refused")
        else:
            ready.append(one.name)
    if ready:
        yield Check(_NAME, "ok", f"{', '.join(ready)}; the gateway {'runs' if is_held(app) else 'does not run'}")
