"""The channel: hands in what comes by mail, sends what is answered, and connects again when a connection breaks."""

import asyncio
import contextlib
import random

from clawft.contracts import (
    Cancel,
    ChannelCapabilities,
    ChannelError,
    ChannelHost,
    InboundMessage,
    MessagePayload,
    OutboundMessage,
    PluginError,
    PluginHost,
    Unsupported,
)
from email_channel.compose import compose, find_recipient, make_message_id
from email_channel.imap import ImapError, LoginRefused
from email_channel.inbox import Inbox
from email_channel.mail import Mail, Refusal
from email_channel.outbox import send_mail
from email_channel.settings import Settings
from email_channel.store import Store, make_conversation
from email_channel.threads import Threads

__all__ = ["EmailChannel"]

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 300.0
_MAX_FAILURES = 4  # in a row, before the gateway hears of it, which then waits longer and longer
_MAX_HELD = 5  # senders; when so many have to wait, everybody has to
_OWN_FAULT = ("gateway-rate", "gateway-enough")  # as the gateway says: nobody else has to wait for these


class EmailChannel:
    """Mail in, mail out. The other side need not notice repeats, though it can: by the Message-ID."""

    name = "email"
    deduplicates = False

    def __init__(self, host: PluginHost, settings: Settings, store: Store, threads: Threads) -> None:
        self._host = host
        self._settings = settings
        self._store = store
        self._run = threads.run
        self._running = False

    def capabilities(self) -> ChannelCapabilities:
        return ChannelCapabilities(threads=True)

    def is_running(self) -> bool:
        return self._running

    async def start(self, host: ChannelHost, cancel: Cancel) -> None:
        """Receive until told to end. Raises: ChannelError for what a person should hear of: waiting may not mend it."""
        failures = 0
        while not cancel.is_set():
            try:
                await self._receive(host, cancel)
            except LoginRefused as error:
                hint = "Check EMAIL_PASSWORD; many providers want a password made for one app"
                raise ChannelError(f"{self._settings.imap.host} refuses the login: {error}", hint=hint) from error
            except (OSError, ImapError, PluginError, ValueError) as error:
                if cancel.is_set():
                    return
                failures = 1 if self._running else failures + 1
                hint = error.hint if isinstance(error, PluginError) else ""
                if failures >= _MAX_FAILURES or getattr(error, "code", "") == "host-refused":
                    raise ChannelError(f"No connection to {self._settings.imap.host}: {error}", hint=hint) from error
                self._host.log("warn", f"No connection to {self._settings.imap.host}, soon again: {error}")
            finally:
                self._running = False
            await _pause(cancel, _FIRST_PAUSE_S * 2**failures * random.uniform(0.3, 0.5))

    async def send(self, message: OutboundMessage) -> None:
        """Answer in the thread. One that is known to have gone out does not go again."""
        settings, recipient = self._settings, find_recipient(message)
        if not await self._run(self._store.was_sent, message.key):
            mail = compose(message, settings)
            await self._run(send_mail, self._host, settings.smtp, mail, settings.address, recipient)
            await self._run(self._store.remember_sent, message.key)
        message_id = make_message_id(message.key, settings.domain)
        await self._run(self._store.remember, recipient.lower(), message_id, message.conversation)

    async def send_payload(self, conversation: str, payload: MessagePayload) -> None:
        raise Unsupported("The email channel sends text only")

    # --- Receiving ---

    async def _receive(self, host: ChannelHost, cancel: Cancel) -> None:
        """One connection, until it breaks or the channel is to end."""
        inbox = Inbox(self._host, self._settings, self._store)
        watcher = asyncio.create_task(_interrupt(cancel, inbox))
        pause = _FIRST_PAUSE_S / 2
        try:
            await self._run(inbox.open)
            self._running = True
            while not cancel.is_set():
                all_done = await self._hand_in(host, inbox, cancel)
                pause = _FIRST_PAUSE_S / 2 if all_done else min(pause * 2, _LONGEST_PAUSE_S)
                longest = self._settings.idle_s if inbox.can_idle else self._settings.poll_s
                await self._wait(inbox, cancel, longest if all_done else min(pause, longest))
        finally:
            watcher.cancel()
            inbox.interrupt()
            inbox.close()

    async def _wait(self, inbox: Inbox, cancel: Cancel, seconds: float) -> None:
        if inbox.can_idle:
            await self._run(inbox.wait, seconds)
        else:
            await _pause(cancel, seconds)
            if not cancel.is_set():
                await self._run(inbox.look)

    async def _hand_in(self, host: ChannelHost, inbox: Inbox, cancel: Cancel) -> bool:
        """Hand in what is new; whether nothing has to come again. Mails of one sender keep their order."""
        held: set[str] = set()
        stuck = 0
        uids = await self._run(inbox.find_new)
        for uid in uids:
            if cancel.is_set() or stuck >= _MAX_HELD:
                return False
            if inbox.senders.get(uid) in held:  # it need not be read again to know that
                continue
            try:
                mail = await self._run(inbox.load, uid)
            except Refusal as refusal:
                self._host.log("info", f"A mail is not taken: {refusal}")
                await self._run(inbox.mark, uid, seen=False)
                continue
            if mail is None:
                continue
            inbox.senders[uid] = mail.sender
            if mail.sender in held:
                continue
            try:
                taken = await self._deliver(host, mail, inbox.name(uid))
            except PluginError as error:
                held.add(mail.sender)
                stuck += error.code not in _OWN_FAULT
                self._host.log("info", f"A mail of {mail.sender} has to wait: {error}")
                continue
            await self._run(inbox.mark, uid, seen=taken)
            del inbox.senders[uid]
        if not held:
            await self._run(inbox.advance, uids)
        return not held

    async def _deliver(self, host: ChannelHost, mail: Mail, fallback: str) -> bool:
        message_id = mail.message_id or fallback
        conversation = await self._run(self._store.find_conversation, mail.sender, mail.references)
        if conversation is None:
            conversation = make_conversation(mail.sender, next(iter(mail.references), message_id))
        subject = "" if mail.references else mail.subject  # of an answer it says nothing new
        message = InboundMessage(
            id=f"{mail.sender}:{message_id}",  # with the sender: nobody can use up the id of another's mail
            sender=mail.sender,
            conversation=conversation,
            text="\n\n".join(filter(None, (subject, mail.text))),
            sender_name=mail.name,
            sent_at=mail.sent_at,
            metadata={
                "address": mail.address,
                "subject": mail.subject,
                "message_id": mail.message_id,
                "references": list(mail.references),
            },
        )
        if not message.text:
            self._host.log("info", f"A mail of {mail.sender} is empty")
            return False
        taken = await host.deliver_inbound(message)
        if taken:
            await self._run(self._store.remember, mail.sender, mail.message_id, conversation)
        return taken


async def _interrupt(cancel: Cancel, inbox: Inbox) -> None:
    await cancel.wait()
    inbox.interrupt()


async def _pause(cancel: Cancel, seconds: float) -> None:
    """Wait so long, or until the channel is to end."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(cancel.wait(), seconds)
