"""Sending an answer, in as many messages as it takes. Telegram drops no repeats, so what went out is written down."""

import asyncio
import re
import time
from typing import Any

from clawft.contracts import ChannelError, OutboundMessage, PluginError, Unsupported
from telegram_channel.api import Api, ApiError, Unreachable
from telegram_channel.store import ALL, Store
from telegram_channel.text import MAX_UNITS, split_text
from telegram_channel.threads import Threads

__all__ = ["Sender"]

_CONVERSATION = re.compile(r"(-?[0-9]{1,20})(?:/([0-9]{1,20}))?")
_REPEAT = "(possibly a repeat)"
# For one answer, before its last request is begun: after 30 s the host would take the plugin for hung
# (plugins.call_timeout_s), and it goes on later from where it was.
_PATIENCE_S = 15.0
_HOPELESS = (400, 403)  # no such chat, or the bot was blocked or removed


class Sender:
    """Sends for one bot."""

    def __init__(self, api: Api, store: Store, threads: Threads) -> None:
        self._api = api
        self._store = store
        self._run = threads.run

    async def send(self, message: OutboundMessage) -> None:
        """Send what of an answer did not go out yet.

        Raises: ChannelError if it was not sent; Unsupported if trying again does not help; else PluginError if nobody
        knows. The gateway then marks what it sends again, but not where that goes on in the middle.
        """
        found = _CONVERSATION.fullmatch(message.conversation)
        if found is None:
            raise Unsupported(f"'{message.conversation[:80]}' is no chat of Telegram")
        where: dict[str, Any] = {"chat_id": int(found[1]), "link_preview_options": {"is_disabled": True}}
        if found[2]:
            where["message_thread_id"] = int(found[2])
        parts = split_text(message.text)
        if not parts:
            raise Unsupported("Telegram takes no message without text")
        patience = _Patience()
        done = await self._run(self._store.count_sent, message.key)
        for index in range(done, len(parts)):
            marked = message.is_repeat and index == done > 0
            for text in _mark(parts[index]) if marked else [parts[index]]:
                await self._send_part({**where, "text": text, **_answering(message, first=index == 0)}, patience)
            await self._run(self._store.remember_sent, message.key, index + 1 if index + 1 < len(parts) else ALL)

    async def _send_part(self, parameters: dict[str, Any], patience: "_Patience") -> None:
        while not patience.is_over:
            try:
                await self._run(self._api.call, "sendMessage", parameters)
                return
            except Unreachable as error:
                raise (PluginError if error.in_doubt else ChannelError)(str(error)) from error
            except ApiError as error:
                moved = error.parameters.get("migrate_to_chat_id")  # a group that became a supergroup
                if isinstance(moved, int) and moved != parameters["chat_id"]:
                    parameters = {**parameters, "chat_id": moved}
                elif not error.retry_after_s or not await patience.wait(error.retry_after_s):
                    kind = PluginError if error.code >= 500 else ChannelError  # a gateway of theirs may be what failed
                    kind = Unsupported if error.code in _HOPELESS else kind
                    raise kind(f"Telegram does not take the answer: {error}") from error
        raise ChannelError("Telegram does not take the answer now")


class _Patience:
    """How long one answer may take, in all."""

    def __init__(self) -> None:
        self._ends = time.monotonic() + _PATIENCE_S

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self._ends

    async def wait(self, seconds: float) -> bool:
        """Wait so long, if that is not too long."""
        if time.monotonic() + seconds > self._ends:
            return False
        await asyncio.sleep(seconds)
        return True


def _mark(part: str) -> list[str]:
    """A part of which nobody knows whether it went out before."""
    marked = f"{_REPEAT}\n\n{part}"
    return [marked] if len(marked.encode("utf-16-le")) <= MAX_UNITS * 2 else [_REPEAT, part]


def _answering(message: OutboundMessage, *, first: bool) -> dict[str, Any]:
    """The message that it answers, so that people see which."""
    answered = message.metadata.get("message_id")
    if not first or type(answered) is not int:
        return {}
    return {"reply_parameters": {"message_id": answered, "allow_sending_without_reply": True}}
