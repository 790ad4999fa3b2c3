"""Daemons of the user that run, and whether their token is the user's alone."""

import os
import stat
from collections.abc import Iterator
from importlib.util import find_spec

from clawft.app import App
from clawft.cli.doctor.check import Check, quote
from clawft.config.serve import own_token_file

__all__ = ["check_serving"]


def check_serving(app: App) -> Iterator[Check]:
    yield from _check_running(app)
    path = own_token_file(app.workspace.user_dir)
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return  # none was made yet
    if mode & 0o077:
        why = "whoever reads it may do everything that you may, by the daemon"
        message = f"Others can get at the token in {path}"
        yield Check("serve", "problem", message, why=why, fix=f"chmod 600 {quote(path)}")


def _check_running(app: App) -> Iterator[Check]:
    if find_spec("websockets") is None:  # then none of them can be run from here, nor asked
        return
    from clawft.client.places import find_places

    for place in find_places(app.workspace.user_dir):
        where = place.local if place.local == place.url else f"{place.local}, as {place.url}"
        yield Check("serve", "ok", f"a daemon at {where}, process {place.pid}, for {place.project}")
