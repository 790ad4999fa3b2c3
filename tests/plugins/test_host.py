"""The host of plugins: what starts when, what is told, and who ends whom."""

import os
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from clawft.config.plugins import PluginsSettings
from clawft.contracts import (
    ChannelError,
    InboundMessage,
    MessagePayload,
    Permissions,
    PipelineContext,
    PluginError,
    Text,
)
from clawft.errors import NotFound
from clawft.plugins.host import Plugins
from clawft.plugins.latest import Latest
from clawft.plugins.running import PluginFailed
from yard import ID, Yard

pytestmark = pytest.mark.anyio


async def run(plugins: Plugins, plugin_id: str = ID, **arguments: Any) -> str:
    """What the one tool of a test's plugin says."""
    output = await plugins.call(plugin_id, "execute_tool", name="try_it", arguments=arguments)
    return str(output.content)


async def fail(plugins: Plugins, plugin_id: str = ID, **arguments: Any) -> PluginFailed:
    """How the one tool of a test's plugin fails."""
    with pytest.raises(PluginFailed) as failed:
        await run(plugins, plugin_id, **arguments)
    return failed.value


async def is_running(yard: Yard) -> bool:
    """Whether a copy is kept for a process; what is being ended gets a moment."""
    with anyio.move_on_after(5):
        while list((yard.user_dir / "cache" / "programs").iterdir()):
            await anyio.sleep(0.01)
        return False
    return True


async def test_a_plugin_is_started_by_its_first_call_and_kept(yard: Yard) -> None:
    yard.add_tool("self.times = getattr(self, 'times', 0) + 1\nreturn str(self.times)")
    async with yard.open() as plugins:
        assert await plugins.health(ID) == "stopped"
        assert [await run(plugins), await run(plugins)] == ["1", "2"]
        assert await plugins.health(ID) == "healthy"


async def test_plugins_shut_down_in_the_reverse_order_of_their_start(yard: Yard, tmp_path: Path) -> None:
    for name in ("org.example.one", "org.example.two", "org.example.idle"):
        yard.add(
            f"""
            class Plugin(Plugin):
                def init(self, host):
                    self.note("init")
                def execute_tool(self, name, arguments):
                    return "done"
                async def shutdown(self):
                    self.note("shutdown")
                def note(self, what):
                    with open({str(tmp_path / "shared" / "notes")!r}, "a") as file:
                        file.write(f"{{what}} {name}\\n")
            """,
            name,
            permissions={"filesystem": [str(tmp_path / "shared" / "notes")]},
        )
    notes = tmp_path / "shared" / "notes"
    notes.parent.mkdir()
    notes.touch()
    async with yard.open() as plugins:
        await run(plugins, "org.example.two")
        await run(plugins, "org.example.one")
    assert notes.read_text().splitlines() == [
        "init org.example.two",
        "init org.example.one",
        "shutdown org.example.one",
        "shutdown org.example.two",
    ]


async def test_texts_tables_and_outputs_become_what_the_model_reads(yard: Yard) -> None:
    yard.add_tool("""
        return {
            "text": "plain", "table": {"a": [1, None]}, "nothing": None, "error": ToolOutput("no luck", is_error=True)
        }[arguments["give"]]
    """)
    async with yard.open() as plugins:
        assert await run(plugins, give="text") == "plain"
        assert await run(plugins, give="table") == '{"a":[1,null]}'
        assert await run(plugins, give="nothing") == ""
        output = await plugins.call(ID, "execute_tool", name="try_it", arguments={"give": "error"})
        assert (output.content, output.is_error) == ("no luck", True)


async def test_a_plugin_error_is_an_answer_and_no_failure(yard: Yard) -> None:
    yard.add_tool("raise PluginError('No such city', code='weather-city', hint='Try Oslo')")
    async with yard.open({"max_failures": 1}) as plugins:
        for _ in range(3):
            with pytest.raises(PluginError) as told:
                await run(plugins)
            assert not isinstance(told.value, PluginFailed)
            assert (str(told.value), told.value.code, told.value.hint) == ("No such city", "weather-city", "Try Oslo")
        assert plugins.check() == []


async def test_a_plugin_that_raises_fails_the_call_and_lives_on(yard: Yard) -> None:
    yard.add_tool("self.seen = getattr(self, 'seen', 0) + 1\nreturn str(10 // (2 - self.seen))")
    async with yard.open() as plugins:
        assert await run(plugins) == "10"
        failed = await fail(plugins)
        assert failed.code == "plugin-raised"
        assert "ZeroDivisionError" in str(failed)
        assert await run(plugins) == "-10"
        (told,) = plugins.check()
        assert ID in told.message
        assert told.hint.endswith(f"{ID}.log")
        assert plugins.check() == []
    assert "Traceback" in yard.log()


async def test_after_so_many_failures_in_a_row_a_plugin_is_left_alone(yard: Yard) -> None:
    yard.add_tool("return str(1 // arguments['by'])")
    async with yard.open({"max_failures": 2}) as plugins:
        await fail(plugins, by=0)
        assert await run(plugins, by=1) == "1"  # that was not in a row
        await fail(plugins, by=0)
        await fail(plugins, by=0)
        assert (await fail(plugins, by=1)).code == "plugin-left-alone"
        assert await plugins.health(ID) == "left alone"
        assert not await is_running(yard)
        assert [one.code for one in plugins.check()] == ["plugin-raised", "plugin-left-alone"]


async def test_a_process_that_ends_fails_all_its_calls_as_one_failure(yard: Yard) -> None:
    yard.add("""
        class Plugin(Plugin):
            async def execute_tool(self, name, arguments):
                if arguments["do"] == "exit":
                    print("giving up")
                    os._exit(7)
                if arguments["do"] == "wait":
                    await asyncio.sleep(60)
                return "here"
    """)
    async with yard.open({"max_failures": 2}) as plugins:
        assert await run(plugins, do="answer") == "here"
        failures: list[PluginFailed] = []

        async def try_it(do: str) -> None:
            failures.append(await fail(plugins, do=do))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(try_it, "wait")
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(try_it, "exit")
        assert {one.code for one in failures} == {"plugin-ended"}
        assert "code 7: giving up" in str(failures[0])
        assert await run(plugins, do="answer") == "here"  # in a new process


async def test_a_call_that_takes_too_long_is_ended(yard: Yard) -> None:
    yard.add("""
        class Plugin(Plugin):
            async def execute_tool(self, name, arguments):
                try:
                    await asyncio.sleep(arguments["wait"])
                finally:
                    print("ended", arguments["wait"])
                return str(os.getpid())
    """)
    async with yard.open({"call_timeout_s": 0.3}) as plugins:
        before = await run(plugins, wait=0)
        assert (await fail(plugins, wait=50)).code == "plugin-timeout"
        assert await run(plugins, wait=0) == before  # it did as it was told, so it was not ended
    assert "ended 50" in yard.log()


async def test_cancelling_a_call_cancels_it_in_the_plugin(yard: Yard) -> None:
    yard.add("""
        class Plugin(Plugin):
            async def execute_tool(self, name, arguments):
                if "wait" in arguments:
                    try:
                        await asyncio.sleep(60)
                    finally:
                        self.cancelled = True
                return str(getattr(self, "cancelled", False))
    """)
    async with yard.open() as plugins:
        assert await run(plugins) == "False"
        with anyio.move_on_after(0.05):
            await run(plugins, wait=1)
        assert await run(plugins) == "True"


async def test_a_method_that_blocks_holds_up_no_other_and_is_busy(yard: Yard) -> None:
    yard.add("""
        class Slow:
            name, phase = "slow", "pre_route"
            def process(self, context):
                time.sleep(60)
        class Plugin(Plugin):
            def parts(self):
                return self, Slow()
            async def execute_tool(self, name, arguments):
                return "at once"
        """,
        capabilities=["tool", "pipeline_stage"],
        stages=[{"name": "slow", "phase": "pre_route"}],
    )  # fmt: skip
    async with yard.open() as plugins:
        await run(plugins)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_ignore_failure, plugins)
            await anyio.wait_all_tasks_blocked()
            assert await run(plugins) == "at once"
            assert await plugins.health(ID) == "busy"
            tasks.cancel_scope.cancel()
        assert [one.code for one in plugins.check()] == []


async def _ignore_failure(plugins: Plugins) -> None:
    await plugins.call(ID, "process", stage="slow", context=PipelineContext({}))


async def test_a_blocked_event_loop_is_told_as_hanging(yard: Yard) -> None:
    yard.add("""
        class Plugin(Plugin):
            async def execute_tool(self, name, arguments):
                asyncio.get_running_loop().call_soon(time.sleep, 60)
                return "soon"
    """)
    async with yard.open({"shutdown_timeout_s": 0.2}) as plugins:
        await run(plugins)
        assert await plugins.health(ID) == "hangs"
    assert [one.code for one in plugins.check()] == ["plugin-timeout"]


async def test_an_unhealthy_plugin_says_so(yard: Yard) -> None:
    yard.add("""
        class Plugin(Plugin):
            def execute_tool(self, name, arguments):
                return ""
            def is_healthy(self):
                return False
    """)
    async with yard.open() as plugins:
        await run(plugins)
        assert await plugins.health(ID) == "unhealthy"


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("class Plugin(Plugin):\n    def init(self, host):\n        raise RuntimeError('no key')\n", "no key"),
        ("raise ImportError('no such thing')", "no such thing"),
        ("this is no python", "SyntaxError"),
        ("Plugin = 3", "no class that is derived"),
        ("class Plugin(Plugin):\n    pass\n", "the tool 'try_it'"),
        ("sys.exit(3)", "SystemExit"),
    ],
)
async def test_a_plugin_that_cannot_start_says_why(yard: Yard, code: str, says: str) -> None:
    yard.add(code)
    async with yard.open() as plugins:
        failed = await fail(plugins)
        assert says in str(failed)
        assert await plugins.health(ID) == "stopped"


async def test_a_plugin_that_hangs_in_init_is_ended(yard: Yard) -> None:
    yard.add("class Plugin(Plugin):\n    def init(self, host):\n        time.sleep(60)\n")
    async with yard.open({"init_timeout_s": 0.4}) as plugins:
        failed = await fail(plugins)
        assert (failed.code, failed.hint) == ("plugin-timeout", "See plugins.init_timeout_s")


async def test_a_plugin_that_raises_or_hangs_at_its_end_is_told(yard: Yard) -> None:
    for name, does in (("org.example.hangs", "time.sleep(60)"), ("org.example.raises", "raise ValueError('late')")):
        yard.add(
            f"""
            class Plugin(Plugin):
                def execute_tool(self, name, arguments):
                    return ""
                def shutdown(self):
                    {does}
            """,
            name,
        )
    async with yard.open({"shutdown_timeout_s": 0.2}) as plugins:
        await run(plugins, "org.example.hangs")
        await run(plugins, "org.example.raises")
    assert [one.code for one in plugins.check()] == ["plugin-raised", "plugin-timeout"]


async def test_tasks_and_threads_that_are_left_are_told(yard: Yard) -> None:
    yard.add("""
        class Plugin(Plugin):
            async def execute_tool(self, name, arguments):
                self.task = asyncio.create_task(asyncio.sleep(60), name="forgotten")
                threading.Thread(target=time.sleep, args=(60,), name="idler").start()
                return ""
    """)
    async with yard.open() as plugins:
        await run(plugins)
    (told,) = plugins.check()
    assert told.code == "plugin-leaks"
    assert "forgotten" in told.message
    assert "idler" in told.message


async def test_a_plugin_that_piles_up_tasks_fails(yard: Yard) -> None:
    yard.add("""
        class Plugin(Plugin):
            async def execute_tool(self, name, arguments):
                self.tasks = [asyncio.create_task(asyncio.sleep(60)) for _ in range(1000)]
                return ""
    """)
    async with yard.open() as plugins:
        assert (await fail(plugins)).code == "plugin-leaks"


async def test_stages_and_memories_answer_in_their_types(yard: Yard) -> None:
    yard.add("""
        class Shout:
            name, phase = "shout", Phase.PRE_ROUTE
            def process(self, context):
                context.request["text"] = context.request["text"].upper()
        class Memory:
            name = "odd"
            def store(self, key, value, metadata=None): self.value = value
            def append(self, key, value): self.value += value
            def retrieve(self, key): return self.value if key == "a" else None
            def search(self, query, limit): return [MemoryResult("a", self.value, 0.5)] if limit else "nonsense"
            def delete(self, key): return True
            def list_keys(self, prefix=""): return ["a"]
        class Plugin(Plugin):
            def parts(self):
                return [Shout(), Memory()]
        """,
        capabilities=["pipeline_stage", "memory"],
        tools=[],
        stages=[{"name": "shout", "phase": "pre_route"}],
        memory=["odd"],
    )  # fmt: skip
    async with yard.open() as plugins:
        context = await plugins.call(ID, "process", stage="shout", context=PipelineContext({"text": "hello"}))
        assert context == PipelineContext({"text": "HELLO"})

        async def ask(verb: str, **arguments: Any) -> Any:
            return await plugins.call(ID, "memory", backend="odd", verb=verb, arguments=arguments)

        assert await ask("store", key="a", value="one") is None
        assert await ask("append", key="a", value="!") is None
        assert [await ask("retrieve", key="a"), await ask("retrieve", key="b")] == ["one!", None]
        (found,) = await ask("search", query="x", limit=1)
        assert (found.key, found.value, found.score) == ("a", "one!", 0.5)
        with pytest.raises(PluginFailed, match="wrong kind"):
            await ask("search", query="x", limit=0)
        with pytest.raises(PluginError, match="No memory is asked for '__init__'"):
            await ask("__init__")


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        ({"capabilities": ["channel"], "tools": [], "channels": ["post"]}, "the channel 'post'"),
        ({"capabilities": ["memory"], "tools": [], "memory": ["post"]}, "the memory 'post'"),
        (
            {"capabilities": ["pipeline_stage"], "tools": [], "stages": [{"name": "odd", "phase": "pre_route"}]},
            "at pre_route, its code at post_score",
        ),
    ],
)
async def test_what_the_manifest_declares_must_be_there(yard: Yard, manifest: Any, says: str) -> None:
    yard.add(
        """
        class Stage:
            name, phase = "odd", Phase.POST_SCORE
            def process(self, context): pass
        class Plugin(Plugin):
            def parts(self): return [Stage()]
        """,
        **manifest,
    )
    async with yard.open() as plugins:
        with pytest.raises(PluginFailed, match=says) as failed:
            await plugins.call(ID, "process", stage="odd", context=PipelineContext({}))
        assert failed.value.code == "plugin-parts"


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
            with anyio.fail_after(5):
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


async def test_only_what_is_ready_can_be_called(yard: Yard) -> None:
    async with yard.open() as plugins:
        with pytest.raises(NotFound, match=r"No plugin 'org\.example\.other'"):
            await plugins.call("org.example.other", "execute_tool", name="x", arguments={})


async def test_the_start_of_a_plugin_and_its_failures_are_in_the_audit_log(yard: Yard) -> None:
    yard.environ |= {"TEST_TOKEN": "tok-123456789", "TEST_OTHER": "other"}
    yard.add_tool("raise ValueError('tok-123456789')", permissions={"env_vars": ["TEST_TOKEN"], "shell": True})
    async with yard.open() as plugins:
        failed = await fail(plugins)
        assert "tok-123456789" not in str(failed)
    lines = [(one["kind"], one["subject"], one["decision"], one["rule"]) for one in yard.audited()]
    assert lines == [
        ("plugin", ID, "allowed", "granted"),
        ("secret", "TEST_TOKEN", "used", f'plugins.entries."{ID}"'),
        ("plugin", ID, "failed", "plugin-raised"),
    ]
    first = yard.audited()[0]["detail"]
    assert first["version"] == "1.0.0"
    assert first["permissions"] == {"env_vars": ["TEST_TOKEN"], "shell": True}
    assert "tok-123456789" not in Path(yard.audit.path).read_text() + yard.log()


async def test_what_a_grant_withholds_is_not_there(yard: Yard) -> None:
    yard.environ |= {"TEST_TOKEN": "tok-123456789"}
    yard.add_tool(
        "return [self.host.resolve_secret('TEST_TOKEN'), os.environ.get('TEST_TOKEN')]",
        permissions={"env_vars": ["TEST_TOKEN"]},
        grant=Permissions(),
    )
    async with yard.open() as plugins:
        assert await run(plugins) == "[null,null]"


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
                time.sleep(60)
            async def send(self, message): pass
        class Plugin(Plugin):
            def parts(self): return [Post()]
        """,
        capabilities=["channel"],
        tools=[],
        channels=["post"],
    )
    async with yard.open({"call_timeout_s": 0.1}) as plugins:
        with anyio.fail_after(15), pytest.raises(PluginFailed) as failed:
            await plugins.call(ID, "start_channel", channel="post")
        assert failed.value.code == "plugin-hangs"


async def test_a_call_that_is_cancelled_before_it_began_leaves_the_process_as_it_is(yard: Yard) -> None:
    yard.add_tool("return str(os.getpid())")
    async with yard.open() as plugins:
        before = await run(plugins)
        for _ in range(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run, plugins)
                await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()
        assert await run(plugins) == before
        assert plugins.check() == []


async def test_an_exception_that_tells_nothing_is_told_by_its_name(yard: Yard) -> None:
    yard.add("""
        class Mute(Exception):
            def __str__(self): raise ValueError
        class Plugin(Plugin):
            def execute_tool(self, name, arguments): raise Mute
    """)
    async with yard.open() as plugins:
        assert "It raised Mute" in str(await fail(plugins))


async def test_a_plugin_shuts_down_also_when_all_around_it_is_cancelled(yard: Yard) -> None:
    yard.add("""
        class Plugin(Plugin):
            def execute_tool(self, name, arguments): return ""
            async def shutdown(self):
                await asyncio.sleep(0.05)
                print("closed in order")
    """)
    with anyio.CancelScope() as scope:
        async with yard.open() as plugins:
            await run(plugins)
            scope.cancel()
            await anyio.sleep(10)
    assert "closed in order" in yard.log()
    assert plugins.check() == []


async def test_a_start_that_is_cancelled_leaves_nothing_behind(yard: Yard) -> None:
    yard.add("class Plugin(Plugin):\n    async def init(self, host):\n        await asyncio.sleep(60)\n")
    async with yard.open() as plugins:
        with anyio.move_on_after(0.5):
            await run(plugins)
        assert await plugins.health(ID) == "stopped"
        assert not list((yard.user_dir / "cache" / "programs").iterdir())


async def test_what_is_being_started_when_the_host_is_left_is_ended_too(yard: Yard) -> None:
    yard.add("""
        class Plugin(Plugin):
            async def init(self, host): await asyncio.sleep(0.3)
            async def execute_tool(self, name, arguments): await asyncio.sleep(60)
    """)
    async with anyio.create_task_group() as tasks:
        async with yard.open() as plugins:
            tasks.start_soon(fail, plugins)
            await anyio.wait_all_tasks_blocked()
        assert not await is_running(yard)
        assert plugins.check() == []
        assert (await fail(plugins)).code == "plugin-start"


async def test_processes_that_come_and_go_leave_no_descriptor_and_no_copy(yard: Yard) -> None:
    yard.add_tool("os._exit(1) if arguments else None\nreturn ''", permissions={"network": ["example.com"]})
    async with yard.open() as plugins:
        await run(plugins)
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(4):
            await fail(plugins, end=True)
            await run(plugins)
        assert len(os.listdir("/proc/self/fd")) == before
        assert len(list((yard.user_dir / "cache" / "programs").iterdir())) == 1
    assert not await is_running(yard)


async def test_a_channel_ends_soon_after_its_plugin_was_revoked(yard: Yard, tmp_path: Path) -> None:
    config = {"type": "object", "properties": {"sender": {"type": "string", "default": "me"}}}
    yard.add(CHANNEL, capabilities=["channel", "tool"], channels=["post"], config_schema=config)
    decided = tmp_path / "decided"
    decided.touch()
    box, granted = Box(), [*yard.standings]
    latest = Latest([str(decided)], lambda: (granted, PluginsSettings()))
    opened = yard.open()
    async with Plugins(granted, opened.settings, opened.around, latest) as plugins, anyio.create_task_group() as tasks:
        plugins.on_inbound(ID, "post", box)
        tasks.start_soon(_take_back, box, granted, decided)
        with anyio.fail_after(10), pytest.raises(PluginFailed) as failed:
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
