"""weft started in the home folder itself: what shells and programs obey there, or are found by, stays as it is."""

import pytest

from arena import Arena

pytestmark = pytest.mark.anyio


async def test_nothing_that_the_next_shell_obeys_is_changed(arena: Arena) -> None:
    home = arena.world.project = arena.home
    places = [
        ".oh-my-zsh/custom/x.zsh",
        ".cargo/bin/git",
        "bin/git",
        "conda/bin/git",
        ".tmux.conf",
        ".vim/plugin/x.vim",
    ]
    for place in places:
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).write_text("mine")
    (home / "letters").mkdir()
    arena.world.environ["PATH"] = f"{home}/conda/bin:{arena.world.environ['PATH']}"
    programs = [f"cp /etc/hosts {place}" for place in places] + ["mv conda was", "mv .vim was", "mv bin was"]
    await arena.shell("; ".join(programs), "cp /etc/hosts letters/a")
    writes = [("write_file", {"path": place, "content": "theirs"}) for place in places]
    ended = await arena.use(*writes, ("write_file", {"path": "letters/b", "content": "x"}))

    assert [(home / place).read_text() for place in places] == ["mine"] * len(places)
    assert [one.status for one in ended] == ["error"] * len(places) + ["success"]
    assert (home / "letters/a").exists()
    assert len(arena.audit("command", "allowed")) == 2
    assert len(arena.audit("denial")) == len(places)
