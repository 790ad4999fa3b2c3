"""Conversations as the daemon tells of them: in pages, bounded, whatever their keys and cursors are."""

from typing import Any

import pytest

from clawft.agent.sessions import SessionStore
from clawft.errors import ClawftError, Refused
from clawft.messages import Image, Message, ToolCall, Usage
from clawft.server.protocol.executions import Chat
from clawft.server.protocol.records import GetSession, ListSessions
from serve_world import Client, ServeWorld

pytestmark = pytest.mark.anyio


def store_of(world: ServeWorld) -> SessionStore:
    times = iter(range(1_700_000_000, 1_800_000_000))
    return SessionStore(str(world.user_dir / "sessions"), lambda: next(times))


def write(world: ServeWorld, key: str, *messages: Message) -> None:
    with store_of(world).open(key) as session:
        for message in messages or (Message("user", f"about {key}"), Message("assistant", "Well.")):
            session.append(message, 1)
        session.finish_turn(1, usage=Usage(10, 5), model="script/m")


async def test_a_list_goes_on_where_it_ended_and_tells_each_session_once(world: ServeWorld) -> None:
    keys = {"plain", "with/slash", "ünïcode ☃", "50%_off", "a:b:fork-x1"}
    for key in keys:
        write(world, key)
    async with world.open_daemon() as daemon:
        found: list[str] = []
        cursor = ""
        while True:
            page = await Client(daemon).ask(ListSessions(limit=2, cursor=cursor, forks=True))
            found += [one.key for one in page.sessions]
            cursor = page.cursor
            if not cursor:
                break
        assert (sorted(found), len(found)) == (sorted(keys), 5)
        assert len((await Client(daemon).ask(ListSessions())).sessions) == 4


async def test_what_was_said_is_found_with_its_place(world: ServeWorld) -> None:
    write(world, "one", Message("user", "where is the Needle, please"))
    write(world, "two")
    async with world.open_daemon() as daemon:
        found = await Client(daemon).ask(ListSessions(search="needle"))
        ((session, match),) = [(one, match) for one in found.sessions for match in one.matches]
        assert (session.key, match.role, match.snippet) == ("one", "user", "where is the Needle, please")
        assert (await Client(daemon).ask(ListSessions(search="nothing like it"))).sessions == ()


async def test_a_session_is_told_with_calls_results_skills_and_usage_in_order(world: ServeWorld) -> None:
    world.add_skill("count")
    look: dict[str, Any] = {"tool_calls": [{"name": "list_directory", "arguments": {"path": "."}}]}
    world.say([look, {"text": "Counted."}])
    async with world.open_daemon() as daemon:
        done = await Client(daemon).ask(Chat(text="count the files", session="odd/kéy"))
        assert done.status == "done"
        told = await Client(daemon).ask(GetSession(key="odd/kéy"))
        kinds = [one.get("role", one["type"]) for one in told.records]
        assert kinds == ["user", "assistant", "tool", "assistant", "turn"]
        assert told.records[1]["tool_calls"][0]["name"] == "list_directory"
        assert (told.total, told.turns, told.messages) == (5, 1, 4)
        page = await Client(daemon).ask(GetSession(key="odd/kéy", start=3, limit=1))
        assert (page.start, [one["content"] for one in page.records]) == (3, ["Counted."])
        assert (await Client(daemon).ask(GetSession(key="odd/kéy", start=99))).records == ()


async def test_what_is_long_is_cut_and_pictures_are_only_named(world: ServeWorld) -> None:
    call = ToolCall("c", "write_file", {"content": "x" * 200_000})
    picture = Image("image/png", "A" * 100_000)
    texts = [Message("user", "y" * 100_000, images=(picture,)), Message("assistant", "", tool_calls=(call,))]
    write(world, "long", *texts)
    async with world.open_daemon() as daemon:
        told = await Client(daemon).ask(GetSession(key="long"))
        first, second = told.records[:2]
        assert (len(first["content"]), first["cut"], first["images"]) == (64_000, 36_000, [{"media_type": "image/png"}])
        assert (len(second["tool_calls"][0]["malformed"]), second["tool_calls"][0]["arguments"]) == (64_000, {})


async def test_a_page_holds_no_more_than_can_be_sent(world: ServeWorld) -> None:
    write(world, "many", *(Message("user", "z" * 64_000) for _ in range(80)))
    async with world.open_daemon() as daemon:
        told = await Client(daemon).ask(GetSession(key="many", limit=500))
        assert (0 < len(told.records) < 81, told.total) == (True, 81)
        rest = await Client(daemon).ask(GetSession(key="many", start=len(told.records)))
        assert len(rest.records) == 81 - len(told.records)


async def test_a_cursor_that_nobody_gave_is_refused(world: ServeWorld) -> None:
    write(world, "one")
    async with world.open_daemon() as daemon:
        for cursor in ("x", "12", ":", "-5:a", "1:", "9" * 30 + ":a", "\0:\0"):
            with pytest.raises(ClawftError, match="no cursor"):
                await Client(daemon).ask(ListSessions(cursor=cursor))


async def test_a_key_leads_to_a_session_or_nowhere(world: ServeWorld) -> None:
    async with world.open_daemon() as daemon:
        for key in ("../config", "..", "/etc/passwd", "not there", "\udcff", "a" * 256):
            with pytest.raises(ClawftError) as caught:
                await Client(daemon).ask(GetSession(key=key))
            assert caught.value.code in ("session-not-found", "session-key")


async def test_only_who_may_do_all_reads_conversations_of_others(world: ServeWorld) -> None:
    write(world, "one")
    async with world.open_daemon() as daemon:
        for request in (ListSessions(), GetSession(key="one")):
            with pytest.raises(Refused, match="lacks the scope admin"):
                await Client(daemon, "read", "run", "approve").ask(request)
