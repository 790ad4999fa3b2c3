"""How far the search goes, and that nothing on a disk makes it hang, read too much or leave its folder."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.skills.discovery import Catalog, Location, load_catalog, load_prompt
from effort import within

LIMIT = 32 * 1024


def _load(root: Path) -> Catalog:
    return load_catalog([Location("project", "skills", str(root))], max_prompt_bytes=LIMIT)


def _write(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name.lower()}\ndescription: d\n---\n\nBody.\n")
    return folder


def _names(catalog: Catalog) -> list[str]:
    return [one.name for one in catalog.found]


def test_search_stops_at_a_skill(tmp_path: Path) -> None:
    _write(tmp_path / "outer")
    _write(tmp_path / "outer" / "references")
    _write(tmp_path / "outer" / "deep" / "inner")

    assert _names(_load(tmp_path)) == ["outer"]


def test_search_stops_at_a_broken_skill_too(tmp_path: Path) -> None:
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer" / "SKILL.md").write_text("---\nname: outer\n")
    _write(tmp_path / "outer" / "inner")

    assert _names(_load(tmp_path)) == ["outer"]


def test_root_may_itself_be_a_skill(tmp_path: Path) -> None:
    _write(tmp_path / "single")
    _write(tmp_path / "single" / "inner")

    catalog = _load(tmp_path / "single")

    assert [one.file for one in catalog.found] == [str(tmp_path / "single" / "SKILL.md")]


def test_four_levels_are_searched_and_the_fifth_is_said(tmp_path: Path) -> None:
    _write(tmp_path / "a" / "b" / "c" / "four")
    _write(tmp_path / "a" / "b" / "c" / "d" / "five")

    catalog = _load(tmp_path)

    assert _names(catalog) == ["four"]
    (said,) = catalog.diagnostics
    assert (said.code, said.severity) == ("depth-limit", "note")
    assert said.path == str(tmp_path / "a" / "b" / "c" / "d" / "five")


def test_dot_folders_and_packages_are_skipped(tmp_path: Path) -> None:
    for skipped in (".git", ".hidden", "node_modules", "__pycache__"):
        _write(tmp_path / skipped / f"in-{skipped.strip('._')}")
        _write(tmp_path / "group" / skipped / "deeper")
    _write(tmp_path / "group" / "seen")

    assert _names(_load(tmp_path)) == ["seen"]


def test_files_beside_skills_are_no_skills(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Skills")
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "SKILL.txt").write_text("no")

    assert _load(tmp_path) == Catalog()


def test_link_to_a_place_inside_is_followed_once(tmp_path: Path) -> None:
    _write(tmp_path / ".store" / "kept")
    (tmp_path / "first").symlink_to(".store/kept")
    (tmp_path / "second").symlink_to(tmp_path / ".store" / "kept")

    catalog = _load(tmp_path)

    assert [one.folder for one in catalog.found] == [str(tmp_path / "first")]
    assert catalog.diagnostics == ()


def test_link_out_of_the_root_is_refused_and_said(tmp_path: Path) -> None:
    _write(tmp_path / "elsewhere" / "secret")
    root = tmp_path / "skills"
    _write(root / "own")
    (root / "out").symlink_to(tmp_path / "elsewhere")
    (root / "sly").symlink_to("own/../../elsewhere/secret")

    catalog = _load(root)

    assert _names(catalog) == ["own"]
    assert [(one.code, one.severity, one.path) for one in catalog.diagnostics] == [
        ("link-leaves-root", "warning", str(root / "out")),
        ("link-leaves-root", "warning", str(root / "sly")),
    ]


def test_folder_beside_the_root_with_its_name_as_prefix_is_outside(tmp_path: Path) -> None:
    _write(tmp_path / "skills-private" / "secret")
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "out").symlink_to("../skills-private")

    catalog = _load(tmp_path / "skills")

    assert catalog.found == ()
    assert [one.code for one in catalog.diagnostics] == ["link-leaves-root"]


def test_root_may_be_a_link(tmp_path: Path) -> None:
    _write(tmp_path / "real" / "one")
    (tmp_path / "link").symlink_to("real")

    assert [one.folder for one in _load(tmp_path / "link").found] == [str(tmp_path / "link" / "one")]


def test_loops_of_links_end(tmp_path: Path) -> None:
    _write(tmp_path / "group" / "one")
    (tmp_path / "group" / "up").symlink_to("..")
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "ping").symlink_to("pong")
    (tmp_path / "pong").symlink_to("ping")

    catalog = _load(tmp_path)

    assert set(_names(catalog)) == {"one"}


def test_dangling_link_to_a_folder_is_no_skill(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nothing")

    assert _load(tmp_path).found == ()


def test_linked_skill_md_inside_is_read(tmp_path: Path) -> None:
    (tmp_path / "linked").mkdir()
    (tmp_path / "shared.md").write_text("---\nname: linked\ndescription: d\n---\n\nShared body.\n")
    (tmp_path / "linked" / "SKILL.md").symlink_to("../shared.md")

    (found,) = _load(tmp_path).found

    assert found.skill is not None
    assert load_prompt(found, LIMIT).prompt == "Shared body."


@pytest.mark.parametrize("file", ["SKILL.md", "skill.json"])
def test_linked_file_outside_is_refused(tmp_path: Path, file: str) -> None:
    (tmp_path / "secret").write_text("name: secret\n")
    (tmp_path / "skills" / "thief").mkdir(parents=True)
    (tmp_path / "skills" / "thief" / file).symlink_to(tmp_path / "secret")

    (found,) = _load(tmp_path / "skills").found

    assert found.skill is None
    assert found.problem is not None
    assert found.problem.code == "link-leaves-root"


def test_linked_prompt_of_a_legacy_skill_that_leads_outside_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("top secret")
    folder = tmp_path / "skills" / "thief"
    folder.mkdir(parents=True)
    (folder / "skill.json").write_text('{"name": "thief"}')
    (folder / "prompt.md").symlink_to(tmp_path / "secret")

    (found,) = _load(tmp_path / "skills").found

    assert [one.code for one in found.diagnostics] == ["link-leaves-root"]
    assert "top secret" not in repr(found)


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.mkdir()


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _dangling(path: Path) -> None:
    path.symlink_to("nothing")


def _itself(path: Path) -> None:
    path.symlink_to(path.name)


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(200 << 30)  # 200 GB of holes: reading them would end in minutes, or in no memory


@pytest.mark.parametrize("make", [_fifo, _folder, _device, _dangling, _itself, _huge])
@pytest.mark.parametrize("file", ["SKILL.md", "skill.md", "skill.json"])
def test_file_that_is_no_plain_file_is_broken_at_once(tmp_path: Path, file: str, make: Callable[[Path], None]) -> None:
    (tmp_path / "odd").mkdir()
    make(tmp_path / "odd" / file)
    _write(tmp_path / "sound")
    with within(2):
        catalog = _load(tmp_path)
    assert _names(catalog) == ["odd", "sound"]
    assert [one.skill is None for one in catalog.found] == [True, False]
    assert catalog.found[0].problem is not None
    assert catalog.found[0].problem.severity == "error"


def test_socket_named_skill_md_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "odd").mkdir()
    monkeypatch.chdir(tmp_path / "odd")  # the whole path may be too long for a socket
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("SKILL.md")

    (found,) = _load(tmp_path).found

    assert found.skill is None


def test_file_of_200_mb_is_refused_without_being_read(tmp_path: Path) -> None:
    (tmp_path / "big").mkdir()
    with (tmp_path / "big" / "SKILL.md").open("wb") as file:
        file.write(b"---\nname: big\ndescription: d\n---\n")
        file.truncate(200 << 20)

    (found,) = _load(tmp_path).found

    assert found.problem is not None
    assert found.problem.code == "file-too-large"
    assert str(200 << 20) in found.problem.message


def test_file_of_a_whole_megabyte_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    text = b"---\nname: big\ndescription: d\n---\n"
    for name, size in (("fits", 1 << 20), ("over", (1 << 20) + 1)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_bytes(text.ljust(size, b"x"))

    fits, over = _load(tmp_path).found

    assert fits.skill is not None
    assert over.problem is not None
    assert over.problem.code == "file-too-large"


def test_empty_file_is_a_skill_without_words(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "SKILL.md").touch()

    (found,) = _load(tmp_path).found

    assert found.skill is not None
    assert (found.name, found.skill.description) == ("empty", "")


def test_thousands_of_folders_are_searched_in_bounded_time(tmp_path: Path) -> None:
    for group in range(50):
        for number in range(60):
            (tmp_path / f"group-{group}" / f"nothing-{number}").mkdir(parents=True)
    _write(tmp_path / "group-49" / "nothing-59" / "needle")
    with within(5):
        catalog = _load(tmp_path)
    assert _names(catalog) == ["needle"]


def test_order_does_not_depend_on_the_disk(tmp_path: Path) -> None:
    names = ["b", "a", "Z", "c-1", "c", "D_2", "10", "9"]
    for name in names:
        _write(tmp_path / name)

    assert [one.folder.rpartition("/")[2] for one in _load(tmp_path).found] == sorted(names)
