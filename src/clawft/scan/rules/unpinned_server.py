"""A server for the agent's tools is whatever version is newest."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_RUNNER = re.compile(
    r"^(?:npx|bunx|pnpx|uvx|pnpm dlx|yarn dlx|pipx run|uv tool run)\s+(?:-\S+\s+)*'?(@?[\w./-]+)(@[\w.-]+|==\S+)?"
)


def check_unpinned_server(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.HOOK):
        if (
            fact.target.startswith("mcp:")
            and (match := _RUNNER.match(fact.via))
            and (match[2] or "@latest") == "@latest"
        ):
            yield Hit(fact, f"The server {fact.target[4:]} runs the newest {match[1]}, whatever that will be", 0.5)


RULE = Rule(
    id="unpinned-server",
    title="A server of tools is not pinned",
    severity="info",
    category="supply-chain",
    what="An MCP server is started from a registry without a version.",
    why="A new version is run on the next start, before anyone has looked at it.",
    example='{"command": "npx", "args": ["-y", "acme-server"]}',
    counter_example='{"command": "npx", "args": ["-y", "acme-server@1.4.2"]}',
    fix="Name the version.",
    check=check_unpinned_server,
    owasp="AST07",
    atlas="AML.T0010",
)
