"""How the channels are, written down for whoever asks from another process."""

import sqlalchemy as sa
from msgspec import Struct

from clawft.gateway.tables import CHANNEL, METADATA
from clawft.run.durable.database import Stored, insert_new, make_tables, translated
from clawft.run.durable.values import now_text

__all__ = ["Board", "ChannelRow"]


class ChannelRow(Struct, frozen=True):
    """A channel as its gateway last saw it."""

    name: str
    plugin: str
    state: str
    since: str
    starts: int
    refused: int
    error: str
    error_at: str


class Board(Stored):
    """The channels there are or were."""

    def __init__(self, engine: sa.Engine) -> None:
        super().__init__(engine)
        with translated(engine.url):
            make_tables(engine, METADATA)

    def open(self, name: str, plugin: str) -> None:
        """A gateway begins to keep a channel."""
        fresh = {"plugin": plugin, "state": "starting", "since": now_text(), "starts": 0, "refused": 0}
        with self._begin() as connection:
            if not connection.execute(sa.update(CHANNEL).where(CHANNEL.c.name == name).values(fresh)).rowcount:
                row = {"name": name, **fresh, "error": "", "error_at": ""}
                connection.execute(insert_new(connection, CHANNEL).values(row))

    def note(self, name: str, state: str, *, refused: int, error: str = "") -> None:
        """What became of a channel."""
        changed: dict[str, object] = {"state": state, "since": now_text(), "refused": refused}
        changed |= {"starts": CHANNEL.c.starts + 1} if state == "running" else {}
        changed |= {"error": error, "error_at": now_text()} if error else {}
        self._change(name, changed)

    def count(self, name: str, refused: int) -> None:
        self._change(name, {"refused": refused})

    def _change(self, name: str, changed: dict[str, object]) -> None:
        with self._begin() as connection:
            connection.execute(sa.update(CHANNEL).where(CHANNEL.c.name == name).values(changed))

    def rows(self) -> dict[str, ChannelRow]:
        with self._connect() as connection:
            found = connection.execute(sa.select(CHANNEL).order_by(CHANNEL.c.name)).mappings()
            return {row["name"]: ChannelRow(**row) for row in found}
