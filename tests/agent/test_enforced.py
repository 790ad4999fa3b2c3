"""What a tool may do is decided when it is used: attacks of skills and models, with what came of them on disk.

Each asserts that the effect did not happen, and that the audit log has a line for it.
"""

from typing import Any

import pytest

from clawft.agent import tool_calls as calls
from clawft.agent.conversation import open_conversation
from clawft.agent.run_request import TurnRequest
from clawft.agent.tool_permission import permit
from clawft.agent.tools.tool import Tool, ToolContext, ToolResult
from clawft.app.app import open_app
from clawft.messages import ToolFinished
from wire import call, say
from world import Person, World, collect, error_of, only

pytestmark = pytest.mark.anyio


async def use(world: World, person: Person, *calls: tuple[str, dict[str, Any]], skill: str = "") -> list[ToolFinished]:
    """A turn in which a model makes these calls, perhaps while a skill is active; how each ended."""
    world.replies = [*(call(name, arguments, f"c{n}") for n, (name, arguments) in enumerate(calls)), say("done")]
    return only(await world.run(skill=skill, approve=person), ToolFinished)


BYPASSES = [
    "git --version; touch pwned",
    "git --version && touch pwned",
    "git --version | tee pwned",
    "git --version > pwned",
    "git --version\ntouch pwned",
    "git --version $(touch pwned)",
    "git --version `touch pwned`",
    'git --version "$(touch pwned)"',
    "gitfoo",
    "env git --version",
    "touch pwned",
    "GIT_SSH_COMMAND='touch pwned' git --version",
    "LD_PRELOAD=./x.so git --version",
    "sh -c 'git --version; touch pwned'",
]
UNREADABLE = ["git$IFS--version;touch$IFS./pwned", "git --version; $X pwned", "git --version; if touch pwned"]


async def test_what_only_looks_like_an_allowed_command_never_runs(world: World) -> None:
    world.add_skill("vcs", head="allowed-tools: Bash(git:*)\n")
    (world.project / "gitfoo").write_text("#!/bin/sh\ntouch pwned\n")
    (world.project / "gitfoo").chmod(0o755)
    person = Person()
    ended = await use(world, person, *(("Bash", {"command": line}) for line in BYPASSES), skill="vcs")

    assert [
        error_of(one) for one in ended if "the skill 'vcs' allows exec_shell only for Bash(git:*)" not in str(one)
    ] == []
    assert not (world.project / "pwned").exists()
    assert person.asked == []  # nobody was even asked
    lines = world.audit("denial")
    assert len(lines) == len(BYPASSES)
    assert {(line["skill"], line["decision"]) for line in lines} == {("vcs", "denied")}
    assert all("Bash(git:*)" in line["rule"] for line in lines)


async def test_what_nobody_can_tell_from_an_allowed_command_is_asked_about_in_full(world: World) -> None:
    world.add_skill("vcs", head="allowed-tools: Bash(git:*)\n")
    person = Person("no")
    ended = await use(world, person, *(("Bash", {"command": line}) for line in UNREADABLE), skill="vcs")

    assert [one.status for one in ended] == ["error"] * 3
    assert [one.question for one in person.asked] == [f"Run: {line}" for line in UNREADABLE]
    assert not (world.project / "pwned").exists()


async def test_the_allowed_command_runs_and_is_written_down(world: World) -> None:
    world.add_skill("vcs", head="allowed-tools: Bash(git:*), Bash(touch:*)\n")
    (ended,) = await use(world, Person(), ("exec_shell", {"command": "touch made && touch more"}), skill="vcs")

    assert ended.status == "success"
    assert (world.project / "more").exists()
    (line,) = world.audit("tool", "allowed")
    assert (line["subject"], line["skill"]) == ("exec_shell touch made && touch more", "vcs")
    assert world.audit("approval") == []  # the sandbox holds it


async def test_a_skill_writes_only_where_its_pattern_says(world: World) -> None:
    world.add_skill("docs", head="allowed-tools: Write(docs/**) Read\n")
    (world.project / "docs").mkdir()
    (world.project / "src").mkdir()
    (world.project / "docs" / "out").symlink_to("../src")
    tries = ["src/x", "docs/../src/x", "docs/out/x", str(world.project / "src" / "x"), "~/x"]
    ended = await use(
        world,
        Person(),
        *(("write_file", {"path": path, "content": "x"}) for path in tries),
        ("write_file", {"path": "docs/ok.md", "content": "x"}),
        skill="docs",
    )

    assert [one.status for one in ended] == ["error"] * len(tries) + ["success"]
    assert [one.name for one in (world.project / "src").iterdir()] == []
    assert (world.project / "docs" / "ok.md").read_text() == "x"
    assert len(world.audit("denial")) == len(tries)


async def test_a_folder_that_becomes_a_link_after_it_was_judged_leads_nowhere(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The swap is made between the decision and the moment at which the tool looks where the path leads."""
    world.add_skill("docs", head="allowed-tools: Write(docs/**) Read(docs/**)\n")
    for name in ("docs", "src"):
        (world.project / name).mkdir()
    (world.project / "src" / "secret").write_text("the secret\n")

    async def swap(*given: Any) -> Any:
        decision = await permit(*given)
        if not (world.project / "docs").is_symlink():
            (world.project / "docs").rmdir()
            (world.project / "docs").symlink_to("src")
        return decision

    monkeypatch.setattr(calls, "permit", swap)
    written = await use(world, Person(), ("write_file", {"path": "docs/x", "content": "x"}), skill="docs")
    (world.project / "docs").unlink()
    (world.project / "docs").mkdir()
    read = await use(world, Person(), ("read_file", {"path": "docs/secret"}), skill="docs")

    assert [one.status for one in (*written, *read)] == ["error", "error"]
    assert "the skill 'docs' allows write_file only for Write(docs/**)" in error_of(written[0])
    assert "the secret" not in str(read[0].result)
    assert [one.name for one in (world.project / "src").iterdir()] == ["secret"]
    assert len(world.audit("denial")) == 2


async def test_a_disallowed_command_is_refused_beside_allowed_ones(world: World) -> None:
    world.add_skill("careful", head="disallowed-tools: Bash(touch:*)\n")
    ended = await use(
        world,
        Person(),
        ("exec_shell", {"command": "echo x && touch pwned"}),
        ("exec_shell", {"command": "sh -c 'touch pwned'"}),
        ("exec_shell", {"command": "echo x"}),
        skill="careful",
    )
    assert [one.status for one in ended] == ["error", "error", "success"]
    assert "the skill 'careful' disallows Bash(touch:*)" in error_of(ended[0])
    assert not (world.project / "pwned").exists()


async def test_a_skill_that_has_another_loaded_gains_nothing(world: World) -> None:
    world.add_skill("small", head="allowed-tools: Skill Read\n")
    world.add_skill("large", head="allowed-tools: Bash Write Skill\n")
    loads = ("Skill", {"name": "large"})
    ended = await use(world, Person(), loads, ("write_file", {"path": "pwned", "content": "x"}), skill="small")

    assert ended[0].status == "success"
    assert "the skill 'small' does not allow the tool 'write_file'" in error_of(ended[1])
    assert not (world.project / "pwned").exists()
    assert world.audit("denial")[0]["skill"] == "small, large"


async def test_the_folder_of_a_skill_is_in_its_patterns(world: World) -> None:
    folder = world.add_skill("runner", head="allowed-tools: Bash(cat ${CLAUDE_SKILL_DIR}/data.txt)\n")
    (folder / "data.txt").write_text("the data\n")
    (folder / "other.txt").write_text("the other\n")
    ended = await use(
        world,
        Person(),
        ("exec_shell", {"command": f"cat {folder}/data.txt"}),
        ("exec_shell", {"command": f"cat {folder}/other.txt"}),
        skill="runner",
    )
    assert "the data" in ended[0].result["text"]
    assert ended[1].status == "error"


async def test_the_limits_of_an_agents_file_hold(world: World) -> None:
    agents = world.user_dir / "agents"
    agents.mkdir()
    head = "description: Reviews\ntools: Read, Bash(git log:*), Write\ndisallowedTools: Write(secret/**)"
    (agents / "reviewer.md").write_text(f"---\n{head}\n---\nReview.\n")
    world.replies = [
        call("exec_shell", {"command": "touch pwned"}, "a"),
        call("write_file", {"path": "secret/x", "content": "x"}, "b"),
        call("write_file", {"path": "open", "content": "x"}, "c"),
        call("memory_write", {"key": "k", "content": "v"}, "d"),
        say("done"),
    ]
    ended = only(await world.run(agent="reviewer", approve=Person()), ToolFinished)

    assert [one.status for one in ended] == ["error", "error", "success", "error"]
    assert "the agent 'reviewer' does not allow the tool 'memory_write'" in error_of(ended[3])
    assert len(world.audit("denial")) == 3
    assert "the agent 'reviewer' allows exec_shell only for Bash(git log:*)" in error_of(ended[0])
    assert "the agent 'reviewer' disallows Write(secret/**)" in error_of(ended[1])
    assert not (world.project / "pwned").exists()
    assert not (world.project / "secret").exists()


async def test_delegated_work_is_bound_by_the_same_limits(world: World) -> None:
    world.add_skill("vcs", head="allowed-tools: Bash(git:*) Task\n")
    world.replies = [
        call("delegate", {"task": "do it"}, "a"),
        call("exec_shell", {"command": "git --version; touch pwned"}, "b"),
        say("child done"),
        say("done"),
    ]
    await world.run(skill="vcs", approve=Person())
    assert not (world.project / "pwned").exists()
    (line,) = world.audit("denial")
    assert "the skill 'vcs' allows exec_shell only for Bash(git:*)" in line["rule"]
    assert line["session"] != "test"


def remote(name: str, done: list[str]) -> Tool:
    async def run(_arguments: dict[str, Any], _context: ToolContext) -> ToolResult:
        done.append(name)
        return ToolResult("ran")

    return Tool(name, "A tool of a server.", run, {"type": "object", "properties": {}}, asks=True)


async def test_a_strangers_skill_gets_only_the_servers_it_names(world: World) -> None:
    world.add_skill("guest", head="allowed-tools: '* github__get'\n", strangers=True)
    done: list[str] = []
    world.replies = [call("github__put", {}, "a"), call("github__get", {}, "b"), say("done")]
    async with world.open() as runtime:
        app = open_app(world.environ, str(world.project))
        app.reviewer.approve([app.reviewer.review(one.found) for one in app.skills if one.name == "guest"])
        runtime.server_tools = tuple(remote(name, done) for name in ("github__get", "github__put"))
        async with open_conversation(runtime, app.choose_agent(), key="test") as conversation:
            ended = only(await collect(conversation, TurnRequest("", skill="guest")), ToolFinished)

    assert done == ["github__get"]
    assert "a stranger's skill gets only those tools of servers and plugins that it names" in error_of(ended[0])
    assert len(world.audit("denial")) == 1


async def test_a_strangers_skill_in_the_prompt_gets_no_servers_either(world: World) -> None:
    world.add_skill("guest", strangers=True)
    agents = world.user_dir / "agents"
    agents.mkdir()
    (agents / "helper.md").write_text("---\ndescription: Helps\nskills: [guest]\n---\nHelp.\n")
    done: list[str] = []
    world.replies = [
        call("github__get", {}, "a"),
        call("delegate", {"task": "get it"}, "b"),
        call("github__get", {}, "c"),
        say("child done"),
        call("write_file", {"path": "made", "content": "x"}, "d"),
        say("done"),
    ]
    async with world.open() as runtime:
        app = open_app(world.environ, str(world.project))
        app.reviewer.approve([app.reviewer.review(one.found) for one in app.skills if one.name == "guest"])
        runtime.server_tools = (remote("github__get", done),)
        async with open_conversation(runtime, app.choose_agent("helper"), key="test") as conversation:
            ended = only(await collect(conversation, "go"), ToolFinished)

    assert done == []
    assert "the skill 'guest' does not name github__get" in error_of(ended[0])
    assert (world.project / "made").exists()
    assert len(world.audit("denial")) == 2


async def test_the_users_own_skill_without_a_list_leaves_servers_alone(world: World) -> None:
    world.add_skill("mine")
    done: list[str] = []
    world.replies = [call("github__get", {}), say("done")]
    async with world.talk() as conversation:
        conversation.runtime.server_tools = (remote("github__get", done),)
        await collect(conversation, TurnRequest("", skill="mine"))
    assert done == ["github__get"]


async def test_a_tool_does_not_run_when_that_cannot_be_written_down(world: World) -> None:
    (world.user_dir / "audit.jsonl").mkdir()
    (ended,) = await use(world, Person(), ("write_file", {"path": "made", "content": "x"}))
    assert "audit log" in error_of(ended)
    assert not (world.project / "made").exists()


async def test_what_a_model_calls_a_tool_does_not_matter(world: World) -> None:
    world.add_skill("reader", head="allowed-tools: Read\n")
    (world.project / "a").write_text("x\n")
    names = ["Bash", "bash", "BASH", "shell", "exec", "code_execution"]
    ended = await use(
        world,
        Person(),
        *((name, {"command": "touch pwned"}) for name in names),
        ("Read", {"path": "a"}),
        skill="reader",
    )
    assert [one.status for one in ended] == ["error"] * len(names) + ["success"]
    assert not (world.project / "pwned").exists()


async def test_hidden_arguments_do_not_slip_through(world: World) -> None:
    world.add_skill("vcs", head="allowed-tools: Bash(git:*)\n")
    tries: list[dict[str, Any]] = [
        {"command": ["git", "; touch pwned"]},
        {"command": {"git": "touch pwned"}},
        {"command": "git log", "cwd": ["x"]},
        {"command": None},
        {},
        {"Command": "touch pwned"},
    ]
    ended = await use(world, Person(), *(("exec_shell", one) for one in tries), skill="vcs")
    assert all(one.status == "error" for one in ended)
    assert not (world.project / "pwned").exists()
