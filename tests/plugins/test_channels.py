"""Channels of plugins: what they hand in, what they send, and how they end."""

from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from clawft.config.extensions import PluginsSettings
from clawft.contracts import (
    ChannelError,
    InboundMessage,
    MessagePayload,
    Text,
)
from clawft.errors import NotFound
from clawft.plugins.host import PluginGrantWatch, Plugins
from clawft.plugins.runtime import PluginFailed
from yard import ID, Yard
from yard import run_tool as run

pytestmark = pytest.mark.anyio


class Box:
    """Takes what a channel receives, but for one sender."""

    def __init__(self) -> None:
        self.messages: list[InboundMessage] = []
        self.payloads: list[tuple[str, str, MessagePayload]] = []
        self.full = anyio.Event()

    async def deliver_inbound(self, message: InboundMessage) -> bool:
        if message.sender == "fast":
            raise ChannelError("Too fast")
        self.messages.append(message)
        return message.sender != "stranger"

    async def deliver_payload(self, sender: str, conversation: str, payload: MessagePayload) -> bool:
        self.payloads.append((sender, conversation, payload))
        self.full.set()
        return True


CHANNEL = """
    class Post:
        name, deduplicates = "post", True
        running = False
        def capabilities(self): return ChannelCapabilities(binary=True)
        def is_running(self): return self.running
        async def start(self, host, cancel):
            self.running, self.heard = True, [host.config["sender"]]
            for sender in ("stranger", "ann", "fast"):
                try:
                    self.heard.append(await host.deliver_inbound(
                        InboundMessage(id=sender, sender=sender, conversation="c", text="hi", metadata={"n": 1})
                    ))
                except ChannelError as error:
                    self.heard.append(str(error))
            await host.deliver_payload("ann", "c", Binary("image/png", b"png"))
            await cancel.wait()
            print("told to end")
        async def send(self, message):
            if message.conversation == "gone": raise Unsupported("Nobody is there")
            if message.conversation == "away": raise ChannelError("Try again")
            self.heard.append([message.key, message.text])
        async def send_payload(self, conversation, payload): self.heard.append(payload.text)
    class Plugin(Plugin):
        def parts(self):
            self.post = Post()
            return [self.post, self]
        def execute_tool(self, name, arguments): return self.post.heard
"""


async def test_a_channel_hands_in_messages_and_sends_until_it_is_cancelled(yard: Yard) -> None:
    config = {"type": "object", "properties": {"sender": {"type": "string", "default": "me"}}}
    yard.add(CHANNEL, capabilities=["channel", "tool"], channels=["post"], config_schema=config)
    box = Box()
    async with yard.open() as plugins:
        plugins.on_inbound(ID, "post", box)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_run_channel, plugins)
            with anyio.fail_after(60):
                await box.full.wait()
            state = await plugins.call(ID, "describe_channel", channel="post")
            assert (state["running"], state["deduplicates"], state["capabilities"]["binary"]) == (True, True, True)
            message = {"key": "k", "conversation": "c", "text": "answer"}
            await plugins.call(ID, "send", channel="post", message=message)
            await plugins.call(ID, "send_payload", channel="post", conversation="c", payload=Text("more"))
            for conversation, kind in (("gone", "Unsupported"), ("away", "ChannelError")):
                given = {**message, "conversation": conversation}
                with pytest.raises(ChannelError) as refused:
                    await plugins.call(ID, "send", channel="post", message=given)
                assert type(refused.value).__name__ == kind
            assert await run(plugins) == '["me",false,true,"Too fast",["k","answer"],"more"]'
            tasks.cancel_scope.cancel()
    assert [one.sender for one in box.messages] == ["stranger", "ann"]
    assert box.messages[0].metadata == {"n": 1}
    assert box.payloads[0][2].data == b"png"  # type: ignore[union-attr]
    assert "told to end" in yard.log()
    assert plugins.check() == []


async def _run_channel(plugins: Plugins) -> None:
    await plugins.call(ID, "start_channel", channel="post")


async def test_a_channel_that_is_stopped_returns_and_one_that_raises_fails(yard: Yard) -> None:
    yard.add(CHANNEL.replace("print(", "1 / 0 if host.config['sender'] == 'bad' else print("),
        capabilities=["channel", "tool"], channels=["post"],
        config_schema={"type": "object", "properties": {"sender": {"type": "string"}}},
    )  # fmt: skip
    for sender in ("me", "bad"):
        box = Box()
        async with yard.open({"entries": {ID: {"config": {"sender": sender}}}}) as plugins:
            plugins.on_inbound(ID, "post", box)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_stop_when_full, plugins, box)
                if sender == "me":
                    assert await plugins.call(ID, "start_channel", channel="post") is None
                else:
                    with pytest.raises(PluginFailed, match="ZeroDivisionError"):
                        await plugins.call(ID, "start_channel", channel="post")


async def _stop_when_full(plugins: Plugins, box: Box) -> None:
    await box.full.wait()
    await plugins.call(ID, "stop_channel", channel="post")


async def test_what_nobody_takes_is_told_to_the_channel(yard: Yard) -> None:
    yard.add(CHANNEL, capabilities=["channel", "tool"], channels=["post"], config_schema={
        "type": "object", "properties": {"sender": {"type": "string", "default": "me"}}
    })  # fmt: skip
    async with yard.open() as plugins:
        with pytest.raises(ChannelError, match="Nobody takes messages of the channel 'post'"):
            await plugins.call(ID, "start_channel", channel="post")


async def test_a_channel_that_loses_its_connection_is_never_left_alone(yard: Yard) -> None:
    yard.add(
        """
        class Post:
            name = "post"
            async def start(self, host, cancel):
                raise ConnectionError("away")
            async def send(self, message): pass
        class Plugin(Plugin):
            def parts(self): return [Post()]
        """,
        capabilities=["channel"],
        tools=[],
        channels=["post"],
    )
    async with yard.open({"max_failures": 2}) as plugins:
        for _ in range(4):
            with pytest.raises(PluginFailed, match="ConnectionError: away"):
                await plugins.call(ID, "start_channel", channel="post")
        assert [one.code for one in plugins.check()] == ["plugin-raised"]


async def test_a_channel_that_hangs_is_ended(yard: Yard) -> None:
    yard.add(
        """
        class Post:
            name = "post"
            async def start(self, host, cancel):
                time.sleep(600)
            async def send(self, message): pass
        class Plugin(Plugin):
            def parts(self): return [Post()]
        """,
        capabilities=["channel"],
        tools=[],
        channels=["post"],
    )
    async with yard.open({"call_timeout_s": 0.1}) as plugins:
        with anyio.fail_after(60), pytest.raises(PluginFailed) as failed:
            await plugins.call(ID, "start_channel", channel="post")
        assert failed.value.code == "plugin-hangs"


async def test_a_channel_ends_soon_after_its_plugin_was_revoked(yard: Yard, tmp_path: Path) -> None:
    config = {"type": "object", "properties": {"sender": {"type": "string", "default": "me"}}}
    yard.add(CHANNEL, capabilities=["channel", "tool"], channels=["post"], config_schema=config)
    decided = tmp_path / "decided"
    decided.touch()
    box, granted = Box(), [*yard.statuses]
    latest = PluginGrantWatch([str(decided)], lambda: (granted, PluginsSettings()))
    opened = yard.open()
    async with Plugins(granted, opened.settings, opened.around, latest) as plugins, anyio.create_task_group() as tasks:
        plugins.on_inbound(ID, "post", box)
        tasks.start_soon(_take_back, box, granted, decided)
        with anyio.fail_after(60), pytest.raises(PluginFailed) as failed:
            await plugins.call(ID, "start_channel", channel="post")
        assert failed.value.code == "plugin-revoked"
        assert [one.code for one in plugins.check()] == ["plugin-revoked"]
        with pytest.raises(NotFound):
            await run(plugins)
    assert "told to end" in yard.log()


async def _take_back(box: Box, granted: list[Any], decided: Path) -> None:
    await box.full.wait()
    granted.clear()
    decided.write_text("changed")


async def test_what_is_too_large_to_hand_in_is_refused_for_good(yard: Yard) -> None:
    yard.add(
        """
        class Post:
            name = "post"
            async def start(self, host, cancel):
                try:
                    await host.deliver_payload("ann", "c", Binary("image/png", bytes(4_000_000)))
                except Unsupported as error:
                    print("refused:", error)
                await host.deliver_payload("ann", "c", Binary("image/png", bytes(1_000_000)))
                await cancel.wait()
            async def send(self, message): pass
        class Plugin(Plugin):
            def parts(self): return [Post()]
        """,
        capabilities=["channel"],
        tools=[],
        channels=["post"],
    )
    box = Box()
    async with yard.open() as plugins:
        plugins.on_inbound(ID, "post", box)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_when_full, plugins, box)
            await plugins.call(ID, "start_channel", channel="post")
    assert len(box.payloads) == 1
    assert "refused: It cannot be handed in" in yard.log()
