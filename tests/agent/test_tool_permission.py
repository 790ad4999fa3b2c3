"""May a call be made, and what does a yes hold for? Last looks that an earlier one usually answers first."""

from http.server import ThreadingHTTPServer
from typing import Any

import pytest
from msgspec import structs

from clawft.agent.run_request import TurnRequest
from clawft.agent.tools.tool import Tool, ToolContext, ToolResult
from clawft.app.app import open_app
from clawft.messages import Answer, Event, MessageSent, ToolFinished, TurnFailed
from clawft.scanner.findings import Power
from clawft.trust.modes import Mode
from wire import call, say
from world import Person, World, collect, error_of, only

pytestmark = pytest.mark.anyio
WEB = "[tools.web]\nblock_private_ips = false\n"


def approve(world: World, *names: str) -> None:
    app = open_app(world.environ, str(world.project))
    app.reviewer.approve([app.reviewer.review(one.found) for one in app.skills if one.name in names])


def remote(name: str, done: list[str]) -> Tool:
    async def run(_arguments: dict[str, Any], _context: ToolContext) -> ToolResult:
        done.append(name)
        return ToolResult("ran")

    return Tool(name, "A tool of a server.", run, {"type": "object", "properties": {}}, asks=True)


async def fetch_after(world: World, skill: str, url: str) -> tuple[list[str], list[Event]]:
    """Load a skill, then fetch once it is no longer at work: why the person was asked, and what happened."""
    person = Person("no")
    world.replies = [say("ok"), call("web_fetch", {"url": url}), say("done")]
    async with world.talk(approve=person) as conversation:
        await collect(conversation, TurnRequest("go", skill=skill))
        events = await collect(conversation, "thanks")
    return [one.reason for one in person.asked], events


def grant(world: World, name: str, host: str) -> None:
    """Approve a stranger's skill that a person saw would reach a host."""
    approve(world, name)
    approvals = open_app(world.environ, str(world.project)).approvals
    (known,) = [one for one in approvals.load() if one.path.endswith(f"/{name}")]
    approvals.record([structs.replace(known, power=Power(network=(host,)))])


async def test_a_skill_that_was_heard_reaches_the_hosts_it_was_approved_with_and_not_those_of_another(
    world: World, site: ThreadingHTTPServer
) -> None:
    world.config = WEB
    url = f"http://127.0.0.1:{site.server_port}/"
    world.add_skill("able", "Fetch what I name.", strangers=True)
    grant(world, "able", f"127.0.0.1:{site.server_port}")
    world.add_skill("guest", "Fetch what I name.", strangers=True)
    approve(world, "guest")

    asked, events = await fetch_after(world, "able", url)
    assert (asked, only(events, ToolFinished)[0].status) == ([], "success")
    asked, events = await fetch_after(world, "guest", url)
    assert asked == ["the skill 'guest' was not approved for the host '127.0.0.1'"]
    assert only(events, ToolFinished)[0].status == "error"


async def test_what_was_approved_of_something_else_with_the_same_content_gives_a_skill_no_host(
    world: World, site: ThreadingHTTPServer
) -> None:
    world.config = WEB
    world.add_skill("guest", "Fetch what I name.", strangers=True)
    grant(world, "guest", f"127.0.0.1:{site.server_port}")
    person = Person("no")
    fetching = call("web_fetch", {"url": f"http://127.0.0.1:{site.server_port}/"})
    world.replies = [say("ok"), fetching, say("done")]
    async with world.talk(approve=person) as conversation:
        await collect(conversation, TurnRequest("go", skill="guest"))
        approvals = conversation.runtime.approvals
        (known,) = [one for one in approvals.load() if one.kind == "skill"]
        approvals.remove(lambda one: one == known)
        approvals.record([structs.replace(known, kind="former")])
        await collect(conversation, "thanks")
    assert [one.reason for one in person.asked] == ["the skill 'guest' was not approved for the host '127.0.0.1'"]


async def test_a_skill_of_the_users_own_that_was_heard_limits_nothing(world: World, site: ThreadingHTTPServer) -> None:
    world.config = WEB
    world.add_skill("mine", "Say ok.")
    asked, events = await fetch_after(world, "mine", f"http://127.0.0.1:{site.server_port}/")
    assert (asked, only(events, ToolFinished)[0].status) == ([], "success")


@pytest.mark.parametrize(("strangers", "ran"), [(True, []), (False, ["github__get"])])
async def test_only_a_strangers_skill_in_the_prompt_keeps_servers_from_the_model(
    world: World, strangers: bool, ran: list[str]
) -> None:
    world.add_skill("told", strangers=strangers)
    agents = world.user_dir / "agents"
    agents.mkdir()
    (agents / "helper.md").write_text("---\ndescription: Helps\nskills: [told]\n---\nHelp.\n")
    if strangers:
        approve(world, "told")
    done: list[str] = []
    world.replies = [call("github__get", {}), say("done")]
    async with world.talk(agent="helper") as conversation:
        conversation.runtime.server_tools = (remote("github__get", done),)
        await collect(conversation, "go")
        assert [one.skill.name for one in conversation.skills.prompted] == ["told"]
    assert done == ran


async def test_a_redirect_is_followed_in_a_mode_that_only_looks(world: World, site: ThreadingHTTPServer) -> None:
    world.config = WEB
    world.replies = [call("web_fetch", {"url": f"http://127.0.0.1:{site.server_port}/go"}), say("done")]
    async with world.talk(approve=Person("no")) as conversation:
        conversation.set_mode(Mode.PLAN, "a test")
        (ended,) = only(await collect(conversation, "go"), ToolFinished)
    assert (ended.status, "hello" in str(ended.result)) == ("success", True)


async def test_no_hook_hears_of_a_path_that_a_rule_denies(world: World) -> None:
    """The tool itself is there, so the call comes as far as the hooks."""
    world.config = '[permissions]\ndeny = ["Read(vault/**)"]\n'
    (world.project / "vault").mkdir()
    (world.project / "vault/key").write_text("x\n")
    (world.project / "note").write_text("x\n")
    world.add_hook("ears", "tool:before", "event.messages.push(context.params.path);")
    world.replies = [
        call("read_file", {"path": "vault/key"}, "a"),
        call("read_file", {"path": "note"}, "b"),
        say("done"),
    ]
    events = await world.run()
    assert [one.text for one in only(events, MessageSent) if one.hook] == ["note"]
    assert [one.status for one in only(events, ToolFinished)] == ["error", "success"]


async def test_a_tool_that_was_not_offered_is_refused_by_its_rule_and_others_are_not_there(world: World) -> None:
    world.config = '[permissions]\ndeny = ["write_file"]\n'
    world.replies = [
        call("write_file", {"path": "a", "content": ""}, "a"),
        call("Write", {"path": "a", "content": ""}, "b"),
        call("telepathy", {}, "c"),
        say("done"),
    ]
    ended = only(await world.run(), ToolFinished)
    assert "rule deny write_file in [permissions]" in error_of(ended[0])
    assert "rule deny write_file in [permissions]" in error_of(ended[1])
    assert "There is no tool 'telepathy' in this turn" in error_of(ended[2])


async def test_a_tool_under_another_clients_name_is_refused_under_this_name(world: World) -> None:
    """As of a plugin whose tool is called `Shell`, which is no other name of `exec_shell` then."""
    agents = world.user_dir / "agents"
    agents.mkdir()
    (agents / "helper.md").write_text("---\ndescription: Helps\ntools: [Read]\n---\nHelp.\n")
    done: list[str] = []
    world.replies = [call("Shell", {}), say("done")]
    async with world.talk(agent="helper") as conversation:
        conversation.runtime.server_tools = (remote("Shell", done),)
        (ended,) = only(await collect(conversation, "go"), ToolFinished)
    assert "the agent 'helper' does not allow the tool 'Shell'" in error_of(ended)
    assert done == []


ASK = '[permissions]\nask = ["write_file"]\n'
WRITE = {"path": "a", "content": "x"}


async def write_twice(world: World, answer: Answer) -> tuple[Person, list[ToolFinished]]:
    """Write the same in two turns of a conversation, asked about each."""
    person = Person(answer)
    world.replies = [call("write_file", WRITE, "a"), say("ok"), call("write_file", WRITE, "b"), say("done")]
    async with world.talk(approve=person) as conversation:
        events = await collect(conversation, "go")
        events += await collect(conversation, "again")
    return person, only(events, ToolFinished)


@pytest.mark.parametrize(
    ("answer", "asked", "status", "by"),
    [
        ("once", 2, "success", ["the person", "the person"]),
        ("session", 1, "success", ["the person", "an answer for this session"]),
        ("always", 1, "success", ["the person", "a lasting answer"]),
        ("flag", 2, "success", ["--yes", "--yes"]),
        ("no", 2, "error", ["the person", "the person"]),
        ("nobody", 2, "error", ["nobody to ask", "nobody to ask"]),
    ],
)
async def test_a_yes_holds_as_long_as_it_says_and_is_written_down(
    world: World, answer: Answer, asked: int, status: str, by: list[str]
) -> None:
    world.config = ASK
    person, ended = await write_twice(world, answer)
    assert (len(person.asked), [one.status for one in ended]) == (asked, [status] * 2)
    lines = world.audit("approval")
    assert [line["detail"]["by"] for line in lines] == by
    assert [line["decision"] for line in lines] == ["allowed" if status == "success" else "denied"] * 2
    assert (world.project / "a").exists() is (status == "success")
    if status == "error":
        assert "It was not approved (rule ask write_file in [permissions])" in error_of(ended[0])


async def test_a_lasting_yes_outlives_the_conversation_and_one_for_the_session_does_not(world: World) -> None:
    world.config = ASK
    for answer, again in (("session", 1), ("always", 0)):
        person = Person(answer)  # type: ignore[arg-type]
        for key in ("one", "two"):
            world.replies = [call("write_file", {**WRITE, "path": answer}), say("done")]
            await world.run(approve=person, key=f"{answer}-{key}")
        assert len(person.asked) == 1 + again


async def test_a_lasting_yes_is_bound_to_the_skills_at_work(world: World) -> None:
    world.config = ASK
    world.add_skill("mine")
    person = Person("always")
    for skill in ("", "", "mine", "mine"):
        world.replies = [call("write_file", WRITE), say("done")]
        await world.run(approve=person, skill=skill)
    assert len(person.asked) == 2


@pytest.mark.parametrize(
    ("first", "second", "asked"),
    [
        ({"path": "a", "content": "x"}, {"path": "a", "content": "x"}, 1),
        ({"path": "a", "content": "x" * 300}, {"path": "a", "content": "x" * 300}, 1),
        ({"path": "a", "content": "x" * 301}, {"path": "a", "content": "x" * 300 + "y"}, 2),
        ({"path": "a\ncontent: x", "content": "y"}, {"path": "a", "content": "x\ncontent: y"}, 2),
    ],
    ids=["same", "long", "cut", "lines"],
)
async def test_a_yes_fits_no_other_call_that_is_shown_with_the_same_words(
    world: World, first: dict[str, str], second: dict[str, str], asked: int
) -> None:
    world.config = ASK
    person = Person("session")
    world.replies = [call("write_file", first, "a"), call("write_file", second, "b"), say("done")]
    await world.run(approve=person)
    assert len(person.asked) == asked


async def test_a_question_shows_every_argument_and_says_where_it_is_cut(world: World) -> None:
    world.config = ASK
    person = Person("no")
    world.replies = [
        call("write_file", {"path": "a", "content": "x" * 300}, "a"),
        call("write_file", {"path": "a", "content": "x" * 301}, "b"),
        say("done"),
    ]
    await world.run(approve=person)
    whole, cut = (one.question.split("\n") for one in person.asked)
    assert whole == ["Run write_file?", "path: a", f"content: {'x' * 300}"]
    assert cut[1:] == ["path: a", f"content: {'x' * 300}… (301 characters)"]
    assert len(cut[0]) == len("Run write_file? ()") + 32


async def test_a_rule_that_asks_is_kept_to_for_a_command_that_the_policy_would_run(world: World) -> None:
    world.config = '[permissions]\nask = ["Bash(ls:*)"]\n'
    person = Person("no")
    world.replies = [call("exec_shell", {"command": "ls"}, "a"), call("exec_shell", {"command": "pwd"}, "b"), say("x")]
    ended = only(await world.run(approve=person), ToolFinished)
    assert [one.status for one in ended] == ["error", "success"]
    assert [(one.question, one.reason) for one in person.asked] == [("Run: ls", "rule ask Bash(ls:*) in [permissions]")]


async def test_where_approvals_cannot_be_read_what_was_heard_still_binds_and_the_rest_goes_on(
    world: World, site: ThreadingHTTPServer
) -> None:
    world.config = WEB
    world.add_skill("guest", "Fetch what I name.", strangers=True)
    grant(world, "guest", f"127.0.0.1:{site.server_port}")
    (world.project / "note").write_text("x\n")
    world.replies = [say("ok")]
    async with world.talk(approve=Person()) as conversation:
        await collect(conversation, TurnRequest("go", skill="guest"))
    (world.user_dir / "approvals.json").write_text("damaged")
    fetching = call("web_fetch", {"url": f"http://127.0.0.1:{site.server_port}/"}, "b")
    world.replies = [call("read_file", {"path": "note"}, "a"), fetching, say("done")]
    async with world.talk(approve=Person()) as conversation:
        events = await collect(conversation, "thanks")
    assert [(one.tool, one.status) for one in only(events, ToolFinished)] == [("read_file", "success")]
    assert [one.code for one in only(events, TurnFailed)] == ["approvals-damaged"]  # nobody can be asked
    assert world.audit("url") == []
