"""Skills that MCP servers offer, and the state of each compared with what was approved."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic, NotFound, Refused, find_close
from clawft.files import read_optional
from clawft.skills.discovery.mcp_copies import McpSkillCopy, McpSkillOrigin, find_place, list_served, served_folder
from clawft.trust.approvals import Approval

if TYPE_CHECKING:
    from clawft.agent.mcp.offered_skills import OfferedSkill
    from clawft.agent.mcp.skill_listing import SkillListing
    from clawft.app.app import App


BorrowedState = Literal["approved", "changed", "waiting", "refused", "unlisted"]
BORROWED_STATES: dict[BorrowedState, str] = {
    "approved": "it may be used as it is now",
    "changed": "it is not what was approved any more",
    "waiting": "nobody approved it",
    "refused": "it breaks a rule of the extension",
    "unlisted": "it was approved, and the server does not list it",
}
MAX_NAMED = 5  # in one sentence


class ServerSkillState(Struct, frozen=True):
    """A skill of a server: what it is there, what it is here, and why."""

    origin: McpSkillOrigin
    name: str
    state: BorrowedState
    folder: str  # where its files lie once it is approved
    offered: "OfferedSkill | None" = None
    reason: Diagnostic | None = None

    @property
    def reference(self) -> str:
        """The reference by which a user names the skill."""
        return f"{self.origin.server}:{self.name}"


def judge_offered(app: "App", listings: "Mapping[str, SkillListing]") -> list[ServerSkillState]:
    """Every skill that servers offer, and those that were approved and are not listed, with their state.

    Raises: ClawftError.
    """
    known = load_known(app)
    found = [judge_offer(app, offer, known) for listing in listings.values() for offer in listing.offered]
    listed = {(skill.origin.server, skill.origin.uri) for skill in found}
    found += [
        ServerSkillState(
            skill_copy.origin,
            skill_copy.name,
            "unlisted" if known[skill_copy.folder].kind == "skill" else "changed",
            skill_copy.folder,
        )
        for skill_copy in list_served(app.workspace.user_dir)
        if skill_copy.folder in known
        and skill_copy.origin.server in listings
        and (skill_copy.origin.server, skill_copy.origin.uri) not in listed
    ]
    return sorted(found, key=lambda one: (one.origin.server, one.name, one.origin.uri))


def judge_orphans(app: "App", listings: "Mapping[str, SkillListing]") -> list[ServerSkillState]:
    """Return the approved skills of servers that no longer exist."""
    left = [
        skill_copy for skill_copy in list_served(app.workspace.user_dir) if skill_copy.origin.server not in listings
    ]
    return [
        ServerSkillState(
            skill_copy.origin, skill_copy.name, "unlisted", skill_copy.folder, reason=_orphaned(skill_copy)
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


def judge_offer(app: "App", offered: "OfferedSkill", known: Mapping[str, Approval]) -> ServerSkillState:
    origin = McpSkillOrigin(offered.server, offered.uri)
    folder = f"{find_place(app.workspace.user_dir, origin)}/{offered.name}"
    state, reason = _compare(offered, folder, known.get(folder))
    return ServerSkillState(origin, offered.name, state, folder, offered, reason)


def _compare(
    offered: "OfferedSkill", folder: str, approval: Approval | None
) -> tuple[BorrowedState, Diagnostic | None]:
    """The state of what a server offers, by what was approved."""
    if approval is None:
        return ("refused", offered.problem) if offered.problem else ("waiting", None)
    when = f"since it was approved on {approval.at[:10]}"
    if offered.problem is not None:
        return "changed", _changed(f"The server offers it otherwise {when}: {offered.problem.message}")
    if offered.digest != approval.digest:
        return "changed", _changed(f"Its files are others {when}")
    if not _matches_copy(offered, folder):
        return "changed", _changed("The server says something else of it than its SKILL.md does")
    if approval.kind == "former":
        return "changed", _changed(f"It was something else meanwhile, {when}")
    return "approved", None


def _matches_copy(offered: "OfferedSkill", folder: str) -> bool:
    from clawft.agent.mcp.offered_skills import is_same_front
    from clawft.agent.mcp.skills_extension import ENTRY_FILE, MAX_BYTES, read_front

    try:
        data = read_optional(f"{folder}/{ENTRY_FILE}", MAX_BYTES)
    except ClawftError:
        data = None
    # A copy that is gone cannot be compared; a digest that changed is reported where the copy would be used.
    return data is None or (offered.skill is not None and is_same_front(read_front(data), offered.skill.front))


def _changed(message: str) -> Diagnostic:
    return Diagnostic("mcp-skill-changed", "warning", message)


def find_offered(judged: list[ServerSkillState], reference: str) -> ServerSkillState:
    """Find the skill that `SERVER:NAME` means; a path or an address may take the place of the name. Raises: NotFound,
    Refused."""
    server, _, rest = reference.partition(":")
    named = [skill for skill in judged if skill.origin.server == server and rest in _names_of(skill.origin, skill.name)]
    if not named:
        close = find_close(reference, [skill.reference for skill in judged])
        hint = f"did you mean '{close}'? " if close else ""
        raise NotFound("skill-not-found", f"No skill '{reference}'", hint=f"{hint}Run: weft mcp skills {server}")
    if len(named) > 1:
        several = ", ".join(f"{server}:{skill.origin.uri}" for skill in named[:MAX_NAMED])
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


def check_alone(app: "App", wanted: ServerSkillState) -> None:
    """Raises: Refused where another skill of the server has the name, and was approved."""
    known = load_known(app)
    for skill_copy in list_served(app.workspace.user_dir):
        same = (skill_copy.origin.server, skill_copy.name) == (wanted.origin.server, wanted.name)
        if (
            same
            and skill_copy.origin != wanted.origin
            and skill_copy.folder in known
            and known[skill_copy.folder].kind == "skill"
        ):
            message = f"Another skill of this name is approved: {skill_copy.origin.uri}"
            hint = f"Give that back first: weft mcp untrust {skill_copy.origin.server}:{skill_copy.origin.uri}"
            raise Refused("mcp-skill-twice", message, path=wanted.origin.uri, hint=hint)
