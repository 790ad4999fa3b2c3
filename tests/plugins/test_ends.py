"""How calls and plugins end: cancelled, hanging, too slow, or as they should."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from clawft.contracts import (
    PipelineContext,
)
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


async def is_running(yard: Yard) -> bool:
    """Whether a copy is kept for a process; what is being ended gets a moment."""
    with anyio.move_on_after(5):
        while list((yard.user_dir / "cache" / "programs").iterdir()):
            await anyio.sleep(0.01)
        return False
    return True


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
        raised, left = plugins.check()
        assert (raised.code, left.code) == ("plugin-raised", "plugin-left-alone")
        assert raised.hint == f"See ~/.clawft/logs/plugins/{ID}.log"


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
    async with yard.open({"call_timeout_s": 1}) as plugins:
        before = await run(plugins, wait=0)
        assert (await fail(plugins, wait=50)).code == "plugin-timeout"
        assert await run(plugins, wait=0) == before  # it did as it was told, so it was not ended
    assert "ended 50" in yard.log()


async def test_cancelling_a_call_cancels_it_in_the_plugin(yard: Yard) -> None:
    yard.add("""
        class Plugin(Plugin):
            async def execute_tool(self, name, arguments):
                if "wait" in arguments:
                    open("begun", "w").close()
                    try:
                        await asyncio.sleep(600)
                    finally:
                        self.cancelled = True
                return str(getattr(self, "cancelled", False))
    """)
    async with yard.open() as plugins:
        assert await run(plugins) == "False"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(run, plugins, wait=1))
            with anyio.fail_after(60):
                while not (yard.user_dir / "plugin-data" / ID / "begun").exists():
                    await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
        assert await run(plugins) == "True"


async def test_a_method_that_blocks_holds_up_no_other_and_is_busy(yard: Yard) -> None:
    yard.add("""
        class Slow:
            name, phase = "slow", "pre_route"
            def process(self, context):
                time.sleep(600)
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


async def test_a_plugin_that_hangs_in_init_is_ended(yard: Yard) -> None:
    yard.add("class Plugin(Plugin):\n    def init(self, host):\n        time.sleep(600)\n")
    async with yard.open({"init_timeout_s": 0.4}) as plugins:
        failed = await fail(plugins)
        assert (failed.code, failed.hint) == ("plugin-timeout", "See plugins.init_timeout_s")


async def test_a_plugin_that_raises_or_hangs_at_its_end_is_told(yard: Yard) -> None:
    for name, does in (("org.example.hangs", "time.sleep(600)"), ("org.example.raises", "raise ValueError('late')")):
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
                self.task = asyncio.create_task(asyncio.sleep(600), name="forgotten")
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
                self.tasks = [asyncio.create_task(asyncio.sleep(600)) for _ in range(1000)]
                return ""
    """)
    async with yard.open() as plugins:
        assert (await fail(plugins)).code == "plugin-leaks"


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
    yard.add("class Plugin(Plugin):\n    async def init(self, host):\n        await asyncio.sleep(600)\n")
    async with yard.open() as plugins:
        with anyio.move_on_after(0.5):
            await run(plugins)
        assert await plugins.health(ID) == "stopped"
        assert not list((yard.user_dir / "cache" / "programs").iterdir())


async def test_what_is_being_started_when_the_host_is_left_is_ended_too(yard: Yard) -> None:
    yard.add("""
        class Plugin(Plugin):
            async def init(self, host): await asyncio.sleep(0.3)
            async def execute_tool(self, name, arguments): await asyncio.sleep(600)
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
