"""A container is given the machine that it runs on."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]


def check_container_owns_host(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.PRIVILEGE):
        if fact.target.startswith(("privileged container", "container ", "capability ")):
            yield Hit(fact, f"A container gets more than its own world: {fact.target}", 0.7)


RULE = Rule(
    id="container-owns-host",
    title="A container is given the host",
    severity="high",
    category="privilege",
    what="A container runs privileged, or mounts the root, the Docker socket or folders of secrets of the host.",
    why="Whatever runs in it can do anything on the host, so the container protects nothing.",
    example="volumes: [/var/run/docker.sock:/var/run/docker.sock]",
    counter_example="volumes: [./data:/data]",
    fix="Mount the one folder that is needed, and drop the privilege.",
    check=check_container_owns_host,
    owasp="AST06",
    atlas="AML.T0048",
)
