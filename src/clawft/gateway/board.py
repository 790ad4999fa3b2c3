"""How the channels are, written down for whoever asks from another process."""

import sqlalchemy as sa
from msgspec import Struct

from clawft.gateway.tables import CHANNEL, METADATA
from clawft.run.durable.database import Stored, insert_new, make_tables, translated
from clawft.run.durable.lease import is_gone
from clawft.run.durable.roster import Roster
from clawft.run.durable.values import now_text

__all__ = ["Board", "ChannelRow"]


class ChannelRow(Struct, frozen=True):
    """A channel as its gateway last saw it."""

    name: str
    plugin: str
    owner: str
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
        self._roster = Roster(engine)
        with translated(engine.url):
            make_tables(engine, METADATA)

    def claim(self, name: str, plugin: str, owner: str) -> str:
        """Have a channel for one gateway; the worker of another that has it, or ''.

        Who is alive is known of workers: of one that died, its channels are free.
        """
        empty = {"state": "starting", "since": now_text(), "starts": 0, "refused": 0, "error": "", "error_at": ""}
        row = {"name": name, "plugin": plugin, "owner": owner, **empty}
        alive = [one.id for one in self._roster.workers() if one.id != owner and not is_gone(one)]
        with self._begin() as connection:
            connection.execute(insert_new(connection, CHANNEL).values(row))
            free = sa.and_(CHANNEL.c.name == name, CHANNEL.c.owner.not_in(alive))
            fresh = {"starts": sa.case((CHANNEL.c.owner == owner, CHANNEL.c.starts), else_=0)}
            taken = sa.update(CHANNEL).where(free).values(plugin=plugin, owner=owner, **fresh)
            if connection.execute(taken).rowcount:
                return ""
            return str(connection.execute(sa.select(CHANNEL.c.owner).where(CHANNEL.c.name == name)).scalar())

    def note(self, name: str, owner: str, state: str, *, refused: int, error: str = "") -> None:
        """What became of a channel, by the word of the gateway that has it."""
        changed: dict[str, object] = {"state": state, "since": now_text(), "refused": refused}
        changed |= {"starts": CHANNEL.c.starts + 1} if state == "running" else {}
        changed |= {"error": error, "error_at": now_text()} if error else {}
        self._change(name, owner, changed)

    def keep(self, name: str, owner: str, refused: int) -> bool:
        """Whether a gateway still has a channel; how many messages it refused is noted."""
        return self._change(name, owner, {"refused": refused})

    def _change(self, name: str, owner: str, changed: dict[str, object]) -> bool:
        mine = sa.and_(CHANNEL.c.name == name, CHANNEL.c.owner == owner)
        with self._begin() as connection:
            return bool(connection.execute(sa.update(CHANNEL).where(mine).values(changed)).rowcount)

    def rows(self) -> dict[str, ChannelRow]:
        with self._connect() as connection:
            found = connection.execute(sa.select(CHANNEL).order_by(CHANNEL.c.name)).mappings()
            return {row["name"]: ChannelRow(**row) for row in found}
