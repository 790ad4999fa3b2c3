"""Files of a skill, read by whoever is to decide about it."""

import pytest

from clawft.errors import ClawftError, NotFound, Refused, Unreadable
from clawft.server.protocol.skills import GetSkill, GetSkillFile
from clawft.server.views.details import MAX_BYTES
from serve_world import Client, ServeWorld

pytestmark = pytest.mark.anyio


async def test_every_file_of_a_strangers_skill_is_read_before_it_is_approved(world: ServeWorld) -> None:
    folder = world.add_skill("theirs", strangers=True)
    (folder / "scripts").mkdir()
    (folder / "scripts/send.sh").write_text("echo hello\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\0\0")
    (folder / "long.txt").write_text("ä" * MAX_BYTES)
    async with world.open_daemon() as daemon:
        client = Client(daemon)
        skill = (await client.ask(GetSkill(name="theirs"))).skill
        files = {
            one.path: await client.ask(GetSkillFile(name="theirs", path=one.path, digest=skill.summary.digest or ""))
            for one in skill.files
        }
        assert files["SKILL.md"].text.startswith("---\nname: theirs\n")
        assert (files["scripts/send.sh"].text, files["scripts/send.sh"].cut) == ("echo hello\n", False)
        assert (files["picture.png"].text, files["picture.png"].size) == (None, 6)
        assert (files["long.txt"].text, files["long.txt"].cut) == ("ä" * (MAX_BYTES // 2), True)
        with pytest.raises(Refused, match="approve"):
            await Client(daemon, "read").ask(GetSkillFile(name="theirs", path="SKILL.md"))


async def test_what_may_be_used_may_be_read(world: ServeWorld) -> None:
    world.add_skill("mine", "Say hello.")
    async with world.open_daemon() as daemon:
        told = await Client(daemon, "read").ask(GetSkillFile(name="mine", path="SKILL.md"))
    assert "Say hello." in told.text


async def test_nothing_outside_of_a_skill_is_read(world: ServeWorld) -> None:
    folder = world.add_skill("mine")
    (folder / "scripts").mkdir()
    (folder / "linked").symlink_to("/etc")
    (folder / "key.md").symlink_to("/etc/passwd")
    async with world.open_daemon() as daemon:
        for path in ("../../config.toml", "/etc/passwd", "scripts", "./SKILL.md", "linked/passwd", "a\0b"):
            with pytest.raises(NotFound):
                await Client(daemon).ask(GetSkillFile(name="mine", path=path))
        with pytest.raises(Unreadable):  # a link is listed, and followed nowhere
            await Client(daemon).ask(GetSkillFile(name="mine", path="key.md"))


async def test_a_file_of_another_state_of_the_skill_is_not_shown(world: ServeWorld) -> None:
    folder = world.add_skill("theirs", strangers=True)
    async with world.open_daemon() as daemon:
        digest = (await Client(daemon).ask(GetSkill(name="theirs"))).skill.summary.digest
        (folder / "send.sh").write_text("echo other\n")
        with pytest.raises(ClawftError) as caught:
            await Client(daemon).ask(GetSkillFile(name="theirs", path="send.sh", digest=digest or ""))
    assert caught.value.code == "skill-changed"
