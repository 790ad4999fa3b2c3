"""`weft skills`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]


@click.group(
    "skills",
    cls=LazyGroup,
    modules={
        name: f"clawft.cli.skills.{name}"
        for name in (
            "list",
            "install",
            "update",
            "remove",
            "deps",
            "verify",
            "sync",
            "audit",
            "show",
            "why",
            "run",
            "render",
            "validate",
            "fix",
            "scan",
            "allow",
            "trust",
            "env",
            "search",
            "stats",
            "pin",
            "enable",
            "disable",
            "sign",
            "publish",
            "new",
            "pack",
        )
    },
    aliases={"info": "show", "uninstall": "remove"},
)
def command() -> None:
    """List, explain, run, approve, check and mend skills."""
