"""What is inserted into turns, built in or not, by one way: extensions."""

import pytest
from msgspec import structs

from clawft.agent.extension import Extension, find_memories, join_extensions
from clawft.agent.runtime import Insertion, Runtime, Turn
from clawft.agent.tools.tool import Tool, ToolContext, ToolResult
from clawft.contracts import Phase
from clawft.errors import ClawftError
from clawft.messages import Message, Noticed, TurnFailed
from wire import call, say
from world import World, collect, only

pytestmark = pytest.mark.anyio


def put_stages(runtime: Runtime, *stages: Insertion) -> None:
    runtime.extensions = structs.replace(runtime.extensions, stages=stages)


def make_tool(name: str) -> Tool:
    async def run(arguments: object, context: ToolContext) -> ToolResult:
        return ToolResult("done")

    return Tool(name, "Does it.", run, {"type": "object"})


def test_a_plugins_tool_with_a_taken_name_is_called_by_its_plugin_and_that_is_said() -> None:
    own = Extension(name="files", tools=(make_tool("read_file"),))
    made = Extension(name="skills", make_tools=lambda _: (), names=("Skill",))
    brought = Extension(
        name="com.example.books", tools=(make_tool("Read_File"), make_tool("skill"), make_tool("lend")), is_plugin=True
    )
    joined = join_extensions((own, made, brought))
    assert [one.name for one in joined.tools] == ["read_file", "books-Read_File", "books-skill", "lend"]
    assert [one.code for one in joined.diagnostics] == ["tool-name", "tool-name"]
    assert "called 'books-Read_File'" in joined.diagnostics[0].message


def bring(*ids: str) -> list[Extension]:
    return [Extension(name=one, tools=(make_tool("lend"),), is_plugin=True) for one in ids]


def test_a_name_that_two_plugins_claim_is_neithers() -> None:
    """What was allowed of the one by its name is not allowed of the other, which may only come before it."""
    own = Extension(name="own", tools=(make_tool("read_file"),))
    joined = join_extensions((own, *bring("a.evil", "com.example.books")))
    assert [one.name for one in joined.tools] == ["read_file", "evil-lend", "books-lend"]
    joined = join_extensions(bring("com.one.books", "com.two.books"))
    assert [one.name for one in joined.tools] == ["com-one-books-lend", "com-two-books-lend"]
    joined = join_extensions((Extension(name="own", tools=(make_tool("lend"),)), *bring("a.evil", "b.books")))
    assert [one.name for one in joined.tools] == ["lend", "evil-lend", "books-lend"]


def test_a_tool_that_no_name_is_left_for_is_left_out_and_that_is_said() -> None:
    joined = join_extensions(bring(f"com.{'x' * 64}.one.books", f"com.{'x' * 64}.two.books"))
    assert [one.name for one in joined.tools] == []
    assert "left out" in joined.diagnostics[1].message


async def test_a_clash_is_told_at_the_first_turn_only(world: World) -> None:
    world.replies = [say("one"), say("two")]
    clash = Extension(name="other", tools=(make_tool("grep"),))
    async with world.talk() as conversation:
        runtime = conversation.runtime
        own = Extension(name="built in", tools=runtime.extensions.tools, stages=runtime.extensions.stages)
        joined = join_extensions((own, clash))
        runtime.extensions = structs.replace(runtime.extensions, tools=joined.tools, stages=joined.stages)
        first, second = await collect(conversation, "go"), await collect(conversation, "go")
    assert [one.code for one in only(first, Noticed)].count("tool-name") == 1
    assert "tool-name" not in [one.code for one in only(second, Noticed)]


async def test_a_stage_before_the_transport_is_asked_for_every_request_and_changes_only_what_is_sent(
    world: World,
) -> None:
    asked: list[int] = []

    async def hide(turn: Turn) -> None:
        assert turn.outgoing is not None
        said = turn.outgoing.messages
        asked.append(len(said))
        hidden = [
            structs.replace(one, content=(one.content or "").replace("blue", "B")) for one in turn.outgoing.messages
        ]
        turn.outgoing = structs.replace(turn.outgoing, messages=tuple(hidden))

    (world.project / "notes.txt").write_text("the sky is blue")
    world.replies = [call("read_file", {"path": "notes.txt"}), say("It is.")]
    async with world.talk() as conversation:
        put_stages(conversation.runtime, Insertion(Phase.PRE_TRANSPORT, "hide", hide))
        await collect(conversation, "what is blue?")
        kept: tuple[Message, ...] = conversation.session.messages
    assert asked == [2, 4]
    assert all("blue" not in str(one.body["messages"]) for one in world.server.asked)
    assert "the sky is B" in str(world.sent()["messages"])
    assert "the sky is blue" in str(kept)


async def test_all_that_is_built_in_comes_as_an_extension(world: World) -> None:
    async with world.talk() as conversation:
        registry = conversation.list_tools()
        stages = [one.name for one in conversation.runtime.extensions.stages]
    assert {"read_file", "exec_shell", "web_fetch", "memory_read", "message", "delegate"} <= set(registry.names)
    assert stages.index("config") < stages.index("hooks") < stages.index("invoke") < stages.index("memory")


def test_a_memory_is_found_by_its_name_or_by_that_and_its_plugins() -> None:
    class Memory:
        name = "sqlite"

    one, two = (Extension(name=name, memories=(Memory(),), is_plugin=True) for name in ("com.one", "com.two"))  # type: ignore[arg-type]
    assert len(find_memories((one, two), "sqlite")) == 2
    assert find_memories((one, two), "com.two:sqlite") == [two.memories[0]]
    assert find_memories((one, two), "files") == []


async def test_stages_that_join_while_others_run_run_too_and_none_runs_twice(world: World) -> None:
    ran: list[str] = []

    def stage(name: str) -> Insertion:
        async def process(turn: Turn) -> None:
            ran.append(name)
            if name == "renew" and len(turn.runtime.extensions.stages) == 3:
                put_stages(turn.runtime, *map(stage, ("renew", "new", "same", "same")))

        return Insertion(Phase.PRE_ROUTE, name, process)

    world.replies = [say("yes")]
    async with world.talk() as conversation:
        put_stages(conversation.runtime, *map(stage, ("renew", "same", "old")))
        await collect(conversation, "go")
    assert ran == ["renew", "new", "same", "same"]


async def test_what_joins_while_a_request_is_looked_at_sees_it_from_the_beginning(world: World) -> None:
    seen: list[str] = []

    async def first(turn: Turn) -> None:
        seen.append("first")
        if seen == ["first"]:
            put_stages(turn.runtime, Insertion(Phase.PRE_TRANSPORT, "first", refuse), *turn.runtime.extensions.stages)

    async def refuse(turn: Turn) -> None:
        raise ClawftError("stage-missing", "It is lost")

    world.replies = [say("yes")]
    async with world.talk() as conversation:
        put_stages(conversation.runtime, Insertion(Phase.PRE_TRANSPORT, "first", first))
        events = await collect(conversation, "go")
    assert isinstance(events[-1], TurnFailed)
    assert world.server.asked == []
