"""A seal on files of the user: a code under a secret key, so that a change by another hand is noticed.

The key lies in the same folder. It keeps out who may write the files but not read the key, as a program in the
sandbox or a restored backup of one file; it does not keep out a program that runs with all rights of the user.
"""

import hmac
import os
import shlex
import stat

from clawft.errors import ClawftError, Refused
from clawft.files import create_file, get_hint, read_regular

__all__ = ["KEY_NAME", "Seal"]

KEY_NAME = "trust.key"
KEY_BYTES = 32
_MAX_BYTES = 1 << 20  # what is longer than a key is damaged, and said to be
_EXPOSED = 0o077  # any right of the group or of others


class Seal:
    """Signs with the key of a file, which is made when something is first signed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._key = b""

    def __repr__(self) -> str:
        return f"Seal({self.path!r})"

    def sign(self, content: bytes, label: str) -> str:
        """The seal of a content; `label` says what it is for, so that no seal fits elsewhere. Raises: ClawftError."""
        return _compute(self._load() or self._make(), content, label)

    def holds(self, content: bytes, label: str, mac: str) -> bool:
        """Whether this is the seal of the content; never without a key. Raises: ClawftError, as `sign` does."""
        key = self._load()
        return bool(key) and hmac.compare_digest(_compute(key, content, label).encode(), mac.encode())

    @property
    def is_missing(self) -> bool:
        """Whether there is no key, so that no seal can hold. Raises: ClawftError, as `sign` does."""
        return not self._load()

    def _load(self) -> bytes:
        """The key; nothing where there is none yet. It is read once."""
        if self._key:
            return self._key
        try:
            key, status = read_regular(self.path, _MAX_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return b""
        if stat.S_IMODE(status.st_mode) & _EXPOSED or status.st_uid not in (os.geteuid(), 0):
            message = "Others may read or change the key that seals your approvals and the audit log"
            hint = f"If nobody did: chmod 600 {shlex.quote(self.path)}; else remove it, and approve again"
            raise Refused("seal-exposed", message, path=self.path, hint=hint)
        if len(key) != KEY_BYTES:
            message = f"The key that seals your approvals and the audit log has {len(key)} bytes, not {KEY_BYTES}"
            lost = "what you approved, allowed and granted is lost, and the audit log begins anew"
            hint = f"Restore it from a backup; or move it away: then {lost}"
            raise Refused("seal-damaged", message, path=self.path, hint=hint)
        self._key = key
        return key

    def _make(self) -> bytes:
        """A new key; or the one that another process made meanwhile."""
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            create_file(self.path, os.urandom(KEY_BYTES))
        except OSError as error:
            message = f"No key to seal approvals with can be written: {error.strerror}"
            hint = get_hint(error, self.path)
            raise ClawftError("seal-unwritable", message, path=self.path, hint=hint) from error
        key = self._load()
        if not key:  # removed at once: nothing is signed with no key at all
            raise ClawftError("seal-unwritable", "The key to seal approvals with does not stay", path=self.path)
        return key


def _compute(key: bytes, content: bytes, label: str) -> str:
    return hmac.digest(key, label.encode() + b"\0" + content, "sha256").hex()
