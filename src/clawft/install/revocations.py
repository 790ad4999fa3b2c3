"""Revocations of signing keys: a skill signed with a revoked key is not used, even if it was approved. Most users have
none."""

import os
import shlex
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from clawft.errors import ClawftError, Diagnostic, Unreadable
from clawft.files import read_optional
from clawft.install.lockfile.model import LOCK_NAME, MAX_LOCK_BYTES
from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.workspace import MARKER, Workspace

if TYPE_CHECKING:  # loaded where a key was revoked
    from clawft.trust.signing.publishers import Publishers


_TRUST_FILE = "publishers.toml"  # as in signing/
_MAX_BYTES = 4 << 20


class Revocations:
    """The revocations in the user's trust file, checked against the keys of signatures and locks, for one app."""

    def __init__(self, workspace: Workspace) -> None:
        self._user_dir = workspace.user_dir
        self._locks = {
            "user": os.path.join(workspace.user_dir, LOCK_NAME),
            "project": os.path.join(workspace.project, MARKER, LOCK_NAME),
        }
        self._signers: dict[str, dict[str, str]] = {}

    def check(self, found: DiscoveredSkill, approved: str) -> Diagnostic | None:
        """Return why a skill is no longer used. `approved` is when it was approved: an approval from before the key was
        stolen still holds."""
        if self._publishers is None:
            return None
        locked = self._load_signers(found.location.scope) if found.location.scope in self._locks else {}
        keys = list(filter(None, (locked.get(os.path.basename(found.folder), ""), _read_signer(found.folder))))
        if not keys:
            return None
        if isinstance(self._publishers, Diagnostic):
            diagnostic = self._publishers
            return Diagnostic("signature-revoked", "warning", diagnostic.message, diagnostic.path, 0, diagnostic.hint)
        at = datetime.fromisoformat(approved) if approved else datetime.now(UTC)
        revoked = next(filter(None, [self._publishers.find_revoked(key, at) for key in keys]), None)
        if revoked is None:
            return None
        day = revoked.at.astimezone(UTC).date().isoformat()
        message = f"The key that signed it was revoked on {day}: {revoked.reason}"
        name = shlex.quote(os.path.basename(found.folder))
        scope = " --scope project" if found.location.scope == "project" else ""
        hint = f"Ask its publisher for one that another key signed, or: weft skills remove {name}{scope}"
        return Diagnostic("signature-revoked", "warning", message, found.file, 0, hint)

    @cached_property
    def _publishers(self) -> "Publishers | Diagnostic | None":
        """None where no key was revoked; what is wrong with a file that cannot be followed: then no key counts."""
        path = os.path.join(self._user_dir, _TRUST_FILE)
        try:
            content = read_optional(path, _MAX_BYTES)
            if content is None or (content.strip() and b"revoked" not in content):
                return None
            from clawft.trust.signing.publishers import load_publishers

            return load_publishers(self._user_dir)
        except ClawftError as error:
            return error.diagnostic

    def _load_signers(self, scope: str) -> dict[str, str]:
        """The key of each signed skill of a lock. One that cannot be read names none: `verify` tells of it."""
        if scope not in self._signers:
            path = self._locks[scope]
            try:
                data = read_optional(path, MAX_LOCK_BYTES) or b""
            except Unreadable:
                data = b""
            self._signers[scope] = _parse_signers(data, path) if b"\nsigned_by" in data else {}
        return self._signers[scope]


def _read_signer(folder: str) -> str:
    """The key that a skill's own signature names, be it worth something or not; '' where there is none."""
    from clawft.trust.signing.signatures import SIGNATURE_NAME
    from clawft.trust.signing.sshsig import MAX_BYTES, parse_signature

    try:
        content = read_optional(os.path.join(folder, SIGNATURE_NAME), MAX_BYTES)
        return parse_signature(content).key.fingerprint if content is not None else ""
    except ClawftError:
        return ""


def _parse_signers(data: bytes, path: str) -> dict[str, str]:
    from clawft.install.lockfile.file import parse_lock

    try:
        return {name: skill.signed_by for name, skill in parse_lock(data, path).items() if skill.signed_by}
    except ClawftError:
        return {}
