"""Permissions as a set that can be chosen from, one by one, and narrowed."""

import os
from collections.abc import Iterator

import click

from clawft.cli.output import one_line, say
from clawft.cli.plugins._words import permission_words
from clawft.contracts import Permissions
from clawft.files import is_within, real_path
from clawft.trust.covering import covers_host, covers_path, find_held
from clawft.workspace import Workspace, resolve_path

__all__ = ["Keys", "ask_each", "find_within", "from_keys", "to_keys"]

Keys = set[tuple[str, str]]  # kind and value


def to_keys(permissions: Permissions) -> Keys:
    """Each of them."""
    return set(permission_words(permissions))


def from_keys(keys: Keys) -> Permissions:
    """The same the other way round."""

    def values(kind: str) -> tuple[str, ...]:
        return tuple(sorted(value for other, value in keys if other == kind))

    return Permissions(values("filesystem"), values("network"), values("env_vars"), ("shell", "shell") in keys)


def find_within(key: tuple[str, str], asked: Keys, workspace: Workspace) -> tuple[str, str] | None:
    """What a person named, as it is granted: it is asked for, or a part of what is. None for anything else."""
    kind, text = key
    if key in asked:
        return key
    values = sorted(value for other, value in asked if other == kind)
    if kind == "network":
        text = text.strip().lower()
        return (kind, text) if any(covers_host(one, text) for one in values) else None
    if kind == "filesystem":
        return next(((kind, one) for one in _find_paths(text.strip(), values, workspace)), None)
    return None


def _find_paths(text: str, values: list[str], workspace: Workspace) -> Iterator[str]:
    """A path as it is written below one that is asked for: a shell makes `/home/me/Mail` of `~/Mail`."""
    bare = text.removesuffix(":ro")
    path = resolve_path(bare, workspace.project, workspace.home)
    for value in values:
        outer = value.removesuffix(":ro")
        root = resolve_path(outer, workspace.project, workspace.home)
        if not is_within(path, root) or not is_within(real_path(path), real_path(root)):
            continue
        inner = os.path.relpath(path, root)
        found = (outer if inner == "." else os.path.join(outer, inner)) + text[len(bare) :]
        if covers_path(value, found):
            yield found


def ask_each(plugin_id: str, asked: Permissions, granted: Permissions, workspace: Workspace) -> Keys:
    """What a person grants of what is asked for, or parts of it; Enter leaves each as it is."""
    words = permission_words(asked)
    say(one_line(f"{plugin_id} asks for {len(words)} thing{'s' * (len(words) != 1)}. Enter leaves it as it is."))
    chosen: Keys = set()
    for key, text in words.items():
        held = [one for one in find_held(*key, granted) if one == key[1] or (key[0], one) not in words]
        if _can_be_less(*key):
            chosen |= _ask_part(key, one_line(text), held, workspace)
        elif click.confirm(f"  It {one_line(text)}?", bool(held), err=True):
            chosen.add(key)
    return chosen


def _can_be_less(kind: str, value: str) -> bool:
    return kind == "filesystem" or (kind == "network" and value.startswith("*"))


def _ask_part(key: tuple[str, str], text: str, held: list[str], workspace: Workspace) -> Keys:
    def read(said: str) -> Keys:
        if said.strip().lower() in ("y", "yes", "n", "no"):
            return {key} if said.strip().lower().startswith("y") else set()
        parts: Keys = set()
        for one in said.split(","):
            found = find_within((key[0], one.strip()), {key}, workspace)
            if found is None:
                raise click.BadParameter(one_line(f"{one.strip()} is no part of {key[1]}"))
            parts.add(found)
        return parts

    less = "a host" if key[0] == "network" else "a path in it, or with :ro to read only"
    default = "y" if key[1] in held else ", ".join(held) or "n"
    chosen: Keys = click.prompt(f"  It {text}? (y, n, or {less})", default, value_proc=read, err=True)
    return chosen
