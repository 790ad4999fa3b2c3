"""The host of plugins: what starts when, what is told, and who ends whom."""

from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from clawft.contracts import (
    Permissions,
    PipelineContext,
    PluginError,
)
from clawft.errors import NotFound
from clawft.plugins.host import Plugins
from clawft.plugins.runtime import PluginFailed
from yard import ID, Yard
from yard import run_tool as run

pytestmark = pytest.mark.anyio


async def fail(plugins: Plugins, plugin_id: str = ID, **arguments: Any) -> PluginFailed:
    """How the one tool of a test's plugin fails."""
    with pytest.raises(PluginFailed) as failed:
        await run(plugins, plugin_id, **arguments)
    return failed.value


async def test_a_plugin_is_started_by_its_first_call_and_kept(yard: Yard) -> None:
    yard.add_tool("self.times = getattr(self, 'times', 0) + 1\nreturn str(self.times)")
    async with yard.open() as plugins:
        assert await plugins.health(ID) == "stopped"
        assert [await run(plugins), await run(plugins)] == ["1", "2"]
        assert await plugins.health(ID) == "healthy"


async def test_texts_tables_and_outputs_become_what_the_model_reads(yard: Yard) -> None:
    yard.add_tool("""
        endless = []
        endless.append(endless)
        return {
            "text": "plain", "table": {"a": [1, None]}, "nothing": None, "error": ToolOutput("no luck", is_error=True),
            "bytes": b"raw", "deep": {"a": [b"raw"]}, "object": object(), "endless": endless, "nan": float("nan"),
        }[arguments["give"]]
    """)
    async with yard.open() as plugins:
        assert await run(plugins, give="text") == "plain"
        assert await run(plugins, give="table") == '{"a":[1,null]}'
        assert await run(plugins, give="nothing") == "(no result)"
        for kind in ("bytes", "deep", "object", "endless", "nan"):
            failed = await fail(plugins, give=kind)
            assert failed.code == "plugin-result"
            assert "What it gave for the tool 'try_it' is neither text nor JSON: " in str(failed)
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


async def test_a_process_that_ends_fails_all_its_calls_as_one_failure(yard: Yard) -> None:
    yard.add("""
        class Plugin(Plugin):
            async def execute_tool(self, name, arguments):
                if arguments["do"] == "exit":
                    print("giving up")
                    os._exit(7)
                if arguments["do"] == "wait":
                    await asyncio.sleep(600)
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
        ("class Plugin(Plugin):\n    def init(self, host):\n        raise RuntimeError('no key')\n", "in init: no key"),
        ("class Plugin(Plugin):\n    def parts(self):\n        raise RuntimeError('no key')\n", "in parts: no key"),
        ("raise ImportError('no such thing')", "while it was loaded: no such thing"),
        ("del Plugin", "plugin.py has no class Plugin"),
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


async def test_an_exception_that_tells_nothing_is_told_by_its_name(yard: Yard) -> None:
    yard.add("""
        class Mute(Exception):
            def __str__(self): raise ValueError
        class Plugin(Plugin):
            def execute_tool(self, name, arguments): raise Mute
    """)
    async with yard.open() as plugins:
        assert "It raised Mute" in str(await fail(plugins))
