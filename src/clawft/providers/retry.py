"""Which failures may pass, and how long to wait before the next try."""

import math
import random
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from clawft.providers.request import ProviderError

__all__ = ["RETRIED", "Passing", "parse_retry_after", "wait_before"]

RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_FIRST_WAIT_S = 0.5
_LONGEST_BACKOFF_S = 8.0
_LONGEST_WAIT_S = 60.0


class Passing(ProviderError):
    """A failure that may pass. `retry_after_s` is what the server asked for."""

    retry_after_s: float | None = None


def wait_before(attempt: int, retry_after_s: float | None) -> float:
    """Seconds before the next try: what the server asked for within reason, else twice as long each time.

    Up to a quarter is left to chance, so that clients that failed together do not come back together.
    """
    if retry_after_s is not None:
        return min(max(retry_after_s, 0.0), _LONGEST_WAIT_S)
    backoff = min(_FIRST_WAIT_S * 2.0 ** (attempt - 1), _LONGEST_BACKOFF_S)
    return backoff * random.uniform(0.75, 1.0)


def parse_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds from `retry-after-ms` or `Retry-After`, which holds seconds or a date."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    written = headers.get("retry-after", "").strip()
    seconds = _number(written)
    if seconds is not None or not written:
        return seconds
    try:
        moment = parsedate_to_datetime(written)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return None


def _number(written: str) -> float | None:
    try:
        value = float(written)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
