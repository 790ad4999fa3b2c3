"""The menu: commands, skills with their argument hints, files; quick with thousands of skills."""

import time

import pytest

from clawft.cli.repl.completion import MAX_SHOWN, starting_with
from make_skills import write_skills
from terminal import CTRL_C, TAB, Open
from wire import say
from world import World

pytestmark = pytest.mark.anyio


async def test_slash_lists_commands_and_skills_with_their_hints(world: World, terminal: Open) -> None:
    world.add_skill("exhume", description="Digs.", head="argument-hint: '[bone] [depth]'\n")
    async with terminal() as t:
        t.type("/ex")
        await t.wait_for("[bone] [depth] Digs.")
        assert " exit " in t.text()
        t.type("h" + TAB)
        await t.wait_for("> /exhume")


async def test_skill_that_nobody_may_start_is_not_offered(world: World, terminal: Open) -> None:
    world.add_skill("open-one")
    world.add_skill("open-two", head="user-invocable: false\n")
    async with terminal() as t:
        t.type("/open-")
        await t.wait_for("Does open-one.")
        assert "open-two" not in t.text()


async def test_dollar_mentions_a_skill_in_a_message(world: World, terminal: Open) -> None:
    world.add_skill("review", description="Reviews things.")
    world.replies = [say("Reviewed.")]
    async with terminal() as t:
        t.type("please use $rev")
        await t.wait_for("Reviews things.")
        t.type(TAB + "\r")
        await t.wait_for("Reviewed.")
        assert world.sent()["messages"][-1]["content"] == "please use $review"


async def test_at_completes_files_and_folders(world: World, terminal: Open) -> None:
    (world.project / "docs").mkdir()
    (world.project / "docs" / "my notes.txt").write_text("noted")
    (world.project / "docs" / ".hidden").write_text("")
    (world.project / "docs" / "bad\x1b[31m.txt").write_text("")
    world.replies = [say("Read.")]
    async with terminal() as t:
        t.type("see @do")
        await t.wait_for("docs/")
        t.type(TAB)
        await t.wait_for("> see @docs/")
        t.type("m")
        await t.wait_for("my notes.txt")
        t.type(TAB)
        await t.wait_for("@docs/my\\ notes.txt")
        t.type("\r")
        await t.wait_for("Read.")
        assert "noted" in world.sent()["messages"][-1]["content"]


async def test_files_of_no_folder_complete_to_nothing(world: World, terminal: Open) -> None:
    async with terminal() as t:
        t.type("@nowhere/x" + TAB + "y")
        await t.prompt("@nowhere/xy")


async def test_what_a_command_takes_is_completed(world: World, terminal: Open) -> None:
    world.add_skill("only-one")
    async with terminal() as t:
        t.type("/skill onl")
        await t.wait_for("only-one")
        t.type(TAB)
        await t.wait_for("> /skill only-one")


async def test_second_skill_is_completed_behind_the_first(world: World, terminal: Open) -> None:
    world.add_skill("first-one")
    world.add_skill("second-one")
    async with terminal() as t:
        t.type("/first-one /sec")
        await t.wait_for("Does second-one.")
        t.type(TAB)
        await t.wait_for("> /first-one /second-one")


@pytest.mark.soak
@pytest.mark.unmeasured
async def test_menu_of_thousands_of_skills_comes_with_the_key(world: World, terminal: Open) -> None:
    write_skills(world.user_dir / "skills", 1_000)
    async with terminal() as t:
        assert len(t.repl.app.skills) >= 1_000
        t.type("/")
        await t.wait_for(" skills ")
        took = []
        for _ in range(5):
            t.type(CTRL_C)
            await t.prompt()
            start = time.perf_counter()
            t.type("/ex")
            await t.wait_for(" exit ")
            took.append(time.perf_counter() - start)
        assert min(took) < 0.25  # a loaded machine; `make bench` has the real limit


def test_names_that_begin_so_are_found_without_a_walk() -> None:
    names = sorted(f"skill-{number:04}" for number in range(5_000))
    assert starting_with(names, "skill-4999") == ["skill-4999"]
    assert len(starting_with(names, "skill")) == MAX_SHOWN
    assert starting_with(names, "zebra") == []
