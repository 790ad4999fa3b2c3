"""The typed client, against a daemon in this process; and, once, against `weft serve` as users run it."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from websockets.asyncio.server import ServerConnection, serve

from clawft.config.serve import LimitSettings, ServeSettings
from clawft.messages import TextDelta, ToolFinished
from clawft.server.client import Client, ClientError
from clawft.server.client import connection as module
from clawft.server.protocol.executions import ExecuteSkill, Question, SkillResult, TurnEvent, TurnResult, Verdict
from clawft.server.protocol.operations import OPERATIONS
from clawft.server.protocol.skills import ListSkills, SkillsFound, SkillsList
from clawft.server.protocol.subscriptions import SkillsChanged
from serve_site import TOKEN, Site, open_site
from serve_world import ServeWorld

pytestmark = pytest.mark.anyio
_SLOW: list[dict[str, Any]] = [{"text": "Too late", "delay_ms": 60_000}]
_ASKS: list[dict[str, Any]] = [
    {"tool_calls": [{"name": "exec_shell", "arguments": {"command": "touch made"}}]},
    {"text": "It was asked."},
]


@pytest.fixture
def world(tmp_path: Path) -> ServeWorld:
    return ServeWorld(tmp_path)


async def until_idle(site: Site) -> None:
    with anyio.fail_after(60):
        while site.daemon.executions.entries:
            await anyio.sleep(0.005)


async def run_example(environ: dict[str, str]) -> str:
    """What the program of docs/client.md prints."""
    page = (Path(__file__).parents[3] / "docs" / "client.md").read_text(encoding="utf-8")
    program = page.partition("```python\n")[2].partition("```")[0]
    with anyio.fail_after(30):
        done = await anyio.run_process([sys.executable, "-c", program], env=environ)
    return done.stdout.decode()


def test_there_is_a_method_for_every_operation() -> None:
    named = {"execute_skill": "execute", "unsubscribe": "subscribe"}
    assert [one.name for one in OPERATIONS if not hasattr(Client, named.get(one.name, one.name))] == []


async def test_all_that_the_websocket_is_for_works_on_weft_serve(world: ServeWorld) -> None:
    """Skills are listed, executed, scanned, asked about and approved over a WebSocket."""
    world.add_skill("greet", "Say hello to $ARGUMENTS.")
    world.add_skill("theirs", "Say it.", strangers=True)
    world.config = f'mode = "ask"\n{world.config}'
    world.say(
        [
            {"expect": "touch", **_ASKS[0]},
            {"expect": "touch", **_ASKS[1]},
            {"expect": "wait", **_SLOW[0]},
            {"text": "Done: {asked}"},
        ]
    )
    asked: list[Question] = []

    async def approve(question: Question) -> Verdict:
        asked.append(question)
        return "once"

    with world.serve() as served:
        async with Client.local(
            approve=approve, environ=world.environ | {"CLAWFT_PROJECT": str(world.project)}
        ) as client:
            assert (await client.get_status()).you == "owner"
            states = {one.name: one.state for one in (await client.list_skills()).skills}
            assert (states["greet"], states["theirs"]) == ("ready", "untrusted")
            seen = [one async for one in client.execute("greet", "Ann")]
            assert isinstance(seen[-1], SkillResult)
            assert [one.sequence for one in seen if isinstance(one, TurnEvent)] == [*range(1, seen[-1].events + 1)]
            assert (seen[-1].status, "Say hello to Ann." in seen[-1].text) == ("done", True)
            assert (await client.scan_skill("greet")).verdict == "clean"
            for text in ("one", "two"):
                assert (await client.chat(text, session="talk").result()).text == f"Done: {text}"
            assert (await client.chat("touch it").result()).text == "It was asked."
            assert ([one.tool for one in asked], (world.project / "made").exists()) == (["exec_shell"], True)
            async with client.chat("wait for it") as work:
                await anext(work)
                await work.cancel()
                assert (await work.result()).status == "cancelled"
            refused = await client.execute("theirs").result()
            assert (refused.status, refused.error and refused.error.code) == ("failed", "skill-refused")
            review = await client.review_skill("theirs")
            assert (await client.approve_skill("theirs", review.review["digest"])).skill.state == "ready"
            assert (await client.execute("theirs").result()).status == "done"
            async with Client.connect(served.url, served.token) as other, other.subscribe("skills") as changes:
                world.add_skill("fresh")
                with anyio.fail_after(60):
                    change = await anext(changes)
                assert isinstance(change, SkillsChanged)
                assert [one.name for one in change.added] == ["fresh"]
            said = await run_example({**world.environ, "CLAWFT_PROJECT": str(world.project)})
            assert "Say hello to Ann." in said
            assert "\ndone, after " in said
            async with client.subscribe("approvals") as questions:
                served.process.terminate()
                with anyio.fail_after(60), pytest.raises(ClientError) as ended:
                    await anext(questions)
            assert (ended.value.code, ended.value.close_code) == ("serve-stopping", 1012)


async def test_events_come_as_they_happen_and_the_result_last(world: ServeWorld) -> None:
    async with open_site(world) as site, Client.connect(site.url, TOKEN) as client:
        seen = [one async for one in client.chat("hello", session="s")]
        result = seen.pop()
        assert isinstance(result, TurnResult)
        said = [one.event.text for one in seen if isinstance(one, TurnEvent) and isinstance(one.event, TextDelta)]
        assert "".join(said) == result.text == "Done: hello"
        work = client.chat("again")
        assert (await work.result()).status == "done"
        with pytest.raises(ClientError, match="taken already"):
            await work.result()


async def test_many_requests_go_on_at_a_time(world: ServeWorld) -> None:
    world.add_skill("greet")
    async with open_site(world) as site, Client.connect(site.url, TOKEN) as client:
        results = await asyncio.gather(*(client.execute("greet", str(number)).result() for number in range(10)))
        assert {one.status for one in results} == {"done"}
        assert len({one.execution for one in results}) == 10
        # Of many that begin in one second each has a session of its own.
        assert all(one.session.endswith(f"-{one.execution}") for one in results)


async def test_work_that_is_left_is_cancelled(world: ServeWorld) -> None:
    world.say([{"expect": "wait", **_SLOW[0]}, {"text": "Here."}])
    async with open_site(world) as site, Client.connect(site.url, TOKEN) as client:
        async with client.chat("wait") as work:
            async for _ in work:
                break
        assert site.daemon.executions.ended == {"cancelled": 1}
        assert (await client.chat("quick").result()).text == "Here."


async def test_work_that_is_left_before_it_begins_is_cancelled_when_it_does(
    world: ServeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.say(_SLOW)
    monkeypatch.setattr(module, "_END_S", 0.1)
    settings = ServeSettings(limits=LimitSettings(executions=1))
    async with open_site(world, settings) as site, Client.connect(site.url, TOKEN) as client:
        async with client.chat("first") as first:
            await anext(first)
            async with client.chat("second"):
                pass
            assert len(site.daemon.executions.entries) == 2
        await until_idle(site)


async def test_a_question_goes_to_the_callback_and_one_that_fails_says_no(world: ServeWorld) -> None:
    world.config = f'mode = "ask"\n{world.config}'
    world.say(_ASKS)

    async def approve(question: Question) -> Verdict:
        asyncio.current_task().set_name("asked")  # type: ignore[union-attr]
        raise asyncio.CancelledError

    async with open_site(world) as site, Client.connect(site.url, TOKEN, approve=approve) as client:
        seen = [one async for one in client.chat("touch it")]
        ended = [one.event for one in seen if isinstance(one, TurnEvent) and isinstance(one.event, ToolFinished)]
        assert [one.status for one in ended] == ["error"]
        assert not (world.project / "made").exists()


async def test_another_client_answers_what_it_subscribed_to(world: ServeWorld) -> None:
    world.config = f'mode = "ask"\n{world.config}'
    world.say(_ASKS)
    async with open_site(world) as site, Client.connect(site.url, TOKEN) as person:
        token = site.tokens.create("runner", ["run"])[0]
        async with Client.connect(site.url, token) as runner, person.subscribe("approvals") as questions:
            work = asyncio.create_task(runner.chat("touch it").result())
            with anyio.fail_after(60):
                asked: Any = await anext(questions)
            assert [one.question for one in (await person.list_questions()).questions] == [asked.question.question]
            await person.answer_question(asked.question.question, "once")
            assert (await work).status == "done"
            assert (world.project / "made").exists()
            with pytest.raises(ClientError) as refused:
                await runner.list_skills()
            assert (refused.value.code, bool(refused.value.hint)) == ("scope-missing", True)


async def test_subscriptions_end_with_their_block(world: ServeWorld) -> None:
    async with open_site(world) as site, Client.connect(site.url, TOKEN) as client:
        async with client.subscribe("skills", "executions") as first:
            async with client.subscribe("skills"):
                assert site.daemon.topics.has_listeners("skills")
            assert site.daemon.topics.has_listeners("skills")
            await client.chat("hello").result()
            kinds = [type(await anext(first)).__name__ for _ in range(2)]
            assert kinds == ["ExecutionStarted", "ExecutionFinished"]
        assert not site.daemon.topics.has_listeners("skills")
        assert not site.daemon.topics.has_listeners("executions")


async def test_what_is_wrong_is_said_clearly(world: ServeWorld) -> None:
    async with open_site(world) as site:
        with pytest.raises(ClientError) as wrong:
            async with Client.connect(site.url, "no-token-of-this-daemon"):
                pass
        assert wrong.value.code == "token-wrong"
        async with Client.connect(site.url, TOKEN) as client:
            with pytest.raises(ClientError) as missing:
                await client.execute("nothing").result()
            assert missing.value.code == "skill-not-found"
            with pytest.raises(ClientError) as other:
                await client.request(ListSkills(), SkillsFound)
            assert other.value.code == "answer-unknown"
            with pytest.raises(ClientError) as invalid:
                await client.request(ExecuteSkill(name=""), SkillResult)
            assert invalid.value.code == "request-invalid"
            site.front.access.close()
            with pytest.raises(ClientError) as closed:
                await client.list_skills()
            assert closed.value.close_code
    with pytest.raises(ClientError) as gone:
        async with Client.connect(site.url, TOKEN):
            pass
    assert gone.value.code == "serve-unreachable"
    with pytest.raises(ClientError, match="No daemon runs"):
        async with Client.local(environ=world.environ):
            pass


async def test_a_program_that_does_not_read_loses_that_and_nothing_else(
    world: ServeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.say([{"expect": "loud", "text": "word " * 500}, {"text": "Here."}])
    monkeypatch.setattr(module, "MAX_UNREAD", 10_000)
    async with open_site(world) as site, Client.connect(site.url, TOKEN) as client:
        loud = client.chat("loud")
        await anext(loud)
        await until_idle(site)
        assert (await client.chat("quick").result()).text == "Here."
        with pytest.raises(ClientError) as lost:
            await loud.result()
        assert lost.value.code == "slow-consumer"


async def test_a_list_is_typed_all_the_way_down(world: ServeWorld) -> None:
    world.add_skill("greet", head="version: 1.2.3\n")
    async with open_site(world) as site, Client.connect(site.url.replace("http", "ws"), TOKEN) as client:
        listed = await client.list_skills("ready")
        assert isinstance(listed, SkillsList)
        assert [(one.version, one.tokens.body > 0) for one in listed.skills if one.name == "greet"] == [("1.2.3", True)]
        detail = (await client.get_skill("greet")).skill
        assert (detail.summary.name, [one.path for one in detail.files]) == ("greet", ["SKILL.md"])
        assert [one.name for one in (await client.search_skills("greet", 1)).results] == ["greet"]


@pytest.mark.parametrize(
    "answer",
    [
        '{"type":"event","id":"1","execution":"x","sequence":1,"event":' + "[" * 100_000,
        "[]",
        b"\xff\xfe",
        '{"type":"cancelled","id":"1","execution":"x"}',
        '{"type":"turn_result","id":"1","session":7}',
    ],
    ids=["deep", "none", "binary", "other", "wrong"],
)
async def test_what_cannot_be_read_is_said_and_not_waited_for(answer: str | bytes) -> None:
    async def hostile(peer: ServerConnection) -> None:
        async for _ in peer:
            await peer.send(answer)

    async with serve(hostile, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with Client.connect(f"http://127.0.0.1:{port}", "a-token") as client:
            with anyio.fail_after(10), pytest.raises(ClientError) as wrong:
                await client.chat("hello").result()
            assert wrong.value.code == "answer-unknown"
