"""Permissions as a set that can be chosen from, one by one."""

import click

from clawft.cli.output import one_line, say
from clawft.cli.plugins._words import permission_words
from clawft.contracts import Permissions

__all__ = ["Keys", "ask_each", "from_keys", "to_keys"]

Keys = set[tuple[str, str]]  # kind and value


def to_keys(permissions: Permissions) -> Keys:
    """Each of them."""
    return set(permission_words(permissions))


def from_keys(keys: Keys) -> Permissions:
    """The same the other way round."""

    def values(kind: str) -> tuple[str, ...]:
        return tuple(sorted(value for other, value in keys if other == kind))

    return Permissions(values("filesystem"), values("network"), values("env_vars"), ("shell", "shell") in keys)


def ask_each(plugin_id: str, asked: Permissions, granted: Keys) -> Keys:
    """What a person grants of what is asked for; Enter leaves each as it is."""
    words = permission_words(asked)
    say(one_line(f"{plugin_id} asks for {len(words)} thing{'s' * (len(words) != 1)}. Enter leaves it as it is."))
    return {key for key, text in words.items() if click.confirm(f"  It {one_line(text)}?", key in granted, err=True)}
