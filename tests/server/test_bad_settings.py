"""What a daemon does while its settings cannot be read: all that it did with the last ones that could."""

import anyio
import pytest

from clawft.errors import ClawftError
from clawft.server.protocol.executions import AnswerQuestion, Chat, ExecuteSkill, QuestionAsked
from clawft.server.protocol.skills import ApproveSkill, BlockSkill, GetSkill, ReviewSkill, RevokeSkill, SearchSkills
from serve_world import Client, ServeWorld

pytestmark = pytest.mark.anyio


def break_config(world: ServeWorld) -> None:
    with open(world.user_dir / "config.toml", "a") as file:
        file.write("wat = = 1\n")


async def test_a_typo_stops_no_work(world: ServeWorld) -> None:
    world.add_skill("mine")
    async with world.open_daemon() as daemon:
        client = Client(daemon)
        break_config(world)
        for _ in range(2):  # with a runtime that is opened after it broke, and with one that is open
            assert (await client.ask(ExecuteSkill(name="mine"))).status == "done"
            assert (await client.ask(Chat(text="hello"))).status == "done"
        assert (await client.ask(GetSkill(name="mine"))).skill.summary.state == "ready"
        assert (await client.ask(SearchSkills(query="mine"))).results
        said = daemon.registry.check()
        assert said is not None
        assert said.code == "config-invalid"
        world.write_config()
        await daemon.registry.live.refresh()
        assert daemon.registry.check() is None


async def test_what_is_approved_or_taken_back_meanwhile_counts(world: ServeWorld) -> None:
    world.add_skill("theirs", strangers=True)
    async with world.open_daemon() as daemon:
        client = Client(daemon)
        assert (await client.ask(ExecuteSkill(name="theirs"))).status == "failed"
        break_config(world)
        review = (await client.ask(ReviewSkill(name="theirs"))).review
        await client.ask(ApproveSkill(name="theirs", digest=review["digest"]))
        assert (await client.ask(ExecuteSkill(name="theirs"))).status == "done"
        await client.ask(RevokeSkill(name="theirs"))
        result = await client.ask(ExecuteSkill(name="theirs"))
        assert (result.status, result.error.code) == ("failed", "skill-refused")


async def test_tools_ask_and_are_answered_meanwhile(world: ServeWorld) -> None:
    world.config = f'mode = "ask"\n{world.config}'
    world.say([{"tool_calls": [{"name": "exec_shell", "arguments": {"command": "touch made"}}]}, {"text": "It was."}])
    async with world.open_daemon() as daemon, anyio.create_task_group() as group:
        client = Client(daemon)
        break_config(world)
        results = []

        async def chat() -> None:
            results.append(await client.ask(Chat(text="go on")))

        group.start_soon(chat)
        with anyio.fail_after(20):
            while not daemon.questions.waiting:
                await anyio.sleep(0.01)
        asked = next(one for one in client.told if isinstance(one, QuestionAsked))
        await client.ask(AnswerQuestion(question=asked.question.question, answer="once"))
        with anyio.fail_after(20):
            while not results:
                await anyio.sleep(0.01)
        assert results[0].status == "done"
        assert (world.project / "made").exists()


async def test_settings_that_cannot_be_read_are_not_written_over(world: ServeWorld) -> None:
    world.add_skill("mine")
    async with world.open_daemon() as daemon:
        break_config(world)
        with pytest.raises(ClawftError) as caught:
            await Client(daemon).ask(BlockSkill(name="mine"))
        assert caught.value.code == "config-invalid"
