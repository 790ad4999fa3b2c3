"""`weft mcp skills [SERVER]`: what MCP servers offer of skills, and what became of it here."""

from typing import TYPE_CHECKING, Any

import anyio
import click

from clawft.app import App
from clawft.borrowing.servers import open_servers
from clawft.borrowing.states import BORROWED_STATES, Borrowed, judge_offered, judge_orphans
from clawft.cli._complete import complete_servers
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, print_table, say, show_diagnostic
from clawft.describe.diagnostics import to_json
from clawft.errors import Diagnostic

if TYPE_CHECKING:
    from clawft.mcp.skill_listing import SkillListing

__all__ = ["command"]

_SIZES = ((1 << 20, "MB"), (1 << 10, "KB"))


@click.command("skills")
@click.argument("server", default="", shell_complete=complete_servers)
@format_option
def command(server: str, output: str) -> int:
    """List the skills that MCP servers offer, with their state and why. The servers are asked; nothing is fetched.

    It exits 1 where a server of the settings could not be asked.
    """
    app = open_here()
    listings, said = anyio.run(_ask, app, server)
    found = [*judge_offered(app, listings), *([] if server else judge_orphans(app, listings))]
    silent = _find_silent(app, server, listings)
    said += [one for listing in listings.values() for one in listing.diagnostics]
    if output == "json":
        servers = [{"name": name, "offers_skills": one.known, "whole": one.whole} for name, one in listings.items()]
        diagnostics = [to_json(one) for one in said]
        skills = [_to_json(one) for one in found]
        print_json("clawft.mcp.skills.v1", servers=servers, skills=skills, diagnostics=diagnostics)
        return 1 if silent else 0
    if found:
        heads = ("SKILL", "STATE", "FILES", "DESCRIPTION")
        print_table(heads, map(_row, found), wide=3, after=[_tell_reason(one) for one in found])
    for one in said:
        show_diagnostic(one, where="")
    if listings or not silent:
        say(_count(listings, found))
    if silent:
        say(f"Not asked: {one_line(', '.join(silent))}")
    return 1 if silent else 0


def _find_silent(app: App, server: str, listings: "dict[str, SkillListing]") -> list[str]:
    """Servers of the settings that were to be asked, and could not be."""
    wanted = [name for name, one in app.config.mcp.servers.items() if one.enabled and server in ("", name)]
    return [name for name in wanted if name not in listings]


async def _ask(app: App, server: str) -> "tuple[dict[str, SkillListing], list[Diagnostic]]":
    async with open_servers(app) as hub:
        return await hub.skills(server), list(hub.diagnostics)


def _row(one: Borrowed) -> tuple[str, ...]:
    skill = one.offered.skill if one.offered else None
    files = f"{len(skill.files)}, {_size(sum(file.size for file in skill.files))}" if skill else ""
    description = one.offered.description if one.offered else ""
    return one_line(one.reference), one.state, files, one_line(description)


def _size(count: int) -> str:
    return next((f"{count / unit:.0f} {name}" for unit, name in _SIZES if count >= unit), f"{count} bytes")


def _tell_reason(one: Borrowed) -> str:
    if one.reason is not None:
        hint = f". {one.reason.hint}" if one.reason.hint else ""
        return one_line(f"{one.reason.message}{hint} [{one.reason.code}]")
    return {
        "unlisted": "It was approved, and the server does not list it any more; it stays usable as it was approved",
        "changed": f"It is not what was approved. Look at it: weft mcp trust {one_line(one.reference)}",
    }.get(one.state, "")


def _count(listings: "dict[str, SkillListing]", found: list[Borrowed]) -> str:
    if not found:
        if not listings:
            return "No MCP servers are configured. See: weft help mcp"
        return f"No skills are offered by: {', '.join(listings)}"
    states = [f"{count} {state}" for state in BORROWED_STATES if (count := sum(one.state == state for one in found))]
    waiting = next((one for one in found if one.state in ("waiting", "changed")), None)
    hint = f". To use one: weft mcp trust {one_line(waiting.reference)}" if waiting else ""
    return f"{len(found)} skill{'s' * (len(found) > 1)}: {', '.join(states)}{hint}"


def _to_json(one: Borrowed) -> dict[str, Any]:
    skill = one.offered.skill if one.offered else None
    return {
        "server": one.origin.server,
        "uri": one.origin.uri,
        "name": one.name,
        "description": one.offered.description if one.offered else "",
        "state": one.state,
        "reason": to_json(one.reason) if one.reason else None,
        "digest": (one.offered.digest if one.offered else "") or None,
        "files": [{"path": file.path, "sha256": file.sha256, "size": file.size} for file in skill.files]
        if skill
        else [],
    }
