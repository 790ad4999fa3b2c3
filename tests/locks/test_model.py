"""Where a skill comes from, as a lock has it."""

import pytest

from clawft.locks.model import Origin


@pytest.mark.parametrize(
    ("origin", "whose"),
    [
        (Origin("clawhub", "https://clawhub.ai", "ada", "tides"), "ada"),
        (Origin("clawhub", "https://clawhub.ai", "", "tides"), "-"),
        (Origin("contract", "https://skills.example", "", "tides"), "-"),
        (Origin("git", "https://github.com/Ada/tools.git"), "Ada"),
        (Origin("git", "git@github.com:ada/tools.git"), "ada"),
        (Origin("git", "ssh://git@gitlab.com:22/ada/inner/tools"), "ada"),
        (Origin("git", "https://git.example/tools.git"), "-"),
        (Origin("git", "file:///srv/ada/tools"), ""),
        (Origin("well-known", "https://ada.example"), ""),
        (Origin("archive", "https://ada.example/a/b.skill"), ""),
        (Origin("folder", "/srv/ada/tools"), ""),
    ],
)
def test_whose_a_skill_is_follows_from_where_it_comes_from(origin: Origin, whose: str) -> None:
    assert origin.whose == whose
