"""Forks that ask for the background: what is told at once, and that none can do more there than here."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from background import Kept
from clawft.agent.conversation import open_conversation
from clawft.agent.ledger import TokenAllowance
from clawft.agent.run_request import RunRequest, TurnRequest
from clawft.agent.runtime import Runtime
from clawft.errors import ClawftError, NotFound, Refused
from clawft.messages import (
    ApprovalNeeded,
    Event,
    ForkFinished,
    ForkStarted,
    Image,
    Noticed,
    TextDelta,
    ToolFinished,
    TurnFailed,
    TurnFinished,
)
from clawft.skills.discovery.digest import MAX_BYTES
from forking import FORK, is_fork, repeat_result, using
from wire import Asked, Reply, call, say
from world import ASKING, Person, World, collect, error_of, only

pytestmark = pytest.mark.anyio

APART = f"{FORK}background: true\n"
NO_SCAN = "[skills.security]\nscan_on_load = false\n"  # which is not what is tested here, and slow
WRITE = ("write_file", {"path": "made", "content": "x"})


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.provider = NO_SCAN
    return world


@pytest.fixture
def kept(world: World) -> Kept:
    return Kept(world)


async def ask(world: World, kept: Kept, request: TurnRequest | str = "go", **how: Any) -> list[Event]:
    """One turn in a conversation that can start runs."""
    async with world.talk(**how) as conversation:
        conversation.runtime.start_run = kept.start
        return await collect(conversation, request)


async def ask_and_work(world: World, kept: Kept, request: TurnRequest | str = "go", **how: Any) -> list[Event]:
    """The same, and what comes of the run that it started."""
    async with world.talk(**how) as conversation:
        conversation.runtime.start_run = kept.start
        await collect(conversation, request)
        return await kept.work()


def in_skill(asked: Asked, skill: str) -> bool:
    return f'<skill_content name="{skill}">' in str(asked.body["messages"][1]["content"])


async def test_a_model_is_told_at_once_where_its_fork_goes_on(world: World, kept: Kept) -> None:
    world.add_skill("work", "Work on $ARGUMENTS.", head=APART)
    world.replies = [call("Skill", {"name": "work", "args": "the docs"}), say("It runs.")]
    events = await ask(world, kept)
    (run,) = kept.texts
    started, result = only(events, ForkStarted)[0], only(events, ToolFinished)[0].result
    assert (started.skill, started.by, started.depth, started.run) == ("work", "model", 1, run)
    assert started.child.startswith("test:fork-")
    assert (result["data"]["run"], result["data"]["session"]) == (run, started.child)
    assert f"weft runs watch {run}" in result["text"]
    (noticed,) = only(events, Noticed)
    assert (noticed.code, noticed.hint) == ("fork-background", f"Run: weft runs watch {run}")
    assert only(events, ForkFinished) == []
    assert only(events, TurnFinished)[0].text == "It runs."
    assert len(world.server.asked) == 2, "nothing of it was done here"


async def test_a_person_is_told_at_once_and_the_conversation_goes_on(world: World, kept: Kept) -> None:
    world.add_skill("work", head=APART)
    world.replies = [say("Fine.")]
    async with world.talk() as conversation:
        conversation.runtime.start_run = kept.start
        events = await collect(conversation, TurnRequest("the docs", skill="work"))
        await collect(conversation, "thanks")
    (run,) = kept.texts
    text = only(events, TurnFinished)[0].text
    assert f"run {run}, session {only(events, ForkStarted)[0].child}" in text
    assert f"weft runs watch {run}" in text
    assert "".join(one.text for one in only(events, TextDelta)) == text
    assert [one["content"] for one in world.sent()["messages"][1:]] == [
        "/work the docs\n\n[the skill runs in the background, in a conversation of its own]", text, "thanks",
    ]  # fmt: skip


@pytest.mark.parametrize("by", ["user", "model"])
async def test_a_worker_does_it_in_the_session_that_was_named(world: World, kept: Kept, by: str) -> None:
    world.add_skill("work", "Work on $ARGUMENTS.", head=APART)

    def reply(asked: Asked) -> Reply:
        inside = say("Two files.") if is_fork(asked) else None
        return inside or repeat_result(asked) or call("Skill", {"name": "work", "args": "the docs"})

    world.replies = reply
    async with world.talk() as conversation:
        runtime = conversation.runtime
        runtime.start_run = kept.start
        request = TurnRequest("the docs", skill="work") if by == "user" else "go"
        child = only(await collect(conversation, request), ForkStarted)[0].child
        before = runtime.usage.ledger.spent(session="test")[0]
        done = await kept.work()
        assert only(done, TurnFinished)[0].text == "Two files."
        assert "Work on the docs." in world.sent()["messages"][1]["content"]
        assert "Two files." in str(runtime.sessions.read(child).messages)
        used = only(done, TurnFinished)[0].usage.total_tokens
        assert runtime.usage.ledger.spent(session="test")[0] - before == used > 0, "the session that asked for it pays"
        assert runtime.usage.ledger.spent(session=child) == (0, 0)
    assert [one["rule"] for one in world.audit("skill") if one["session"] == child] == [by]


async def test_a_fork_of_a_run_in_the_background_runs_there(world: World, kept: Kept) -> None:
    world.add_skill("work", head=APART)
    world.replies = [say("Two files.")]
    async with world.talk() as conversation:
        conversation.runtime.start_run = kept.start
        conversation.steps.owner = "a-run"
        events = await collect(conversation, TurnRequest("", skill="work"))
    assert (kept.texts, only(events, TurnFinished)[0].text) == ({}, "Two files.")
    assert only(events, Noticed) == []


async def test_without_background_a_fork_is_waited_for(world: World, kept: Kept) -> None:
    world.add_skill("work", head=FORK)
    world.add_skill("other", head=FORK + "background: false\n")
    world.replies = [say("Two files."), say("One file.")]
    for name in ("work", "other"):
        assert only(await ask(world, kept, TurnRequest("", skill=name), key=name), Noticed) == []
    assert kept.texts == {}


async def refuse(_: RunRequest) -> str:
    raise ClawftError("durable-missing", "Runs that survive are not installed", hint="Install clawft[durable]")


async def fail(_: RunRequest) -> str:
    raise ClawftError("runs-database", "The database of runs is away")


@pytest.mark.parametrize(
    ("start", "images", "why", "hint"),
    [
        (None, (), "nothing here runs in the background", ""),
        (refuse, (), "Runs that survive are not installed", "Install clawft[durable]"),
        (refuse, (Image("image/png", ""),), "it was given pictures", ""),
    ],
)
async def test_where_nothing_runs_in_the_background_it_runs_here_and_says_why(
    world: World, start: Any, images: tuple[Image, ...], why: str, hint: str
) -> None:
    world.add_skill("work", head=APART)
    world.replies = [say("Two files.")]
    async with world.talk() as conversation:
        conversation.runtime.start_run = start
        events = await collect(conversation, TurnRequest("", skill="work", images=images))
    (noticed,) = only(events, Noticed)
    assert (noticed.code, noticed.severity, noticed.hint) == ("fork-foreground", "note", hint)
    assert noticed.message.endswith(f"it runs in the foreground: {why}")
    assert only(events, TurnFinished)[0].text == "Two files."


async def test_a_folder_without_a_digest_runs_here(world: World, kept: Kept) -> None:
    folder = world.add_skill("work", head=APART)
    with (folder / "large.bin").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    world.replies = [say("Two files.")]
    events = await ask(world, kept, TurnRequest("", skill="work"))
    (noticed,) = only(events, Noticed)
    assert "there is no digest of its folder" in noticed.message
    assert only(events, TurnFinished)[0].text == "Two files."


async def test_what_cannot_be_written_down_runs_here(world: World, kept: Kept) -> None:
    world.add_skill("work", head=APART)
    world.replies = [say("Two files.")]
    noticed = only(await ask(world, kept, TurnRequest("a\udcff", skill="work")), Noticed)
    assert [(one.code, "is no Unicode" in one.message) for one in noticed] == [("fork-foreground", True)]
    assert kept.texts == {}


async def test_the_default_model_says_where_it_goes_on(world: World, kept: Kept) -> None:
    world.add_skill("count-files", "```sh\nls | wc -l\n```", "Count the files of a folder.", APART)
    events = await ask(world, kept, TurnRequest("count the files of this folder", model="offline"))
    assert f"weft runs watch {next(iter(kept.texts))}" in only(events, TurnFinished)[0].text
    assert "could not be loaded" not in only(events, TurnFinished)[0].text


async def test_a_run_that_cannot_be_started_is_an_error_and_not_done_here(world: World) -> None:
    world.add_skill("work", head=APART)
    world.replies = ()
    async with world.talk() as conversation:
        conversation.runtime.start_run = fail
        failed = (await collect(conversation, TurnRequest("", skill="work")))[-1]
    assert isinstance(failed, TurnFailed)
    assert failed.code == "runs-database"


def add_agent(world: World, name: str, head: str) -> Path:
    folder = world.user_dir / "agents"
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.md"
    path.write_text(f"---\nname: {name}\ndescription: It works.\n{head}---\n\nYou are {name}.\n")
    return path


async def test_the_agent_above_limits_it_as_it_was_then(world: World, kept: Kept) -> None:
    reader = add_agent(world, "reader", "tools: read_file, Skill\n")
    world.add_skill("work", head=APART + "agent: coder\n")
    world.replies = using(*WRITE)
    async with world.talk(agent="reader") as conversation:
        conversation.runtime.start_run = kept.start
        await collect(conversation, "go")
        reader.unlink()
        done = await kept.work()
    assert {one["function"]["name"] for one in world.sent()["tools"]} == {"read_file"}
    assert "the agent 'reader' does not allow the tool 'write_file'" in only(done, TurnFinished)[0].text
    assert not (world.project / "made").exists()


@pytest.mark.parametrize("head", ["allowed-tools: Read(${CLAUDE_SKILL_DIR}/**) Skill\n", "disallowed-tools: Write\n"])
async def test_a_skill_that_is_active_limits_it_as_it_was_then(world: World, kept: Kept, head: str) -> None:
    outer = world.add_skill("outer", "Start work.", head=head)
    world.add_skill("work", head=APART)

    def reply(asked: Asked) -> Reply:
        return repeat_result(asked) or (call(*WRITE) if in_skill(asked, "work") else call("Skill", {"name": "work"}))

    world.replies = reply
    async with world.talk() as conversation:
        conversation.runtime.start_run = kept.start
        await collect(conversation, TurnRequest("", skill="outer"))
        (outer / "SKILL.md").write_text("---\nname: outer\ndescription: It does all.\n---\n\nStart work.\n")
        done = await kept.work()
    assert "the skill 'outer'" in only(done, TurnFinished)[0].text
    assert not (world.project / "made").exists()


async def test_the_mode_and_the_answers_for_the_session_come_along(world: World, kept: Kept) -> None:
    world.environ |= ASKING
    world.add_skill("work", head=APART)
    use = call("exec_shell", {"command": "touch made"})

    def reply(asked: Asked) -> Reply:
        said = str(asked.body["messages"][-1]["content"])
        return repeat_result(asked) or (use if is_fork(asked) or said == "first" else call("Skill", {"name": "work"}))

    world.replies = reply
    person = Person("session")
    async with world.talk(approve=person) as conversation:
        conversation.runtime.start_run = kept.start
        await collect(conversation, "first")
        await collect(conversation, "go")
        (world.project / "made").unlink()
        done = await kept.work(approve=person)
    assert [one.question for one in person.asked] == ["Run: touch made"]
    assert [one.status for one in only(done, ToolFinished)] == ["success"]
    assert (world.project / "made").exists()


async def test_in_mode_plan_it_only_looks(world: World, kept: Kept) -> None:
    world.config = 'mode = "plan"\n'
    world.add_skill("work", head=APART)
    world.replies = using(*WRITE)
    async with world.talk() as conversation:
        conversation.runtime.start_run = kept.start
        await collect(conversation, "go")
        path = world.user_dir / "config.toml"
        path.write_text(path.read_text().replace('"plan"', '"full"'))
        done = await kept.work()
    assert "mode plan" in only(done, TurnFinished)[0].text
    assert not (world.project / "made").exists()


@pytest.mark.parametrize(("above", "told"), [("", "token <secret>."), ("outer", "token .")])
async def test_a_command_gets_the_variables_of_its_skill_unless_another_is_above_it(
    world: World, kept: Kept, above: str, told: str
) -> None:
    world.add_skill("outer", "Start work.")
    world.add_skill("work", head=APART)
    world.environ["HIDDEN"] = "sesame-open-1"
    world.config = '[skills.entries.work.env]\nTOKEN = { env = "HIDDEN" }\n'
    use = call("exec_shell", {"command": 'echo "token $TOKEN."'})

    def reply(asked: Asked) -> Reply:
        return repeat_result(asked) or (use if in_skill(asked, "work") else call("Skill", {"name": "work"}))

    world.replies = reply
    async with world.talk() as conversation:
        conversation.runtime.start_run = kept.start
        await collect(conversation, TurnRequest("go", skill=above))
        done = await kept.work(approve=Person())
    assert told in only(done, TurnFinished)[0].text


async def test_a_skill_whose_folder_changed_is_refused_before_any_of_it_is_used(world: World, kept: Kept) -> None:
    world.provider = f'{NO_SCAN}allowed_command_prefixes = ["touch"]\n'
    folder = world.add_skill("work", head=APART)
    world.replies = ()
    async with world.talk() as conversation:
        conversation.runtime.start_run = kept.start
        await collect(conversation, TurnRequest("", skill="work"))
        with (folder / "SKILL.md").open("a") as file:
            file.write("!touch made\n")
        with pytest.raises(Refused) as raised:
            await kept.work()
    assert (raised.value.code, "changed since the fork was asked for" in str(raised.value)) == ("fork-changed", True)
    assert list(folder.glob("made")) + list(world.project.glob("made")) == []


async def test_a_skill_that_changes_at_the_last_moment_is_refused_too(world: World, kept: Kept) -> None:
    folder = world.add_skill("work", head=APART)
    world.replies = ()
    async with world.open() as runtime:
        request = await start(runtime, kept)
        opened = open_conversation(runtime, runtime.skills.find_agent(""), key=request.session, lineage=request.lineage)
        async with opened as conversation:
            conversation.forked = next(one for one in conversation.skills.statuses if one.name == "work")
            (folder / "more.md").write_text("more")
            failed = (await collect(conversation, TurnRequest("", skill="work")))[-1]
    assert isinstance(failed, TurnFailed)
    assert (failed.code, failed.exit_code) == ("fork-changed", 3)


async def start(runtime: Runtime, kept: Kept) -> RunRequest:
    """A run of the skill `work`, as a person starts it."""
    runtime.start_run = kept.start
    async with open_conversation(runtime, runtime.skills.find_agent(""), key="test") as conversation:
        await collect(conversation, TurnRequest("", skill="work"))
    return kept.request()


@pytest.mark.parametrize(("state", "told"), [("gone", "is gone"), ("disabled", "is disabled now")])
async def test_a_skill_that_may_not_be_used_any_more_is_refused(
    world: World, kept: Kept, state: str, told: str
) -> None:
    folder = world.add_skill("work", head=APART)
    world.replies = ()
    async with world.open() as runtime:
        await start(runtime, kept)
        if state == "gone":
            (folder / "SKILL.md").unlink()
        else:
            path = world.user_dir / "config.toml"
            path.write_text(f"{path.read_text()}\n[skills.entries.work]\nenabled = false\n")
        with pytest.raises(Refused, match=told):
            await kept.work()


async def test_an_agent_that_was_removed_is_an_error(world: World, kept: Kept) -> None:
    clerk = add_agent(world, "clerk", "tools: read_file\n")
    world.add_skill("work", head=APART + "agent: clerk\n")
    world.replies = ()
    async with world.open() as runtime:
        await start(runtime, kept)
        clerk.unlink()
        with pytest.raises(NotFound) as raised:
            await kept.work()
    assert raised.value.code == "agent-not-found"


@pytest.mark.parametrize(
    "head", ["", "tools: read_file, write_file\n", "tools: read_file\nskills: [work]\n", "tools: []\n"]
)
async def test_an_agent_with_other_power_is_refused(world: World, kept: Kept, head: str) -> None:
    add_agent(world, "clerk", "tools: read_file\n")
    world.add_skill("work", head=APART + "agent: clerk\n")
    world.replies = ()
    async with world.open() as runtime:
        await start(runtime, kept)
        add_agent(world, "clerk", head)
        with pytest.raises(Refused, match="The agent 'clerk' is not what it was"):
            await kept.work()


async def test_an_agent_whose_prompt_alone_changed_answers(world: World, kept: Kept) -> None:
    path = add_agent(world, "clerk", "tools: read_file\n")
    world.add_skill("work", head=APART + "agent: clerk\n")
    world.replies = [say("Done.")]
    async with world.open() as runtime:
        await start(runtime, kept)
        path.write_text(f"{path.read_text()}Be brief.\n")
        assert only(await kept.work(), TurnFinished)[0].text == "Done."


async def test_a_run_of_another_skill_than_its_lineage_is_refused(world: World, kept: Kept) -> None:
    world.add_skill("work", head=APART)
    world.add_skill("other")
    world.replies = ()
    async with world.open() as runtime:
        request = await start(runtime, kept)
        run = await kept.start(structs.replace(request, skill="other"))
        with pytest.raises(Refused, match="The fork is not of the skill 'other'"):
            await kept.work(run)


async def test_a_cycle_across_runs_is_refused(world: World, kept: Kept) -> None:
    for name in ("first", "second"):
        world.add_skill(name, head=APART)

    def reply(asked: Asked) -> Reply:
        if not is_fork(asked):
            return repeat_result(asked) or call("Skill", {"name": "first"})
        return repeat_result(asked) or call("Skill", {"name": "second" if in_skill(asked, "first") else "first"})

    world.replies = reply
    async with world.talk() as conversation:
        conversation.runtime.start_run = kept.start
        await collect(conversation, "go")
        (first,) = kept.texts
        await kept.work(first)
        (second,) = set(kept.texts) - {first}
        (refused,) = only(await kept.work(second), ToolFinished)
    assert "The skill would start itself: first → second → first" in error_of(refused)
    assert len(kept.texts) == 2


async def test_forks_go_no_deeper_across_runs(world: World, kept: Kept) -> None:
    following = {"one": "two", "two": "three"}
    for name in ("one", "two", "three"):
        world.add_skill(name, f"This is {name}.", head=APART)

    def reply(asked: Asked) -> Reply:
        here = next((name for name in following if in_skill(asked, name)), "")
        return repeat_result(asked) or call("Skill", {"name": following.get(here, "one")})

    world.replies = reply
    async with world.talk() as conversation:
        conversation.runtime.start_run = kept.start
        await collect(conversation, "go")
        (one,) = kept.texts
        await kept.work(one)
        (two,) = set(kept.texts) - {one}
        done = await kept.work(two)
        path = world.user_dir / "config.toml"
        path.write_text(f"{path.read_text()}\n[agents.fork]\nmax_depth = 1\n")
        with pytest.raises(Refused, match="Forks stop 1 deep now"):
            await kept.work(two)
    assert [kept.request(run).lineage.depth for run in (one, two)] == [1, 2]  # type: ignore[union-attr]
    assert [one.code for one in only(done, Noticed)] == ["fork-inline"]
    assert "This is three." in only(done, TurnFinished)[0].text
    assert len(kept.texts) == 2


async def test_runs_take_their_tokens_from_what_is_left_above(world: World, kept: Kept) -> None:
    world.config = "[agents.fork]\nmax_tokens = 1000\n"
    world.add_skill("work", head=APART)
    world.replies = ()
    async with world.talk() as conversation:
        conversation.runtime.start_run = kept.start
        conversation.allowance = TokenAllowance(3000)
        conversation.allowance.spend(200)
        for _ in range(3):
            await collect(conversation, TurnRequest("", skill="work"))
        left = conversation.allowance.left
    given = [kept.request(run).lineage.max_tokens for run in kept.texts]  # type: ignore[union-attr]
    assert given == [1000, 900, 450]
    assert left == 3000 - 200 - sum(given)


async def test_a_run_that_was_not_started_takes_no_tokens(world: World) -> None:
    world.add_skill("work", head=APART)
    world.replies = ()
    async with world.talk() as conversation:
        conversation.runtime.start_run = fail
        conversation.allowance = TokenAllowance(3000)
        await collect(conversation, TurnRequest("", skill="work"))
        assert conversation.allowance.left == 3000


async def test_a_run_stops_at_the_tokens_of_a_fork(world: World, kept: Kept) -> None:
    world.config = "[agents.fork]\nmax_tokens = 10\n"
    world.add_skill("work", head=APART)
    world.replies = ()
    failed = (await ask_and_work(world, kept, TurnRequest("", skill="work")))[-1]
    assert isinstance(failed, TurnFailed)
    assert failed.code == "fork-budget"


async def test_a_question_in_a_run_is_its_own(world: World, kept: Kept) -> None:
    world.environ |= ASKING
    world.add_skill("work", head=APART)
    world.replies = using("exec_shell", {"command": "touch made"})
    done = await ask_and_work(world, kept)
    assert [one.question for one in only(done, ApprovalNeeded)] == ["Run: touch made"]
    assert not (world.project / "made").exists(), "nobody answered"
