"""Help topics: Markdown beside this file that reads well as it is. Who prints one fills in its marks `<!-- name -->`.

Nothing here knows of commands or settings: what follows from them is made above and handed in.
"""

import os
import re
from collections.abc import Mapping

from clawft.errors import NotFound, find_close

__all__ = ["get_topic_summary", "list_topics", "load_topic", "render_topic"]

_TOPICS = (
    "skills",
    "writing",
    "needs",
    "agents",
    "commands",
    "config",
    "memory",
    "tools",
    "workspace",
    "models",
    "sessions",
    "runs",
    "gateway",
    "security",
    "permissions",
    "hooks",
    "plugins",
    "install",
    "publishing",
    "hub",
    "scan",
    "cron",
    "serve",
    "reload",
    "mcp",
)
_MARK = re.compile(r"<!-- ([a-z]+) -->")
_SENTENCE = re.compile(r"(.+?)(?:\.|:(?=\n))(?:\s|$)", re.DOTALL)


def list_topics() -> tuple[str, ...]:
    """Every topic, the first to read first."""
    return _TOPICS


def load_topic(name: str) -> str:
    """The Markdown of a topic, with its marks. Raises: NotFound with the close match."""
    if name not in _TOPICS:
        close = find_close(name, _TOPICS)
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft help"
        raise NotFound("topic-not-found", f"No topic '{name}'", hint=hint)
    with open(os.path.join(os.path.dirname(__file__), f"{name}.md"), encoding="utf-8") as file:
        return file.read()


def render_topic(name: str, inserts: Mapping[str, str]) -> str:
    """A topic with its marks filled in; `inserts` holds a text for each of them. Raises: NotFound."""
    return _MARK.sub(lambda mark: inserts[mark[1]], load_topic(name))


def get_topic_summary(name: str) -> str:
    """The first sentence of a topic. Raises: NotFound."""
    first = _SENTENCE.match(load_topic(name))
    return f"{' '.join(first[1].split())}." if first else ""
