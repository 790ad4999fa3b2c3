"""`weft publishers`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]

_NAMES = ("list", "trust", "revoke", "rotate", "remove", "key", "export")


@click.group(
    "publishers",
    cls=LazyGroup,
    modules={name: f"clawft.cli.publishers.{name}" for name in _NAMES},
    aliases={},
)
def command() -> None:
    """Say whose signatures on skills count, and have a key of your own.

    Keys and signatures are OpenSSH's: what you have in ~/.ssh will do, and `ssh-keygen -Y verify` agrees.
    """
