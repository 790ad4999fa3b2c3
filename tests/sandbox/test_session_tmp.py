"""The `/tmp` of a session: shared by its commands, apart from all else, and safe from links in it."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from clawft.errors import Refused
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.session_tmp import make_session_tmp, prune_session_tmps

Box = Any


def shared(box: Box, name: str = "one") -> Confinement:
    return Confinement(writable=(str(box.project),), tmp=str(box.user_dir / "output" / name / "tmp"))


@pytest.mark.anyio
async def test_commands_share_it_and_other_sessions_do_not(apart: Box) -> None:
    assert await apart.say("echo kept > /tmp/note; echo $TMPDIR", shared(apart)) == "/tmp\n"
    assert await apart.say("cat /tmp/note", shared(apart)) == "kept\n"
    assert await apart.say("ls -A /tmp", shared(apart, "two")) == ""
    assert (apart.user_dir / "output/one/tmp/note").read_text() == "kept\n"


@pytest.mark.anyio
async def test_project_in_tmp_is_seen_beside_what_commands_put_there(wrapped: Box) -> None:
    (wrapped.project / "file").write_text("of the project\n")
    assert await wrapped.say("echo kept > /tmp/note; cat file", shared(wrapped)) == "of the project\n"
    assert await wrapped.say(f"cat /tmp/note {wrapped.project}/file", shared(wrapped)) == "kept\nof the project\n"


@pytest.mark.anyio
async def test_folders_on_the_way_to_a_project_in_tmp_cannot_be_moved(wrapped: Box) -> None:
    if not str(wrapped.project).startswith("/tmp/"):
        pytest.skip("temporary folders of tests do not lie in /tmp")
    first = "/".join(str(wrapped.project).split("/")[:3])
    told = await wrapped.say(
        f"mv {first} /tmp/away; rm -rf {first}; ln -s /etc {first}; ls -d {first}", shared(wrapped)
    )
    assert "busy" in told
    assert told.splitlines()[-1] == first
    assert (await wrapped.run("true", shared(wrapped))).code == 0


@pytest.mark.anyio
async def test_link_in_the_way_of_a_project_in_tmp_stops_commands(wrapped: Box, tmp_path: Path) -> None:
    if not str(wrapped.project).startswith("/tmp/"):
        pytest.skip("temporary folders of tests do not lie in /tmp")
    folder, outside = Path(shared(wrapped).tmp), tmp_path / "outside"
    outside.mkdir()
    make_session_tmp(str(folder))
    (folder / str(wrapped.project).split("/")[2]).symlink_to(outside)
    with pytest.raises(Refused) as refused:
        await wrapped.run("true", shared(wrapped))
    assert refused.value.code == "sandbox-link"
    assert list(outside.iterdir()) == []


def test_what_sessions_left_long_ago_is_removed(tmp_path: Path) -> None:
    old, new = tmp_path / "old/tmp", tmp_path / "new/tmp"
    for folder in (old, new):
        make_session_tmp(str(folder))
        (folder / "file").touch()
    before = time.time() - 30 * 24 * 3600
    os.utime(old, (before, before))
    prune_session_tmps(str(tmp_path), "tmp")
    assert (old.exists(), new.exists(), old.parent.exists()) == (False, True, True)
