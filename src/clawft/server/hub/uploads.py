"""Uploads that belong to no version yet: signed tickets and receipts, and the space that each token uses."""

import hashlib
import hmac
import re
import secrets
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

import msgspec
from msgspec import Struct

from clawft.server.http.limits import WebError
from clawft.server.hub.database import HubDatabase

TICKET_S = 3_600
_HASH = re.compile(r"[0-9a-f]{64}")
Purpose = Literal["ticket", "receipt"]


def load_key(database: HubDatabase) -> bytes:
    """The key of a hub, made when it is first asked for; all its instances have the same. Raises: ClawftError."""
    with database.write() as execute:
        found = execute("SELECT value FROM hub_meta WHERE key = 'tickets'", ())
        if found:
            return bytes.fromhex(found[0][0])
        key = secrets.token_bytes(32)
        execute("INSERT INTO hub_meta(key, value) VALUES ('tickets', ?)", (key.hex(),))
        return key


class Upload(Struct, frozen=True, array_like=True):
    """One file that a client may upload, or has uploaded."""

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

    def seal(self, purpose: Purpose, upload: Upload) -> str:
        upload = msgspec.structs.replace(upload, until=int(self._clock()) + TICKET_S)
        payload = msgspec.json.encode(upload)
        return urlsafe_b64encode(self._sign(purpose, payload) + payload).rstrip(b"=").decode()

    def check(self, purpose: Purpose, text: str) -> Upload:
        """Raises: WebError."""
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

    def _sign(self, purpose: Purpose, payload: bytes) -> bytes:
        return hmac.digest(self._key, purpose.encode() + b"\0" + payload, hashlib.sha256)


_FORGET_S = 6 * 3_600.0  # when the store sweeps them
_MAX_KNOWN = 10_000


class PendingUploads:
    """The bytes that each token has sent without publishing them, or is sending now. Each instance counts for
    itself."""

    def __init__(self, most: int, most_files: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._most_files = most_files
        self._clock = clock
        self._alone = threading.Lock()
        self._sent: dict[str, tuple[dict[str, int], float]] = {}  # sizes by sha256, and since when
        self._coming: dict[str, int] = {}

    @contextmanager
    def receiving(self, token: str, size: int) -> Iterator[None]:
        """While so many bytes may come. Raises: WebError where it is too much at once."""
        with self._alone:
            coming = self._coming.get(token, 0)
            if coming and coming + size > self._most:
                message = f"Too much is being sent at once: {self._most >> 20} MB are taken"
                raise WebError(429, message, headers={"Retry-After": "2"})
            self._coming[token] = coming + size
        try:
            yield
        finally:
            with self._alone:
                left = self._coming.pop(token, 0) - size
                if left > 0:
                    self._coming[token] = left

    def add(self, token: str, sha256: str, size: int) -> None:
        """Bytes that are kept from now on. Raises: WebError where it is too much."""
        with self._alone:
            files, since = self._get(token)
            if sha256 in files:  # they are kept once
                return
            if sum(files.values()) + size > self._most or len(files) >= self._most_files:
                headers = {"Retry-After": str(max(1, int(since + _FORGET_S - self._clock())))}
                message = f"Too much was sent without being published: {self._most >> 20} MB are kept"
                raise WebError(429, message, headers=headers)
            if len(self._sent) >= _MAX_KNOWN:
                self._sent.pop(next(iter(self._sent)))
            files[sha256] = size
            self._sent[token] = (files, since)

    def settle(self, token: str, hashes: Iterable[str]) -> None:
        """These were published, or taken away."""
        with self._alone:
            files, _ = self._get(token)
            for sha256 in hashes:
                files.pop(sha256, None)

    def is_awaited(self, sha256: str, *, but: str) -> bool:
        """Return whether another token has sent these bytes, and may be about to publish them."""
        with self._alone:
            return any(sha256 in files for token, (files, _) in self._sent.items() if token != but)

    def _get(self, token: str) -> tuple[dict[str, int], float]:
        now = self._clock()
        files, since = self._sent.get(token, ({}, now))
        return (files, since) if now - since < _FORGET_S else ({}, now)
