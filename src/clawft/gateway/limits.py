"""How many messages of each sender are taken (R162). Nothing is kept on disk."""

from collections import OrderedDict
from collections.abc import Callable

from clawft.config.tools import RateLimit
from clawft.sandbox.limit import Limiter

__all__ = ["SenderLimits"]

MAX_SENDERS = 10_000  # that are remembered; of more, those who wrote longest ago begin anew


class SenderLimits:
    """Counts what each sender writes, on a clock that never goes back."""

    def __init__(self, settings: RateLimit, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._known: OrderedDict[str, Limiter] = OrderedDict()

    def take(self, sender: str) -> float:
        """Count a message, and return 0; or how many seconds to wait until one is taken, and count nothing."""
        limiter = self._known.pop(sender, None) or Limiter(self._settings, self._clock)
        self._known[sender] = limiter  # the last who wrote
        if len(self._known) > MAX_SENDERS:
            self._known.popitem(last=False)
        return limiter.try_acquire()
