"""What a registry says of many versions in one answer, where it can: questions that come while one is on its way wait
for the next. `weft hub serve` announces it; any other registry is asked one by one.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import msgspec
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.sources.clawhub_wire import Verdicts, Verified
from clawft.sources.fetching import Fetching, Outgoing

__all__ = ["Together"]

_MOST = 100


class _Question(Struct, eq=False):
    slug: str
    owner: str
    version: str
    answered: bool = False
    answer: Verified | None = None


class Together:
    """Questions to one registry. `address` gives where its interface is."""

    def __init__(self, fetching: Fetching, address: Callable[[str], Awaitable[str]]) -> None:
        self.most = 0  # how many versions the registry takes at once; 0: it does not
        self._fetching = fetching
        self._address = address
        self._turn = anyio.Lock()
        self._waiting: list[_Question] = []

    async def ask(self, owner: str, slug: str, version: str) -> Verified | None:
        """What is said of one version; None where it must be asked for by itself, to know at least why."""
        question = _Question(slug, owner, version)
        self._waiting.append(question)
        async with self._turn:
            if not question.answered and self.most:
                most = min(self.most, _MOST)
                now, self._waiting = self._waiting[:most], self._waiting[most:]
                await self._send(now)
        return question.answer

    async def _send(self, questions: list[_Question]) -> None:
        items = [{"slug": one.slug, "ownerHandle": one.owner or None, "version": one.version} for one in questions]
        body = msgspec.json.encode({"items": items})
        try:
            said = await self._fetching.ask(await self._address("skills/-/verify"), Verdicts, Outgoing("POST", body))
        except ClawftError:
            self.most = 0
            said = Verdicts([])
        for one, item in zip(questions, said.items, strict=False):
            one.answer = _read(item, one)
        for one in questions:
            one.answered = True


def _read(item: Any, question: _Question) -> Verified | None:
    """One answer, if it is one, to this very question."""
    try:
        found = msgspec.convert(item, Verified)
    except (msgspec.ValidationError, RecursionError):
        return None
    return found if found.artifact is not None and found.requested_slug == question.slug else None
