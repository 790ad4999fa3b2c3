"""Local copies of skills that MCP servers offer: fetched, reviewed, stored as approved, and removed."""

import os
from typing import TYPE_CHECKING

from clawft.agent.mcp import McpServerPool
from clawft.agent.mcp.offered_skills import fetch_files, place_skill, remove_served
from clawft.app.mcp_skills.offers import ServedStatus
from clawft.errors import NotFound, Refused
from clawft.skills.discovery.catalog import load_catalog
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.locations import Location
from clawft.skills.discovery.mcp_copies import McpSkillCopy
from clawft.trust.approvals import make_approval

if TYPE_CHECKING:
    from clawft.app.app import App
    from clawft.skills.discovery.catalog import DiscoveredSkill
    from clawft.trust.review import Review


async def fetch_offered(pool: McpServerPool, one: ServedStatus, place: str) -> str:
    """Read a skill into a new folder, every file as it was promised; its own folder there.

    Raises: ClawftError, OSError.
    """
    if one.found.offered is None:
        message = f"The MCP server '{one.found.origin.server}' does not offer '{one.name}' any more"
        raise NotFound("skill-not-found", message, hint=f"To give it back: weft mcp untrust {one.found.reference}")
    if one.found.offered.problem is not None:
        why = one.found.offered.problem
        raise Refused(
            why.code, f"The skill '{one.found.reference}' is refused: {why.message}", path=why.path, hint=why.hint
        )
    folder = f"{place}/{one.name}"
    os.mkdir(place, 0o700)
    await fetch_files(pool.read_skill_file, one.found.offered, folder)
    return folder


def review_copy(app: "App", one: ServedStatus, folder: str) -> "Review[DiscoveredSkill]":
    """Make the review that a user sees before approving a fetched skill. Raises: ClawftError; Refused if it is
    blocked."""
    from clawft.scanner.screening import screen_report
    from clawft.trust.overrides import ScreenedSkills, check_screening

    limit = app.config.skills.max_skill_prompt_bytes
    location = Location("mcp", one.found.origin.server, os.path.dirname(folder))
    found = next(found for found in load_catalog([location], max_prompt_bytes=limit).found if found.folder == folder)
    review = app.reviewer.review(found, place=one.found.folder)
    screening = screen_report(review.report)
    scanned = ScreenedSkills((screening,), block_critical=app.config.skills.security.block_critical)
    blocked, diagnostics = check_screening(found, screening, scanned) if screening else (False, ())
    if blocked:
        message = f"The skill '{one.found.reference}' is blocked by the scanner: {diagnostics[0].message}"
        raise Refused("skill-blocked", message, path=one.found.origin.uri, hint="Nothing of it was kept")
    return review


def store_copy(app: "App", one: ServedStatus, review: "Review[DiscoveredSkill]") -> None:
    """Put what was looked at into its place, approved as it is. Raises: ClawftError, OSError."""
    place_skill(app.workspace.user_dir, one.found.origin, review.found.folder)
    approval = make_approval("skill", one.found.folder, review.digest, one.name, review.report.power)
    for diagnostic in app.reviewer.approve_installed([approval]):
        raise Refused(diagnostic.code, diagnostic.message, path=diagnostic.path, hint=diagnostic.hint)


def repair_copy(app: "App", one: ServedStatus, review: "Review[DiscoveredSkill]") -> bool:
    """Restore the approved copy where it was changed or removed; return whether that was necessary.

    Raises: OSError.
    """
    if compute_digest(one.found.folder).value == review.digest:
        return False
    place_skill(app.workspace.user_dir, one.found.origin, review.found.folder)
    return True


def remove_copies(app: "App", meant: list[McpSkillCopy]) -> None:
    """Take back approvals of skills of servers, and remove what lies here of them. Raises: ClawftError, OSError."""
    app.reviewer.revoke_folders([skill_copy.folder for skill_copy in meant])
    for skill_copy in meant:
        remove_served(app.workspace.user_dir, skill_copy.origin)
