"""Tools that a skill declares: offered once it is loaded, asked for, run as they were approved, given data."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.messages import Noticed
from programs import (
    ECHO,
    MARK,
    Person,
    add_script,
    add_tool,
    audited,
    confine,
    has_run,
    output,
    results,
    tool_names,
    trust,
)
from wire import Asked, Reply, call, say
from world import World, collect, only

pytestmark = pytest.mark.anyio
LOAD = call("Skill", {"name": "maker"})
MAKE = call("make", {})
NASTY = {
    "substitution": "$(touch /tmp/x; touch mark) `touch mark`",
    "quotes": "'; touch mark; '\"; touch mark; \"",
    "lines": "a\ntouch mark\n",
    "option": "--help; -rf && touch mark | sh",
    "json": '", "evil": "1',
    "letters": "é\u202e\x1b[31m",
}


@pytest.fixture
def world(world: World) -> World:
    return confine(world, "bubblewrap")


@pytest.fixture(params=["bubblewrap", "landlock"])
def either(tmp_path: Path, request: pytest.FixtureRequest) -> World:
    """The same in each of the sandboxes."""
    return confine(World(tmp_path), request.param)


async def test_a_declared_tool_is_offered_once_its_skill_is_loaded(world: World) -> None:
    schema = "    description: Makes it.\n    parameters: {type: object, properties: {what: {type: string}}}\n"
    add_tool(world, more=schema)
    world.replies = [LOAD, say("x")]
    await world.run()
    assert "make" not in tool_names(world.sent(0))
    tool = next(one["function"] for one in world.sent(1)["tools"] if one["function"]["name"] == "make")
    assert tool["description"] == "Makes it. (of the skill 'maker')"
    assert tool["parameters"] == {
        "type": "object",
        "properties": {"what": {"type": "string"}},
        "additionalProperties": False,
    }


async def test_arguments_arrive_as_data_and_run_nothing(either: World) -> None:
    kinds = {
        **dict.fromkeys(NASTY, "string"),
        "count": "integer",
        "exact": "boolean",
        "parts": "array",
        "PATH": "string",
    }
    properties = json.dumps({name: {"type": kind} for name, kind in kinds.items()})
    folder = add_tool(
        either,
        more=f"    command: [scripts/echo.py, '{{quotes}}', $quotes]\n    parameters: {{properties: {properties}}}\n",
    )
    add_script(folder, "echo.py", ECHO)
    given = {**NASTY, "count": 3, "exact": True, "parts": ["$(touch mark)"], "PATH": "/evil"}
    either.replies = [LOAD, call("make", given), say("x")]
    (result,) = results(await either.run(approve=Person()), "make")
    seen = json.loads(output(result))
    assert json.loads(seen["stdin"]) == given
    scalars = {f"ARG_{name.upper()}": value for name, value in NASTY.items()}
    assert seen["variables"] == {**scalars, "ARG_COUNT": "3", "ARG_EXACT": "true", "ARG_PATH": "/evil"}
    assert seen["words"] == ["{quotes}", "$quotes"]  # no word of a command is ever filled in
    assert seen["cwd"] == seen["folder"]  # the skill's, or where nothing can be mounted that of the copy
    assert not has_run(either)


async def test_a_name_that_is_no_variable_is_in_the_json_alone(world: World) -> None:
    given = {"LD-PRELOAD": "a", "a b": "b", "x=1": "c", "a.b": "d", "é": "e", "same": "1", "SAME": "2", "none": None}
    more = "    command: [scripts/echo.py]\n    parameters: {additionalProperties: true, required: [none]}\n"
    add_script(add_tool(world, more=more), "echo.py", ECHO)
    world.replies = [LOAD, call("make", given), say("x")]
    (result,) = results(await world.run(approve=Person()), "make")
    seen = json.loads(output(result))
    assert json.loads(seen["stdin"]) == given
    assert seen["variables"] == {}  # and of two that are alike in capitals, neither


async def test_arguments_that_are_not_as_declared_are_refused_unasked(world: World) -> None:
    add_tool(world, more="    parameters: {properties: {what: {type: string}}, required: [what]}\n")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "'what' is missing"),
        ({"what": 3}, "'what' should be a text"),
        ({"what": "a", "evil": 1}, "'evil' is not expected"),
        ({"what": ["a"]}, "'what' should be a text"),
        ({"what": "a\0b"}, "NUL"),
        ({"what": "x" * 2_000_000}, "more than"),
    ]
    world.replies = [LOAD, *(call("make", given) for given, _ in wrong), say("x")]
    person = Person()
    found = results(await world.run(approve=person), "make")
    for (_, why), result in zip(wrong, found, strict=True):
        assert result["error"]["code"] == "INVALID_PARAM"
        assert why in result["error"]["message"]
    assert person.asked == []
    assert not has_run(world)


async def test_null_for_what_may_be_left_out_is_left_out(world: World) -> None:
    folder = add_tool(
        world, more="    command: [scripts/echo.py]\n    parameters: {properties: {what: {type: string}}}\n"
    )
    add_script(folder, "echo.py", ECHO)
    world.replies = [LOAD, call("make", {"what": None}), say("x")]
    (result,) = results(await world.run(approve=Person()), "make")
    assert json.loads(output(result))["stdin"] == "{}"


async def test_a_person_is_asked_and_every_run_is_an_audit_line(world: World) -> None:
    add_tool(world, more="    parameters: {properties: {what: {type: string}}}\n")
    world.replies = [LOAD, call("make", {"what": "it"}), say("x")]
    person = Person()
    await world.run(approve=person)
    ((question, reason),) = person.asked
    assert question.startswith("Run the tool 'make' (scripts/make.sh) of the skill 'maker' (sandboxed; ")
    assert reason == 'it is given {"what": "it"}'
    (line,) = audited(world)
    assert (line["subject"], line["decision"], line["skill"]) == ("scripts/make.sh", "allowed", "maker")
    assert line["detail"]["given"] == '{"what": "it"}'
    assert has_run(world)


async def test_a_no_is_kept_to_and_written_down(world: World) -> None:
    add_tool(world)
    world.replies = [LOAD, MAKE, say("x")]
    (result,) = results(await world.run(approve=Person("no")), "make")
    assert result["error"]["code"] == "PERMISSION_DENIED"
    assert [line["decision"] for line in audited(world)] == ["denied"]
    assert not has_run(world)


async def test_an_answer_for_the_session_holds_for_all_arguments(world: World) -> None:
    add_tool(world, more="    parameters: {properties: {what: {type: string}}}\n")
    world.replies = [LOAD, call("make", {"what": "1"}), call("make", {"what": "2"}), say("x")]
    person = Person("session")
    await world.run(approve=person)
    assert len(person.asked) == 1
    assert (world.project / "out/mark").read_text() == "ran\nran\n"


@pytest.mark.parametrize(("mode", "asked", "ran"), [("plan", 0, False), ("ask", 2, True), ("full", 0, True)])
async def test_the_mode_decides_whether_it_is_asked_for(world: World, mode: str, asked: int, ran: bool) -> None:
    world.config = f'mode = "{mode}"\n{world.config}'
    add_tool(world)
    world.replies = [LOAD, MAKE, MAKE, say("x")]
    person = Person()
    (first, _) = results(await world.run(approve=person), "make")
    assert [question[:8] for question, _ in person.asked] == ["Run the "] * asked
    assert has_run(world) == ran
    if not ran:
        assert "mode plan" in first["error"]["message"]


async def test_a_rule_allows_no_tool_of_a_skill_since_any_skill_may_bring_one_of_its_name(world: World) -> None:
    world.config += '[permissions]\nallow = ["make", "skill_run_script"]\n'
    add_tool(world)
    script = {"name": "maker", "script": "make.sh"}
    world.replies = [LOAD, MAKE, say("x"), call("skill_run_script", script), say("y")]
    person = Person("no")
    async with world.talk(approve=person) as conversation:
        await collect(conversation, "one")
        assert (len(person.asked), has_run(world)) == (1, False)
        await collect(conversation, "two")
    assert (len(person.asked), has_run(world)) == (1, True)  # that one says what it allows


async def test_a_file_that_is_swapped_while_a_person_is_asked_does_not_run(either: World) -> None:
    folder = add_tool(either, script="true\n")
    either.replies = [LOAD, MAKE, say("x")]
    person = Person(meanwhile=lambda: add_script(folder, "make.sh", MARK))
    (result,) = results(await either.run(approve=person), "make")
    assert result["error"]["code"] == "PERMISSION_DENIED"
    assert "changed" in result["error"]["message"]
    assert [line["decision"] for line in audited(either)] == ["denied"]
    assert not has_run(either)


async def test_a_file_that_is_swapped_after_loading_does_not_run_until_the_next_message(world: World) -> None:
    folder = add_tool(world, script="true\n")

    def swap(_asked: Asked) -> Reply:
        add_script(folder, "make.sh", MARK)
        return MAKE

    steps: list[Callable[[Asked], Reply]] = [lambda _: LOAD, swap]
    steps += [lambda _: say("x"), lambda _: MAKE, lambda _: say("y")]
    world.replies = lambda asked: steps.pop(0)(asked)
    person = Person()
    async with world.talk(approve=person) as conversation:
        (refused,) = results(await collect(conversation, "one"), "make")
        assert "changed since it was loaded" in refused["error"]["message"]
        assert (person.asked, has_run(world)) == ([], False)
        await collect(conversation, "two")  # it is the user's own, who may edit it
    assert has_run(world)


async def test_a_strangers_tool_runs_as_it_was_approved_and_not_otherwise(world: World) -> None:
    folder = add_tool(world, strangers=True)
    trust(world, "maker")
    world.replies = [LOAD, MAKE, say("x"), MAKE, say("y")]
    async with world.talk(approve=Person()) as conversation:
        await collect(conversation, "one")
        assert has_run(world)
        (world.project / "out/mark").unlink()
        add_script(folder, "helper.sh", "true\n")  # a change anywhere in the folder counts
        events = await collect(conversation, "two")
    assert "There is no tool 'make'" in results(events, "make")[0]["error"]["message"]
    assert "skill-programs" in [one.code for one in only(events, Noticed)]
    assert not has_run(world)


async def test_a_program_sees_its_folder_read_only_and_may_change_the_project(either: World) -> None:
    made = 'echo x > "$CLAUDE_PROJECT_DIR/out/made"\n'
    script = f'echo x > file || true; echo x > "$CLAUDE_SKILL_DIR/file" || true; {made}'
    folder = add_tool(either, script=script)
    either.replies = [LOAD, MAKE, say("x")]
    await either.run(approve=Person())
    assert (either.project / "out/made").read_text() == "x\n"
    assert sorted(path.name for path in folder.iterdir()) == ["SKILL.md", "scripts"]
    assert list((either.user_dir / "cache/programs").iterdir()) == []  # nothing is left of the copy


async def test_a_program_gets_its_own_skills_variables_and_none_of_the_persons(either: World) -> None:
    either.environ["MARKED_SECRET"] = "s3cret"
    either.config += '[skills.entries.maker.env]\nMINE = "a"\n[skills.entries.other.env]\nTHEIRS = "b"\n'
    add_tool(either, script="env\n")
    either.add_skill("other")
    either.replies = [LOAD, call("Skill", {"name": "other"}), MAKE, say("x")]
    (result,) = results(await either.run(approve=Person()), "make")
    assert "MINE=a" in result["text"].splitlines()
    assert "MARKED_SECRET" not in result["text"]
    assert "THEIRS" not in result["text"]


async def test_a_secret_that_a_program_got_does_not_come_back_in_its_output(world: World) -> None:
    world.environ["STORED"] = "s3cret-value-of-the-person"
    world.config += '[skills.entries.maker.env]\nTOKEN = { env = "STORED" }\n'
    add_tool(world, script='test "$TOKEN" = s3cret-value-of-the-person && echo "got $TOKEN"\n')
    world.replies = [LOAD, MAKE, say("x")]
    (result,) = results(await world.run(approve=Person()), "make")
    assert output(result) == "got <secret>"
    assert [line["subject"] for line in audited(world, "secret")] == ["TOKEN"]
    assert "s3cret-value" not in (world.user_dir / "audit.jsonl").read_text()


async def test_a_program_reaches_no_host_that_was_not_granted(either: World) -> None:
    script = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2)\n"
    folder = add_tool(either, script="true\n")
    add_script(folder, "connect.py", script)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        asked = {"name": "maker", "script": "connect.py", "args": [port]}
        either.replies = [LOAD, call("skill_run_script", asked), say("x")]
        (result,) = results(await either.run(approve=Person()), "skill_run_script")
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert result["data"]["exit_code"] == 1


async def test_copies_that_a_killed_process_left_are_removed(world: World) -> None:
    old, new = (world.user_dir / "cache/programs" / name for name in ("old", "new"))
    old.mkdir(parents=True)
    new.mkdir()
    os.utime(old, (0, 0))
    add_tool(world)
    world.replies = [LOAD, MAKE, say("x")]
    await world.run(approve=Person())
    assert (old.exists(), new.exists()) == (False, True)


async def test_a_program_that_fails_says_so_with_its_output(world: World) -> None:
    add_tool(world, script="echo wrong >&2; exit 3\n")
    world.replies = [LOAD, MAKE, say("x")]
    (result,) = results(await world.run(approve=Person()), "make")
    assert result["status"] == "partial"
    assert result["data"]["exit_code"] == 3
    assert result["text"].startswith("wrong\n[exit code 3")


async def test_what_the_command_policy_denies_does_not_run(world: World) -> None:
    world.config += '[tools.exec]\ndenied_patterns = ["make\\\\.sh"]\n'
    add_tool(world)
    world.replies = [LOAD, MAKE, say("x")]
    (result,) = results(await world.run(approve=Person()), "make")
    assert "tools.exec.denied_patterns" in result["error"]["message"]
    assert not has_run(world)


async def test_no_tool_takes_the_place_of_one_of_ours(world: World) -> None:
    ours = ["exec_shell", "Bash", "read_file", "web_search", "skill_run_script", "TASK"]
    add_tool(world, tool="make", more="".join(f"  - name: {name}\n    command: [git]\n" for name in ours))
    world.replies = [LOAD, say("x")]
    await world.run()
    names = tool_names(world.sent(1))
    assert {f"maker-{name}" for name in ours} < set(names)
    assert len(names) == len(set(names))


async def test_the_second_of_two_alike_is_called_by_its_skill_too(world: World) -> None:
    add_tool(world)
    add_tool(world, "other", script="echo other\n")
    world.replies = [LOAD, call("Skill", {"name": "other"}), call("other-make", {}), say("x")]
    events = await world.run(approve=Person())
    assert [name for name in tool_names(world.sent(3)) if "make" in name] == ["make", "other-make"]
    assert output(results(events, "other-make")[0]) == "other"
    assert not has_run(world)


async def test_a_tool_that_cannot_be_offered_is_said_once(world: World) -> None:
    add_tool(world, tool="make", more="    execution: native\n")
    world.replies = [LOAD, say("x"), say("y")]
    async with world.talk() as conversation:
        events = await collect(conversation, "one")
        (said,) = [one.message for one in only(events, Noticed) if one.code == "tool-execution"]
        assert "only a plugin's skill has such tools" in said
        assert "make" not in tool_names(world.sent())
        assert not [one for one in only(await collect(conversation, "two"), Noticed) if one.code == "tool-execution"]


async def test_other_active_skills_and_the_agent_restrict_it_and_its_own_does_not(world: World) -> None:
    add_tool(world, head="allowed-tools: Read\n")
    world.add_skill("reader", head="allowed-tools: Read Skill\n")
    world.replies = [LOAD, MAKE, say("x"), call("Skill", {"name": "reader"}), MAKE, say("y")]
    async with world.talk(approve=Person()) as conversation:
        await collect(conversation, "one")
        assert has_run(world)  # what a skill brings itself it need not list
        (world.project / "out/mark").unlink()
        (result,) = results(await collect(conversation, "two"), "make")
    assert "the skill 'reader' does not allow the tool 'make'" in result["error"]["message"]
    assert not has_run(world)


async def test_an_agent_has_it_only_if_its_tools_name_it(world: World) -> None:
    (world.user_dir / "agents").mkdir()
    (world.user_dir / "agents" / "a.md").write_text("---\nname: a\ndescription: d\ntools: Skill\n---\nx\n")
    add_tool(world)
    world.replies = [LOAD, MAKE, say("x")]
    (result,) = results(await world.run(agent="a", approve=Person()), "make")
    assert "make" not in tool_names(world.sent(1))
    assert "the agent 'a' does not allow the tool 'make'" in result["error"]["message"]
    assert not has_run(world)


async def test_it_stays_after_the_next_message_and_in_a_session_that_goes_on(world: World) -> None:
    add_tool(world)
    world.replies = [LOAD, say("x"), MAKE, say("y")]
    async with world.talk(approve=Person()) as conversation:
        await collect(conversation, "one")
        await collect(conversation, "two")
    assert has_run(world)  # restrictions end with a message, what was loaded stays
    (world.project / "out/mark").unlink()
    world.replies = [MAKE, say("z")]
    await world.run(approve=Person())
    assert has_run(world)


async def test_the_skill_of_an_agent_brings_its_tools_from_the_start(world: World) -> None:
    (world.user_dir / "agents").mkdir()
    (world.user_dir / "agents" / "a.md").write_text("---\nname: a\ndescription: d\nskills: [maker]\n---\nx\n")
    add_tool(world)
    world.replies = [MAKE, say("x")]
    await world.run(agent="a", approve=Person())
    assert has_run(world)


async def test_a_skill_that_a_person_starts_has_its_tools_at_once(world: World) -> None:
    add_tool(world)
    world.replies = [MAKE, say("x")]
    await world.run("", skill="maker", approve=Person())
    assert "make" in tool_names(world.sent(0))
    assert has_run(world)


async def test_a_fork_has_the_tools_of_its_skill_and_whoever_forked_it_has_not(world: World) -> None:
    add_tool(world, head="context: fork\n")
    world.replies = [LOAD, MAKE, say("made"), MAKE, say("x")]
    person = Person()
    (refused,) = results(await world.run(approve=person), "make")
    assert [("make" in tool_names(world.sent(index))) for index in range(4)] == [False, True, True, False]
    assert refused["error"]["code"] == "NOT_FOUND"
    assert len(person.asked) == 1
    assert has_run(world)


async def test_the_skill_of_the_seed_passes_what_a_model_says_on_as_data(world: World) -> None:
    """The documented example, with the program that it leaves out."""
    more = """\
    description: Stage and commit files
    parameters:
      type: object
      properties:
        message: {type: string, description: Commit message}
        files: {type: array, items: {type: string}, description: Files to stage}
      required: [message]
"""
    add_tool(
        world,
        "git-commit",
        "git_commit",
        'echo "[$ARG_MESSAGE]"; cat\n',
        more=more,
        head="permissions: [filesystem, shell]\n",
    )
    given = {"message": "Fix $(rm -rf .) `it`", "files": ["a; b"]}
    world.replies = [call("Skill", {"name": "git-commit"}), call("git_commit", given), say("x")]
    (result,) = results(await world.run(approve=Person()), "git_commit")
    said, _, rest = output(result).partition("\n")
    assert said == "[Fix $(rm -rf .) `it`]"
    assert json.loads(rest) == given


async def test_a_question_is_one_line_that_acts_on_no_terminal(world: World) -> None:
    add_tool(world, more='    command: [git, "a\\n\\e[2Jb"]\n    parameters: {properties: {what: {}}}\n')
    world.replies = [LOAD, call("make", {"what": "\x1b]0;x\x07\u202e"}), say("x")]
    person = Person("no")
    await world.run(approve=person)
    ((question, reason),) = person.asked
    assert "(git 'a\\n\\x1b[2Jb')" in question
    assert (question + reason).isprintable()
