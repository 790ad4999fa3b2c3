"""The parts of a gateway on a real database, with a channel in this process and no worker."""

from collections.abc import Callable
from pathlib import Path

import anyio
import sqlalchemy as sa
from msgspec import structs

from clawft.agent.run_request import RunRequest
from clawft.config.jobs import ChannelSettings, GatewaySettings, RunsSettings
from clawft.contracts import Cancel, ChannelCapabilities, ChannelHost, InboundMessage, MessagePayload, OutboundMessage
from clawft.errors import ClawftError
from clawft.jobs.channels.gateway import Gateway
from clawft.jobs.channels.intake import GatewayContext, make_gateway_context
from clawft.jobs.run_state import Run
from clawft.jobs.runs import Runs
from clawft.trust.audit import AuditLog
from clawft.trust.records import Seal

__all__ = ["EVERYBODY", "Adapter", "Desk", "message", "until"]

EVERYBODY = GatewaySettings(channels={"line": ChannelSettings(allow=("*",))})


def message(number: int, conversation: str = "c", **more: str) -> InboundMessage:
    return InboundMessage(
        **{"id": f"m{number}", "sender": "ann", "conversation": conversation, "text": f"text {number}", **more}  # type: ignore[arg-type]
    )


class Adapter:
    """A channel in this process: what it sent is in `sent`, and `failing` is raised instead, one after the other."""

    def __init__(self, name: str = "line", *, deduplicates: bool = False) -> None:
        self.name = name
        self.deduplicates = deduplicates
        self.sent: list[OutboundMessage] = []
        self.failing: list[Exception] = []
        self.ending: list[Exception | None] = []  # of its next lives
        self.lives = 0
        self.host: ChannelHost | None = None

    def capabilities(self) -> ChannelCapabilities:
        return ChannelCapabilities()

    def is_running(self) -> bool:
        return self.host is not None

    async def start(self, host: ChannelHost, cancel: Cancel) -> None:
        self.lives += 1
        if self.ending and (error := self.ending.pop(0)):
            raise error
        self.host = host
        try:
            await cancel.wait()
        finally:
            self.host = None

    async def send(self, message: OutboundMessage) -> None:
        if self.failing:
            raise self.failing.pop(0)
        self.sent.append(message)

    async def send_payload(self, conversation: str, payload: MessagePayload) -> None:
        raise NotImplementedError


class Desk:
    """A gateway's parts, and a worker's hand: `finish` ends runs as a worker would."""

    def __init__(self, folder: Path, url: str = "") -> None:
        self.folder = folder
        self.runs: Runs = Runs(RunsSettings(database=url), str(folder), {})
        _ = self.runs.engine  # its tables
        self.store = self.runs.store
        self.lines: list[str] = []
        self.warnings: list[ClawftError] = []
        self.audit = AuditLog(str(folder / "audit.jsonl"), Seal(str(folder / "key")))

    def means(self, settings: GatewaySettings = EVERYBODY, owner: str = "here") -> GatewayContext:
        request = RunRequest(kind="gateway", cwd=str(self.folder))
        voices = (lambda text, _about: self.lines.append(text), self.warnings.append)
        means = make_gateway_context(settings, self.store, self.audit, request, voices, owner)
        return structs.replace(means, poll_s=0.01)

    def gateway(self, *adapters: Adapter, settings: GatewaySettings = EVERYBODY) -> Gateway:
        return Gateway(self.means(settings), [(one, f"test.{one.name}") for one in adapters])

    def open(self) -> list[Run]:
        """Runs that nobody did yet, by what they are asked."""
        return sorted(self.store.list(statuses=("queued",)), key=lambda one: one.request.text)

    def finish(self, run: Run, result: str | None = None, *, status: str = "done", error: str | None = None) -> None:
        assert self.store.begin(run.id, run.attempt, "w")
        text = f"re: {run.request.text}" if result is None else result
        assert self.store.finish(run.id, run.attempt, status, result=text, error=error)  # type: ignore[arg-type]

    def count(self, table: sa.Table) -> int:
        with self.runs.database.connect() as connection:
            return connection.execute(sa.select(sa.func.count()).select_from(table)).scalar() or 0


async def until(look: Callable[[], object], seconds: float = 10) -> None:
    """Until `look` gives something. Raises: TimeoutError."""
    with anyio.fail_after(seconds):
        while not look():
            await anyio.sleep(0.01)
