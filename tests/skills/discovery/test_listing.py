"""A folder that has not changed is not listed again; any change, and any doubt, lists it."""

import os
import shutil
import time
from pathlib import Path

import pytest

from clawft.skills.discovery import Location, load_catalog
from clawft.skills.discovery.catalog import apply_sidecars
from clawft.skills.discovery.folder_cache import SkillFolder, SkillFolderListing, list_folder

HOUR_NS = 3600 * 10**9


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock an hour ahead: what changed within the last moments is not relied on."""
    now_ns = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + HOUR_NS)


def _skill(folder: Path, file: str = "SKILL.md") -> None:
    folder.mkdir(parents=True)
    (folder / file).write_text(f"---\nname: {folder.name}\ndescription: d\n---\n\nB\n")


def _names(root: Path) -> list[str]:
    location = Location("project", "skills", str(root / "skills"))
    catalog = load_catalog([location], max_prompt_bytes=1000, cache_dir=str(root / "cache"))
    return [found.name for found in catalog.found if found.skill]


def test_listing_is_taken_over_while_the_status_of_the_folder_is_the_same(tmp_path: Path) -> None:
    _skill(tmp_path / "real")
    status = tmp_path.stat()
    known = SkillFolderListing([SkillFolder("as known")], status.st_mtime_ns, status.st_ctime_ns, status.st_nlink)

    assert list_folder(str(tmp_path), known, {}).listing is known


@pytest.mark.parametrize("change", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_listing_of_another_status_is_made_again(tmp_path: Path, change: tuple[int, int, int]) -> None:
    _skill(tmp_path / "real")
    status = tmp_path.stat()
    stamp = (status.st_mtime_ns, status.st_ctime_ns, status.st_nlink)
    known = SkillFolderListing(
        [SkillFolder("as known")], *(one + more for one, more in zip(stamp, change, strict=True))
    )
    place = SkillFolder(str(tmp_path / "real"), 1, 2, 3, b"skill")

    assert list_folder(str(tmp_path), known, {place.folder: place}).listing.places == [place]


def test_listing_with_links_or_with_a_skill_file_is_not_relied_on(tmp_path: Path) -> None:
    _skill(tmp_path / "links" / "real")
    (tmp_path / "links" / "link").symlink_to("real")
    _skill(tmp_path / "file", "skill.md")

    links, file = (list_folder(str(tmp_path / name), None, {}) for name in ("links", "file"))

    assert (links.listing.links, links.links) == (0, frozenset({str(tmp_path / "links" / "link")}))
    assert (file.listing.links, file.file) == (0, "skill.md")


def test_hidden_folders_count_as_links_but_are_not_looked_into(tmp_path: Path) -> None:
    for name in (".git", "node_modules", "skills"):
        (tmp_path / name).mkdir()

    entries = list_folder(str(tmp_path), None, {})

    assert [place.folder for place in entries.listing.places] == [str(tmp_path / "skills")]
    assert entries.listing.links in (0, tmp_path.stat().st_nlink)


def test_folder_that_becomes_a_link_out_of_the_root_is_not_followed(tmp_path: Path, later: None) -> None:
    _skill(tmp_path / "skills" / "one")
    _skill(tmp_path / "skills" / "two")
    assert _names(tmp_path) == _names(tmp_path) == ["one", "two"]

    shutil.move(tmp_path / "skills" / "one", tmp_path / "outside")
    (tmp_path / "skills" / "one").symlink_to(tmp_path / "outside")

    assert _names(tmp_path) == ["two"]


def test_skill_in_a_folder_that_held_none_is_noticed(tmp_path: Path, later: None) -> None:
    _skill(tmp_path / "skills" / "group" / "one")
    (tmp_path / "skills" / "empty").mkdir()
    assert _names(tmp_path) == _names(tmp_path) == ["one"]

    (tmp_path / "skills" / "empty" / "skill.json").write_text('{"name": "old", "description": "d"}')
    _skill(tmp_path / "skills" / "group" / "two")

    assert _names(tmp_path) == ["old", "one", "two"]


def test_change_right_after_listing_is_noticed(tmp_path: Path) -> None:
    _skill(tmp_path / "skills" / "one")
    status = (tmp_path / "skills").stat()
    assert _names(tmp_path) == ["one"]

    _skill(tmp_path / "skills" / "two")
    (tmp_path / "skills" / "one").rename(tmp_path / "one")
    os.utime(tmp_path / "skills", ns=(status.st_atime_ns, status.st_mtime_ns))

    assert _names(tmp_path) == ["two"]


def test_sidecar_that_comes_later_is_laid_over_a_cached_skill(tmp_path: Path, later: None) -> None:
    _skill(tmp_path / "skills" / "one")
    _names(tmp_path)
    (tmp_path / "skills" / "one" / "agents").mkdir()
    (tmp_path / "skills" / "one" / "agents" / "openai.yaml").write_text("interface:\n  display_name: One!\n")

    location = Location("project", "skills", str(tmp_path / "skills"))
    catalog = load_catalog([location], max_prompt_bytes=1000, cache_dir=str(tmp_path / "cache"))

    (found,) = apply_sidecars(catalog).found
    assert found.skill is not None
    assert found.skill.display_name == "One!"
