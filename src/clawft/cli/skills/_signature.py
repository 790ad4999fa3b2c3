"""The signature of a skill that is here, for whoever looks at it."""

import os
from typing import TYPE_CHECKING, Any

from clawft.app import App
from clawft.cli.skills._verifying import find_sites
from clawft.discovery import Found
from clawft.errors import ClawftError

if TYPE_CHECKING:
    from clawft.signing.check import Signature

__all__ = ["load_signature", "signature_json"]


def load_signature(app: App, found: Found, digest: str) -> "Signature | None":
    """What it is worth now; None where there is none. Raises: ClawftError for a trust file that makes no sense."""
    if not os.path.lexists(os.path.join(found.folder, ".clawft-signature")):
        return None
    from clawft.signing.check import check_signature
    from clawft.signing.publishers import load_publishers
    from clawft.signing.statements import Statement, written_version

    version, owner = _find_locked(app, found) or (written_version(found), "")
    publishers = load_publishers(app.workspace.user_dir)
    return check_signature(found.folder, Statement(found.name, version, digest), publishers, owner=owner)


def _find_locked(app: App, found: Found) -> tuple[str, str] | None:
    """The version and the owner of a skill that was installed, as its lock has them."""
    from clawft.locks.file import load_lock

    name = os.path.basename(found.folder)
    for site in find_sites(app.workspace, "all"):
        try:
            locked = load_lock(site.lock).get(name)
        except ClawftError:  # `verify` tells of it
            continue
        if locked and found.folder in [site.folder(client, name) for client in locked.to]:
            return locked.version, locked.origin.whose
    return None


def signature_json(signature: "Signature | None") -> dict[str, Any] | None:
    """The same for other programs; None for no signature."""
    if signature is None:
        return None
    return {
        "state": signature.state,
        "key": signature.key or None,
        "publisher": signature.publisher or None,
        "reason": signature.reason or None,
    }
