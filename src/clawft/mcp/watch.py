"""What is seen of one connection: that it ended, what it said last, and the last HTTP status that was an error."""

import anyio

from clawft.config.masking import Secrets
from clawft.mcp.plain import clean_text

__all__ = ["MAX_MESSAGE_BYTES", "Watch"]

MAX_MESSAGE_BYTES = 24_000_000  # one message of a server, whichever way it comes: 16 MB of a skill in base64
_KEPT_BYTES = 8_192
_SHOWN_LINES = 5
_SHOWN_CHARS = 600


class Watch:
    """Transports report here; the owner of the connection waits for `ended`."""

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.status = 0
        self._words = b""

    def end(self) -> None:
        """The connection is over, or shall be."""
        self.ended.set()

    def hear(self, data: bytes) -> None:
        """Something a server wrote that is no message: on stderr, or by mistake on stdout."""
        self._words = (self._words + data)[-_KEPT_BYTES:]

    def last_words(self, secrets: Secrets) -> str:
        """The last lines that were heard, fit to be shown."""
        lines = clean_text(secrets.mask(self._words.decode("utf-8", errors="replace"))).splitlines()
        return "\n".join([line for line in lines if line.strip()][-_SHOWN_LINES:])[-_SHOWN_CHARS:]
