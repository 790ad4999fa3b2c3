"""What the audit log says of questions that are put to the person at an MCP client."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import ElicitResult

from clawft.config.serve import ServeSettings
from mcp_clients import MODES, add_skills, connect, stdio_of
from serve_thread import serve_here
from serve_world import ServeWorld

pytestmark = pytest.mark.anyio
ASKER = {"name": "greet", "arguments": "asker"}


@pytest.fixture
def world(tmp_path: Path) -> ServeWorld:
    world = ServeWorld(tmp_path)
    add_skills(world)
    world.config = f'mode = "ask"\n{world.config}'
    world.write_config()
    return world


def facts(world: ServeWorld) -> list[tuple[str, str]]:
    kinds = ("approval", "tool", "command", "denial", "serve")
    return [(one["kind"], one["decision"]) for one in world.audit() if one["kind"] in kinds]


ASKED, WITHDRAWN = ("approval", "asked"), ("approval", "withdrawn")
REFUSED = [ASKED, ("serve", "denied"), ("approval", "denied"), ("denial", "denied")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_person_who_declines_denies_it_by_their_token(world: ServeWorld, mode: str, action: Any) -> None:
    async def elicit(_context: Any, _params: Any) -> ElicitResult:
        return ElicitResult(action=action)

    with serve_here(world) as served:
        token = served.token_for("ops", "read", "run", "approve")
        async with connect(f"{served.url}/mcp", mode, token, elicitation_callback=elicit) as client:
            await client.call_tool("skill-execute", ASKER)
    assert facts(world) == REFUSED
    assert {line["rule"] for line in world.audit() if line["kind"] in ("serve", "approval")} - {
        world.audit("approval", "asked")[0]["rule"]
    } == {"token ops"}


async def test_a_client_that_goes_while_its_person_is_asked_allows_nothing(world: ServeWorld) -> None:
    asked = anyio.Event()

    async def elicit(_context: Any, _params: Any) -> ElicitResult:
        asked.set()
        await anyio.sleep_forever()
        raise AssertionError

    with serve_here(world, ServeSettings(drain_s=0.1)) as served:
        with anyio.CancelScope() as scope:
            async with (
                connect(f"{served.url}/mcp", "legacy", served.token, elicitation_callback=elicit) as client,
                anyio.create_task_group() as group,
            ):
                group.start_soon(client.call_tool, "skill-execute", ASKER)
                await asked.wait()
                scope.cancel()
    # Others might have answered, until the daemon ended.
    assert facts(world)[0] == ASKED
    assert not world.audit("tool")
    assert not {"allowed", "granted"} & {decision for _, decision in facts(world)}
    assert facts(world)[1] in (WITHDRAWN, ("approval", "denied"))


async def test_who_does_not_come_back_with_an_answer_allows_nothing(world: ServeWorld) -> None:
    async def elicit(_context: Any, _params: Any) -> ElicitResult:
        raise AssertionError("nobody was asked")

    with serve_here(world, ServeSettings(drain_s=0.1, approval_timeout_s=0.4)) as served:
        async with connect(f"{served.url}/mcp", "auto", served.token, elicitation_callback=elicit) as client:
            await client.session.call_tool("skill-execute", ASKER, allow_input_required=True)
            with anyio.fail_after(60):
                while served.daemon.executions.entries:
                    await anyio.sleep(0.01)
    assert facts(world)[0] == ASKED
    assert not world.audit("tool")
    assert facts(world)[1] in (WITHDRAWN, ("approval", "denied"))  # its time is over, whichever clock says so first


async def test_at_the_pipe_too_a_no_is_a_denial_by_the_client(world: ServeWorld) -> None:
    async def elicit(_context: Any, _params: Any) -> ElicitResult:
        return ElicitResult(action="decline")

    async with connect(stdio_of(world), "auto", elicitation_callback=elicit) as client:
        await client.call_tool("skill-execute", ASKER)
    assert facts(world) == REFUSED
    assert world.audit("approval", "denied")[0]["rule"] == "the client 'mcp' at the pipe"
