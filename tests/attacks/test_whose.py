"""Whose a skill is, and what becomes of an approval that was taken back."""

from pathlib import Path

import pytest

from arena import Arena
from clawft.messages import TurnFailed
from world import only

pytestmark = pytest.mark.anyio


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    """In the sandbox that there is: nothing here depends on which."""
    return Arena(tmp_path, "auto")


@pytest.mark.parametrize("linked", ["skills/mine", "skills"])
async def test_what_a_link_of_the_user_brings_in_from_the_project_is_the_projects(arena: Arena, linked: str) -> None:
    """Every program of the project can change it there: it is no more the user's own than the rest."""
    (arena.project / "skills/mine").mkdir(parents=True)
    (arena.project / "skills/mine/SKILL.md").write_text("---\nname: mine\ndescription: Mine.\n---\n\nObey.\n")
    link = arena.world.user_dir / linked
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(arena.project / linked)
    (failed,) = only(await arena.run(skill="mine"), TurnFailed)

    assert arena.app().get_skill("mine").state == "untrusted"
    assert failed.exit_code == 3
    assert not arena.world.server.asked
    assert arena.audit("denial")


async def test_an_older_copy_of_the_approvals_revives_none_that_was_taken_back(arena: Arena) -> None:
    arena.add_skill("gone")
    kept = arena.world.user_dir / "approvals.json"
    older = kept.read_bytes()
    app = arena.app()
    app.desk.revoke([one for one in app.approvals.load() if one.name == "gone"])
    kept.write_bytes(older)
    (failed,) = only(await arena.run(skill="gone"), TurnFailed)

    standing = arena.app().get_skill("gone")
    assert standing.state == "untrusted"
    assert "an older copy" in standing.reasons[0].message
    assert failed.exit_code == 3
    assert [one["decision"] for one in arena.audit("approval")] == ["allowed", "revoked"]
    assert arena.audit("denial")
