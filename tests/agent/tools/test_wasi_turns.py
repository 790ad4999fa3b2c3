"""Tools of skills that are WebAssembly, in turns: offered, asked for, noted, run as they were approved, and ended."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from background import Kept
from clawft.messages import Noticed
from programs import Person, audited, confine, output, results, tool_names, trust
from wats import CAT, assemble, module
from wire import call, say
from world import World, collect, only

pytestmark = pytest.mark.anyio
LOAD, COUNT = call("Skill", {"name": "maker"}), call("count", {"text": "a b"})
SEE = f"{CAT} (call $list (i32.const 1)) (call $list (i32.const 0))"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return confine(World(tmp_path), "bubblewrap")


def add_module(world: World, content: bytes, name: str = "scripts/count.wasm", **how: Any) -> Path:
    """A skill with a tool that is a module."""
    text = "    parameters: {properties: {text: {type: string}}}\n"
    head = f"execution: wasm\ntools:\n  - name: count\n{text}{how.pop('more', '')}"
    return assemble(world.add_skill("maker", head=head, **how), name, content)


async def test_a_tool_gets_arguments_as_json_and_variables_and_is_asked_for_and_noted(world: World) -> None:
    world.config += '[skills.entries.maker.env]\nCITY = "Oslo"\n'
    add_module(world, module(SEE), more="    command: [scripts/count.wasm, --all]\n")
    world.replies = [LOAD, COUNT, say("x")]
    person = Person()
    (result,) = results(await world.run(approve=person), "count")
    given = '{"text": "a b"}'
    assert output(result) == f"{given}CITY=Oslo\0ARG_TEXT=a b\0scripts/count.wasm\0--all\0"
    assert (result["status"], result["data"]["exit_code"]) == ("success", 0)
    ((question, reason),) = person.asked
    assert question.startswith("Run the tool 'count' (scripts/count.wasm --all) of the skill 'maker' (WebAssembly; ")
    assert reason == f"it is given {given}"
    (line,) = audited(world)
    assert (line["subject"], line["decision"]) == ("scripts/count.wasm --all", "allowed")
    assert (line["skill"], line["detail"]["given"]) == ("maker", given)


async def test_a_no_is_kept_to(world: World) -> None:
    add_module(world, module(CAT), "count.wasm")
    world.replies = [LOAD, COUNT, say("x")]
    (result,) = results(await world.run(approve=Person("no")), "count")
    assert result["error"]["code"] == "PERMISSION_DENIED"
    assert [line["decision"] for line in audited(world)] == ["denied"]


async def test_a_module_that_changes_after_it_was_approved_does_not_run(world: World) -> None:
    folder = add_module(world, module(CAT), strangers=True)
    trust(world, "maker")
    swap = lambda: assemble(folder, "scripts/count.wasm", module("(call $exit (i32.const 9))"))  # noqa: E731
    world.replies = [LOAD, COUNT, say("x"), LOAD, say("y")]
    async with world.talk(approve=Person(meanwhile=swap)) as conversation:
        (result,) = results(await collect(conversation, "one"), "count")
        assert "is not, or no longer" in result["error"]["message"] or "changed" in result["error"]["message"]
        (again,) = results(await collect(conversation, "two"), "Skill")  # the person is to look at it again
        assert again["error"]["code"] == "PERMISSION_DENIED"


async def test_what_is_no_module_is_not_offered_and_said(world: World) -> None:
    world.config += "[plugins.wasm]\nmax_bytes = 1024\n"
    more = "".join(f"  - {{name: {one}}}\n" for one in ("component", "script", "large"))
    folder = add_module(world, b"\0asm\x01\0\0\0", more=more)
    assemble(folder, "scripts/component.wasm", b"\0asm\x0d\0\x01\0")
    assemble(folder, "scripts/script.wasm", b"#!/bin/sh\n")
    assemble(folder, "scripts/large.wasm", module(CAT))
    world.replies = [LOAD, say("x")]
    said = [one.message for one in only(await world.run(), Noticed) if one.code == "tool-program"]
    assert "scripts/component.wasm is a component, not a module" in said[0]
    assert "scripts/script.wasm is no module of WebAssembly" in said[1]
    assert "plugins.wasm.max_bytes is 1024" in said[2]
    assert {"count", "component", "script", "large"} & set(tool_names(world.sent())) == {"count"}


async def test_one_that_cannot_be_linked_is_told_to_the_model_and_noted(world: World) -> None:
    add_module(world, b"\0asm\x01\0\0\0")
    world.replies = [LOAD, COUNT, say("x")]
    (result,) = results(await world.run(approve=Person()), "count")
    assert result["error"]["code"] == "EXECUTION_ERROR"
    assert "It cannot be run: it has no _start and no memory" in result["error"]["message"]
    assert [line["decision"] for line in audited(world)] == ["denied"]


async def test_a_project_does_not_widen_its_own_limits(world: World) -> None:
    (world.project / ".clawft/config.toml").write_text("[plugins.wasm]\nfuel = 1000000000000000\n")
    world.config += "[plugins.wasm]\nfuel = 1000000\n"
    add_module(world, module("(loop $l (br $l))"))
    world.replies = [LOAD, COUNT, say("x")]
    (result,) = results(await world.run(approve=Person()), "count")
    assert "it took more instructions than plugins.wasm.fuel allows" in result["text"]
    assert result["data"]["exit_code"] == 125


async def test_a_turn_that_is_cancelled_ends_its_module(world: World) -> None:
    world.config += "[plugins.wasm]\nfuel = 1000000000000000\ntimeout_s = 60\n"
    add_module(world, module("(loop $l (br $l))"))
    world.replies = [LOAD, COUNT, say("x")]
    below = world.user_dir / "cache/programs"
    async with world.talk(approve=Person()) as conversation:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(collect, conversation, "go")
                while not below.is_dir() or not list(below.glob("wasi-*/module")):
                    await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()
    assert list(below.iterdir()) == []


async def test_a_script_that_is_a_module_runs_with_the_words_it_is_given(world: World) -> None:
    assemble(world.add_skill("maker"), "scripts/see.wasm", module("(call $list (i32.const 0))"))
    script = {"name": "maker", "script": "see.wasm", "args": ["$(id)", "a b"]}
    world.replies = [LOAD, call("skill_run_script", script), say("x")]
    (result,) = results(await world.run(approve=Person()), "skill_run_script")
    assert output(result) == "scripts/see.wasm\0$(id)\0a b\0"


@pytest.mark.parametrize("setting", ["ask", "refuse"])
async def test_where_there_is_no_sandbox_webassembly_holds_it_unless_the_user_wants_one(
    world: World, setting: str
) -> None:
    world.config += f'if_unavailable = "{setting}"\n'
    world.environ["PATH"] = "/nowhere"
    add_module(world, module(SEE))
    world.replies = [LOAD, COUNT, say("x")]
    person = Person()
    (result,) = results(await world.run(approve=person), "count")
    assert len(person.asked) == 1
    if setting == "ask":
        assert "ARG_TEXT=a b" in result["text"]
    else:
        assert "There is no sandbox to run commands in" in result["error"]["message"]


async def test_a_fork_in_the_background_uses_it(world: World) -> None:
    kept = Kept(world)
    add_module(world, module(CAT), more="context: fork\nbackground: true\n")
    steps = [LOAD, say("started"), COUNT, say("counted")]
    world.replies = steps
    async with world.talk(approve=Person()) as conversation:
        conversation.runtime.start_run = kept.start
        await collect(conversation, "go")
        (result,) = results(await kept.work(approve=Person()), "count")
    assert output(result) == '{"text": "a b"}'


async def test_without_the_extra_it_is_not_offered_and_says_what_to_install(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "wasmtime", None)
    add_module(world, b"\0asm\x01\0\0\0")
    world.replies = [LOAD, call("skill_run_script", {"name": "maker", "script": "count.wasm"}), say("x")]
    events = await world.run(approve=Person())
    (said,) = [one for one in only(events, Noticed) if one.code == "wasm-missing"]
    assert "The tool 'count' is not offered: WebAssembly is not installed" in said.message
    assert said.hint == "Install clawft[wasm]"
    (result,) = results(events, "skill_run_script")
    assert "Install clawft[wasm]" in json.dumps(result["error"])
