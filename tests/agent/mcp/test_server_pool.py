"""Servers are started when needed, fail alone, come back, and end with the pool."""

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from pydantic import BaseModel

from clawft.agent.mcp import McpServerPool, RemoteError, RemoteToolListing
from clawft.agent.mcp.launch import Launch, StdioLaunch
from clawft.agent.mcp.transports import ConnectionWatch, open_stdio
from clawft.config.tools import ServerSettings
from scripted_server import ScriptedPeer

pytestmark = pytest.mark.anyio
PoolOf = Callable[..., McpServerPool]
Plain = Callable[..., ServerSettings]


def is_running(pid: int) -> bool:
    """Whether a process lives; one that nobody has buried yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def all_end(*pids: int) -> bool:
    """Whether these processes end; what was killed may take a moment."""
    with anyio.move_on_after(60):
        while any(map(is_running, pids)):
            await anyio.sleep(0.01)
    return not any(map(is_running, pids))


async def test_nothing_is_started_before_it_is_needed(pool_of: PoolOf, tmp_path: Path) -> None:
    mark = tmp_path / "started"
    command = ServerSettings(command=sys.executable, args=("-c", f"open({str(mark)!r}, 'w')"))
    async with pool_of({"a": command}) as pool:
        assert not mark.exists()
        await pool.tools()
    assert mark.exists()


async def test_a_call_starts_only_its_own_server(pool_of: PoolOf, plain: Plain, tmp_path: Path) -> None:
    mark = tmp_path / "started"
    other = ServerSettings(command=sys.executable, args=("-c", f"open({str(mark)!r}, 'w')"))
    async with pool_of({"a": plain(), "b": other}) as pool:
        assert (await pool.call("a__echo", {"text": "hi"})).text == "hi"
    assert not mark.exists()


async def test_without_servers_there_is_nothing(pool_of: PoolOf, plain: Plain) -> None:
    async with pool_of({}) as pool:
        assert await pool.tools() == RemoteToolListing()
    async with pool_of({"a": plain("", enabled=False)}) as pool:
        assert await pool.tools() == RemoteToolListing()


async def test_servers_that_fail_leave_the_others_alone(pool_of: PoolOf, plain: Plain) -> None:
    servers = {
        "crash": plain("crash", env={"KEY": "${KEY}"}),
        "good": plain(),
        "hang": plain("hang", start_timeout_s=1),
        "gone": ServerSettings(command="/no/such/program"),
        "lost": plain("", cwd="/no/such/folder"),
        "unset": plain("", env={"KEY": "${NO_SUCH}"}),
        "bad_": plain(),
    }
    async with pool_of(servers, {"KEY": "hunter2-long"}) as pool:
        tools, diagnostics = await pool.tools()
    assert {tool.server for tool in tools} == {"good"}
    said = {found.message.split("'")[1]: found for found in diagnostics}
    assert {name: found.code for name, found in said.items()} == {
        "crash": "mcp-start",
        "hang": "mcp-start",
        "gone": "mcp-start",
        "lost": "mcp-start",
        "unset": "mcp-env",
        "bad_": "mcp-name",
    }
    assert {found.severity for found in diagnostics} == {"warning"}
    assert "cannot reach the database\nthe key is <secret> [31m" in said["crash"].message
    assert "within 1 s" in said["hang"].message
    assert "/no/such/program" in said["gone"].message
    assert "/no/such/folder" in said["lost"].message
    assert "hunter2" not in str(diagnostics)


async def test_an_old_server_that_hangs_up_on_what_it_does_not_know_is_greeted_its_way(
    pool_of: PoolOf, plain: Plain
) -> None:
    async with pool_of({"a": plain("old")}) as pool:
        assert (await pool.tools()).diagnostics == ()
        assert (await pool.call("a__echo", {"text": "hi"})).text == "hi"


async def test_a_server_that_does_not_start_is_tried_again_after_ever_longer_waits(
    pool_of: PoolOf, plain: Plain
) -> None:
    now = [100.0]
    starts = 0

    def connect(*_: object) -> object:
        nonlocal starts
        starts += 1
        raise OSError(13, "Permission denied", "server")

    async with pool_of({"a": plain()}, clock=lambda: now[0], connect=connect) as pool:
        for wait in (1, 2, 4, 8, 16, 32, 60, 60):
            tried = starts
            (found,) = (await pool.tools()).diagnostics
            assert starts == tried + 1
            assert found.code == "mcp-start"
            now[0] += wait - 0.5
            (found,) = (await pool.tools()).diagnostics
            assert starts == tried + 1, "tried too early"
            assert "Permission denied" in found.message
            assert "tried again" in found.hint
            with pytest.raises(RemoteError, match="Permission denied"):
                await pool.call("a__echo", {})
            now[0] += 0.5


async def test_a_turn_does_not_wait_long_for_a_server_that_failed_before(pool_of: PoolOf, plain: Plain) -> None:
    now = [100.0]
    tried: list[Launch] = []

    def connect(launch: Launch, watch: ConnectionWatch) -> object:
        if not tried:
            tried.append(launch)
            raise OSError(13, "Permission denied", "server")
        assert isinstance(launch, StdioLaunch)
        return open_stdio(launch, watch)

    async with pool_of({"a": plain("hang")}, clock=lambda: now[0], connect=connect) as pool:
        await pool.tools()
        now[0] += 1
        (found,) = (await pool.tools()).diagnostics
        assert "Permission denied" in found.message


async def test_a_server_that_dies_in_a_call_is_started_again_by_the_next(pool_of: PoolOf, plain: Plain) -> None:
    now = [100.0]
    async with pool_of({"a": plain()}, clock=lambda: now[0]) as pool:
        with pytest.raises(RemoteError) as caught:
            await pool.call("a__die", {})
        assert caught.value.code == "mcp-lost"
        assert (await pool.call("a__echo", {"text": "back"})).text == "back"
        for _ in range(2):  # it has worked in between, so each time is the first
            with pytest.raises(RemoteError):
                await pool.call("a__die", {})
            await pool.call("a__echo", {})
        with pytest.raises(RemoteError):
            await pool.call("a__die", {})
        with pytest.raises(RemoteError):
            await pool.call("a__die", {})
        with pytest.raises(RemoteError, match="out of memory") as caught:
            await pool.call("a__echo", {})
        assert caught.value.code == "mcp-lost"
        assert caught.value.hint == "It is tried again in 1 s"
        now[0] += 1
        assert (await pool.call("a__echo", {"text": "back"})).text == "back"


async def test_a_server_that_dies_while_idle_is_not_missed(pool_of: PoolOf, plain: Plain) -> None:
    async with pool_of({"a": plain()}) as pool:
        pid = int((await pool.call("a__pid", {})).text)
        os.kill(pid, 9)
        assert await all_end(pid)
        with suppress(RemoteError):  # the call that finds out may fail; the next does not
            await pool.call("a__echo", {})
        assert (await pool.call("a__echo", {"text": "back"})).text == "back"


async def test_a_call_that_takes_too_long_ends_and_the_server_stays(pool_of: PoolOf, plain: Plain) -> None:
    async with pool_of({"a": plain("", timeout_s=0.3)}) as pool:
        pid = (await pool.call("a__pid", {})).text
        with pytest.raises(RemoteError) as caught:
            await pool.call("a__wait", {})
        assert caught.value.code == "mcp-timeout"
        assert "0.3 s" in str(caught.value)
        assert (await pool.call("a__pid", {})).text == pid
        assert len(json.loads((await pool.call("a__cancelled", {})).text)) == 1


async def test_a_cancelled_call_tells_the_server(pool_of: PoolOf, plain: Plain) -> None:
    async with pool_of({"a": plain()}) as pool:
        pid = (await pool.call("a__pid", {})).text
        with anyio.move_on_after(1):
            await pool.call("a__wait", {})
        assert (await pool.call("a__pid", {})).text == pid
        assert json.loads((await pool.call("a__cancelled", {})).text) == ["caller cancelled"]


async def test_a_cancelled_start_is_finished_for_the_next_caller(pool_of: PoolOf, plain: Plain) -> None:
    async with pool_of({"a": plain()}) as pool:
        with anyio.move_on_after(0):
            await pool.tools()
        assert (await pool.call("a__echo", {"text": "hi"})).text == "hi"


async def test_calls_run_side_by_side(pool_of: PoolOf, plain: Plain) -> None:
    async with pool_of({"a": plain(), "b": plain()}) as pool:
        pids: list[str] = []

        async def ask(name: str) -> None:
            pids.append((await pool.call(f"{name}__pid", {})).text)

        async with anyio.create_task_group() as group:
            for name in "abababab":
                group.start_soon(ask, name)
        assert len(pids) == 8
        assert len(set(pids)) == 2


async def test_leaving_the_hub_ends_servers_their_children_and_the_stubborn(pool_of: PoolOf, plain: Plain) -> None:
    async with pool_of({"a": plain(), "b": plain("stubborn"), "c": plain("hang")}) as pool:
        pids = [int((await pool.call(name, {})).text) for name in ("a__pid", "a__child", "b__pid", "b__child")]
        assert all(map(is_running, pids))
        with anyio.move_on_after(0.2):
            await pool.call("c__echo", {})  # still starting
    assert await all_end(*pids)


async def test_an_error_inside_the_hub_stays_what_it_is(pool_of: PoolOf, plain: Plain) -> None:
    pids: list[int] = []

    async def fail() -> None:
        async with pool_of({"a": plain()}) as pool:
            pids.append(int((await pool.call("a__pid", {})).text))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await all_end(*pids)


async def test_a_cancelled_hub_ends_its_servers(pool_of: PoolOf, plain: Plain) -> None:
    pid = 0
    with anyio.CancelScope() as scope:
        async with pool_of({"a": plain()}) as pool:
            pid = int((await pool.call("a__pid", {})).text)
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert pid
    assert await all_end(pid)


async def test_an_unknown_server_is_named_with_the_close_match(pool_of: PoolOf, plain: Plain) -> None:
    async with pool_of({"github": plain()}) as pool:
        for name in ("gihtub__x", "github", "github__"):
            with pytest.raises(RemoteError) as caught:
                await pool.call(name, {})
            assert caught.value.code == "mcp-unknown"
        assert "github" in caught.value.hint


async def test_arguments_that_are_no_json_are_refused_here(pool_of: PoolOf, plain: Plain) -> None:
    async with pool_of({"a": plain()}) as pool:
        for arguments in ({"text": "\ud800"}, {"text": object()}):
            with pytest.raises(RemoteError) as caught:
                await pool.call("a__echo", arguments)
            assert caught.value.code == "mcp-arguments"
        assert (await pool.call("a__echo", {"text": "ok"})).text == "ok"


async def test_what_a_server_refuses_is_told_without_secrets(pool_of: PoolOf, plain: Plain) -> None:
    peer = ScriptedPeer()
    peer.enqueue_error(-32602, "bad \x1b[31mkey hunter2-long" + "x" * 1_000)
    peer.enqueue_error(-32000, "busy")
    peer.enqueue_response({"content": "none"})
    settings = plain("", env={"KEY": "${KEY}"})
    async with pool_of({"a": settings}, {"KEY": "hunter2-long"}, connect=peer.connect) as pool:
        codes = []
        for _ in range(3):
            with pytest.raises(RemoteError) as caught:
                await pool.call("a__echo", {})
            codes.append(caught.value.code)
            assert "hunter2" not in str(caught.value)
            assert len(str(caught.value)) < 500
    assert codes == ["mcp-arguments", "mcp-refused", "mcp-refused"]


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create", "roots/list"])
async def test_what_a_server_asks_of_us_is_declined(pool_of: PoolOf, plain: Plain, method: str) -> None:
    params = {
        "sampling/createMessage": {"messages": [], "maxTokens": 5},
        "elicitation/create": {"message": "Your password?", "requestedSchema": {"type": "object", "properties": {}}},
    }
    peer = ScriptedPeer()
    peer.enqueue_response({"tools": []})
    async with pool_of({"a": plain()}, connect=peer.connect) as pool:
        await pool.tools()
        await peer.send({"id": "ask-1", "method": method, "params": params.get(method, {})})
        with anyio.fail_after(60):
            answer = await peer.wait_for(id="ask-1")
    assert "not supported" in answer["error"]["message"]


async def test_a_peer_that_hangs_up_is_greeted_again(pool_of: PoolOf, plain: Plain) -> None:
    peer = ScriptedPeer()
    peer.enqueue_silence()
    peer.enqueue_response({"content": []})
    async with pool_of({"a": plain()}, connect=peer.connect) as pool:

        async def hang_up() -> None:
            await peer.wait_for(method="tools/call")
            peer.hang_up()

        async with anyio.create_task_group() as group:
            group.start_soon(hang_up)
            with pytest.raises(RemoteError, match="went away"):
                await pool.call("a__echo", {})
        assert (await pool.call("a__echo", {})).text == ""


async def test_a_server_in_this_process_can_be_used(pool_of: PoolOf, plain: Plain) -> None:
    server = MCPServer("here")

    @server.tool()
    def double(number: int) -> str:
        """Twice as much."""
        return str(2 * number)

    async with pool_of({"here": plain()}, connect=lambda *_: server) as pool:
        assert [tool.name for tool in (await pool.tools()).tools] == ["here__double"]
        assert (await pool.call("here__double", {"number": 21})).text == "42"


async def test_a_question_to_the_person_is_declined_by_a_server_of_today_too(pool_of: PoolOf, plain: Plain) -> None:
    server = MCPServer("here")

    class Secret(BaseModel):
        password: str

    @server.tool()
    async def ask(ctx: Context) -> str:
        """Wants to know too much."""
        return str(await ctx.elicit("Your password?", Secret))

    @server.tool()
    async def ask_back() -> InputRequiredResult:
        """Answers with a question."""
        params = ElicitRequestFormParams(
            message="Your password?", requested_schema={"type": "object", "properties": {}}
        )
        return InputRequiredResult(input_requests={"q": ElicitRequest(params=params)})

    codes = []
    async with pool_of({"here": plain()}, connect=lambda *_: server) as pool:
        for name in ("here__ask", "here__ask_back"):
            with pytest.raises(RemoteError) as caught:
                await pool.call(name, {})
            codes.append(caught.value.code)
    assert codes == ["mcp-refused", "mcp-input"]
