"""Bytes that were sent and belong to no version yet: nobody fills the disk with them."""

import threading
import time
from collections.abc import Callable

from clawft.hub.errors import HubError

__all__ = ["Pending"]

_FORGET_S = 6 * 3_600.0  # when the store sweeps them
_MAX_KNOWN = 10_000


class Pending:
    """How much each token has sent without publishing it. Counted by each instance for itself."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._alone = threading.Lock()
        self._sent: dict[str, tuple[int, float]] = {}  # bytes, and since when

    def add(self, token: str, size: int) -> None:
        """Raises: HubError where it is too much."""
        with self._alone:
            sent, since = self._get(token)
            if sent + size > self._most:
                headers = {"Retry-After": str(max(1, int(since + _FORGET_S - self._clock())))}
                message = f"Too much was sent without being published: {self._most >> 20} MB are kept"
                raise HubError(429, message, headers=headers)
            if len(self._sent) >= _MAX_KNOWN:
                self._sent.pop(next(iter(self._sent)))
            self._sent[token] = (sent + size, since)

    def settle(self, token: str, size: int) -> None:
        """So many of them were published."""
        with self._alone:
            sent, since = self._get(token)
            self._sent[token] = (max(0, sent - size), since)

    def _get(self, token: str) -> tuple[int, float]:
        now = self._clock()
        sent, since = self._sent.get(token, (0, now))
        return (sent, since) if now - since < _FORGET_S else (0, now)
