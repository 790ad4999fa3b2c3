"""The section `[permissions]`: what is allowed, asked for and denied whatever the mode, as patterns of tools."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from clawft.config.load import Config

__all__ = ["KINDS", "Kind", "PermissionsSettings", "Section", "Written", "list_rules"]

Kind = Literal["deny", "ask", "allow"]
KINDS: tuple[Kind, ...] = ("deny", "ask", "allow")  # each beats those after it


class PermissionsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[permissions]`: patterns such as `Bash(git push:*)`, `Edit(docs/**)`, `WebFetch(domain:example.org)`,
    `github__*`. The user's and the project's add up."""

    #: What is done without a question, though it would be asked for. What a policy refuses stays refused.
    allow: tuple[str, ...] = ()
    #: What is asked for each time, also where it would be done unasked.
    ask: tuple[str, ...] = ()
    #: What is never done.
    deny: tuple[str, ...] = ()


class Written(Struct, frozen=True):
    """A rule as it stands in a file, or in a variable."""

    kind: Kind
    text: str
    source: str


def list_rules(config: Config) -> Iterator[Written]:
    """Every rule with where it stands: files do not replace each other's, they add to them."""
    for kind in KINDS:
        for layer in config.layers:
            section = layer.values.get("permissions", {})
            texts = section.get(kind, ()) if isinstance(section, dict) else ()
            for text in texts if isinstance(texts, list | tuple) else ():
                yield Written(kind, str(text), layer.source)


Section = PermissionsSettings
