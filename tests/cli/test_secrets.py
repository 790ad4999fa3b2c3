"""No secret in any output: the whole product is run with marked secrets, and every byte it wrote is searched."""

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from wire import Asked, Reply, WireServer, call, fail, say

Weft = Callable[..., subprocess.CompletedProcess[str]]

SECRETS = {
    "PROVIDER_KEY": "mark-provider-4f1d/9a+7c",
    "HEADER_KEY": "mark-header-83b2c5d1",
    "SKILL_KEY": "mark-skill-77aa01bc",
    "SERVER_KEY": "mark-server-0c9d8e7f",
    "SEARCH_KEY": "mark-search-5566aabb",
    "OPENAI_API_KEY": "mark-openai-123abc456",
}
LITERAL = "mark-literal-99zz88yy"
ENTRY = "mark-entry-token-31337"

CONFIG = """
[agents.defaults]
model = "local/m"
[providers.local]
wire = "openai"
base_url = "{url}"
api_key = {{ env = "PROVIDER_KEY" }}
headers = {{ X-Team = "team ${{HEADER_KEY}}" }}
[providers.other]
wire = "anthropic"
base_url = "{url}"
api_key = "{literal}"
[skills.entries.weather]
api_key = {{ env = "SKILL_KEY" }}
env = {{ WEATHER_TOKEN = "{entry}" }}
[mcp.servers.noisy]
command = "{python}"
args = ["-c", "import os, sys; sys.exit(os.environ['TOKEN'] + ' is my token')"]
env = {{ TOKEN = "${{SERVER_KEY}}" }}
[tools.web.search]
engine = "brave"
api_key = {{ env = "SEARCH_KEY" }}
"""
SKILL = """---
name: weather
description: Tell the weather.
metadata: {clawft: {primaryEnv: WEATHER_KEY, requires: {env: [WEATHER_KEY]}}}
---

Run it.
"""


def reply(asked: Asked) -> Reply:
    """A model that tries to get at secrets: it loads the skill, prints the environment and says what it was sent."""
    said = asked.body["messages"]
    key = asked.headers.get("authorization", "") + asked.headers.get("x-api-key", "") + asked.headers.get("x-team", "")
    if "fail" in str(said[-1]):
        return fail(400, f"bad key {key}")
    results = [one for one in said if one["role"] == "tool"]
    if not results:
        return call("Skill", {"name": "weather"})
    if len(results) == 1:
        return call("exec_shell", {"command": "env"}, "c2")
    if len(results) == 2:
        return call("read_file", {"path": "leak.txt"}, "c3")
    half = len(key) // 2
    return say("I know ", key[:half], key[half:], f" and {LITERAL}")


def forms(secret: str) -> list[str]:
    encoded = base64.b64encode(secret.encode()).decode().rstrip("=")
    return [secret, quote(secret, safe=""), json.dumps(secret)[1:-1], encoded]


HIDDEN = (*SECRETS.values(), LITERAL, ENTRY)
ALL = " ".join(HIDDEN)
COMMANDS = [
    ("agent", "-m", f"weather? {ALL}", "--yes", "--session", "one"),
    ("agent", "-m", f"weather? {ALL}", "--yes", "--session", "two", "--format", "json"),
    ("agent", "-m", "fail please"),
    ("agent", "-m", "fail please", "--model", "other/m"),
    ("agent", "-m", "hi", "--model", "nowhere/m"),
    ("agent", "--show-prompt", "-m", ALL),
    ("agent", "--show-prompt", "-m", ALL, "--format", "json"),
    ("skills", "run", "--yes", "weather", ALL),
    ("skills", "list"),
    ("skills", "list", "--format", "json"),
    ("skills", "show", "weather"),
    ("skills", "why", "weather", "--format", "json"),
    ("skills", "stats"),
    ("config", "show", "--all"),
    ("config", "show", "--format", "json"),
    ("config", "get", "providers.local.api_key"),
    ("config", "get", "providers.other.api_key"),
    ("config", "get", "providers"),
    ("config", "set", "providers.local.timeout_s", "30"),
    ("config", "set", "providers.local.timeout_s", "soon"),
    ("config", "path"),
    ("doctor",),
    ("sessions", "list", "--format", "json"),
    ("sessions", "show", "one"),
    ("sessions", "fork", "one", "other"),
    ("sessions", "export", "two", "--to", "html"),
    ("sessions", "list", "--search", "know"),
    ("memory", "show"),
    ("memory", "search", "weather"),
    ("cron", "list"),
]


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(reply) as running:
        yield running


def test_no_secret_is_in_any_output(weft: Weft, project: Path, child_env: dict[str, str], server: WireServer) -> None:
    user = Path(child_env["HOME"], ".clawft")
    (user / "skills" / "weather").mkdir(parents=True)
    (user / "skills" / "weather" / "SKILL.md").write_text(SKILL)
    config = CONFIG.format(url=server.url, literal=LITERAL, entry=ENTRY, python=sys.executable)
    (user / "config.toml").write_text(config)
    (project / "leak.txt").write_text(ALL)
    wrote = "".join(f"$ {one[:2]}\n{done.stdout}{done.stderr}" for one in COMMANDS for done in [weft(*one, **SECRETS)])
    # The commands that talk did: otherwise nothing was tested.
    assert wrote.count("I know <secret>") + wrote.count("I know Bearer <secret>") >= 3
    assert "WEATHER_KEY=<secret>" in wrote
    assert any(SECRETS["PROVIDER_KEY"] in asked.headers.get("authorization", "") for asked in server.asked)

    for secret in HIDDEN:
        for form in forms(secret):
            assert form not in wrote, f"{secret} was printed"
    for path in [*user.rglob("*"), *project.rglob("*")]:
        if path.parent.name == "checkpoints":  # holds the project's files as they are, leak.txt among them
            assert not path.stat().st_mode & 0o077
        elif path.is_file() and path.name not in ("config.toml", "leak.txt"):
            data = path.read_bytes()
            for secret in HIDDEN:
                assert not any(form.encode() in data for form in forms(secret)), f"{secret} is in {path}"
    for asked in server.asked:
        body = json.dumps(asked.body)
        assert not any(form in body for secret in HIDDEN for form in forms(secret))
