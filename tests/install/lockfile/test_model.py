"""Where a skill comes from, as a lock has it."""

import pytest

from clawft.install.lockfile.model import SkillOrigin


@pytest.mark.parametrize(
    ("origin", "whose"),
    [
        (SkillOrigin("clawhub", "https://clawhub.ai", "ada", "tides"), "ada"),
        (SkillOrigin("clawhub", "https://clawhub.ai", "", "tides"), "-"),
        (SkillOrigin("contract", "https://skills.example", "", "tides"), "-"),
        (SkillOrigin("git", "https://github.com/Ada/tools.git"), "Ada"),
        (SkillOrigin("git", "git@github.com:ada/tools.git"), "ada"),
        (SkillOrigin("git", "ssh://git@gitlab.com:22/ada/inner/tools"), "ada"),
        (SkillOrigin("git", "https://git.example/tools.git"), "-"),
        (SkillOrigin("git", "file:///srv/ada/tools"), ""),
        (SkillOrigin("well-known", "https://ada.example"), ""),
        (SkillOrigin("archive", "https://ada.example/a/b.skill"), ""),
        (SkillOrigin("folder", "/srv/ada/tools"), ""),
    ],
)
def test_whose_a_skill_is_follows_from_where_it_comes_from(origin: SkillOrigin, whose: str) -> None:
    assert origin.whose == whose
