"""What `verify`, `audit` and `sync` share: which scopes are meant, how a signature is judged. Light to import."""

import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clawft.errors import ClawftError
from clawft.supply.targets import Site, find_site
from clawft.workspace import Workspace

if TYPE_CHECKING:
    from datetime import datetime

    from clawft.locks.model import LockedSkill
    from clawft.signing.check import Signature
    from clawft.signing.publishers import Publishers

__all__ = ["find_sites", "installed_scope_option", "make_judge"]

_MAX_PROMPT = 1 << 20
F = TypeVar("F", bound=Callable[..., Any])


def installed_scope_option(function: F) -> F:
    choice = click.Choice(["user", "project", "all"])
    text = "Only what was installed for you, or for this project."
    return click.option("--scope", type=choice, default="all", show_default=True, help=text)(function)


def find_sites(workspace: Workspace, scope: str) -> list[Site]:
    """The scopes that are asked for: user, project or all. The home folder alone is no project. Raises: ClawftError."""
    sites = [find_site(workspace, "user")] if scope in ("user", "all") else []
    if scope in ("project", "all"):
        try:
            sites.append(find_site(workspace, "project"))
        except ClawftError:
            if scope == "project":
                raise
    return sites


def make_judge(workspace: Workspace) -> "Callable[[str, LockedSkill], Signature | None]":
    """Tells of a signature that counts no more, None if it does; nothing of it is loaded where none is judged.

    One that never counted is told of only if it is such as is refused: its key was revoked, or it is bad.
    """

    @cache
    def load() -> "Publishers":
        from clawft.signing.publishers import load_publishers

        return load_publishers(workspace.user_dir)

    def judge(folder: str, skill: "LockedSkill") -> "Signature | None":
        if not skill.signed_by and not os.path.lexists(os.path.join(folder, ".clawft-signature")):
            return None
        from clawft.discovery import Location, load_catalog
        from clawft.signing.check import check_signature
        from clawft.signing.statements import Statement

        catalog = load_catalog([Location("dir", folder, folder)], max_prompt_bytes=_MAX_PROMPT)
        named = [one.name for one in catalog.found if one.folder == folder]
        statement = Statement(named[0] if named else skill.name, skill.version, skill.digest)
        publishers = load()
        found = check_signature(folder, statement, publishers, owner=skill.origin.whose)
        if found.state in ("expired", "revoked"):  # what was approved in time stays so
            at = _approved_at(workspace, folder, skill.digest)
            found = check_signature(folder, statement, publishers, owner=skill.origin.whose, at=at)
        counts = found.state == "good" or (not skill.signed_by and found.state not in ("bad", "revoked"))
        return None if counts else found

    return judge


def _approved_at(workspace: Workspace, folder: str, digest: str) -> "datetime | None":
    """When the user approved just this content at this place."""
    from datetime import datetime

    from clawft.app import open_app

    approval = open_app(os.environ, workspace.cwd).approvals.find("skill", folder)
    return datetime.fromisoformat(approval.at) if approval and approval.digest == digest else None
