"""What was approved, by a short id, and whether it is still what is there."""

import os

from msgspec import Struct

from clawft.app import App
from clawft.discovery.digest import compute_digest
from clawft.discovery.packs import find_pack
from clawft.errors import ClawftError
from clawft.files import read_regular
from clawft.trust.approvals import Approval, hash_bytes

__all__ = ["Listed", "holds", "list_approvals", "matches"]

MAX_BYTES = 8 << 20
_ID = 8


class Listed(Struct, frozen=True):
    """An approval, and what a person may call it by."""

    id: str
    approval: Approval


def list_approvals(app: App) -> list[Listed]:
    """Every approval of the user, by kind, name and place. Raises: ClawftError."""
    approved = (one for one in app.approvals.load() if one.kind != "former")
    known = sorted(approved, key=lambda one: (one.kind, one.name, one.path))
    return [Listed(hash_bytes(f"{one.kind}\0{one.path}".encode("utf-8", "replace"))[7 : 7 + _ID], one) for one in known]


def matches(listed: Listed, name: str) -> bool:
    """Whether a name, an id or a path means this approval."""
    one = listed.approval
    return name in (listed.id, one.name, one.path) or (bool(one.name) and name.rpartition(":")[2] == one.name)


def holds(app: App, one: Approval) -> str:
    """Whether what was approved is what is there now, in a word."""
    if one.kind == "tool":  # a question, which has no file
        return "yes"
    if not os.path.lexists(one.path):
        return "gone"
    if one.kind == "claude-hooks":
        return _holds_commands(app, one)
    if one.kind in ("skill", "hook"):
        covered = one.path if one.kind == "skill" else find_pack(one.path)
        return "yes" if compute_digest(covered).value == one.digest else "changed"
    try:
        return "yes" if hash_bytes(read_regular(one.path, MAX_BYTES, follow=True)[0]) == one.digest else "changed"
    except (ClawftError, OSError):
        return "unreadable"


def _holds_commands(app: App, one: Approval) -> str:
    """The same of command hooks, whose approval covers scripts too. Those of another project are not looked at."""
    from clawft.hooking import load_command_standings

    known = {each.file: each.digest for each in load_command_standings(app, ())}
    if one.path not in known:
        return "elsewhere"
    return "yes" if known[one.path] == one.digest else "changed"
