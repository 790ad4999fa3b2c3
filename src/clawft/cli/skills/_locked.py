"""Names that stand in our locks, for a shell that completes them."""

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["complete_locked"]


def complete_locked(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """The names of installed skills that begin so."""
    from click.shell_completion import CompletionItem

    from clawft.errors import ClawftError
    from clawft.files import read_optional
    from clawft.locks.names import LOCK_NAME, MAX_LOCK_BYTES, find_names
    from clawft.workspace import MARKER, find_workspace

    found: set[str] = set()
    try:
        workspace = find_workspace(os.environ, os.getcwd())
        for folder in (workspace.user_dir, os.path.join(workspace.project, MARKER)):
            found.update(find_names(read_optional(os.path.join(folder, LOCK_NAME), MAX_LOCK_BYTES) or b"") or ())
    except (ClawftError, OSError):
        return []
    return [CompletionItem(name) for name in sorted(found) if name.startswith(incomplete)]
