"""While turns run: what servers list now is compared with what was approved."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clawft.borrowing.states import MAX_NAMED, Borrowed, judge_offer, judge_offered, load_known
from clawft.errors import Diagnostic
from clawft.mcp import McpHub, RemoteError

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.mcp.skill_listing import SkillListing

__all__ = ["ListingCheck"]

_TOLD_WITH_TOOLS = ("mcp-start", "mcp-lost")  # a server that is not there is told of where its tools are missed


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
        said = [found for one in new.values() for found in one.diagnostics if found.code not in _TOLD_WITH_TOOLS]
        listed = {name: one for name, one in new.items() if one.known}
        if not listed:
            return said, False
        judged = judge_offered(self._app, listed)
        judged = [await self._ask(one) if one.state == "unlisted" else one for one in judged]
        approved = {path for path, one in load_known(self._app).items() if one.kind == "skill"}
        changed = [one for one in judged if one.state == "changed" and one.folder in approved]
        for one in changed:
            self._app.desk.withdraw([one.folder], one.reason.message if one.reason else "")
        return [*said, *map(_tell_changed, changed), *self._tell_waiting(judged)], bool(changed)

    async def _ask(self, one: Borrowed) -> Borrowed:
        """A skill that is not listed, by what its server says of it alone: a listing need not be whole."""
        try:
            offered = await self._hub.get_skill(one.origin.server, one.origin.uri)
        except RemoteError:
            offered = None
        return judge_offer(self._app, offered, load_known(self._app)) if offered else one

    def _tell_waiting(self, judged: list[Borrowed]) -> Iterator[Diagnostic]:
        for server in dict.fromkeys(one.origin.server for one in judged):
            names = [one.name for one in judged if one.origin.server == server and one.state == "waiting"]
            if names and server not in self._told:
                self._told.add(server)
                more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
                shown = f"{', '.join(names[:MAX_NAMED])}{more}"
                message = f"The MCP server '{server}' offers skills that nobody approved: {shown}"
                yield Diagnostic("mcp-skills-waiting", "note", message, hint=f"Look at them: weft mcp skills {server}")


def _tell_changed(one: Borrowed) -> Diagnostic:
    why = f". {one.reason.message}" if one.reason else ""
    message = f"The skill '{one.reference}' of an MCP server is not used any more{why}"
    return Diagnostic("mcp-skill-changed", "warning", message, hint=f"Look at it, then: weft mcp trust {one.reference}")
