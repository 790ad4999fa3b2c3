"""`weft skills search --hub`: what registries have, with what they think of it and what to type to install it."""

import anyio
import msgspec

from clawft.app import App
from clawft.cli._progress import is_watched
from clawft.cli.output import one_line, print_json, print_table, say, show_diagnostic
from clawft.describe.diagnostics import to_json
from clawft.describe.registries import describe_hit
from clawft.sources.searching import Searched, choose_registries, search_registries
from clawft.supplying import open_sources

__all__ = ["search_hubs"]


def search_hubs(app: App, query: str, limit: int, registry: str, output: str) -> int:
    """Ask one registry or all of them, and tell; the exit code. Raises: ClawftError."""
    searched = anyio.run(_ask, app, query, limit, registry)
    none_answered = bool(searched.failed) and not searched.hits
    if output == "json":
        failed = [{"registry": name, **to_json(one)} for name, one in searched.failed.items()]
        results = [msgspec.to_builtins(describe_hit(one)) for one in searched.hits]
        print_json("clawft.skills.search.hub.v1", query=query, results=results, failed=failed)
        return int(none_answered)
    if searched.hits:
        rows = [
            (one.reference, one.summary, one.version, one.verdict.status if one.verdict else "not said", one.registry)
            for one in searched.hits
        ]
        print_table(("REFERENCE", "SUMMARY", "VERSION", "VERDICT", "REGISTRY"), rows, wide=1)
    elif not searched.failed:
        say(one_line(f"No registry has anything for '{query}'"))
    for name, problem in searched.failed.items():
        show_diagnostic(problem, where=f"registry {name}")
    if searched.hits:
        say(one_line(f"To look at one, and to install it: weft skills install {searched.hits[0].reference}"))
    return int(none_answered)


async def _ask(app: App, query: str, limit: int, registry: str) -> Searched:
    async with open_sources(app) as sources:
        asked = choose_registries(sources, registry)
        if is_watched():
            say(f"Asking {', '.join(asked)}")
        return await search_registries(sources, asked, query, limit)
