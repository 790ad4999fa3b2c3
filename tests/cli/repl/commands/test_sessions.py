"""`/session`, `/cost`, `/clear`, `/compact`, `/resume`, `/export`: the conversation as a thing."""

from collections.abc import Awaitable, Callable

import pytest

from clawft.agent.sessions import SessionStore
from clawft.cli.options import TurnOptions
from clawft.messages import Message
from terminal import Open, Terminal
from wire import say
from world import World

pytestmark = pytest.mark.anyio
Enter = Callable[[Terminal, str], Awaitable[str]]
PRICES = "[providers.local.models.m]\ninput_usd_per_mtok = 1000.0\noutput_usd_per_mtok = 2000.0\n"


def facts(shown: str) -> dict[str, str]:
    return {label: value.strip() for label, value in (line.split(":", 1) for line in shown.split("\n"))}


async def test_session_is_told_in_numbers(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [say("1"), say("2")]
    world.provider = PRICES
    async with terminal(columns=120) as t:
        assert (await enter(t, "/session")).startswith("No session yet: it begins with your first message\n")
        await enter(t, "one")
        await enter(t, "two")
        shown = facts(await enter(t, "/session"))
        assert shown["Session"] == t.repl.key
        assert (shown["Turns"], shown["Messages"], shown["Tokens"]) == ("2", "4", "20 in, 10 out")
        assert (shown["Cost"], shown["Agent"], shown["Model"]) == ("$0.0400", "default", "local/m")
        assert shown["File"] == f"~/.clawft/sessions/{t.repl.key}.jsonl"
        assert len(world.server.asked) == 2


async def test_cost_of_the_session_and_of_the_day(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [say("1"), say("2")]
    world.provider = PRICES
    world.config = "[agents.budget]\nper_day_usd = 500.0\nper_session_tokens = 1000000\n"
    async with terminal(columns=120) as t:
        await enter(t, "one")
        t.type("/clear\r")
        await t.wait_for("A new session begins")
        await enter(t, "two")
        assert facts(await enter(t, "/cost")) == {
            "This session": "15 tokens, $0.0200 (limit: 1,000,000 tokens)",
            "Today": "30 tokens, $0.0400 (limit: $500)",
        }


async def test_cost_without_prices_says_where_they_are_set(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [say("1")]
    async with terminal(columns=120) as t:
        assert facts(await enter(t, "/cost")) == {"This session": "0 tokens", "Today": "0 tokens"}
        await enter(t, "one")
        shown = await enter(t, "/cost")
        assert "This session: 15 tokens\n" in shown
        assert "No price is known" in shown


async def test_clear_begins_anew_and_keeps_the_old_session(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [say("1"), say("2"), say("3")]
    async with terminal(columns=120) as t:
        await enter(t, "one")
        old = t.repl.key
        t.type("/clear\r")
        await t.wait_for(f"A new session begins with your next message. The last one is kept: /resume {old}")
        assert "one" not in t.lines()
        await enter(t, "two")
        assert [one["content"] for one in world.sent()["messages"] if one["role"] == "user"] == ["two"]
        assert t.repl.key != old
        assert await enter(t, f"/resume {old}") == f"Resumed {old} (1 turn): one"
        await enter(t, "three")
        assert [one["content"] for one in world.sent()["messages"] if one["role"] == "user"] == ["one", "three"]


async def test_clear_before_anything_was_said_leaves_nothing(world: World, terminal: Open, enter: Enter) -> None:
    async with terminal() as t:
        await enter(t, "/tools")
        t.type("/clear\r")
        await t.wait_for("A new session begins with your next message.")
        assert "/resume" not in t.text()
        assert SessionStore(str(world.user_dir / "sessions")).keys() == ()


async def test_compact_summarises_older_turns(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [say("1"), say("2"), say("They counted."), say("3")]
    async with terminal(columns=120) as t:
        assert "nothing to summarise yet" in await enter(t, "/compact")
        await enter(t, "one")
        await enter(t, "two")
        assert "older turns were summarised" in await enter(t, "/compact")
        await enter(t, "three")
        said = [one["content"] for one in world.sent()["messages"] if one["role"] == "user"]
        assert "one" not in said
        assert any("They counted." in (one["content"] or "") for one in world.sent()["messages"])
        assert said[-2:] == ["two", "three"]


async def test_sessions_of_the_project_are_listed_newest_first(world: World, terminal: Open, enter: Enter) -> None:
    store = SessionStore(str(world.user_dir / "sessions"))
    async with terminal(columns=120) as t:
        assert await enter(t, "/resume") == "There is no session of this project yet"
        for key, cwd in (("here", world.project), ("there", "/elsewhere"), ("here:task-1", world.project)):
            with store.open(key, cwd=str(cwd)) as session:
                session.append(Message("user", f"In {key}"), 1)
                session.finish_turn(1)
        rows = [line.split() for line in (await enter(t, "/resume")).split("\n")]
        assert rows[0] == ["KEY", "TITLE", "TURNS", "UPDATED"]
        assert [row[:4] for row in rows[1:-1]] == [["here", "In", "here", "1"]]
        assert await enter(t, "/resume her") == "Resumed here (1 turn): In here"
        assert await enter(t, "/resume here") == "This is session here"
        assert (await enter(t, "/resume the")).endswith("note: it was begun in /elsewhere")
        assert "error[session-not-found]" in await enter(t, "/resume nope")


async def test_session_that_another_process_writes_is_left_alone(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [say("1"), say("2")]
    store = SessionStore(str(world.user_dir / "sessions"))
    async with terminal(columns=120) as t:
        await enter(t, "one")
        mine = t.repl.key
        with store.open("busy", cwd=str(world.project)):
            assert "error[session-busy]" in await enter(t, "/resume busy")
        assert t.repl.key == mine
        await enter(t, "two")
        assert [one["content"] for one in world.sent()["messages"] if one["role"] == "user"] == ["one", "two"]


async def test_export_writes_what_was_said_and_overwrites_nothing(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [say("The answer.")]
    async with terminal(columns=120) as t:
        assert (await enter(t, "/export")).startswith("There is nothing to export yet")
        await enter(t, "A question")
        assert await enter(t, "/export") == f"Written to {t.repl.key}.md"
        text = (world.project / f"{t.repl.key}.md").read_text()
        assert text.startswith("# Session ")
        assert "> A question" in text
        assert "The answer." in text
        (world.project / "mine.md").write_text("mine")
        assert "error[file-exists]" in await enter(t, "/export mine.md")
        assert (world.project / "mine.md").read_text() == "mine"
        assert await enter(t, "/export page.html") == "Written to page.html"
        assert (world.project / "page.html").read_text().startswith("<!")
        assert await enter(t, "/export ~/lines.jsonl") == "Written to ~/lines.jsonl"
        assert (world.home / "lines.jsonl").read_text().startswith('{"type":"session"')
        assert "error[not-written]" in await enter(t, "/export no/such/folder.md")


async def test_session_of_a_new_key_begins_with_the_first_message(world: World, terminal: Open, enter: Enter) -> None:
    world.replies = [say("1")]
    async with terminal(options=TurnOptions(session="mine")) as t:
        assert (await enter(t, "/session")).startswith("No session yet")
        await enter(t, "one")
        assert facts(await enter(t, "/session"))["Session"] == "mine"


async def test_leaving_an_unused_session_names_no_key(terminal: Open, enter: Enter) -> None:
    async with terminal() as t:
        await enter(t, "/tools")
        t.type("/exit\r")
        assert await t.ended() == 0
        assert "To go on with this" not in t.text()
