"""Skills that MCP servers offer, and the state of each compared with what was approved."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic, NotFound, Refused, find_close
from clawft.files import read_optional
from clawft.skills.discovery.mcp_copies import McpSkillCopy, McpSkillOrigin, find_place, list_served, served_folder
from clawft.trust.approvals import Approval
from clawft.trust.status import ServedState, TrustStatus

if TYPE_CHECKING:
    from clawft.agent.mcp.offered_skills import OfferedSkill
    from clawft.agent.mcp.skill_listing import SkillListing
    from clawft.app.app import App


MAX_NAMED = 5  # in one sentence


class ServerSkill(Struct, frozen=True):
    """A skill of a server: what it is there, and where its files lie here once it is approved."""

    origin: McpSkillOrigin
    name: str
    folder: str
    offered: "OfferedSkill | None" = None

    @property
    def file(self) -> str:
        return f"{self.folder}/SKILL.md"

    @property
    def reference(self) -> str:
        """The reference by which a user names the skill."""
        return f"{self.origin.server}:{self.name}"


ServedStatus = TrustStatus[ServerSkill, ServedState]


def judge_offered(app: "App", listings: "Mapping[str, SkillListing]") -> list[ServedStatus]:
    """Every skill that servers offer, and those that were approved and are not listed, with their state.

    Raises: ClawftError.
    """
    known = load_known(app)
    found = [judge_offer(app, offer, known) for listing in listings.values() for offer in listing.offered]
    listed = {(skill.found.origin.server, skill.found.origin.uri) for skill in found}
    found += [
        TrustStatus(
            ServerSkill(skill_copy.origin, skill_copy.name, skill_copy.folder),
            "unlisted" if known[skill_copy.folder].kind == "skill" else "changed",
        )
        for skill_copy in list_served(app.workspace.user_dir)
        if skill_copy.folder in known
        and skill_copy.origin.server in listings
        and (skill_copy.origin.server, skill_copy.origin.uri) not in listed
    ]
    return sorted(found, key=lambda one: (one.found.origin.server, one.name, one.found.origin.uri))


def judge_orphans(app: "App", listings: "Mapping[str, SkillListing]") -> list[ServedStatus]:
    """Return the approved skills of servers that no longer exist."""
    left = [
        skill_copy for skill_copy in list_served(app.workspace.user_dir) if skill_copy.origin.server not in listings
    ]
    return [
        TrustStatus(
            ServerSkill(skill_copy.origin, skill_copy.name, skill_copy.folder), "unlisted", (_orphaned(skill_copy),)
        )
        for skill_copy in left
    ]


def _orphaned(one: McpSkillCopy) -> Diagnostic:
    message = "There is no such MCP server here, so it is not used"
    hint = f"To remove it: weft mcp untrust {one.origin.server}:{one.name}"
    return Diagnostic("mcp-unknown", "note", message, hint=hint)


def load_known(app: "App") -> dict[str, Approval]:
    """Load the approvals of skills of servers, by folder; one that was withdrawn only where none is in force."""
    base = f"{served_folder(app.workspace.user_dir)}/"
    approvals = [
        approval
        for approval in app.approvals.load()
        if approval.kind in ("skill", "former") and approval.path.startswith(base)
    ]
    return {approval.path: approval for approval in sorted(approvals, key=lambda one: one.kind == "skill")}


def judge_offer(app: "App", offered: "OfferedSkill", known: Mapping[str, Approval]) -> ServedStatus:
    origin = McpSkillOrigin(offered.server, offered.uri)
    folder = f"{find_place(app.workspace.user_dir, origin)}/{offered.name}"
    served = ServerSkill(origin, offered.name, folder, offered)
    return TrustStatus(served, *_compare(offered, folder, known.get(folder)))


def _compare(
    offered: "OfferedSkill", folder: str, approval: Approval | None
) -> tuple[ServedState, tuple[Diagnostic, ...]]:
    """The state of what a server offers, by what was approved."""
    if approval is None:
        return ("refused", (offered.problem,)) if offered.problem else ("waiting", ())
    when = f"since it was approved on {approval.at[:10]}"
    if offered.problem is not None:
        why = f"The server offers it otherwise {when}: {offered.problem.message}"
    elif offered.digest != approval.digest:
        why = f"Its files are others {when}"
    elif not _matches_copy(offered, folder):
        why = "The server says something else of it than its SKILL.md does"
    elif approval.kind == "former":
        why = f"It was something else meanwhile, {when}"
    else:
        return "approved", ()
    return "changed", (Diagnostic("mcp-skill-changed", "warning", why),)


def _matches_copy(offered: "OfferedSkill", folder: str) -> bool:
    from clawft.agent.mcp.offered_skills import is_same_front
    from clawft.agent.mcp.skills_extension import ENTRY_FILE, MAX_BYTES, read_front

    try:
        data = read_optional(f"{folder}/{ENTRY_FILE}", MAX_BYTES)
    except ClawftError:
        data = None
    # A copy that is gone cannot be compared; a digest that changed is reported where the copy would be used.
    return data is None or (offered.skill is not None and is_same_front(read_front(data), offered.skill.front))


def find_offered(judged: list[ServedStatus], reference: str) -> ServedStatus:
    """Find the skill that `SERVER:NAME` means; a path or an address may take the place of the name. Raises: NotFound,
    Refused."""
    server, _, rest = reference.partition(":")
    named = [
        skill
        for skill in judged
        if skill.found.origin.server == server and rest in _names_of(skill.found.origin, skill.name)
    ]
    if not named:
        close = find_close(reference, [skill.found.reference for skill in judged])
        hint = f"did you mean '{close}'? " if close else ""
        raise NotFound("skill-not-found", f"No skill '{reference}'", hint=f"{hint}Run: weft mcp skills {server}")
    if len(named) > 1:
        several = ", ".join(f"{server}:{skill.found.origin.uri}" for skill in named[:MAX_NAMED])
        raise Refused("mcp-skill-twice", f"Several skills go by '{reference}'", hint=f"Say which: {several}")
    return named[0]


def find_served(app: "App", reference: str) -> list[McpSkillCopy]:
    """Find the local copies that `SERVER:NAME` means, or SERVER for all of its skills. Raises: NotFound."""
    server, colon, rest = reference.partition(":")
    here = list_served(app.workspace.user_dir)
    ours = [skill_copy for skill_copy in here if skill_copy.origin.server == server]
    named = [skill_copy for skill_copy in ours if not colon or rest in _names_of(skill_copy.origin, skill_copy.name)]
    if not named:
        close = find_close(reference, [f"{skill_copy.origin.server}:{skill_copy.name}" for skill_copy in here])
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft mcp skills"
        raise NotFound("approval-not-found", f"Nothing is approved as '{reference}'", hint=hint)
    return named


def _names_of(origin: McpSkillOrigin, name: str) -> tuple[str, ...]:
    folder = origin.uri.removesuffix("/SKILL.md")
    return name, folder.partition("://")[2], folder, origin.uri


def check_alone(app: "App", wanted: ServedStatus) -> None:
    """Raises: Refused where another skill of the server has the name, and was approved."""
    known = load_known(app)
    for skill_copy in list_served(app.workspace.user_dir):
        same = (skill_copy.origin.server, skill_copy.name) == (wanted.found.origin.server, wanted.name)
        if (
            same
            and skill_copy.origin != wanted.found.origin
            and skill_copy.folder in known
            and known[skill_copy.folder].kind == "skill"
        ):
            message = f"Another skill of this name is approved: {skill_copy.origin.uri}"
            hint = f"Give that back first: weft mcp untrust {skill_copy.origin.server}:{skill_copy.origin.uri}"
            raise Refused("mcp-skill-twice", message, path=wanted.found.origin.uri, hint=hint)
