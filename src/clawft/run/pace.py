"""How many requests a provider gets in a minute, from all processes and machines together.

Requests are spread evenly (GCRA without a burst): what is kept of a provider is the moment before which the next
request must not be sent. Whoever asks takes that moment and moves it on. Only a few seconds are given away ahead; who
comes later asks again. So a clock that jumps does little: forwards, requests go beside those that were given a moment
already, for these few seconds; backwards, all wait for as long, and no longer.
"""

from collections.abc import Callable
from random import uniform

import anyio
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.run.database import Records, work_on

__all__ = ["Pace", "Slot"]

_AHEAD_S = 10.0
_TABLE = "CREATE TABLE IF NOT EXISTS {0}pace(provider TEXT PRIMARY KEY, next DOUBLE PRECISION NOT NULL)"
# Who writes to a row has it for itself until the end of the transaction.
_HOLD = "INSERT INTO {0}pace(provider, next) VALUES (?1, 0) ON CONFLICT(provider) DO UPDATE SET next = {0}pace.next"
_READ = "SELECT next FROM {0}pace WHERE provider = ?1"
_MOVE = "UPDATE {0}pace SET next = ?2 WHERE provider = ?1"


class Slot(Struct, frozen=True):
    """When a request may be sent, in seconds from now; or, if it is not `taken`, when to ask again."""

    wait_s: float
    taken: bool


class Pace:
    """The next moment of each provider, in the record that holds the costs too."""

    def __init__(self, records: Records, clock: Callable[[], float]) -> None:
        self._records = records
        self._clock = clock
        records.prepare(_TABLE.format(records.prefix))

    async def wait(
        self, provider: str, per_minute: float, tell: Callable[[float], None], warn: Callable[[ClawftError], None]
    ) -> None:
        """Returns when the next request may be sent. `tell` hears of each wait, in seconds; `warn` of what is away."""
        while True:
            slot = await work_on(self._records, lambda: self.take(provider, per_minute), warn)
            if slot.wait_s:
                tell(slot.wait_s)
                await anyio.sleep(slot.wait_s)
            if slot.taken:
                return

    def take(self, provider: str, per_minute: float) -> Slot:
        """Take the next moment, unless that is too far ahead. Raises: ClawftError."""
        every_s = 60 / per_minute
        ahead_s = max(_AHEAD_S, every_s)
        with self._records.transaction():
            self._records.execute(_HOLD.format(self._records.prefix), (provider,))
            now = self._clock()  # only now: others may have held it for long
            ((moment,),) = self._records.execute(_READ.format(self._records.prefix), (provider,))
            wait_s = max(moment - now, 0.0)
            if wait_s > ahead_s + every_s:  # nobody can have taken that: the clock was put back
                wait_s = ahead_s
            if wait_s > ahead_s:
                return Slot(ahead_s * uniform(0.4, 0.8), taken=False)  # not all at once
            self._records.execute(_MOVE.format(self._records.prefix), (provider, now + wait_s + every_s))
        return Slot(wait_s, taken=True)
