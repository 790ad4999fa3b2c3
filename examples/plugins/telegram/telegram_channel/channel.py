"""The channel: asks Telegram for news, hands them in, and sends what is answered."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from typing import Any

from clawft.contracts import (
    Cancel,
    ChannelCapabilities,
    ChannelError,
    ChannelHost,
    MessagePayload,
    OutboundMessage,
    PluginHost,
    Unsupported,
)
from telegram_channel.api import Api, ApiError, Stop, Unreachable
from telegram_channel.reading import PAGE, Reading
from telegram_channel.sending import Sender
from telegram_channel.store import Store
from telegram_channel.threads import Threads
from telegram_channel.updates import Bot

__all__ = ["TelegramChannel"]

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
_MAX_CONFLICTS = 3
_MAX_FAILURES = 4  # in a row, before the gateway hears of it, which then waits longer and longer
_HINTS = {
    401: "The token is not valid: ask @BotFather for it, and set TELEGRAM_BOT_TOKEN",
    404: "The token is not valid: ask @BotFather for it, and set TELEGRAM_BOT_TOKEN",
    409: "Another program reads for this bot, or it has a webhook: end it, or use a bot of the agent's own",
}


class TelegramChannel:
    """One bot. Telegram does not notice repeats."""

    name = "telegram"
    deduplicates = False

    def __init__(self, host: PluginHost, api: Api, store: Store, threads: Threads) -> None:
        self._host = host
        self._api = api
        self._store = store
        self._run = threads.run
        self._sender = Sender(api, store, threads)
        self._groups = str(host.config_value("groups") or "mention")
        given = host.config_value("poll_s")
        self._poll_s = 50.0 if given is None else float(given)
        self._running = False

    def capabilities(self) -> ChannelCapabilities:
        return ChannelCapabilities(threads=True)

    def is_running(self) -> bool:
        return self._running

    async def send(self, message: OutboundMessage) -> None:
        await self._sender.send(message)

    async def send_payload(self, conversation: str, payload: MessagePayload) -> None:
        raise Unsupported("The Telegram channel sends text only")

    async def start(self, host: ChannelHost, cancel: Cancel) -> None:
        """Receive until told to end. Raises: ChannelError for what waiting does not mend."""
        stop = Stop()
        watcher = asyncio.create_task(_stop_when(cancel, stop))
        trying = _Trying(self._host, cancel)
        try:
            me = await trying.until_done(lambda: self._run(self._api.call, "getMe"))
            username = str(me.get("username", "")) if isinstance(me, dict) else ""
            bot = Bot(self._api.bot_id, username, self._groups)
            reading = Reading(self._host, host, bot, await self._run(self._store.load_offset, bot.id))
            reading.kept = await self._run(self._store.load_kept, bot.id)
            self._running = True
            while not cancel.is_set():
                updates = await trying.until_done(lambda: self._ask(reading, stop), self._note_trouble)
                self._running = not cancel.is_set()
                await self._take(reading, updates, cancel)
        finally:
            self._running = False
            watcher.cancel()
            stop.set()

    async def _take(self, reading: Reading, updates: Any, cancel: Cancel) -> None:
        """Hand in what came, and only then let Telegram forget it."""
        before, kept = reading.offset, dict(reading.kept)
        await reading.hand_in(updates if isinstance(updates, list) else [])
        if reading.kept != kept:
            await self._run(self._store.save_kept, self._api.bot_id, reading.kept)
        if reading.offset != before and reading.offset is not None:
            await self._run(self._store.save_offset, self._api.bot_id, reading.offset)
        await _pause(cancel, reading.pause_s)

    async def _ask(self, reading: Reading, stop: Stop) -> Any:
        # After trouble: whether it works again is to be known at once.
        wait_s = self._poll_s if self._running and not reading.kept else 0
        wanted = {"timeout": int(wait_s), "limit": PAGE, "allowed_updates": ["message"]}
        if reading.offset is not None:
            wanted["offset"] = reading.offset
        return await self._run(self._api.call, "getUpdates", wanted, wait_s=wait_s, stop=stop)

    def _note_trouble(self) -> None:
        self._running = False


class _Trying:
    """Asks again while Telegram cannot be reached, later each time, until the channel is to end."""

    def __init__(self, host: PluginHost, cancel: Cancel) -> None:
        self._host = host
        self._cancel = cancel
        self._conflicts = 0

    async def until_done(
        self, ask: Callable[[], Awaitable[Any]], note_trouble: Callable[[], None] | None = None
    ) -> Any:
        """What is answered; None when the channel is to end. Raises: ChannelError."""
        pause_s = _FIRST_PAUSE_S
        failures = 0
        while not self._cancel.is_set():
            try:
                answer = await ask()
            except ApiError as error:
                wait_s, said = self._judge(error) or pause_s, str(error)
            except Unreachable as error:
                wait_s, said = pause_s, str(error)
            else:
                self._conflicts = 0
                return answer
            if self._cancel.is_set():
                break
            if note_trouble is not None:
                note_trouble()
            failures += 1
            if failures >= _MAX_FAILURES:
                raise ChannelError(f"Telegram does not answer: {said}")
            self._host.log("warn", f"Telegram is asked again in {wait_s:.0f} s: {said}")
            await _pause(self._cancel, wait_s * random.uniform(1.0, 1.2))
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
        return None

    def _judge(self, error: ApiError) -> float:
        """How long to wait because of an error, 0 if it does not say. Raises: ChannelError."""
        self._conflicts += error.code == 409
        webhook = "webhook" in error.description.lower()
        if error.code in (401, 404) or webhook or self._conflicts >= _MAX_CONFLICTS:
            raise ChannelError(f"Telegram refuses: {error}", hint=_HINTS.get(error.code, "")) from error
        return error.retry_after_s


async def _stop_when(cancel: Cancel, stop: Stop) -> None:
    await cancel.wait()
    stop.set()


async def _pause(cancel: Cancel, seconds: float) -> None:
    """Wait so long, or until the channel is to end."""
    if seconds > 0:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(cancel.wait(), seconds)
