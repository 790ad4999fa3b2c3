"""How far the updates were read, and what is done with each: handed in, or kept until it can be."""

from typing import Any

from clawft.contracts import ChannelHost, PluginError, PluginHost
from telegram_channel.updates import Bot, Ignored, read_update

__all__ = ["PAGE", "Reading"]

PAGE = 100  # updates that are asked for; nobody sees those behind them before some of these are done
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0
_OWN_PAUSE_S = 5.0  # where some senders wrote too much: nobody else waits longer for it
_OWN_FAULT = ("gateway-rate", "gateway-enough")  # as the gateway says so
_MAX_KEPT, _MAX_KEPT_OF_ONE = 1000, 200


class Reading:
    """`offset` is the first update that is not done; some behind it may be. `kept` are updates that Telegram need not
    keep any more: what a sender wrote too much, where others are behind it."""

    def __init__(self, log: PluginHost, host: ChannelHost, bot: Bot, offset: int | None) -> None:
        self._log = log
        self._host = host
        self._bot = bot
        self._ahead: set[int] = set()
        self.kept: dict[int, dict[str, Any]] = {}
        self.offset = offset
        self.pause_s = 0.0

    async def hand_in(self, updates: list[Any]) -> None:
        """Hand in all that can be; whoever has to wait holds up nobody else, and keeps their order."""
        held: dict[str, bool] = {}  # who has to wait, and whether that is by their own fault
        waiting: dict[int, str] = {}
        numbered = {
            one["update_id"]: one for one in updates if isinstance(one, dict) and type(one.get("update_id")) is int
        }
        for number in sorted((numbered.keys() | self.kept.keys()) - self._ahead):
            sender = await self._find_held(self.kept.get(number) or numbered[number], held)
            if sender is not None:
                waiting[number] = sender
            elif self.kept.pop(number, None) is None:
                self._ahead.add(number)
        if len(numbered) >= PAGE:
            self._keep(numbered, {number: who for number, who in waiting.items() if held[who]})
        left = [number for number in waiting if number not in self.kept and number not in self._ahead]
        if numbered:
            self.offset = min(left, default=max(numbered) + 1)
            self._ahead = {number for number in self._ahead if number > self.offset}
        longest_s = _OWN_PAUSE_S if all(held.values()) else _LONGEST_PAUSE_S
        self.pause_s = min(max(self.pause_s * 2, _FIRST_PAUSE_S), longest_s) if left or self.kept else 0.0

    def _keep(self, numbered: dict[int, dict[str, Any]], waiting: dict[int, str]) -> None:
        """Have what fills the page by the fault of its sender out of the way; what is far too much is dropped."""
        senders = [waiting[number] for number in waiting if number in self.kept]
        for number in sorted(waiting.keys() - self.kept.keys()):
            sender = waiting[number]
            if len(senders) < _MAX_KEPT and senders.count(sender) < _MAX_KEPT_OF_ONE:
                senders.append(sender)
                self.kept[number] = numbered[number]
            else:
                self._log.log("warn", f"A message of {sender}, who writes far too much, is dropped")
                self._ahead.add(number)

    async def _find_held(self, update: dict[str, Any], held: dict[str, bool]) -> str | None:
        """Whose update has to wait; None if it is done."""
        try:
            message = read_update(update, self._bot)
        except Ignored as why:
            self._log.log("debug", f"An update is not taken: {why}")
            return None
        if message.sender in held:
            return message.sender
        try:
            await self._host.deliver_inbound(message)
        except PluginError as error:
            self._log.log("info", f"A message of {message.sender} has to wait: {error}")
            held[message.sender] = error.code in _OWN_FAULT
            return message.sender
        return None
