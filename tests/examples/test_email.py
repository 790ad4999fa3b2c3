"""The email channel against a real IMAP and a real SMTP server on this machine."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from channel_hosts import DirectHost, Gate, running, until
from mail_servers import BOT, PASSWORD, TLS, Dovecot, Mailbox, Postbox, has_dovecot

from clawft.contracts import ChannelError, InboundMessage, OutboundMessage, PluginError, Unsupported
from email_channel.plugin import EmailPlugin

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not has_dovecot(), reason="Dovecot is not installed"),
]
Make = Callable[..., EmailPlugin]
ALICE = "alice@example.org"
_numbers = count(1)


@pytest.fixture(scope="module")
def dovecot() -> Iterator[Dovecot]:
    with Dovecot() as server:
        yield server


@pytest.fixture(scope="module")
def postbox() -> Iterator[Postbox]:
    with Postbox() as server:
        yield server


@pytest.fixture
def box(dovecot: Dovecot) -> Mailbox:
    """The agent's mailbox, empty."""
    return dovecot.add()


@pytest.fixture
def hosts() -> list[DirectHost]:
    """The host of every plugin that was made."""
    return []


@pytest.fixture
def make(
    tmp_path: Path, box: Mailbox, postbox: Postbox, hosts: list[DirectHost], monkeypatch: pytest.MonkeyPatch
) -> Make:
    """The plugin, ready to start, and in a hurry; keyword arguments change its settings."""
    monkeypatch.setattr("email_channel.channel._FIRST_PAUSE_S", 0.1)
    (tmp_path / "ca.pem").write_bytes((TLS / "cert.pem").read_bytes())
    postbox.mails.clear()
    postbox.refuse = ""
    postbox.hang_up = False
    postbox.delay_s = 0.0

    def build(password: str = PASSWORD, imap: dict[str, Any] | None = None, **more: Any) -> EmailPlugin:
        config = {
            "address": BOT,
            "name": "The Ägent",
            "username": box.name,
            "imap": {"host": "127.0.0.1", "port": box.server.tls_port, "security": "tls"} | (imap or {}),
            "smtp": {"host": "127.0.0.1", "port": postbox.port, "security": "starttls"},
            "authserv_id": "mx.example.com",
            "ca_file": "ca.pem",
            "idle_s": 0.1,  # Dovecot tells who waits only after half a second
            **more,
        }
        plugin = EmailPlugin()
        hosts.append(DirectHost(tmp_path, config, {"EMAIL_PASSWORD": password}))
        plugin.init(hosts[-1])
        return plugin

    return build


def write(text: str = "Hello", sender: str = ALICE, **headers: str) -> bytes:
    """A mail as it lies in a mailbox, checked by the server that took it in."""
    domain = sender.rpartition("@")[2].rstrip(">")
    given = {
        "Authentication-Results": f"mx.example.com; dmarc=pass header.from={domain}",
        "From": sender,
        "To": BOT,
        "Subject": "A question",
        "Message-ID": f"<m{next(_numbers)}@example.org>",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value)
    return (head + "\r\n" + text.replace("\n", "\r\n") + "\r\n").encode()


def answer(to: InboundMessage, text: str = "Hi.", key: str = "k1", *, is_repeat: bool = False) -> OutboundMessage:
    return OutboundMessage(
        key=key, conversation=to.conversation, text=text, reply_to=to.id, is_repeat=is_repeat, metadata=to.metadata
    )


@pytest.mark.parametrize("security", ["tls", "starttls", "plain"])
async def test_a_mail_comes_in_while_the_channel_waits(make: Make, box: Mailbox, security: str) -> None:
    gate = Gate()
    port = box.server.tls_port if security == "tls" else box.server.port
    async with running(make(imap={"port": port, "security": security}, idle_s=240), gate):
        await asyncio.to_thread(box.deliver, write("Hello, agent", "Alice <Alice@Example.org>"))
        await until(lambda: gate.taken)
        (message,) = gate.taken
        assert (message.sender, message.sender_name) == (ALICE, "Alice")
        assert message.text == "A question\n\nHello, agent"
        await until(lambda: box.flags() == ["$ClawftDone \\Seen"])


async def test_what_was_there_before_the_first_start_is_left_alone_and_what_came_since_is_not(
    make: Make, box: Mailbox
) -> None:
    box.deliver(write("old"))
    gate = Gate()
    async with running(make(), gate):
        await asyncio.to_thread(box.deliver, write("one"))
        await until(lambda: gate.taken)
    box.deliver(write("two"), write("three"))  # while the channel is away
    async with running(make(), gate):
        await until(lambda: len(gate.taken) == 3)
    assert [one.text.split("\n\n")[1] for one in gate.taken] == ["one", "two", "three"]
    assert box.flags()[0] == ""


async def test_an_answer_stays_in_the_thread_and_the_thread_is_one_conversation(
    make: Make, box: Mailbox, postbox: Postbox
) -> None:
    gate = Gate()
    async with running(make(), gate) as channel:
        await asyncio.to_thread(box.deliver, write(Message_ID="<root@example.org>", Subject="Gräße"))
        await until(lambda: gate.taken)
        await channel.send(answer(gate.taken[0], "Grüße zurück"))
    recipient, mail = postbox.mails[0]
    assert recipient == ALICE
    assert (mail["In-Reply-To"], mail["References"]) == ("<root@example.org>", "<root@example.org>")
    assert mail["Auto-Submitted"] == "auto-replied"
    assert mail.get_payload(decode=True) == "Grüße zurück\r\n".encode()
    assert b"=?utf-8?" in mail["Subject"].encode()
    # After a restart, by a program that names only the mail it answers: that of the agent.
    async with running(make(), gate) as channel:
        await asyncio.to_thread(box.deliver, write("And now?", In_Reply_To=mail["Message-ID"], Subject="Re: Other"))
        await until(lambda: len(gate.taken) == 2)
        first, second = gate.taken
        assert second.conversation == first.conversation
        assert second.text == "And now?"
        await channel.send(answer(second, key="k2"))
    again = postbox.mails[1][1]
    assert again["In-Reply-To"] == second.metadata["message_id"]
    assert again["References"].split() == [mail["Message-ID"], second.metadata["message_id"]]
    assert again["Subject"] == "Re: Other"


async def test_nobody_joins_the_thread_of_another_by_naming_it(make: Make, box: Mailbox) -> None:
    gate = Gate()
    async with running(make(), gate):
        await asyncio.to_thread(box.deliver, write(Message_ID="<root@example.org>"))
        await asyncio.to_thread(
            box.deliver,
            write(sender="eve@example.net", References="<root@example.org>", Message_ID="<root@example.org>"),
        )
        await until(lambda: len(gate.taken) == 2)
    alice, eve = gate.taken
    assert eve.conversation != alice.conversation
    assert eve.conversation.startswith("eve@example.net/")
    assert eve.id != alice.id  # nor does she use up the id of Alice's mail


async def test_a_mail_is_marked_only_when_it_was_taken(make: Make, box: Mailbox) -> None:
    gate = Gate(*[ChannelError("too many wait")] * 1000)
    async with running(make(), gate):
        await asyncio.to_thread(box.deliver, write("later"))
        await until(lambda: len(gate.tried) >= 2)
        assert await asyncio.to_thread(box.flags) == [""]
        gate.answers = [False]  # refused for good
        await until(lambda: box.flags() == ["$ClawftDone"])
        assert {one.id for one in gate.tried} == {gate.tried[0].id}
    tried = len(gate.tried)
    async with running(make(), gate):
        await asyncio.to_thread(box.deliver, write("next"))
        await until(lambda: gate.taken)
    assert len(gate.tried) == tried + 1


async def test_mails_of_a_sender_who_has_to_wait_keep_their_order_and_hold_up_nobody(make: Make, box: Mailbox) -> None:
    gate = Gate(ChannelError("too fast"))
    async with running(make(), Gate()):  # so that the mailbox is known
        pass
    box.deliver(write("one"), write("two"), write("other", "bob@example.net"))
    async with running(make(), gate):
        await until(lambda: len(gate.taken) == 3)
    assert [one.text.split("\n\n")[1] for one in gate.taken] == ["other", "one", "two"]


async def test_senders_who_write_too_much_hold_up_nobody_however_many_they_are(make: Make, box: Mailbox) -> None:
    async with running(make(), Gate()):
        pass
    box.deliver(*(write("x", f"eve{number}@example.net") for number in range(6)), write("other", "bob@example.net"))
    gate = Gate(*(ChannelError("too fast", code="gateway-rate") for _ in range(6)))
    async with running(make(), gate):
        await until(lambda: gate.taken)
        assert gate.taken[0].sender == "bob@example.net"
        await until(lambda: len(gate.taken) == 7)


async def test_a_broken_connection_is_made_again(make: Make, box: Mailbox, hosts: list[DirectHost]) -> None:
    gate = Gate()
    async with running(make(idle_s=240), gate):
        await asyncio.to_thread(box.kick)
        await until(lambda: any("No connection" in line for line in hosts[0].logged))
        await asyncio.to_thread(box.deliver, write("still here?"))
        await until(lambda: gate.taken)


async def test_a_mailbox_whose_mails_were_numbered_anew_loses_none_and_repeats_none(make: Make, box: Mailbox) -> None:
    gate = Gate()
    async with running(make(), gate):
        await asyncio.to_thread(box.deliver, write("one"))
        await until(lambda: box.flags() == ["$ClawftDone \\Seen"])
    box.deliver(write("two"))
    box.number_anew()
    async with running(make(), gate):
        await until(lambda: len(gate.taken) == 2)
    assert [one.text.split("\n\n")[1] for one in gate.tried] == ["one", "two"]


async def test_a_server_without_idle_is_asked_again_and_again(make: Make, dovecot: Dovecot) -> None:
    box = dovecot.add(idle=False)
    gate = Gate()
    async with running(make(username=box.name, poll_s=0.05), gate):
        await asyncio.to_thread(box.deliver, write("polled"))
        await until(lambda: gate.taken)


async def test_what_nobody_vouches_for_and_what_a_program_sent_is_not_taken(make: Make, box: Mailbox) -> None:
    gate = Gate()
    async with running(make(), gate):
        forged = write("forged", Authentication_Results="mx.example.com; dmarc=fail header.from=example.org")
        away = write("I am on holiday", Auto_Submitted="auto-replied")
        genuine = write("genuine", Authentication_Results="mx.example.com; dkim=pass header.i=@example.org")
        await asyncio.to_thread(box.deliver, forged, away, genuine)
        await until(lambda: gate.taken)
        await until(lambda: box.flags() == ["$ClawftDone", "$ClawftDone", "$ClawftDone \\Seen"])
    assert [one.text for one in gate.tried] == ["A question\n\ngenuine"]


async def test_without_authentication_mail_is_taken_only_where_the_user_says_so(make: Make, box: Mailbox) -> None:
    gate = Gate()
    async with running(make(require_authentication=False, authserv_id=""), gate):
        await asyncio.to_thread(box.deliver, write(Authentication_Results=""))
        await until(lambda: gate.taken)
    with pytest.raises(PluginError, match="authserv_id"):
        make(authserv_id="")


async def test_an_answer_that_went_out_does_not_go_again_and_the_same_answer_has_the_same_id(
    make: Make, box: Mailbox, postbox: Postbox, tmp_path: Path
) -> None:
    gate = Gate()
    async with running(make(), gate) as channel:
        await asyncio.to_thread(box.deliver, write())
        await until(lambda: gate.taken)
        await channel.send(answer(gate.taken[0]))
        await channel.send(answer(gate.taken[0], is_repeat=True))
        assert len(postbox.mails) == 1
    (tmp_path / "email.db").unlink()  # as if it had been killed before it could write down what it sent
    async with running(make(), Gate()) as channel:
        await channel.send(answer(gate.taken[0], is_repeat=True))
    first, second = (mail for _, mail in postbox.mails)
    assert first["Message-ID"] == second["Message-ID"]


async def test_where_the_server_hangs_up_over_a_mail_nobody_claims_that_it_was_not_sent(
    make: Make, postbox: Postbox
) -> None:
    message = OutboundMessage(key="k", conversation=f"{ALICE}/0123", text="Hi")
    postbox.hang_up = True
    async with running(make(), Gate()) as channel:
        with pytest.raises(PluginError, match="may have taken") as doubtful:
            await channel.send(message)
        assert not isinstance(doubtful.value, ChannelError)
        await channel.send(message)
    assert len(postbox.mails) == 2


async def test_a_server_that_takes_too_long_is_left_before_the_host_loses_patience(
    make: Make, postbox: Postbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("email_channel.outbox._PATIENCE_S", 0.3)
    postbox.delay_s = 2.0
    async with running(make(), Gate()) as channel:
        async with asyncio.timeout(1.5):
            with pytest.raises(ChannelError, match="did not take the mail"):
                await channel.send(OutboundMessage(key="k", conversation=f"{ALICE}/0123", text="Hi"))
    assert not postbox.mails


async def test_whether_a_refused_answer_is_tried_again_depends_on_what_the_server_says(
    make: Make, postbox: Postbox
) -> None:
    message = OutboundMessage(key="k", conversation=f"{ALICE}/0123", text="Hi")
    async with running(make(), Gate()) as channel:
        postbox.refuse = "450 Later"
        with pytest.raises(ChannelError, match="450") as later:
            await channel.send(message)
        postbox.refuse = "550 No such user"
        with pytest.raises(Unsupported, match="550"):
            await channel.send(message)
        assert not isinstance(later.value, Unsupported)
        postbox.refuse = ""
        await channel.send(message)
        with pytest.raises(Unsupported, match="no conversation"):
            await channel.send(OutboundMessage(key="k", conversation="everybody", text="Hi"))
    assert [recipient for recipient, _ in postbox.mails] == [ALICE]


async def test_no_header_of_a_mail_gets_into_another_header_of_the_answer(
    make: Make, box: Mailbox, postbox: Postbox
) -> None:
    gate = Gate()
    subject = "=?utf-8?q?Hi=0D=0ABcc=3A_eve=40example=2Enet=0D=0A=0D=0Abody?="
    async with running(make(), gate) as channel:
        others = {"Reply_To": "eve@example.net", "Cc": "eve@example.net"}
        mail = write(Subject=subject, References="<a@b>\r\n <c d@e> <f@g>", **others)
        await asyncio.to_thread(box.deliver, mail)
        await until(lambda: gate.taken)
        await channel.send(answer(gate.taken[0]))
    ((recipient, sent),) = postbox.mails
    assert recipient == ALICE  # nor does it get to anybody else
    assert "Bcc" not in sent
    assert sent["Subject"] == "Re: Hi Bcc: eve@example.net body"
    assert sent["References"].split()[:2] == ["<a@b>", "<f@g>"]


async def test_a_wrong_password_is_told_and_not_tried_again(make: Make) -> None:
    with pytest.raises(ChannelError, match="refuses the login"):
        async with running(make(password="wrong"), Gate()) as channel:
            assert not channel.is_running()


async def test_a_certificate_that_nobody_vouches_for_is_refused(make: Make, hosts: list[DirectHost]) -> None:
    async with running(make(ca_file=""), Gate(), connected=False) as channel:
        await until(lambda: any("certificate" in line.lower() for line in hosts[0].logged))
        assert not channel.is_running()


async def test_a_server_that_is_not_there_is_tried_again_and_then_told(make: Make, hosts: list[DirectHost]) -> None:
    with pytest.raises(ChannelError, match="No connection to"):
        async with running(make(imap={"port": 1}), Gate()):
            pass
    assert len(hosts[0].logged) == 3


def test_a_password_does_not_cross_the_network_in_the_clear(make: Make) -> None:
    with pytest.raises(PluginError, match="readable by others"):
        make(imap={"host": "imap.example.com", "security": "plain"})


def test_what_is_missing_is_said(make: Make) -> None:
    with pytest.raises(PluginError, match="no password"):
        make(password="")
    with pytest.raises(PluginError, match="address"):
        make(address="")
    with pytest.raises(PluginError, match=r"nothing\.pem"):
        make(ca_file="nothing.pem")
