"""The skills of a daemon: read when it starts, kept up to date while it runs, and described once for all who ask."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio import to_thread
from msgspec import Raw, structs

from clawft.app import App
from clawft.describe.skills import describe_skill, digest_of
from clawft.discovery.digest import Digest
from clawft.errors import Diagnostic
from clawft.protocol.base import Answer, to_problem
from clawft.protocol.changes import SkillsChanged
from clawft.protocol.encoding import encode
from clawft.protocol.skills import SkillsList, SkillSummary
from clawft.reloading import Generation, LiveSkills
from clawft.serve.beside import beside
from clawft.serve.topics import Topics
from clawft.trust import Standing

__all__ = ["Described", "SkillRegistry"]

_NAMED = b'{"type":"skills_list","id":%b'
_NAMELESS = _NAMED % b'""'


class Described:
    """All skills of one generation as they are told of, and the same as the bytes of an answer."""

    def __init__(self, generation: Generation, skills: tuple[SkillSummary, ...]) -> None:
        app = generation.app
        self.number = generation.number
        self.skills = skills
        said = (*app.config.diagnostics, *app.catalog.diagnostics)
        self.answer = SkillsList(generation=generation.number, skills=skills, diagnostics=tuple(map(to_problem, said)))
        self.encoded = Raw(encode(self.answer))


class SkillRegistry:
    """A subsystem of the daemon (R172). `live` holds the generation that is current; readers take it once."""

    name = "skills"

    def __init__(self, app: App, topics: Topics) -> None:
        self.live = LiveSkills(app)
        self._topics = topics
        self._described: Described | None = None
        self._describing = anyio.Lock()
        self._digests: dict[str, tuple[object, Digest]] = {}

    @property
    def app(self) -> App:
        """Everything as it was read last."""
        return self.live.current.app

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read the skills, then follow what changes on disk until the block ends. Raises: ClawftError."""
        await self.live.open()
        forget = self.live.subscribe(self._tell)
        async with beside(self.live.run):
            try:
                yield
            finally:
                forget()

    def check(self) -> Diagnostic | None:
        """Why what is served may be older than what is on disk. It is served all the same."""
        failure = self.live.failure
        return structs.replace(failure, severity="warning") if failure else None

    async def describe(self) -> Described:
        """The skills as they are told of now; worked out once for each generation."""
        await self.live.refresh()
        async with self._describing:
            current = self.live.current
            if self._described is None or self._described.number != current.number:
                self._described = await to_thread.run_sync(self._describe, current)
            return self._described

    def encode(self, answer: Answer, request: str = "") -> bytes:
        """An answer with the id of its request. The list of all skills, which is large, is not encoded anew."""
        described = self._described
        if described is None or answer is not described.answer:
            return encode(structs.replace(answer, id=request) if request else answer)
        if not request:
            return bytes(described.encoded)
        return _NAMED % encode(request) + memoryview(described.encoded)[len(_NAMELESS) :]

    def _describe(self, generation: Generation) -> Described:
        standings = sorted(generation.app.skills, key=lambda one: one.name)
        before, self._digests = self._digests, {}
        return Described(generation, tuple(describe_skill(one, self._digest(one, before)) for one in standings))

    def _digest(self, standing: Standing, before: dict[str, tuple[object, Digest]]) -> Digest:
        """Taken again only of what was read again."""
        found = standing.found
        known = before.get(found.file)
        digest = known[1] if known is not None and known[0] is found else digest_of(standing)
        self._digests[found.file] = (found, digest)
        return digest

    def _tell(self, change: SkillsChanged) -> None:
        self._topics.publish("skills", change)
