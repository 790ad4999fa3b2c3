"""The registries that are asked for skills: their addresses and tokens. Nothing is sent to them."""

from collections.abc import Iterator

from clawft.app import App
from clawft.cli.doctor.check import Check
from clawft.config.registries import CLAWHUB, own_registries
from clawft.trust.urls import is_loopback, read_url

__all__ = ["check_registries"]


def check_registries(app: App) -> Iterator[Check]:
    """Those of the user's own; ClawHub alone is nothing to tell of. Raises: ClawftError."""
    known = own_registries(app.config, app.workspace.user_dir, app.environ)
    for name, one in known.items():
        target = read_url(one.url)
        if one.token is not None and not one.token.is_known(app.environ):
            fix = f"weft registries add {name} {one.url} --token"
            yield Check(
                "registry", "note", f"{name}: its token is not set: {one.token}", why="it cannot be asked", fix=fix
            )
        elif one.token is not None and target.scheme == "http" and not is_loopback(target.host):
            why = "its token would be sent unencrypted, so it cannot be asked"
            yield Check("registry", "note", f"{name}: {one.url}", why=why, fix=f"weft registries add {name} https://…")
        elif name != CLAWHUB:
            yield Check("registry", "ok", f"{name}: {one.url}")
