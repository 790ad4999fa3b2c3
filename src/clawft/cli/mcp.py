"""`weft mcp skills`, `trust` and `untrust`: skills that MCP servers offer."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import click
from msgspec import Struct, structs

from clawft.agent.mcp import McpServerPool, RemoteError
from clawft.agent.mcp.offered_skills import open_stage
from clawft.app.app import App
from clawft.app.mcp_skills.copies import fetch_offered, remove_copies, repair_copy, review_copy, store_copy
from clawft.app.mcp_skills.offers import (
    ServedStatus,
    check_alone,
    find_offered,
    find_served,
    judge_offered,
    judge_orphans,
)
from clawft.app.mcp_skills.servers import open_servers
from clawft.cli.completion import completes, open_app_for
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, is_json_asked, one_line, print_table, say, say_lines, show_diagnostics
from clawft.cli.prompts import confirm
from clawft.cli.review import review_lines
from clawft.errors import Diagnostic, NotFound
from clawft.server.protocol.base import diagnostic_json
from clawft.server.views.review import review_json
from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.skills.discovery.mcp_copies import list_served
from clawft.trust.review import Review
from clawft.trust.status import SERVED_STATES

if TYPE_CHECKING:
    from clawft.agent.mcp.skill_listing import SkillListing


_SIZES = ((1 << 20, "MB"), (1 << 10, "KB"))


@completes
def complete_served(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    """Skills of MCP servers that were approved."""
    for skill in list_served(open_app_for(ctx).workspace.user_dir):
        yield f"{skill.origin.server}:{skill.name}", skill.origin.uri


@completes
def complete_servers(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    for name, server in open_app_for(ctx).config.mcp.servers.items():
        yield name, server.url or server.command


@click.command("skills")
@click.argument("server", default="", shell_complete=complete_servers)
@format_option
def skills_command(server: str) -> CommandResult:
    """List the skills that MCP servers offer, with their state and why. The servers are asked; nothing is fetched.

    It exits 1 where a server of the settings could not be asked.
    """
    app = open_here()
    listings, problems = anyio.run(_ask, app, server)
    found = [*judge_offered(app, listings), *([] if server else judge_orphans(app, listings))]
    silent = _find_silent(app, server, listings)
    problems += [diagnostic for listing in listings.values() for diagnostic in listing.diagnostics]
    servers = [
        {"name": name, "offers_skills": listing.known, "whole": listing.whole} for name, listing in listings.items()
    ]
    diagnostics = [diagnostic_json(diagnostic) for diagnostic in problems]
    skills = [_to_json(skill) for skill in found]

    def show() -> None:
        if found:
            heads = ("SKILL", "STATE", "FILES", "DESCRIPTION")
            print_table(heads, map(_row, found), wide=3, after=[_tell_reason(skill) for skill in found])
        show_diagnostics(problems)
        if listings or not silent:
            say(_count(listings, found))
        if silent:
            say(f"Not asked: {one_line(', '.join(silent))}")

    return CommandResult(
        "clawft.mcp.skills.v1",
        {"servers": servers, "skills": skills, "diagnostics": diagnostics},
        show,
        1 if silent else 0,
    )


def _find_silent(app: App, server: str, listings: "dict[str, SkillListing]") -> list[str]:
    """Servers of the settings that were to be asked, and could not be."""
    wanted = [name for name, settings in app.config.mcp.servers.items() if settings.enabled and server in ("", name)]
    return [name for name in wanted if name not in listings]


async def _ask(app: App, server: str) -> "tuple[dict[str, SkillListing], list[Diagnostic]]":
    async with open_servers(app) as pool:
        return await pool.skills(server), list(pool.diagnostics)


def _row(one: ServedStatus) -> tuple[str, ...]:
    skill = one.found.offered.skill if one.found.offered else None
    files = f"{len(skill.files)}, {_size(sum(file.size for file in skill.files))}" if skill else ""
    description = one.found.offered.description if one.found.offered else ""
    return one_line(one.found.reference), one.state, files, one_line(description)


def _size(count: int) -> str:
    return next((f"{count / unit:.0f} {name}" for unit, name in _SIZES if count >= unit), f"{count} bytes")


def _tell_reason(one: ServedStatus) -> str:
    for reason in one.reasons:
        hint = f". {reason.hint}" if reason.hint else ""
        return one_line(f"{reason.message}{hint} [{reason.code}]")
    return {
        "unlisted": "It was approved, and the server does not list it any more; it stays usable as it was approved",
        "changed": f"It is not what was approved. Look at it: weft mcp trust {one_line(one.found.reference)}",
    }.get(one.state, "")


def _count(listings: "dict[str, SkillListing]", found: list[ServedStatus]) -> str:
    if not found:
        if not listings:
            return "No MCP servers are configured. See: weft help mcp"
        return f"No skills are offered by: {', '.join(listings)}"
    states = [f"{count} {state}" for state in SERVED_STATES if (count := sum(skill.state == state for skill in found))]
    waiting = next((skill for skill in found if skill.state in ("waiting", "changed")), None)
    hint = f". To use one: weft mcp trust {one_line(waiting.found.reference)}" if waiting else ""
    return f"{len(found)} skill{'s' * (len(found) > 1)}: {', '.join(states)}{hint}"


def _to_json(one: ServedStatus) -> dict[str, Any]:
    skill = one.found.offered.skill if one.found.offered else None
    return {
        "server": one.found.origin.server,
        "uri": one.found.origin.uri,
        "name": one.name,
        "description": one.found.offered.description if one.found.offered else "",
        "state": one.state,
        "reason": diagnostic_json(one.reasons[0]) if one.reasons else None,
        "digest": (one.found.offered.digest if one.found.offered else "") or None,
        "files": [{"path": file.path, "sha256": file.sha256, "size": file.size} for file in skill.files]
        if skill
        else [],
    }


class _FetchedSkill(Struct, frozen=True):
    """A skill as it was fetched, and what there is to see of it."""

    one: ServedStatus
    review: Review[DiscoveredSkill]


@click.command("trust")
@click.argument("references", nargs=-1, required=True, metavar="SERVER:NAME...")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def trust_command(references: tuple[str, ...], yes: bool) -> CommandResult | int:
    """Approve skills that an MCP server offers, as they are now.

    Every file is fetched, compared with what the server lists, and scanned. You are shown what the skill could do, and
    what changed since you last approved it. When the server offers other files, it waits for an approval again. In
    place of NAME you can give the address of a skill, also of one that the server does not list.
    """
    if any(":" not in reference for reference in references):
        raise click.UsageError("Say which: weft mcp trust SERVER:NAME. See: weft mcp skills")
    app = open_here()
    with open_stage(app.workspace.user_dir) as stage:
        fetched = anyio.run(_fetch, app, references, stage)
        looked = [_FetchedSkill(skill, review_copy(app, skill, folder)) for skill, folder in fetched]
        new = [fetched_skill for fetched_skill in looked if not fetched_skill.review.is_same]
        if not (yes and is_json_asked()):  # nobody is asked about what they did not see
            _show(app, looked)
        if new and not yes and not _agree(app, new):
            say("Nothing was approved")
            return 1
        for each in new:
            store_copy(app, each.one, each.review)
        mended = [
            fetched_skill
            for fetched_skill in looked
            if fetched_skill not in new and repair_copy(app, fetched_skill.one, fetched_skill.review)
        ]

    def show() -> None:
        _tell(app, looked, new)
        for fetched_skill in mended:
            say(
                one_line(f"The copy of {fetched_skill.one.found.reference} here was not what was approved. It is again")
            )

    approved = [{**review_json(fetched_skill.review), **_fields(fetched_skill.one)} for fetched_skill in looked]
    return CommandResult("clawft.mcp.trust.v1", {"approved": approved}, show)


async def _fetch(app: App, references: Sequence[str], stage: str) -> list[tuple[ServedStatus, str]]:
    """Find the skills that the references name and read each into a folder of the stage. Raises: ClawftError."""
    found: list[tuple[ServedStatus, str]] = []
    async with open_servers(app) as pool:
        for number, reference in enumerate(dict.fromkeys(references)):
            one = await _find(app, pool, reference)
            check_alone(app, one)
            found.append((one, await fetch_offered(pool, one, f"{stage}/{number}")))
    return found


async def _find(app: App, pool: McpServerPool, reference: str) -> ServedStatus:
    """The skill of a reference: of the server's listing, or by its address alone. Raises: ClawftError."""
    from clawft.agent.mcp.skill_listing import SkillListing

    server, _, rest = reference.partition(":")
    listing = (await pool.skills(server))[server]
    for diagnostic in listing.diagnostics if not listing.known else ():
        raise RemoteError(diagnostic.code, diagnostic.message, hint=diagnostic.hint)
    if not listing.known:
        raise NotFound("skill-not-found", f"The MCP server '{server}' offers no skills", hint="Run: weft mcp skills")
    named = [skill for skill in listing.offered if rest in (skill.uri, skill.uri.removesuffix("/SKILL.md"))]
    if "://" in rest and not named:
        uri = rest if rest.endswith("/SKILL.md") else f"{rest}/SKILL.md"
        offered = await pool.get_skill(server, uri)
        listing = SkillListing((*listing.offered, offered) if offered else listing.offered)
    return find_offered(judge_offered(app, {server: listing}), reference)


def _show(app: App, looked: Sequence[_FetchedSkill]) -> None:
    for fetched_skill in looked:
        say(
            one_line(
                f"{fetched_skill.one.name} of the MCP server {fetched_skill.one.found.origin.server} "
                f"({fetched_skill.one.found.origin.uri})"
            )
        )
        say_lines(review_lines(fetched_skill.review, app.workspace.shorten)[1:])
        say()


def _agree(app: App, new: Sequence[_FetchedSkill]) -> bool:
    """Return whether a person agrees; what they, or nobody, said no to is written down. Raises: Refused."""
    many = f"{len(new)} skills" if len(new) > 1 else "1 skill"
    agreed = False
    try:
        agreed = confirm(f"Approve {many}?", "To approve a stranger's work", "Look at it, then pass --yes")
    finally:
        for fetched_skill in new if not agreed else ():
            placed = structs.replace(fetched_skill.review.found, folder=fetched_skill.one.found.folder)
            app.reviewer.refuse(structs.replace(fetched_skill.review, found=placed))
    return agreed


def _tell(app: App, looked: Sequence[_FetchedSkill], new: Sequence[_FetchedSkill]) -> None:
    statuses = {skill.found.folder: skill for skill in app.refresh().skills}
    for fetched_skill in looked:
        was = "" if fetched_skill in new else " already"
        click.echo(one_line(f"{fetched_skill.one.found.reference} is{was} approved as it is now"))
        status = statuses.get(fetched_skill.one.found.folder)
        show_diagnostics(status.reasons if status else (), app.workspace.shorten)


def _fields(one: ServedStatus) -> dict[str, str]:
    return {"server": one.found.origin.server, "uri": one.found.origin.uri, "path": one.found.folder}


@click.command("untrust")
@click.argument("references", nargs=-1, required=True, metavar="SERVER:NAME...", shell_complete=complete_served)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def untrust_command(references: tuple[str, ...], yes: bool) -> CommandResult:
    """Take approvals of MCP servers' skills back, and remove their files here. SERVER alone means all of its skills."""
    app = open_here()
    meant = {skill.folder: skill for reference in references for skill in find_served(app, reference)}
    names = [f"{skill.origin.server}:{skill.name}" for skill in meant.values()]
    agreed = yes or confirm(f"Take back and remove: {', '.join(names)}?", "Removing skills")
    if agreed:
        remove_copies(app, list(meant.values()))
    taken = meant.values() if agreed else ()
    removed = [{"server": skill.origin.server, "uri": skill.origin.uri, "name": skill.name} for skill in taken]

    def show() -> None:
        if agreed:
            for name in names:
                click.echo(one_line(f"Taken back, and removed: {name}"))
        else:
            say("Nothing was changed")

    return CommandResult("clawft.mcp.untrust.v1", {"removed": removed}, show, 0 if agreed else 1)
