"""A skill of a server on its way here: fetched, looked at, kept as it was approved, and given back.

Nothing of it is fetched before somebody wants to approve it: to be looked at, it has to be read.
"""

import os
from typing import TYPE_CHECKING

from clawft.borrowing.states import Borrowed
from clawft.discovery.digest import compute_digest
from clawft.discovery.load import load_catalog
from clawft.discovery.locations import Location
from clawft.discovery.served import Served
from clawft.errors import NotFound, Refused
from clawft.mcp import McpHub
from clawft.mcp.skill_store import place_skill, remove_served
from clawft.trust.approvals import make_approval

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.trust.review import Review

__all__ = ["fetch_offered", "give_back", "keep_borrowed", "mend_borrowed", "review_borrowed"]


async def fetch_offered(hub: McpHub, one: Borrowed, place: str) -> str:
    """Read a skill into a new folder, every file as it was promised; its own folder there.

    Raises: ClawftError, OSError.
    """
    from clawft.mcp.skill_files import fetch_files

    if one.offered is None:
        message = f"The MCP server '{one.origin.server}' does not offer '{one.name}' any more"
        raise NotFound("skill-not-found", message, hint=f"To give it back: weft mcp untrust {one.reference}")
    if one.offered.problem is not None:
        why = one.offered.problem
        raise Refused(why.code, f"The skill '{one.reference}' is refused: {why.message}", path=why.path, hint=why.hint)
    folder = f"{place}/{one.name}"
    os.mkdir(place, 0o700)
    await fetch_files(hub.read_skill_file, one.offered, folder)
    return folder


def review_borrowed(app: "App", one: Borrowed, folder: str) -> "Review":
    """What a person is to see before they approve what was fetched. Raises: ClawftError; Refused if it is blocked."""
    from clawft.scan.screening import screen_report
    from clawft.trust.blocking import Scanned, check_screening

    limit = app.config.skills.max_skill_prompt_bytes
    location = Location("mcp", one.origin.server, os.path.dirname(folder))
    found = next(found for found in load_catalog([location], max_prompt_bytes=limit).found if found.folder == folder)
    review = app.desk.review(found, place=one.folder)
    screening = screen_report(review.report)
    scanned = Scanned((screening,), block_critical=app.config.skills.security.block_critical)
    blocked, said = check_screening(found, screening, scanned) if screening else (False, ())
    if blocked:
        message = f"The skill '{one.reference}' is blocked by the scanner: {said[0].message}"
        raise Refused("skill-blocked", message, path=one.origin.uri, hint="Nothing of it was kept")
    return review


def keep_borrowed(app: "App", one: Borrowed, review: "Review") -> None:
    """Put what was looked at into its place, approved as it is. Raises: ClawftError, OSError."""
    place_skill(app.workspace.user_dir, one.origin, review.found.folder)
    approval = make_approval("skill", one.folder, review.digest, one.name, review.report.power)
    for said in app.desk.approve_placed([approval]):
        raise Refused(said.code, said.message, path=said.path, hint=said.hint)


def mend_borrowed(app: "App", one: Borrowed, review: "Review") -> bool:
    """Put what is approved into its place again where somebody changed or removed it; whether that was so.

    Raises: OSError.
    """
    if compute_digest(one.folder).value == review.digest:
        return False
    place_skill(app.workspace.user_dir, one.origin, review.found.folder)
    return True


def give_back(app: "App", meant: list[Served]) -> None:
    """Take back approvals of skills of servers, and remove what lies here of them. Raises: ClawftError, OSError."""
    app.desk.revoke_folders([one.folder for one in meant])
    for one in meant:
        remove_served(app.workspace.user_dir, one.origin)
