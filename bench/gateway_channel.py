"""The code of a channel plugin: it speaks with `gateway_remote.Remote`, by lines of JSON on one connection.

It is copied into a plugin's folder and runs in the plugin's own process.
"""

import asyncio
import json
from typing import Any

from clawft.contracts import (
    Cancel,
    ChannelCapabilities,
    ChannelError,
    ChannelHost,
    InboundMessage,
    OutboundMessage,
    Plugin,
    PluginError,
    PluginHost,
    Unsupported,
)

_BATCH = 20
_PAUSE_S = 0.05


class Line(Plugin):
    """A channel called `line`."""

    name = "line"

    def init(self, host: PluginHost) -> None:
        self._host = host
        self.deduplicates = bool(host.config_value("deduplicates"))
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._turn = asyncio.Lock()

    def capabilities(self) -> ChannelCapabilities:
        return ChannelCapabilities(threads=True)

    def is_running(self) -> bool:
        return self._writer is not None

    async def start(self, host: ChannelHost, cancel: Cancel) -> None:
        try:
            connection = self._host.connect("127.0.0.1", int(self._host.config_value("port")))
            connection.setblocking(False)
            self._reader, self._writer = await asyncio.open_connection(sock=connection, limit=1 << 22)
        except (PluginError, OSError) as error:
            raise ChannelError(str(error)) from error
        try:
            while not cancel.is_set():
                taken = (await self._ask(op="take", most=_BATCH))["messages"]
                groups: dict[str, list[InboundMessage]] = {}
                for one in taken:
                    groups.setdefault(one["conversation"], []).append(InboundMessage(**one))
                await asyncio.gather(*(self._hand_in(host, group) for group in groups.values()))
                if not taken:
                    await asyncio.sleep(_PAUSE_S)
        finally:
            self._writer.close()
            self._reader = self._writer = None

    async def _hand_in(self, host: ChannelHost, messages: list[InboundMessage]) -> None:
        """One after the other, and what is acknowledged was taken."""
        for message in messages:
            try:
                taken = await host.deliver_inbound(message)
            except ChannelError:
                return  # it is given again
            await self._ask(op="ack", id=message.id, taken=taken)

    async def send(self, message: OutboundMessage) -> None:
        done = await self._ask(
            op="send",
            key=message.key,
            conversation=message.conversation,
            text=message.text,
            reply_to=message.reply_to,
            is_repeat=message.is_repeat,
        )
        if not done.get("ok"):
            raise ChannelError("The other side would not have it")

    async def send_payload(self, conversation: str, payload: Any) -> None:
        del conversation, payload
        raise Unsupported("Nothing but text is sent")

    async def _ask(self, **what: Any) -> Any:
        async with self._turn:
            if self._writer is None or self._reader is None:
                raise ChannelError("Not connected")
            self._writer.write(json.dumps(what).encode() + b"\n")
            await self._writer.drain()
            line = await self._reader.readline()
        if not line:
            raise ChannelError("The other side hung up")
        return json.loads(line)
