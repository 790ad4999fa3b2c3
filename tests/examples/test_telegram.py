"""The Telegram channel against a server of this machine that speaks the Bot API."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from bot_api import BOT, TOKEN, BotApi, Failure
from channel_hosts import DirectHost, Gate, running, until
from hypothesis import given
from hypothesis import strategies as st

from clawft.contracts import ChannelAdapter, ChannelError, InboundMessage, OutboundMessage, PluginError, Unsupported
from telegram_channel.api import Api, Unreachable
from telegram_channel.plugin import TelegramPlugin
from telegram_channel.text import split_text
from telegram_channel.updates import Bot, Ignored, read_update

pytestmark = pytest.mark.anyio
Make = Callable[..., TelegramPlugin]
GROUP = -100_500
TLS = Path(__file__).parents[1] / "agent" / "providers" / "tls"  # a certificate for 127.0.0.1 that signs itself
MENTION = [{"type": "mention", "offset": 0, "length": 14}]


@pytest.fixture
def api() -> Iterator[BotApi]:
    with BotApi() as server:
        yield server


@pytest.fixture
def make(tmp_path: Path, api: BotApi, monkeypatch: pytest.MonkeyPatch) -> Make:
    """The plugin, ready to start, and in a hurry; keyword arguments change its settings."""
    for module in ("channel", "reading"):
        monkeypatch.setattr(f"telegram_channel.{module}._FIRST_PAUSE_S", 0.1)

    def build(token: str = TOKEN, **more: Any) -> TelegramPlugin:
        plugin = TelegramPlugin()
        config = {"base_url": api.url, "poll_s": 20, **more}
        plugin.init(DirectHost(tmp_path, config, {"TELEGRAM_BOT_TOKEN": token}))
        return plugin

    return build


def answer(to: InboundMessage, text: str = "Hi.", *, is_repeat: bool = False) -> OutboundMessage:
    return OutboundMessage(
        key=f"answer to {to.id}", conversation=to.conversation, text=text, is_repeat=is_repeat, metadata=to.metadata
    )


async def test_a_message_comes_in_and_its_answer_goes_out_as_a_reply(make: Make, api: BotApi) -> None:
    gate = Gate()
    async with running(make(), gate) as channel:
        number = api.say("Hello \N{GRINNING FACE}")
        await until(lambda: gate.taken)
        (message,) = gate.taken
        assert (message.id, message.sender, message.conversation) == (f"4242:{number}", "7", "7")
        assert (message.text, message.sender_name) == ("Hello \N{GRINNING FACE}", "Ann Other")
        await channel.send(answer(message))
    (sent,) = api.sent
    assert (sent["chat_id"], sent["text"]) == (7, "Hi.")
    assert sent["reply_parameters"]["message_id"] == number - 900


async def test_over_tls_only_a_server_whose_certificate_is_trusted_gets_the_token(
    make: Make, environ: MutableMapping[str, str]
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
    with BotApi(context) as secure:
        with pytest.raises(ChannelError, match="CERTIFICATE_VERIFY_FAILED"):
            async with running(make(base_url=secure.url), Gate()):
                pass
        assert not secure.asked
        environ["SSL_CERT_FILE"] = str(TLS / "cert.pem")
        gate = Gate()
        async with running(make(base_url=secure.url), gate):
            secure.say("Hello")
            await until(lambda: gate.taken)


async def test_telegram_forgets_a_message_only_when_it_was_handed_in(make: Make, api: BotApi) -> None:
    gate = Gate(ChannelError("too many wait"))
    async with running(make(), gate):
        number = api.say("Hello")
        await until(lambda: gate.tried)
        assert api.unconfirmed == [number]
        await until(lambda: gate.taken)
        await until(lambda: not api.unconfirmed)


async def test_after_a_restart_it_goes_on_where_it_was(make: Make, api: BotApi) -> None:
    gate = Gate()
    async with running(make(), gate):
        first = api.say("one")
        await until(lambda: gate.taken)
    api.say("two")
    api.asked.clear()
    async with running(make(), gate):
        await until(lambda: len(gate.taken) == 2)
    assert [one.text for one in gate.tried] == ["one", "two"]
    assert next(given["offset"] for method, given in api.asked if method == "getUpdates") == first + 1


async def test_whoever_has_to_wait_keeps_their_order_and_holds_up_nobody(make: Make, api: BotApi) -> None:
    gate = Gate(ChannelError("too fast"))
    api.say("one")
    api.say("two")
    api.say("other", sender=8)
    async with running(make(), gate):
        await until(lambda: len(gate.taken) == 3)
        await until(lambda: not api.unconfirmed)
    assert [one.text for one in gate.taken] == ["other", "one", "two"]
    assert len(gate.tried) == 4


class Strict(Gate):
    """Has some senders wait, who write too fast."""

    async def deliver_inbound(self, message: InboundMessage) -> bool:
        if message.sender == "7":
            self.answers = [ChannelError("too fast", code="gateway-rate")]
        return await super().deliver_inbound(message)


async def test_whoever_writes_far_too_much_holds_up_nobody_and_loses_nothing(make: Make, api: BotApi) -> None:
    for number in range(120):
        api.say(str(number))
    api.say("other", sender=8)
    strict = Strict()
    async with running(make(), strict):
        await until(lambda: strict.taken)
        await until(lambda: len(api.unconfirmed) < 100)
    assert [one.text for one in strict.taken] == ["other"]
    gate = Gate()
    async with running(make(), gate):
        await until(lambda: len(gate.taken) >= 120)
        await until(lambda: not api.unconfirmed)
    assert [one.text for one in gate.taken if one.sender == "7"] == [str(number) for number in range(120)]


async def test_a_refused_message_does_not_come_again(make: Make, api: BotApi) -> None:
    gate = Gate(False)
    async with running(make(), gate):
        api.say("from a stranger", sender=666)
        await until(lambda: gate.tried)
        await until(lambda: not api.unconfirmed)
    assert not gate.taken


async def test_in_groups_only_what_means_the_agent_is_taken_and_each_topic_is_a_conversation(
    make: Make, api: BotApi
) -> None:
    gate = Gate()
    async with running(make(), gate) as channel:
        api.say("just talking", chat=GROUP)
        api.say("@someone_else hi", chat=GROUP, entities=[{"type": "mention", "offset": 0, "length": 13}])
        api.say("@the_agent_bot, what is up?", chat=GROUP, entities=MENTION)
        api.say("and this?", chat=GROUP, reply_to_message={"message_id": 1, "from": BOT})
        api.say("@the_agent_bot here", chat=GROUP, entities=MENTION, message_thread_id=5, is_topic_message=True)
        await until(lambda: len(gate.taken) == 3)
        assert [(one.conversation, one.text) for one in gate.taken] == [
            (str(GROUP), "what is up?"),
            (str(GROUP), "and this?"),
            (f"{GROUP}/5", "here"),
        ]
        await channel.send(answer(gate.taken[2]))
    assert (api.sent[0]["chat_id"], api.sent[0]["message_thread_id"]) == (GROUP, 5)


async def test_a_long_answer_is_split_and_goes_on_where_it_stopped(make: Make, api: BotApi) -> None:
    gate = Gate()
    text = "\n\n".join(["\N{GRINNING FACE}" * 1500] * 3)
    async with running(make(), gate) as channel:
        api.say("Tell me more")
        await until(lambda: gate.taken)
        await until(lambda: not api.unconfirmed)
        api.fail = [None, Failure(502, "Bad Gateway")]
        with pytest.raises(PluginError) as doubtful:
            await channel.send(answer(gate.taken[0], text))
        assert not isinstance(doubtful.value, ChannelError)  # nobody knows what became of the second part
        assert len(api.sent) == 1
        again = answer(gate.taken[0], f"(possibly a repeat)\n{text}", is_repeat=True)
        await channel.send(again)
        await channel.send(again)  # all of it went out: nothing happens
    first, second, third = (one["text"] for one in api.sent)
    assert "\n\n".join([first, second.removeprefix("(possibly a repeat)\n\n"), third]) == text
    assert second.startswith("(possibly a repeat)")
    assert [one for one in api.sent if "reply_parameters" in one] == api.sent[:1]


async def test_an_answer_that_went_out_whole_is_not_sent_again_whatever_its_mark_adds(make: Make, api: BotApi) -> None:
    text = "x" * 4096
    async with running(make(), Gate()) as channel:
        await channel.send(OutboundMessage(key="k", conversation="7", text=text))
        await channel.send(OutboundMessage(key="k", conversation="7", text=f"(again)\n{text}", is_repeat=True))
    assert [one["text"] for one in api.sent] == [text]


async def test_too_many_requests_wait_as_long_as_telegram_says_and_no_longer_than_makes_sense(
    make: Make, api: BotApi
) -> None:
    gate = Gate()
    async with running(make(), gate) as channel:
        await until(lambda: any(method == "getUpdates" for method, _ in api.asked))
        api.fail = [Failure(429, "Too Many Requests: retry after 1", retry_after=1)]
        await channel.send(OutboundMessage(key="a", conversation="7", text="soon"))
        api.fail = [Failure(429, "Too Many Requests: retry after 300", retry_after=300)]
        with pytest.raises(ChannelError, match="429"):
            await channel.send(OutboundMessage(key="b", conversation="7", text="later"))
    assert [one["text"] for one in api.sent] == ["soon"]


async def test_a_group_that_moved_is_followed_and_one_that_is_gone_is_given_up(make: Make, api: BotApi) -> None:
    api.chats.add(GROUP)
    async with running(make(), Gate()) as channel:
        await until(lambda: any(method == "getUpdates" for method, _ in api.asked))
        moved = Failure(400, "Bad Request: group chat was upgraded to a supergroup chat", migrate_to_chat_id=GROUP)
        api.fail = [moved]
        await channel.send(OutboundMessage(key="a", conversation="-5", text="Hi"))
        assert api.sent[0]["chat_id"] == GROUP
        with pytest.raises(Unsupported, match="chat not found"):
            await channel.send(OutboundMessage(key="b", conversation="99", text="Hi"))
        api.fail = [Failure(403, "Forbidden: bot was blocked by the user")]
        with pytest.raises(Unsupported, match="blocked"):
            await channel.send(OutboundMessage(key="c", conversation="7", text="Hi"))
        with pytest.raises(Unsupported, match="no chat"):
            await channel.send(OutboundMessage(key="d", conversation="7; drop", text="Hi"))


async def test_a_server_that_fails_for_a_while_is_asked_again(make: Make, api: BotApi) -> None:
    api.fail = [Failure(502, "Bad Gateway")]
    gate = Gate()
    async with running(make(), gate):
        api.say("Hello")
        await until(lambda: gate.taken)


async def test_a_wrong_token_and_a_webhook_are_told_and_the_token_is_not(make: Make, api: BotApi) -> None:
    with pytest.raises(ChannelError, match="Unauthorized") as wrong:
        async with running(make(token=f"{TOKEN}x"), Gate()):
            pass
    api.webhook = True
    with pytest.raises(ChannelError, match="webhook") as hooked:
        async with running(make(), Gate()) as channel:
            await until(lambda: not channel.is_running())
    assert all(TOKEN not in f"{one.value} {one.value.hint}" for one in (wrong, hooked))
    assert "BotFather" in wrong.value.hint


async def test_a_server_that_is_not_there_is_tried_again_and_then_told_without_the_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("telegram_channel.channel._FIRST_PAUSE_S", 0.01)
    plugin = TelegramPlugin()
    host = DirectHost(tmp_path, {"base_url": "http://127.0.0.1:1"}, {"TELEGRAM_BOT_TOKEN": TOKEN})
    plugin.init(host)
    with pytest.raises(ChannelError, match="does not answer") as told:
        async with running(plugin, Gate()):
            pass
    assert len(host.logged) == 3
    assert not any(TOKEN in line for line in (*host.logged, str(told.value)))


async def test_an_answer_that_could_not_even_be_begun_was_not_sent(make: Make) -> None:
    plugin = make(base_url="http://127.0.0.1:1")
    (channel,) = plugin.parts()
    assert isinstance(channel, ChannelAdapter)
    with pytest.raises(ChannelError, match="cannot be reached"):
        await channel.send(OutboundMessage(key="k", conversation="7", text="Hi"))
    plugin.shutdown()


def test_what_is_no_token_is_said(make: Make) -> None:
    for token in ("", "x", "1:2", f"{TOKEN}/../x", f"{TOKEN}\r\nX: y"):
        with pytest.raises(PluginError, match="TELEGRAM_BOT_TOKEN"):
            make(token=token)


@given(st.text(alphabet="ab \n\N{GRINNING FACE}é", max_size=200), st.integers(2, 20))
def test_splitting_loses_nothing_but_blanks_and_every_part_fits(text: str, most: int) -> None:
    parts = split_text(text, most)
    assert all(0 < len(part.encode("utf-16-le")) <= most * 2 for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_a_text_is_split_between_paragraphs_before_words() -> None:
    assert split_text("one two\n\nthree", 12) == ["one two", "three"]
    assert split_text("x" * 4096) == ["x" * 4096]
    assert [len(part) for part in split_text("\N{GRINNING FACE}" * 3000)] == [2048, 952]


@pytest.mark.parametrize(
    ("update", "why"),
    [
        ({"update_id": 1, "edited_message": {"text": "x"}}, "no new message"),
        ({"update_id": 1, "message": {"text": "x", "chat": {"id": 7}}}, "from whom"),
        ({"update_id": 1, "message": {"text": "x", "from": {"id": "7"}, "chat": {"id": 7}}}, "from whom"),
        ({"update_id": 1, "message": {"text": "x", "from": {"id": 7, "is_bot": True}, "chat": {"id": 7}}}, "a bot"),
        ({"update_id": 1, "message": {"text": "x", "from": {"id": 1087968824}, "chat": {"id": -7, "type": "supergroup"},
                                      "sender_chat": {"id": -7}}}, "which person"),
        ({"update_id": 1, "message": {"voice": 1, "from": {"id": 7}, "chat": {"id": 7, "type": "private"}}}, "no text"),
        ({"update_id": 1, "message": {"text": "@the_agent_bot", "from": {"id": 7}, "chat": {"id": -7, "type": "group"},
                                      "entities": [{"type": "mention"}, 5]}}, "nobody means"),
    ],
)  # fmt: skip
def test_what_is_no_message_of_a_person_to_the_agent_is_left(update: dict[str, Any], why: str) -> None:
    with pytest.raises(Ignored, match=why):
        read_update(update, Bot(4242, "the_agent_bot", "mention"))


def test_a_picture_is_named_and_a_mention_behind_an_emoji_is_found() -> None:
    text = "\N{GRINNING FACE} look @THE_agent_bot"
    entities = [{"type": "mention", "offset": 8, "length": 14}]
    message = {"caption": text, "photo": [], "caption_entities": entities, "from": {"id": 7}}
    group = {"id": -7, "type": "group"}
    found = read_update({"update_id": 1, "message": {**message, "chat": group}}, Bot(4242, "the_agent_bot", "mention"))
    assert found.text == f"{text}\n\n[Attached, and not read: photo]"


@pytest.mark.parametrize(
    ("first", "then"),
    [(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), (b"HTTP/1.1 200 OK\r\n\r\n", b" ")],
    ids=["head", "body"],
)
def test_an_answer_that_has_no_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bytes, then: bytes
) -> None:
    monkeypatch.setattr("telegram_channel.api._GRACE_S", -9.8)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def talk() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.sendall(first)
                while not over.wait(0.01):
                    connection.sendall(then)

        endless = threading.Thread(target=talk)
        endless.start()
        api = Api(DirectHost(tmp_path, {}, {}), f"http://127.0.0.1:{listener.getsockname()[1]}", TOKEN)
        with pytest.raises(Unreachable) as caught:
            api.call("sendMessage")
        over.set()
        endless.join(60)
    assert caught.value.in_doubt
