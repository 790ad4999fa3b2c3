"""weft started in the home folder itself: what shells and programs obey there, or are found by, stays as it is."""

import os

import pytest

from arena import SECRET, Arena

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


async def test_home_below_the_project_is_out_of_reach(arena: Arena) -> None:
    home = arena.home
    arena.world.project = home.parent
    places = [".bashrc", "bin/ls", ".config/autostart/x.desktop", "letters"]
    printed = await arena.shell(
        *(f"mkdir -p home/{place.rpartition('/')[0]}; echo theirs > home/{place}" for place in places),
        "cat home/private.txt; mv home house; ln -s home link; echo theirs > link/.bashrc; cp home/private.txt mine",
    )
    calls = [("write_file", {"path": f"home/{place}", "content": "theirs"}) for place in places]
    ended = await arena.use(*calls, ("read_file", {"path": "home/private.txt"}))

    assert (home / ".bashrc").read_text() == "# mine\n"
    assert sorted(os.listdir(home)) == sorted([".bashrc", ".clawft", "private.txt"])
    assert SECRET not in printed
    assert not (home.parent / "mine").exists() or SECRET not in (home.parent / "mine").read_text()
    assert [one.status for one in ended] == ["error"] * len(ended)
    assert SECRET not in str([one.result for one in ended])
