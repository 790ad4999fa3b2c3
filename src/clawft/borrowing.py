"""Skills that MCP servers offer (SEP-2640), for an app: listed, compared with what was approved, fetched, given back.

Nothing of a skill is fetched before somebody wants to approve it: to be looked at, it has to be read.
"""

import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from clawft.config.mcp import find_confined
from clawft.discovery.load import load_catalog
from clawft.discovery.locations import Location
from clawft.discovery.served import Origin, Served, find_place, list_served, served_folder
from clawft.errors import ClawftError, Diagnostic, NotFound, Refused, find_close
from clawft.files import read_optional
from clawft.mcp import McpHub, RemoteError
from clawft.mcp.brought import PluginServers, name_server
from clawft.mcp.confine import Confine
from clawft.mcp.skill_store import place_skill, remove_served
from clawft.plugging import load_plugin_standings, plugin_settings, supply_plugin
from clawft.trust.approvals import Approval, make_approval

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.config.plugins import PluginsSettings
    from clawft.mcp.skill_entries import Offered
    from clawft.mcp.skill_listing import SkillListing
    from clawft.sandbox.sandbox import Sandbox
    from clawft.trust.review import Review

__all__ = [
    "BORROWED_STATES",
    "Borrowed",
    "BorrowedState",
    "ListingCheck",
    "check_alone",
    "fetch_offered",
    "find_borrowed",
    "find_served",
    "give_back",
    "has_plugin_server",
    "join_servers",
    "judge_offered",
    "judge_orphans",
    "keep_borrowed",
    "open_servers",
    "review_borrowed",
]

BorrowedState = Literal["approved", "changed", "waiting", "refused", "unlisted"]
BORROWED_STATES: dict[BorrowedState, str] = {
    "approved": "it may be used as it is now",
    "changed": "it is not what was approved any more",
    "waiting": "nobody approved it",
    "refused": "it breaks a rule of the extension",
    "unlisted": "it was approved, and the server does not list it",
}
_MAX_NAMED = 5


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


def join_servers(app: "App", sandbox: "Sandbox", settings: "PluginsSettings") -> tuple[McpHub, PluginServers]:
    """The servers of the config, and what has those of plugins join them."""
    confine = Confine(sandbox, find_confined(app.config, app.workspace.user_dir), app.audit)
    hub = McpHub(app.config.mcp, app.workspace, app.environ, confine=confine)
    return hub, PluginServers(hub, app.workspace, lambda one: supply_plugin(app, one, settings), app.config.mcp.servers)


@asynccontextmanager
async def open_servers(app: "App") -> AsyncIterator[McpHub]:
    """All servers there are, each started when it is asked something. Raises: ClawftError."""
    hub, joining = join_servers(app, app.open_sandbox(), plugin_settings(app))
    async with hub, joining as servers:
        await servers.renew(load_plugin_standings(app))
        yield hub


def has_plugin_server(app: "App", name: str) -> bool:
    """Whether a plugin that may be used brings a server of a name."""
    ready = [one for one in load_plugin_standings(app, by_digest=False) if one.state == "ready" and one.found.manifest]
    return any(
        name_server(one.id, server.name) == name
        for one in ready
        for server in (one.found.manifest.servers if one.found.manifest else ())
    )


def judge_offered(app: "App", listings: "Mapping[str, SkillListing]") -> list[Borrowed]:
    """Every skill that servers offer, and those that were approved and are not listed, with their state.

    Raises: ClawftError.
    """
    known = _load_known(app)
    found = [_judge(app, one, known) for listing in listings.values() for one in listing.offered]
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
    said = "There is no such MCP server here, so it is not used"
    reason = Diagnostic("mcp-unknown", "note", said, hint="To remove it: weft mcp untrust SERVER:NAME")
    return [Borrowed(one.origin, one.name, "unlisted", one.folder, reason=reason) for one in left]


def _load_known(app: "App") -> dict[str, Approval]:
    """What was decided about skills of servers, by folder; what counts no more only where nothing counts."""
    base = f"{served_folder(app.workspace.user_dir)}/"
    kept = [one for one in app.approvals.load() if one.kind in ("skill", "former") and one.path.startswith(base)]
    return {one.path: one for one in sorted(kept, key=lambda one: one.kind == "skill")}


def _judge(app: "App", offered: "Offered", known: Mapping[str, Approval]) -> Borrowed:
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


class ListingCheck:
    """Compares what servers list, whenever they list anew, with what was approved: what changed is approved no more."""

    def __init__(self, app: "App", hub: McpHub) -> None:
        self._app = app
        self._hub = hub
        self._seen: dict[str, SkillListing] = {}
        self._told: set[str] = set()

    async def run(self) -> tuple[list[Diagnostic], bool]:
        """What there is to say, each thing once; and whether an approval was taken back. Raises: ClawftError."""
        listings = await self._hub.skills()
        new = {name: one for name, one in listings.items() if self._seen.get(name) is not one}
        self._seen = listings
        if not any(one.known or one.diagnostics for one in new.values()):
            return [], False
        judged = judge_offered(self._app, new)
        judged = [await self._ask(one) if one.state == "unlisted" else one for one in judged]
        known = _load_known(self._app)
        changed = [one for one in judged if one.state == "changed" and known[one.folder].kind == "skill"]
        for one in changed:
            self._app.desk.withdraw([one.folder], one.reason.message if one.reason else "")
        said = [found for listing in new.values() if listing.known for found in listing.diagnostics]
        return [*said, *map(_tell_changed, changed), *self._tell_waiting(judged)], bool(changed)

    async def _ask(self, one: Borrowed) -> Borrowed:
        """A skill that is not listed, by what its server says of it alone: a listing need not be whole."""
        try:
            offered = await self._hub.get_skill(one.origin.server, one.origin.uri)
        except RemoteError:
            offered = None
        return _judge(self._app, offered, _load_known(self._app)) if offered else one

    def _tell_waiting(self, judged: list[Borrowed]) -> Iterator[Diagnostic]:
        for server in dict.fromkeys(one.origin.server for one in judged):
            names = [one.name for one in judged if one.origin.server == server and one.state == "waiting"]
            if names and server not in self._told:
                self._told.add(server)
                more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
                message = f"The MCP server '{server}' offers skills that nobody approved: {', '.join(names[:_MAX_NAMED])}{more}"
                yield Diagnostic("mcp-skills-waiting", "note", message, hint=f"Look at them: weft mcp skills {server}")


def _tell_changed(one: Borrowed) -> Diagnostic:
    why = f". {one.reason.message}" if one.reason else ""
    message = f"The skill '{one.reference}' of an MCP server is not used any more{why}"
    return Diagnostic("mcp-skill-changed", "warning", message, hint=f"Look at it, then: weft mcp trust {one.reference}")


def find_borrowed(judged: list[Borrowed], reference: str) -> Borrowed:
    """The skill that `SERVER:NAME` means; a path or an address may stand for the name. Raises: NotFound, Refused."""
    server, _, rest = reference.partition(":")
    named = [one for one in judged if one.origin.server == server and rest in _names_of(one.origin, one.name)]
    if not named:
        close = find_close(reference, [one.reference for one in judged])
        hint = f"did you mean '{close}'? " if close else ""
        raise NotFound("skill-not-found", f"No skill '{reference}'", hint=f"{hint}Run: weft mcp skills {server}")
    if len(named) > 1:
        several = ", ".join(f"{server}:{one.origin.uri}" for one in named[:_MAX_NAMED])
        raise Refused("mcp-skill-twice", f"Several skills go by '{reference}'", hint=f"Say which: {several}")
    return named[0]


def _names_of(origin: Origin, name: str) -> tuple[str, ...]:
    folder = origin.uri.removesuffix("/SKILL.md")
    return name, folder.partition("://")[2], folder, origin.uri


def check_alone(app: "App", wanted: Borrowed) -> None:
    """Raises: Refused where another skill of the server has the name, and was approved."""
    known = _load_known(app)
    for one in list_served(app.workspace.user_dir):
        same = (one.origin.server, one.name) == (wanted.origin.server, wanted.name)
        if same and one.origin != wanted.origin and one.folder in known and known[one.folder].kind == "skill":
            message = f"Another skill of this name is approved: {one.origin.uri}"
            hint = f"Give that back first: weft mcp untrust {one.origin.server}:{one.origin.uri}"
            raise Refused("mcp-skill-twice", message, path=wanted.origin.uri, hint=hint)


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


def give_back(app: "App", meant: list[Served]) -> None:
    """Take back approvals of skills of servers, and remove what lies here of them. Raises: ClawftError, OSError."""
    app.desk.revoke_folders([one.folder for one in meant])
    for one in meant:
        remove_served(app.workspace.user_dir, one.origin)


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
