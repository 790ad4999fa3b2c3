"""What a tool may do is decided when it is used: attacks of skills and models, with what came of them on disk.

Each asserts that the effect did not happen, and that the audit log has a line for it.
"""

import json
from typing import Any

import pytest

from clawft.app import open_app
from clawft.messages import Answer, ApprovalNeeded, Noticed, ToolFinished
from clawft.run import TurnRequest
from clawft.tools.tool import Tool, ToolContext, ToolResult
from clawft.trust.modes import Mode
from wire import call, say
from world import World, collect, only

pytestmark = pytest.mark.anyio


class Person:
    """Answers what is asked, always the same, and keeps the questions."""

    def __init__(self, answer: Answer = "once") -> None:
        self.answer = answer
        self.asked: list[ApprovalNeeded] = []

    async def __call__(self, event: ApprovalNeeded) -> Answer:
        self.asked.append(event)
        return self.answer


def audit(world: World, kind: str) -> list[dict[str, Any]]:
    path = world.user_dir / "audit.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [line for line in lines if line["kind"] == kind]


def error_of(event: ToolFinished) -> str:
    error = event.result.get("error", {})
    return f"{error.get('code', '')}: {error.get('message', '')}"


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
    "git$IFS--version;touch$IFS./pwned",
    "gitfoo",
    "env git --version",
    "touch pwned",
    "GIT_SSH_COMMAND='touch pwned' git --version",
    "LD_PRELOAD=./x.so git --version",
    "sh -c 'git --version; touch pwned'",
]


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
    lines = audit(world, "denial")
    assert len(lines) == len(BYPASSES)
    assert {(line["skill"], line["decision"]) for line in lines} == {("vcs", "denied")}
    assert all("Bash(git:*)" in line["rule"] for line in lines)


async def test_the_allowed_command_runs_and_is_written_down(world: World) -> None:
    world.add_skill("vcs", head="allowed-tools: Bash(git:*), Bash(touch:*)\n")
    (ended,) = await use(world, Person(), ("exec_shell", {"command": "touch made && touch more"}), skill="vcs")

    assert ended.status == "success"
    assert (world.project / "more").exists()
    (line,) = audit(world, "tool")
    assert (line["subject"], line["skill"]) == ("exec_shell touch made && touch more", "vcs")
    (asked,) = audit(world, "approval")
    assert (asked["decision"], asked["detail"]["by"]) == ("allowed", "the person")


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
    assert len(audit(world, "denial")) == len(tries)


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
    assert audit(world, "denial")[0]["skill"] == "small, large"


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
        say("done"),
    ]
    ended = only(await world.run(agent="reviewer", approve=Person()), ToolFinished)

    assert [one.status for one in ended] == ["error", "error", "success"]
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
    (line,) = audit(world, "denial")
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
        app.approve([app.review(one.found) for one in app.skills if one.name == "guest"])
        runtime.server_tools = tuple(remote(name, done) for name in ("github__get", "github__put"))
        async with runtime.open_conversation(app.choose_agent(), key="test") as conversation:
            ended = only(await collect(conversation, TurnRequest("", skill="guest")), ToolFinished)

    assert done == ["github__get"]
    assert "a stranger's skill gets only the MCP tools that it names" in error_of(ended[0])
    assert len(audit(world, "denial")) == 1


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
        app.approve([app.review(one.found) for one in app.skills if one.name == "guest"])
        runtime.server_tools = (remote("github__get", done),)
        async with runtime.open_conversation(app.choose_agent("helper"), key="test") as conversation:
            ended = only(await collect(conversation, "go"), ToolFinished)

    assert done == []
    assert "the skill 'guest' does not name github__get" in error_of(ended[0])
    assert (world.project / "made").exists()
    assert len(audit(world, "denial")) == 2


async def test_the_users_own_skill_without_a_list_leaves_servers_alone(world: World) -> None:
    world.add_skill("mine")
    done: list[str] = []
    world.replies = [call("github__get", {}), say("done")]
    async with world.talk() as conversation:
        conversation.runtime.server_tools = (remote("github__get", done),)
        await collect(conversation, TurnRequest("", skill="mine"))
    assert done == ["github__get"]


MODES: list[tuple[Mode, str, str, str]] = [
    # mode, what a write, a command off the list and a memory come to
    (Mode.PLAN, "refused", "refused", "refused"),
    (Mode.ASK, "asked", "asked", "asked"),
    (Mode.AUTO_EDIT, "done", "asked", "done"),
    (Mode.FULL, "done", "done", "done"),
]


@pytest.mark.parametrize(("mode", "write", "command", "memory"), MODES)
async def test_modes(world: World, mode: Mode, write: str, command: str, memory: str) -> None:
    person = Person("no")
    world.replies = [
        call("write_file", {"path": "made", "content": "x"}, "a"),
        call("exec_shell", {"command": "touch touched"}, "b"),
        call("memory_write", {"key": "k", "content": "v"}, "c"),
        call("read_file", {"path": "there"}, "d"),
        call("exec_shell", {"command": "cat there"}, "e"),
        say("done"),
    ]
    (world.project / "there").write_text("x\n")
    async with world.talk(approve=person) as conversation:
        conversation.set_mode(mode, "a test")
        ended = only(await collect(conversation, "go"), ToolFinished)

    asked = [one.tool for one in person.asked]
    names = ("write_file", "exec_shell", "memory_write")
    came = [
        "done" if one.status == "success" else "asked" if name in asked else "refused"
        for name, one in zip(names, ended, strict=False)
    ]
    assert came == [write, command, memory]
    assert (world.project / "made").exists() is (write == "done")
    assert (world.project / "touched").exists() is (command == "done")
    assert [one.status for one in ended[3:]] == ["success", "success"]
    if mode is Mode.PLAN:
        assert all("mode plan" in error_of(one) for one in ended[:3])
    (line,) = audit(world, "mode")
    assert (line["subject"], line["detail"]) == (mode, {"from": "auto-edit", "by": "a test"})


async def test_plan_runs_no_command_but_those_that_read_whatever_the_policy(world: World) -> None:
    world.config = '[tools.exec]\nmode = "disabled"\nalso_allowed = ["touch"]\n'
    world.replies = [call("exec_shell", {"command": "touch touched"}), say("done")]
    async with world.talk(approve=Person()) as conversation:
        conversation.set_mode(Mode.PLAN, "a test")
        (ended,) = only(await collect(conversation, "go"), ToolFinished)
    assert "mode plan" in error_of(ended)
    assert not (world.project / "touched").exists()


async def test_full_asks_nothing_but_keeps_rules_and_policies(world: World) -> None:
    world.config = '[permissions]\ndeny = ["Bash(touch:*)"]\nask = ["Bash(mkdir:*)"]\n'
    person = Person("no")
    world.replies = [
        call("exec_shell", {"command": "touch pwned"}, "a"),
        call("exec_shell", {"command": "echo $(touch pwned)"}, "b"),
        call("exec_shell", {"command": "mkdir made"}, "c"),
        call("exec_shell", {"command": "touch pwned", "outside_sandbox": True}, "d"),
        call("exec_shell", {"command": "mkdir outside", "outside_sandbox": True}, "e"),
        say("done"),
    ]
    async with world.talk(approve=person) as conversation:
        conversation.set_mode(Mode.FULL, "a test")
        ended = only(await collect(conversation, "go"), ToolFinished)
    assert [one.status for one in ended] == ["error", "error", "success", "error", "error"]
    assert "rule deny Bash(touch:*) in [permissions]" in error_of(ended[0])
    assert [(one.grave, "outside" in one.question) for one in person.asked] == [(True, True)]
    assert not (world.project / "pwned").exists()
    assert not (world.project / "outside").exists()


async def test_an_allow_rule_answers_what_would_be_asked(world: World) -> None:
    world.config = '[permissions]\nallow = ["Bash(touch:*)"]\n'
    person = Person("no")
    ended = await use(
        world,
        person,
        ("exec_shell", {"command": "touch one"}),
        ("exec_shell", {"command": "touch two && mkdir three"}),
        ("exec_shell", {"command": "touch $(echo four)"}),
    )
    assert [one.status for one in ended] == ["success", "error", "error"]
    assert [one.question for one in person.asked] == ["Run: touch two && mkdir three"]
    assert sorted(one.name for one in world.project.iterdir() if not one.name.startswith(".")) == ["one"]
    allowed = next(line for line in audit(world, "approval") if line["decision"] == "allowed")
    assert allowed["detail"]["by"] == "rule allow Bash(touch:*) in [permissions]"


async def test_deny_beats_ask_and_ask_beats_allow(world: World) -> None:
    world.config = (
        '[permissions]\nallow = ["Bash", "Edit(**)"]\nask = ["Bash(touch:*)"]\ndeny = ["Bash(touch secret*)"]\n'
    )
    person = Person("once")
    ended = await use(
        world,
        person,
        ("exec_shell", {"command": "touch secret.txt"}),
        ("exec_shell", {"command": "touch plain"}),
        ("exec_shell", {"command": "mkdir folder"}),
    )
    assert [one.status for one in ended] == ["error", "success", "success"]
    assert [one.question for one in person.asked] == ["Run: touch plain"]


async def test_a_denied_path_is_read_by_no_tool(world: World) -> None:
    world.config = '[permissions]\ndeny = ["Read(vault/**)"]\n'
    (world.project / "vault").mkdir()
    (world.project / "vault" / "key").write_text("the secret\n")
    (world.project / "link").symlink_to("vault/key")
    ended = await use(
        world,
        Person(),
        ("read_file", {"path": "vault/key"}),
        ("read_file", {"path": "link"}),
        ("grep", {"pattern": "secret"}),
        ("glob", {"pattern": "**/*"}),
        ("exec_shell", {"command": "cat vault/key"}),
        ("exec_shell", {"command": "sort < link"}),
    )
    assert "the secret" not in str([one.result for one in ended])
    assert "vault/key" not in ended[3].result["text"]
    assert len(audit(world, "denial")) >= 4


async def test_a_projects_rules_and_mode_only_take_away(world: World) -> None:
    world.config = '[permissions]\ndeny = ["Bash(touch:*)"]\n'
    config = world.project / ".clawft" / "config.toml"
    config.write_text('[agents.defaults]\nmode = "full"\n[permissions]\nallow = ["Bash(touch:*)"]\ndeny = ["Write"]\n')
    open_app(world.environ, str(world.project)).approve_config()
    person = Person("no")
    async with world.talk(approve=person) as conversation:
        assert conversation.mode is Mode.AUTO_EDIT
    ended = await use(
        world, person, ("exec_shell", {"command": "touch x"}), ("write_file", {"path": "y", "content": ""})
    )
    assert [one.status for one in ended] == ["error", "error"]
    config.write_text('[agents.defaults]\nmode = "plan"\n')
    open_app(world.environ, str(world.project)).approve_config()
    async with world.talk(approve=person) as conversation:
        assert conversation.mode is Mode.PLAN


async def test_an_agent_may_lower_the_mode_and_not_raise_it(world: World) -> None:
    agents = world.user_dir / "agents"
    agents.mkdir()
    for name, mode in (("looker", "plan"), ("bold", "bypassPermissions")):
        (agents / f"{name}.md").write_text(f"---\ndescription: D\npermissionMode: {mode}\n---\nWork.\n")
    async with world.talk(agent="looker") as conversation:
        conversation.set_mode(Mode.FULL, "a test")
        assert conversation.effective_mode is Mode.PLAN
    async with world.talk(agent="bold") as conversation:
        assert conversation.effective_mode is Mode.AUTO_EDIT


async def test_a_flag_says_yes_but_not_to_what_is_grave(world: World) -> None:
    person = Person("flag")
    ended = await use(world, person, ("exec_shell", {"command": "touch made"}))
    assert ended[0].status == "success"
    (line,) = audit(world, "approval")
    assert line["detail"]["by"] == "--yes"


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


async def test_a_rule_that_is_not_understood_is_said_and_denies_the_whole_tool(world: World) -> None:
    world.config = '[permissions]\ndeny = ["Write([a-z]/**)"]\n'
    world.replies = [call("write_file", {"path": "made", "content": "x"}), say("done")]
    events = await world.run()
    assert "tool-pattern" in [one.code for one in only(events, Noticed)]
    assert "rule deny Write([a-z]/**) in [permissions]" in error_of(only(events, ToolFinished)[0])
    assert not (world.project / "made").exists()
