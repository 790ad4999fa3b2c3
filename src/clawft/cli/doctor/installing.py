"""Installations that were broken off: the next command that installs or verifies finishes them."""

from collections.abc import Iterator

from clawft.app import App
from clawft.cli.doctor.check import Check
from clawft.supplying import open_hands

__all__ = ["check_installing"]


def check_installing(app: App) -> Iterator[Check]:
    """What a killed process left; nothing is changed. Raises: ClawftError for a note that is not weft's."""
    journals = open_hands(app).journals
    if not journals.has_any():
        return
    with journals.turn():
        broken = journals.list_broken()
    for one in broken:
        state = "it is finished by" if one.ready else "nothing was changed, and what it left is removed by"
        why = f"{state} the next command that installs or verifies"
        yield Check("installing", "note", f"broken off: {one.what or one.id}", why=why, fix="weft skills verify")
