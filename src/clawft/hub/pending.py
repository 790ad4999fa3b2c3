"""Bytes that were sent and belong to no version yet: nobody fills the disk with them, nor the memory."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from clawft.web.errors import WebError

__all__ = ["Pending"]

_FORGET_S = 6 * 3_600.0  # when the store sweeps them
_MAX_KNOWN = 10_000


class Pending:
    """What each token has sent without publishing it, and what it is sending. Counted by each instance for itself."""

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
        """Whether another token has sent these bytes, and may be about to publish them."""
        with self._alone:
            return any(sha256 in files for token, (files, _) in self._sent.items() if token != but)

    def _get(self, token: str) -> tuple[dict[str, int], float]:
        now = self._clock()
        files, since = self._sent.get(token, ({}, now))
        return (files, since) if now - since < _FORGET_S else ({}, now)
