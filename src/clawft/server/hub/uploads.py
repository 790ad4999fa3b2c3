"""Tickets to upload one file, and receipts for it: nothing of them is kept, each carries the hub's own seal.

A ticket says whose token asked, for which path, and which bytes are meant. A receipt says the same of bytes that came:
who only knows the hash of somebody's file cannot publish it as their own.
"""

import hashlib
import hmac
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64
from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Struct

from clawft.hub.database import Database
from clawft.web.errors import WebError

__all__ = ["Tickets", "Upload", "load_key"]

TICKET_S = 3_600
_HASH = re.compile(r"[0-9a-f]{64}")
_Purpose = Literal["ticket", "receipt"]


def load_key(database: Database) -> bytes:
    """The key of a hub, made when it is first asked for; all its instances have the same. Raises: ClawftError."""
    with database.write() as execute:
        found = execute("SELECT value FROM hub_meta WHERE key = 'tickets'", ())
        if found:
            return bytes.fromhex(found[0][0])
        key = secrets.token_bytes(32)
        execute("INSERT INTO hub_meta(key, value) VALUES ('tickets', ?)", (key.hex(),))
        return key


class Upload(Struct, frozen=True, array_like=True):
    """One file that somebody may upload, or has uploaded."""

    token: str
    path: str
    sha256: str
    size: int
    content_type: str
    until: int = 0  # seconds since 1970

    def __post_init__(self) -> None:
        if not _HASH.fullmatch(self.sha256) or self.size < 0:
            raise ValueError("a file has a size and a sha256")


class Tickets:
    """Makes and checks them under a key that all instances of a hub share."""

    def __init__(self, key: bytes, clock: Callable[[], float]) -> None:
        self._key = key
        self._clock = clock

    def make_ticket(self, upload: Upload) -> str:
        return self._seal("ticket", msgspec.structs.replace(upload, until=int(self._clock()) + TICKET_S))

    def make_receipt(self, upload: Upload) -> str:
        return self._seal("receipt", msgspec.structs.replace(upload, until=int(self._clock()) + TICKET_S))

    def check_ticket(self, text: str) -> Upload:
        """Raises: WebError."""
        return self._check("ticket", text)

    def check_receipt(self, text: str) -> Upload:
        """Raises: WebError."""
        return self._check("receipt", text)

    def _seal(self, purpose: _Purpose, upload: Upload) -> str:
        payload = msgspec.json.encode(upload)
        return urlsafe_b64encode(self._sign(purpose, payload) + payload).rstrip(b"=").decode()

    def _check(self, purpose: _Purpose, text: str) -> Upload:
        try:
            raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except (BadBase64, ValueError) as error:
            raise WebError(403, f"This is no upload {purpose} of this hub") from error
        seal, payload = raw[:32], raw[32:]
        if not hmac.compare_digest(seal, self._sign(purpose, payload)):
            raise WebError(403, f"This is no upload {purpose} of this hub")
        upload = msgspec.json.decode(payload, type=Upload)
        if upload.until < self._clock():
            raise WebError(403, f"The upload {purpose} has expired")
        return upload

    def _sign(self, purpose: _Purpose, payload: bytes) -> bytes:
        return hmac.digest(self._key, purpose.encode() + b"\0" + payload, hashlib.sha256)
