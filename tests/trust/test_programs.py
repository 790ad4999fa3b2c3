"""Which file a name means for a program that runs with all rights, and what such a program is given."""

import os
import sys
from pathlib import Path

import pytest

from clawft.errors import NotFound, Refused
from clawft.trust.programs import (
    BARE_PYTHON,
    HostPrograms,
    PreparedProgram,
    clean_environ,
    find_files,
    make_host_programs,
    show_files,
    use_own_python,
)
from clawft.workspace import Workspace


@pytest.fixture
def host_programs(tmp_path: Path) -> HostPrograms:
    for name in ("home/bin", "project/bin", "shared"):
        (tmp_path / name).mkdir(parents=True)
    home, project = str(tmp_path / "home"), str(tmp_path / "project")
    return make_host_programs(
        Workspace(home, f"{home}/.clawft", project, project), {"PATH": f"{home}/bin"}, ["../shared"]
    )


def make(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_the_first_program_is_taken_that_no_command_can_write(host_programs: HostPrograms, tmp_path: Path) -> None:
    make(tmp_path / "project/bin/tool")
    make(tmp_path / "shared/tool")
    make(tmp_path / "home/none/tool", 0o644)
    mine = make(tmp_path / "home/bin/tool")
    path = f"bin::{tmp_path}/project/bin:{tmp_path}/shared:{tmp_path}/home/none:{mine.parent}:/bin"

    assert host_programs.find("tool", path) == host_programs.find(str(mine)) == str(mine)
    assert host_programs.limit_path(path) == f"{tmp_path}/home/none:{mine.parent}:/bin"
    assert host_programs.limit_path("bin:") == os.defpath
    assert (
        host_programs.find("other", path)
        == host_programs.find("bin/tool", path)
        == host_programs.find("a\0b", path)
        == ""
    )


@pytest.mark.parametrize("link", ["file", "folder", "through", "chain", "relative", "loop"])
def test_a_link_that_leads_where_commands_can_write_is_not_followed(
    host_programs: HostPrograms, tmp_path: Path, link: str
) -> None:
    theirs, mine, place = make(tmp_path / "project/bin/tool"), make(tmp_path / "other/tool"), tmp_path / "home/links"
    place.mkdir()
    if link == "file":
        (place / "tool").symlink_to(theirs)
    elif link == "folder":
        place.rmdir()
        place.symlink_to(theirs.parent)
    elif link == "through":  # it leads to a good program, by a link that a command can change
        (tmp_path / "project/way").symlink_to(mine.parent)
        (place / "tool").symlink_to(tmp_path / "project/way/tool")
    elif link == "chain":
        (tmp_path / "home/next").symlink_to(theirs)
        (place / "tool").symlink_to("../next")
    elif link == "relative":
        (place / "tool").symlink_to("../../other/../project/./bin/tool")
    else:
        (place / "tool").symlink_to("tool")
        assert host_programs.find("tool", str(place)) == ""
        return
    with pytest.raises(Refused, match=str(place / "tool")) as refused:
        host_programs.find("tool", str(place))
    assert refused.value.code == "program-writable"


def test_a_program_that_a_link_of_the_users_leads_to_is_started_by_its_link(
    host_programs: HostPrograms, tmp_path: Path
) -> None:
    mine = make(tmp_path / "other/busy")
    (tmp_path / "home/bin/tool").symlink_to(mine)
    program = host_programs.prepare(("tool", "-v"), {"PATH": f"{tmp_path}/home/bin", "A": "secret"})

    assert (program.words, program.files) == ((f"{tmp_path}/home/bin/tool", "-v"), (str(mine),))
    assert program.cwd == f"{tmp_path}/home"
    assert "secret" not in repr((program, HostPrograms({"A": "secret"})))
    with pytest.raises(NotFound, match="There is no program 'nothing'"):
        host_programs.prepare(("nothing",), {})
    with pytest.raises(Refused):
        host_programs.prepare(("./bin/tool",), {}, str(make(tmp_path / "project/bin/tool").parents[1]))


def test_the_neutral_folder_is_one_that_no_command_can_write(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert HostPrograms({}, home).folder == home
    assert HostPrograms({}, home, (home,)).folder == HostPrograms({}, f"{home}/missing").folder == "/"
    assert make_host_programs(Workspace(home, home, "/", "/"), {}).writable == ()  # no sandbox gives all of the machine


def test_variables_that_steer_programs_are_left_out_and_others_stay() -> None:
    steering = ("LD_PRELOAD", "DYLD_X", "GIT_DIR", "PYTHONPATH", "NODE_OPTIONS", "BASH_ENV", "BASH_FUNC_ls%%")
    kept = {"PATH": "/bin", "HOME": "/h", "PYTHONUTF8": "1", "LDAP": "x", "NODE_ENV": "test", "DISPLAY": ":0"}
    assert clean_environ({**dict.fromkeys(steering, "x"), **kept}) == kept
    own = use_own_python(("-P",), {**kept, "LD_LIBRARY_PATH": "/opt/lib", "NODE_OPTIONS": "-r x"}, "/")
    assert (own.words, own.env) == ((sys.executable, "-P"), {**kept, "LD_LIBRARY_PATH": "/opt/lib"})


@pytest.mark.parametrize(
    ("line", "is_bare"),
    [
        ("python3 -m pip install x", True),
        ("python -mpip", True),
        ("python3.12 -X dev -W error -c 'import x'", True),
        ("cd x && pypy3 -Bum build", True),
        ("echo 1 | python3 -", True),
        ("python3 < x.py", True),
        ("python3", True),
        ("python3 manage.py -m x", False),
        ("python3 -B scripts/x.py -c y", False),
        ("cat python-notes.txt", False),
    ],
)
def test_python_without_a_script_is_told_from_others(host_programs: HostPrograms, line: str, is_bare: bool) -> None:
    assert bool(BARE_PYTHON.search(line)) == is_bare
    program = host_programs.prepare_line(line, (), {}, "/")
    assert program.env.get("PYTHONSAFEPATH") == ("1" if is_bare else None)


def test_the_files_of_a_line_are_found_and_shown_without_acting_on_a_terminal(tmp_path: Path) -> None:
    tool, odd = make(tmp_path / "bin/tool"), make(tmp_path / "odd\n\x1b[31m")
    found = find_files(("cd", "tool", "tool", "./" + odd.name, "missing"), str(tool.parent), str(tmp_path))
    assert found == (str(tool), str(odd))
    assert show_files(found) == f"  ({tool}, {tmp_path}/odd\\n\\x1b[31m)"
    assert show_files(()) == ""
    assert show_files([str(number) for number in range(10)]).endswith("7 and 2 more)")
    assert PreparedProgram(("a",), "/", {}).files == ()
