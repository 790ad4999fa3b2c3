"""Installations that were broken off: the next command that installs or verifies finishes them."""

import os
from collections.abc import Iterator

from clawft.app import App
from clawft.cli.doctor.check import Check, from_error, quote
from clawft.errors import ClawftError
from clawft.files import get_hint, is_there
from clawft.supplying import open_hands

__all__ = ["check_installing"]

_WHY = "nothing is installed or removed"


def check_installing(app: App) -> Iterator[Check]:
    """What a killed process left."""
    journals = open_hands(app).journals
    try:
        if is_there(journals.folder):
            os.scandir(journals.folder).close()
    except OSError as error:
        hint = get_hint(error, journals.folder)
        message = f"The notes of installations cannot be read: {error.strerror}"
        failed = ClawftError("unreadable", message, path=journals.folder, hint=hint)
        yield from_error("installing", failed, app.workspace, why=_WHY)
        return
    if not journals.has_any():
        return
    try:
        with journals.turn():
            broken = journals.list_broken()
    except ClawftError as error:
        path = error.diagnostic.path
        away = os.path.join(app.workspace.user_dir, f"{os.path.basename(path)}.damaged")
        more = {"fix": f"mv {quote(path)} {quote(away)}"} if os.path.dirname(path) == journals.folder else {}
        yield from_error("installing", error, app.workspace, why=_WHY, **more)
        return
    for one in broken:
        fate = "it failed, and is taken back by" if one.undo else "it is finished by"
        state = fate if one.ready else "nothing was changed, and what it left is removed by"
        why = f"{state} the next command that installs or verifies"
        yield Check("installing", "note", f"broken off: {one.what or one.id}", why=why, fix="weft skills verify")
