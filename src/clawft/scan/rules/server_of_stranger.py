"""A server for the agent's tools lives at an address that says nothing of whose it is."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.hosts import Place, host_of, judge_address

__all__ = ["RULE"]


def check_server_of_stranger(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.SEND):
        if not fact.via.startswith("mcp:"):
            continue
        place = judge_address(fact.target)
        if place in (Place.BARE, Place.DROP, Place.SHORT):
            yield Hit(fact, f"The tools of {fact.via[4:]} are served by {host_of(fact.target)}, whoever that is", 0.8)
        elif place is Place.ORDINARY and fact.target.lower().startswith("http://"):
            yield Hit(
                fact, f"The tools of {fact.via[4:]} come over a connection that anyone on the way can change", 0.6
            )


RULE = Rule(
    id="server-of-stranger",
    title="Tools are served by a stranger",
    severity="high",
    category="supply-chain",
    what="An MCP server is reached at a bare address, a tunnel, a drop or a short link, or without encryption.",
    why="Its tool descriptions are instructions to the agent, and all arguments go there.",
    example='{"mcpServers": {"notes": {"url": "http://203.0.113.7:8080/mcp"}}}',
    counter_example='{"mcpServers": {"notes": {"url": "http://localhost:8080/mcp"}}}',
    fix="Use a server under a name that belongs to its vendor, over https.",
    check=check_server_of_stranger,
    owasp="AST05",
    atlas="AML.T0010",
)
