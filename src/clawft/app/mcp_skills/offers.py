"""What became of the skills that servers offer: what each is there, what it is here, and why."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from clawft.discovery.served import Origin, Served, find_place, list_served, served_folder
from clawft.errors import ClawftError, Diagnostic, NotFound, Refused, find_close
from clawft.files import read_optional
from clawft.trust.approvals import Approval

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.mcp.skill_entries import Offered
    from clawft.mcp.skill_listing import SkillListing

__all__ = [
    "BORROWED_STATES",
    "Borrowed",
    "BorrowedState",
    "check_alone",
    "find_borrowed",
    "find_served",
    "judge_offer",
    "judge_offered",
    "judge_orphans",
    "load_known",
]

BorrowedState = Literal["approved", "changed", "waiting", "refused", "unlisted"]
BORROWED_STATES: dict[BorrowedState, str] = {
    "approved": "it may be used as it is now",
    "changed": "it is not what was approved any more",
    "waiting": "nobody approved it",
    "refused": "it breaks a rule of the extension",
    "unlisted": "it was approved, and the server does not list it",
}
MAX_NAMED = 5  # in one sentence


class Borrowed(Struct, frozen=True):
    """A skill of a server: what it is there, what it is here, and why."""

    origin: Origin
    name: str
    state: BorrowedState
    folder: str  # where its files lie once it is approved
    offered: "Offered | None" = None
    reason: Diagnostic | None = None

    @property
    def reference(self) -> str:
        """What a person names it by."""
        return f"{self.origin.server}:{self.name}"


def judge_offered(app: "App", listings: "Mapping[str, SkillListing]") -> list[Borrowed]:
    """Every skill that servers offer, and those that were approved and are not listed, with their state.

    Raises: ClawftError.
    """
    known = load_known(app)
    found = [judge_offer(app, one, known) for listing in listings.values() for one in listing.offered]
    listed = {(one.origin.server, one.origin.uri) for one in found}
    found += [
        Borrowed(one.origin, one.name, "unlisted" if known[one.folder].kind == "skill" else "changed", one.folder)
        for one in list_served(app.workspace.user_dir)
        if one.folder in known and one.origin.server in listings and (one.origin.server, one.origin.uri) not in listed
    ]
    return sorted(found, key=lambda one: (one.origin.server, one.name, one.origin.uri))


def judge_orphans(app: "App", listings: "Mapping[str, SkillListing]") -> list[Borrowed]:
    """What was approved of servers that there are no more."""
    left = [one for one in list_served(app.workspace.user_dir) if one.origin.server not in listings]
    return [Borrowed(one.origin, one.name, "unlisted", one.folder, reason=_orphaned(one)) for one in left]


def _orphaned(one: Served) -> Diagnostic:
    message = "There is no such MCP server here, so it is not used"
    hint = f"To remove it: weft mcp untrust {one.origin.server}:{one.name}"
    return Diagnostic("mcp-unknown", "note", message, hint=hint)


def load_known(app: "App") -> dict[str, Approval]:
    """What was decided about skills of servers, by folder; what counts no more only where nothing counts."""
    base = f"{served_folder(app.workspace.user_dir)}/"
    kept = [one for one in app.approvals.load() if one.kind in ("skill", "former") and one.path.startswith(base)]
    return {one.path: one for one in sorted(kept, key=lambda one: one.kind == "skill")}


def judge_offer(app: "App", offered: "Offered", known: Mapping[str, Approval]) -> Borrowed:
    origin = Origin(offered.server, offered.uri)
    folder = f"{find_place(app.workspace.user_dir, origin)}/{offered.name}"
    state, reason = _compare(offered, folder, known.get(folder))
    return Borrowed(origin, offered.name, state, folder, offered, reason)


def _compare(offered: "Offered", folder: str, approval: Approval | None) -> tuple[BorrowedState, Diagnostic | None]:
    """The state of what a server offers, by what was approved."""
    if approval is None:
        return ("refused", offered.problem) if offered.problem else ("waiting", None)
    when = f"since it was approved on {approval.at[:10]}"
    if offered.problem is not None:
        return "changed", _changed(f"The server offers it otherwise {when}: {offered.problem.message}")
    if offered.digest != approval.digest:
        return "changed", _changed(f"Its files are others {when}")
    if not _says_the_same(offered, folder):
        return "changed", _changed("The server says something else of it than its SKILL.md does")
    if approval.kind == "former":
        return "changed", _changed(f"It was something else meanwhile, {when}")
    return "approved", None


def _says_the_same(offered: "Offered", folder: str) -> bool:
    from clawft.mcp.skill_files import is_same_front
    from clawft.mcp.skills_extension import ENTRY_FILE, MAX_BYTES, read_front

    try:
        data = read_optional(f"{folder}/{ENTRY_FILE}", MAX_BYTES)
    except ClawftError:
        data = None
    # What does not lie here any more says nothing; that its digest is another is told where it would be used.
    return data is None or (offered.skill is not None and is_same_front(read_front(data), offered.skill.front))


def _changed(message: str) -> Diagnostic:
    return Diagnostic("mcp-skill-changed", "warning", message)


def find_borrowed(judged: list[Borrowed], reference: str) -> Borrowed:
    """The skill that `SERVER:NAME` means; a path or an address may stand for the name. Raises: NotFound, Refused."""
    server, _, rest = reference.partition(":")
    named = [one for one in judged if one.origin.server == server and rest in _names_of(one.origin, one.name)]
    if not named:
        close = find_close(reference, [one.reference for one in judged])
        hint = f"did you mean '{close}'? " if close else ""
        raise NotFound("skill-not-found", f"No skill '{reference}'", hint=f"{hint}Run: weft mcp skills {server}")
    if len(named) > 1:
        several = ", ".join(f"{server}:{one.origin.uri}" for one in named[:MAX_NAMED])
        raise Refused("mcp-skill-twice", f"Several skills go by '{reference}'", hint=f"Say which: {several}")
    return named[0]


def find_served(app: "App", reference: str) -> list[Served]:
    """What `SERVER:NAME`, or SERVER for all of its skills, means of what lies here. Raises: NotFound."""
    server, colon, rest = reference.partition(":")
    here = list_served(app.workspace.user_dir)
    ours = [one for one in here if one.origin.server == server]
    named = [one for one in ours if not colon or rest in _names_of(one.origin, one.name)]
    if not named:
        close = find_close(reference, [f"{one.origin.server}:{one.name}" for one in here])
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft mcp skills"
        raise NotFound("approval-not-found", f"Nothing is approved as '{reference}'", hint=hint)
    return named


def _names_of(origin: Origin, name: str) -> tuple[str, ...]:
    folder = origin.uri.removesuffix("/SKILL.md")
    return name, folder.partition("://")[2], folder, origin.uri


def check_alone(app: "App", wanted: Borrowed) -> None:
    """Raises: Refused where another skill of the server has the name, and was approved."""
    known = load_known(app)
    for one in list_served(app.workspace.user_dir):
        same = (one.origin.server, one.name) == (wanted.origin.server, wanted.name)
        if same and one.origin != wanted.origin and one.folder in known and known[one.folder].kind == "skill":
            message = f"Another skill of this name is approved: {one.origin.uri}"
            hint = f"Give that back first: weft mcp untrust {one.origin.server}:{one.origin.uri}"
            raise Refused("mcp-skill-twice", message, path=wanted.origin.uri, hint=hint)
