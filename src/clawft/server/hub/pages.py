"""The hub's HTML pages for browsers, and the escaping of text in them."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from clawft.install.sources.address import plain_line
from clawft.server.http.limits import WebError
from clawft.server.hub.api_read import is_signed
from clawft.server.hub.context import find_skill, get_hub, parse_search
from clawft.server.hub.model import NO_REASON, HubFile, HubListing, HubPage, HubRelease, HubSkill, HubVersion

MAX_TEXT = 600
_STYLE = """
:root{color-scheme:light dark;--ink:#1c1e21;--soft:#5c6470;--line:#d5d9e0;--back:#fff;--box:#f3f5f8;--link:#0b57d0;
--good:#12663a;--bad:#a3290f}
@media(prefers-color-scheme:dark){:root{--ink:#e4e7eb;--soft:#a0a8b4;--line:#3a404a;--back:#15181c;--box:#20252c;
--link:#8ab4f8;--good:#7fd6a2;--bad:#ff9d85}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:52rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--back);overflow-wrap:anywhere}
a{color:var(--link)}h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.1rem;margin:1.5rem 0 .5rem}
p{margin:.4rem 0}ul,ol,dl{margin:0;padding:0;list-style:none}dd{margin:0 0 .8rem}
li{border-top:1px solid var(--line);padding:.6rem 0}
.soft{color:var(--soft)}.clean{color:var(--good)}.suspicious,.malicious,.yanked{color:var(--bad)}
pre{background:var(--box);padding:.6rem;margin:.2rem 0;white-space:pre-wrap;font-size:.9rem}
form{display:flex;gap:.5rem;margin:1rem 0}input{flex:1;min-width:0}
input,button{font:inherit;padding:.4rem .6rem;color:inherit;background:var(--box);border:1px solid var(--soft)}
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
# A page runs nothing, fetches nothing, and is framed nowhere; its one form asks this hub.
CONTENT_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class Markup(str):
    """HTML, which is filled in as it is."""

    __slots__ = ()


def fill(template: str, **values: str | int) -> Markup:
    """A template of ours with values in it, as `{name}`; texts become one line that is safe there, in quotes too."""
    return Markup(template.format_map({name: _escape(value) for name, value in values.items()}))


def _escape(value: str | int) -> str:
    return value if isinstance(value, Markup) else escape(plain_line(str(value), MAX_TEXT))


def join(parts: Iterable[Markup]) -> Markup:
    return Markup("".join(parts))


def page(title: str, body: Markup) -> str:
    """A whole page."""
    head = fill(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n<style>',
        title=title,
    )
    return f"{head}{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"


LISTED = 50
VERSIONS = 100
FILES = 200
_BACK = Markup('<p><a href="./">All skills</a></p>')


async def show_skills(request: Request) -> Response:
    """A page for people: what there is, of everybody or of one owner, or what fits some words."""
    hub, owner = get_hub(request), request.path_params.get("owner", "").lower()
    query, cursor = parse_search(request), request.query_params.get("cursor", "")
    found: HubPage
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


def _item(one: HubListing) -> Markup:
    return fill(
        '<li><a href="{href}">@{owner}/{slug}</a> {version} {verdict}<p>{summary}</p></li>',
        href=f"./@{quote(one.skill.owner)}/{quote(one.skill.slug)}",
        owner=one.skill.owner,
        slug=one.skill.slug,
        version=one.skill.latest,
        verdict=_verdict(one.release) if one.release else "",
        summary=one.skill.summary,
    )


async def show_skill(request: Request) -> Response:
    """A page for people: one skill, its versions, and how to install it."""
    hub = get_hub(request)
    skill = await find_skill(request, request.path_params["skill"], owner=request.path_params["owner"].lower())
    latest = await hub.work(hub.store.find_version, skill.id)
    versions = await hub.work(hub.store.versions, skill.id)
    alone = len([other for other in await hub.work(hub.store.find, skill.slug) if not other.deleted]) == 1
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
    return fill(
        '<p>{version}, {day}, {verdict}, {by}</p><p class="soft">{downloads} downloads, {signed}</p>',
        version=latest.version,
        day=_day(latest.created),
        verdict=_verdict(latest),
        by=by,
        downloads=skill.downloads,
        signed="with a signature, which your client checks" if is_signed(latest) else "not signed",
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
            version=version.version,
            day=_day(version.created),
            verdict=_verdict(version),
            yanked=_yanked(version),
            changelog=version.changelog,
        )
        for version in versions[:VERSIONS]
    ]
    return fill("<h2>Versions</h2><ol>{items}</ol>{more}", items=join(shown), more=_more(len(versions), VERSIONS))


def _yanked(one: HubRelease) -> Markup:
    why = "" if one.yanked in ("", NO_REASON) else f": {one.yanked}"
    return fill('<p class="yanked">Taken back{why}</p>', why=why) if one.yanked else Markup("")


def _files(files: Sequence[HubFile]) -> Markup:
    shown = [
        fill(
            '<li>{path} <span class="soft">{size} bytes{runs}</span></li>',
            path=file.path,
            size=file.size,
            runs=", executable" if file.executable else "",
        )
        for file in files[:FILES]
    ]
    return fill("<h2>Files</h2><ul>{items}</ul>{more}", items=join(shown), more=_more(len(files), FILES))


def _more(number: int, shown: int) -> Markup:
    return fill("<p>And {more} more.</p>", more=number - shown) if number > shown else Markup("")


def _verdict(release: HubRelease | HubVersion) -> Markup:
    """Render the scanner's verdict at publication; with its rules only where it is not clean."""
    rules = f" ({', '.join(release.reasons)})" if release.reasons and release.verdict != "clean" else ""
    return fill('<span class="{verdict}">{verdict}{rules}</span>', verdict=release.verdict, rules=rules)


def _day(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%d")


def _answer(title: str, body: Markup) -> Response:
    headers = {"Content-Security-Policy": CONTENT_POLICY, "Cache-Control": "no-cache"}
    return HTMLResponse(page(title, body), headers=headers)


PAGES = [Route("/", show_skills), Route("/@{owner}", show_skills), Route("/@{owner}/{skill}", show_skill)]
