"""`weft mcp trust SERVER:NAME`: a skill of an MCP server, fetched, verified, looked at and approved."""

from collections.abc import Sequence

import anyio
import click
from msgspec import Struct, structs

from clawft.app import App
from clawft.borrowing.keep import fetch_offered, keep_borrowed, mend_borrowed, review_borrowed
from clawft.borrowing.servers import open_servers
from clawft.borrowing.states import Borrowed, check_alone, find_borrowed, judge_offered
from clawft.cli._confirm import confirm
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say, show_diagnostic
from clawft.cli.skills._review import review_lines
from clawft.describe.reviews import review_json
from clawft.errors import NotFound
from clawft.mcp import McpHub, RemoteError
from clawft.mcp.skill_store import open_stage
from clawft.trust.review import Review

__all__ = ["command"]


class _Looked(Struct, frozen=True):
    """A skill as it was fetched, and what there is to see of it."""

    one: Borrowed
    review: Review


@click.command("trust")
@click.argument("references", nargs=-1, required=True, metavar="SERVER:NAME...")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def command(references: tuple[str, ...], yes: bool, output: str) -> int:
    """Approve skills that an MCP server offers, as they are now.

    Every file is fetched, compared with what the server lists, and scanned. You are shown what the skill could do, and
    what changed since you last approved it. When the server offers other files, it waits for an approval again. In
    place of NAME you can give the address of a skill, also of one that the server does not list.
    """
    if any(":" not in one for one in references):
        raise click.UsageError("Say which: weft mcp trust SERVER:NAME. See: weft mcp skills")
    app = open_here()
    with open_stage(app.workspace.user_dir) as stage:
        fetched = anyio.run(_fetch, app, references, stage)
        looked = [_Looked(one, review_borrowed(app, one, folder)) for one, folder in fetched]
        new = [one for one in looked if not one.review.is_same]
        if output == "table" or not yes:  # nobody is asked about what they did not see
            _show(app, looked)
        if new and not yes and not _agree(app, new):
            say("Nothing was approved")
            return 1
        for each in new:
            keep_borrowed(app, each.one, each.review)
        mended = [one for one in looked if one not in new and mend_borrowed(app, one.one, one.review)]
    if output == "json":
        approved = [{**review_json(one.review), **_fields(one.one)} for one in looked]
        print_json("clawft.mcp.trust.v1", approved=approved)
    else:
        _tell(app, looked, new)
        for one in mended:
            say(one_line(f"The copy of {one.one.reference} here was not what was approved. It is again"))
    return 0


async def _fetch(app: App, references: Sequence[str], stage: str) -> list[tuple[Borrowed, str]]:
    """What the references mean, each read into a folder of the stage. Raises: ClawftError."""
    found: list[tuple[Borrowed, str]] = []
    async with open_servers(app) as hub:
        for number, reference in enumerate(dict.fromkeys(references)):
            one = await _find(app, hub, reference)
            check_alone(app, one)
            found.append((one, await fetch_offered(hub, one, f"{stage}/{number}")))
    return found


async def _find(app: App, hub: McpHub, reference: str) -> Borrowed:
    """The skill of a reference: of the server's listing, or by its address alone. Raises: ClawftError."""
    server, _, rest = reference.partition(":")
    listing = (await hub.skills(server))[server]
    for one in listing.diagnostics if not listing.known else ():
        raise RemoteError(one.code, one.message, hint=one.hint)
    if not listing.known:
        raise NotFound("skill-not-found", f"The MCP server '{server}' offers no skills", hint="Run: weft mcp skills")
    named = [one for one in listing.offered if rest in (one.uri, one.uri.removesuffix("/SKILL.md"))]
    if "://" in rest and not named:
        from clawft.mcp.skill_listing import SkillListing  # there is a server, so its package is there too

        uri = rest if rest.endswith("/SKILL.md") else f"{rest}/SKILL.md"
        offered = await hub.get_skill(server, uri)
        listing = SkillListing((*listing.offered, offered) if offered else listing.offered)
    return find_borrowed(judge_offered(app, {server: listing}), reference)


def _show(app: App, looked: Sequence[_Looked]) -> None:
    for one in looked:
        say(one_line(f"{one.one.name} of the MCP server {one.one.origin.server} ({one.one.origin.uri})"))
        for line in review_lines(one.review, app.workspace.shorten)[1:]:
            say(line)
        say()


def _agree(app: App, new: Sequence[_Looked]) -> bool:
    """Whether a person agrees; what they, or nobody, said no to is written down. Raises: Refused."""
    many = f"{len(new)} skills" if len(new) > 1 else "1 skill"
    agreed = False
    try:
        agreed = confirm(f"Approve {many}?", "To approve a stranger's work", "Look at it, then pass --yes")
    finally:
        for one in new if not agreed else ():
            placed = structs.replace(one.review.found, folder=one.one.folder)
            app.desk.refuse(structs.replace(one.review, found=placed))
    return agreed


def _tell(app: App, looked: Sequence[_Looked], new: Sequence[_Looked]) -> None:
    standings = {one.found.folder: one for one in app.reopen().skills}
    for one in looked:
        was = "" if one in new else " already"
        click.echo(one_line(f"{one.one.reference} is{was} approved as it is now"))
        standing = standings.get(one.one.folder)
        for reason in standing.reasons if standing else ():
            show_diagnostic(reason, where=app.workspace.shorten(reason.where))


def _fields(one: Borrowed) -> dict[str, str]:
    return {"server": one.origin.server, "uri": one.origin.uri, "path": one.folder}
