"""What is there already: keys in the environment, servers on this machine, skills and MCP servers of other clients."""

import os
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
from msgspec import Struct

from clawft.app import App
from clawft.cli.onboard.clients import Offer, find_offers
from clawft.cli.onboard.servers import Server, find_servers, local_addresses
from clawft.cli.output import one_line, say
from clawft.providers.endpoint import PRESETS
from clawft.workspace import MARKER

__all__ = ["HOSTED", "Found", "Hosted", "look_around", "show_found"]


class Hosted(Struct, frozen=True):
    """A provider on the internet, and the variable that its key is usually in."""

    base_url: str
    key_env: str


# Those with a preset, and others whose server speaks the same wire.
HOSTED: Mapping[str, Hosted] = {
    **{name: Hosted(one.base_url, one.key_env) for name, one in PRESETS.items() if one.key_env},
    "deepseek": Hosted("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "gemini": Hosted("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "groq": Hosted("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": Hosted("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "together": Hosted("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "xai": Hosted("https://api.x.ai/v1", "XAI_API_KEY"),
}


class Found(Struct, frozen=True):
    """`keys` holds the names of variables by provider, never what is in them."""

    keys: dict[str, str]
    servers: tuple[Server, ...]
    skills: dict[str, int]
    offers: tuple[Offer, ...]

    def to_json(self) -> dict[str, Any]:
        importable = [one for one in self.offers if not one.problem]
        return {
            "keys": list(self.keys.values()),
            "servers": [
                {"name": one.name, "base_url": one.base_url, "models": len(one.models)} for one in self.servers
            ],
            "skills": [{"path": path, "count": count} for path, count in self.skills.items()],
            "mcp_servers": [{"name": one.name, "path": one.source} for one in importable],
        }


def look_around(app: App) -> Found:
    """Look at the environment, the ports of this machine, and the files of other clients. Raises: ClawftError."""
    environ = app.environ
    addresses = local_addresses(app.config.providers, environ)
    return Found(
        keys={name: one.key_env for name, one in HOSTED.items() if environ.get(one.key_env)},
        servers=anyio.run(partial(find_servers, addresses, environ)),
        skills=_count_skills(app),
        offers=tuple(find_offers(app.workspace, environ)),
    )


def _count_skills(app: App) -> dict[str, int]:
    """The folders of other clients that are searched, and how many skills are in each."""
    counts = Counter(found.location.path for found in app.catalog.found)
    ours = (MARKER, "skills", ".skills", "bundled")
    theirs = [one for one in app.locations if one.scope != "mcp" and one.layer.split("/")[0] not in ours]
    folders = [one.path for one in theirs if os.path.isdir(one.path)]
    return {path: counts[path] for path in folders if counts[path]}


def show_found(found: Found, app: App) -> None:
    """Tell what was found, a line each."""
    shorten = app.workspace.shorten
    for name, variable in found.keys.items():
        say(f"  ✓ key for {name}: {variable}")
    for server in found.servers:
        what = "wants a key" if server.wants_key else f"{len(server.models)} model{'s' * (len(server.models) != 1)}"
        say(f"  ✓ server {one_line(server.name)}: {what}\n      {one_line(server.base_url)}")
    for path, count in found.skills.items():
        say(f"  ✓ {count} skill{'s' * (count != 1)} in {one_line(shorten(path))}, used as they are")
    for path in dict.fromkeys(one.source for one in found.offers):
        offers = [one for one in found.offers if one.source == path]
        names = ", ".join(one.name for one in offers if not one.problem)
        if names:
            say(f"  ✓ MCP servers in {one_line(shorten(path))}: {one_line(names)}")
        for one in offers:
            if one.problem:
                say(f"  · {one_line(one.name or shorten(path))} cannot be imported: {one_line(one.problem)}")
    if not (found.keys or found.servers or found.skills or found.offers):
        say("  · nothing: no key, no server, no other client")
