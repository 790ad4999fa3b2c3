"""The hub for people with a browser: all skills, those of an owner, and one skill with how to install it.

It says what the interfaces say, and is asked the same way: who may not read those is not shown a page either. Links are
relative: they hold behind any proxy.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from clawft.hub.context import find_skill, hub_of, searched
from clawft.hub.markup import CONTENT_POLICY, Markup, fill, join, page
from clawft.hub.model import NO_REASON, HubFile, HubRelease, HubSkill, HubVersion, Listed, Page
from clawft.web.errors import WebError

__all__ = ["PAGES"]

LISTED = 50
VERSIONS = 100
FILES = 200
_BACK = Markup('<p><a href="./">All skills</a></p>')


async def show_skills(request: Request) -> Response:
    """A page for people: what there is, of everybody or of one owner, or what fits some words."""
    hub, owner = hub_of(request), request.path_params.get("owner", "").lower()
    query, cursor = searched(request), request.query_params.get("cursor", "")
    found: Page
    if query:
        found = await hub.work(hub.store.search, query, LISTED)
    else:
        found = await hub.work(lambda: hub.store.list_skills("updated", LISTED, cursor, owner=owner))
    if owner and not query and not cursor and not found.items:
        raise WebError(404, "There is no such owner")
    title = f"Skills of @{owner}" if owner and not query else "Skills"
    more = fill('<p><a href="?{query}">More</a></p>', query=urlencode({"cursor": found.cursor}))
    body = join(
        [
            fill("{back}<h1>{title}</h1>", back=_BACK if owner or query or cursor else Markup(""), title=title),
            fill(
                '<form action="./" role="search"><input name="q" type="search" aria-label="Search" value="{query}">'
                "<button>Search</button></form>",
                query=query,
            ),
            fill("<ul>{items}</ul>", items=join(map(_item, found.items))) if found.items else _nothing(query),
            more if found.cursor else Markup(""),
        ]
    )
    return _answer(title, body)


def _nothing(query: str) -> Markup:
    if query:
        return fill("<p>Nothing fits “{query}”.</p>", query=query)
    return Markup("<p>No skill is published yet. Publish one: <code>weft skills publish DIR --registry NAME</code></p>")


def _item(one: Listed) -> Markup:
    return fill(
        '<li><a href="{href}">@{owner}/{slug}</a> {version} {verdict}<p>{summary}</p></li>',
        href=_path(one.skill),
        owner=one.skill.owner,
        slug=one.skill.slug,
        version=one.skill.latest,
        verdict=_verdict(one.release) if one.release else "",
        summary=one.skill.summary,
    )


async def show_skill(request: Request) -> Response:
    """A page for people: one skill, its versions, and how to install it."""
    hub = hub_of(request)
    skill = await find_skill(request, request.path_params["skill"], owner=request.path_params["owner"].lower())
    latest = await hub.work(hub.store.find_version, skill.id)
    versions = await hub.work(hub.store.versions, skill.id)
    alone = len([one for one in await hub.work(hub.store.find, skill.slug) if not one.deleted]) == 1
    name = f"@{skill.owner}/{skill.slug}"
    body = [
        fill('<p><a href="../">All skills</a></p><h1>{name}</h1><p>{summary}</p>', name=name, summary=skill.summary),
        _state(skill, latest),
    ]
    if latest is not None:
        body += [_install(hub.address(request), skill, latest, alone=alone)]
    body.append(_versions(versions))
    if latest is not None:
        body.append(_files(latest.files))
    return _answer(name, join(body))


def _state(skill: HubSkill, latest: HubVersion | None) -> Markup:
    by = fill('by <a href="../@{href}">@{owner}</a>', href=quote(skill.owner), owner=skill.owner)
    if latest is None:
        return fill('<p class="yanked">Every version of it was taken back.</p><p>{by}</p>', by=by)
    signed = any(one.path == ".clawft-signature" for one in latest.files)
    return fill(
        '<p>{version}, {day}, {verdict}, {by}</p><p class="soft">{downloads} downloads, {signed}</p>',
        version=latest.version,
        day=_day(latest.created),
        verdict=_verdict(latest),
        by=by,
        downloads=skill.downloads,
        signed="with a signature, which your client checks" if signed else "not signed",
    )


def _install(address: str, skill: HubSkill, latest: HubVersion, *, alone: bool) -> Markup:
    name = f"@{skill.owner}/{skill.slug}"
    ways = [
        ("weft", f"weft registries add team {address}\nweft skills install team:{name}"),
        ("skills", f"npx skills add {address}/{name}"),
    ]
    if alone:  # the `clawhub` command knows no owners
        ways.append(("clawhub", f"CLAWHUB_REGISTRY={address} clawhub install {skill.slug}"))
    shown = [fill("<dt>{client}</dt><dd>{words}</dd>", client=client, words=_pre(words)) for client, words in ways]
    archive = fill(
        '<dt>by hand</dt><dd><a href="{href}">{slug}-{version}.zip</a> <span class="soft">sha256 {sha256}</span></dd>',
        href=f"../api/v1/agent-skills/{quote(skill.owner)}/{quote(skill.slug)}/archive?version={quote(latest.version)}",
        slug=skill.slug,
        version=latest.version,
        sha256=latest.archive,
    )
    return fill("<h2>Install</h2><dl>{ways}{archive}</dl>", ways=join(shown), archive=archive)


def _pre(words: str) -> Markup:
    lines = [fill("{line}", line=line) for line in words.splitlines()]
    return Markup(f"<pre>{chr(10).join(lines)}</pre>")


def _versions(versions: Sequence[HubRelease]) -> Markup:
    shown = [
        fill(
            '<li>{version} <span class="soft">{day}</span> {verdict}{yanked}<p>{changelog}</p></li>',
            version=one.version,
            day=_day(one.created),
            verdict=_verdict(one),
            yanked=_yanked(one),
            changelog=one.changelog,
        )
        for one in versions[:VERSIONS]
    ]
    return fill("<h2>Versions</h2><ol>{items}</ol>{more}", items=join(shown), more=_more(len(versions), VERSIONS))


def _yanked(one: HubRelease) -> Markup:
    why = "" if one.yanked in ("", NO_REASON) else f": {one.yanked}"
    return fill('<p class="yanked">Taken back{why}</p>', why=why) if one.yanked else Markup("")


def _files(files: Sequence[HubFile]) -> Markup:
    shown = [
        fill(
            '<li>{path} <span class="soft">{size} bytes{runs}</span></li>',
            path=one.path,
            size=one.size,
            runs=", executable" if one.executable else "",
        )
        for one in files[:FILES]
    ]
    return fill("<h2>Files</h2><ul>{items}</ul>{more}", items=join(shown), more=_more(len(files), FILES))


def _more(number: int, shown: int) -> Markup:
    return fill("<p>And {more} more.</p>", more=number - shown) if number > shown else Markup("")


def _verdict(release: HubRelease | HubVersion) -> Markup:
    """What the scanner said when it came; the rules only where they speak against it."""
    rules = f" ({', '.join(release.reasons)})" if release.reasons and release.verdict != "clean" else ""
    return fill('<span class="{verdict}">{verdict}{rules}</span>', verdict=release.verdict, rules=rules)


def _path(skill: HubSkill) -> str:
    return f"./@{quote(skill.owner)}/{quote(skill.slug)}"


def _day(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%d")


def _answer(title: str, body: Markup) -> Response:
    headers = {"Content-Security-Policy": CONTENT_POLICY, "Cache-Control": "no-cache"}
    return HTMLResponse(page(title, body), headers=headers)


PAGES = [Route("/", show_skills), Route("/@{owner}", show_skills), Route("/@{owner}/{skill}", show_skill)]
