"""Skills from folders and archives of this machine."""

import hashlib
import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.errors import ClawftError, NotFound, Refused
from clawft.install.lockfile.model import SkillOrigin
from clawft.install.sources.local import LocalSource
from clawft.install.sources.model import AvailableVersion, ResolvedSkill, SkillReference
from clawft.skills.discovery.digest import compute_digest

pytestmark = pytest.mark.anyio
TEXT = b"---\nname: notes\ndescription: Takes notes.\nversion: 1.0.0\n---\nWrite it down.\n"


def make(folder: Path, text: bytes = TEXT) -> Path:
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(text)
    (folder / "scripts" / "run.sh").write_bytes(b"#!/bin/sh\n")
    (folder / "scripts" / "run.sh").chmod(0o755)
    return folder


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def ask(path: Path, **fields: str) -> SkillReference:
    return SkillReference(str(path), "folder" if path.is_dir() else "archive", url=str(path), **fields)


async def only(path: Path, **fields: str) -> ResolvedSkill:
    (found,) = await LocalSource().resolve(ask(path, **fields))
    return found


async def fetched(resolved: ResolvedSkill, folder: Path) -> str:
    folder.mkdir()
    await LocalSource().download(resolved, str(folder))
    assert not [name for name in os.listdir(folder) if name.startswith(".new-")]
    return compute_digest(str(folder)).value


async def test_a_folder_is_a_skill_and_its_copy_has_its_digest(tmp_path: Path) -> None:
    source = make(tmp_path / "notes")
    (source / ".git").mkdir()
    (source / ".git" / "config").write_text("[core]")
    found = await only(source)
    assert found == ResolvedSkill(
        SkillOrigin("folder", str(source)), "notes", version="1.0.0", url=str(source), description="Takes notes."
    )
    assert await fetched(found, tmp_path / "copy") == compute_digest(str(source)).value
    assert not (tmp_path / "copy" / ".git").exists()
    assert os.access(tmp_path / "copy" / "scripts" / "run.sh", os.X_OK)


async def test_a_folder_of_several_skills_gives_them_all_and_each_can_be_had(tmp_path: Path) -> None:
    make(tmp_path / "all" / "skills" / "notes")
    make(tmp_path / "all" / "skills" / "other", TEXT.replace(b"notes", b"other"))
    found = await LocalSource().resolve(ask(tmp_path / "all"))
    assert [(one.name, one.origin.path) for one in found] == [("notes", "skills/notes"), ("other", "skills/other")]
    one = await only(tmp_path / "all", skill="other")
    digest = await fetched(one, tmp_path / "copy")
    assert digest == compute_digest(str(tmp_path / "all" / "skills" / "other")).value


async def test_a_folder_of_skills_gives_those_that_lie_deeper_too(tmp_path: Path) -> None:
    make(tmp_path / "skills" / "notes")
    make(tmp_path / "skills" / "writing" / "letters", TEXT.replace(b"notes", b"letters"))
    found = await LocalSource().resolve(ask(tmp_path / "skills"))
    assert [one.origin.path for one in found] == ["notes", "writing/letters"]


@pytest.mark.parametrize("prefix", ["", "notes/", "notes-1.0/"])
async def test_an_archive_has_its_skill_at_the_top_or_in_one_folder(prefix: str, tmp_path: Path) -> None:
    source = zipped(tmp_path / "notes.skill", {f"{prefix}SKILL.md": TEXT, f"{prefix}a/b.md": b"b"})
    found = await only(source)
    assert (found.name, found.origin.path) == ("notes", "")
    assert found.archive == hashlib.sha256(source.read_bytes()).hexdigest()
    await fetched(found, tmp_path / "copy")
    assert sorted(os.listdir(tmp_path / "copy")) == ["SKILL.md", "a"]


async def test_one_skill_of_an_archive_of_several_is_had_alone(tmp_path: Path) -> None:
    source = tmp_path / "repo.tar.gz"
    with tarfile.open(source, "w:gz") as archive:
        for name, data in {"repo-main/skills/notes/SKILL.md": TEXT, "repo-main/skills/b/SKILL.md": b"B."}.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    found = await LocalSource().resolve(ask(source))
    assert [one.name for one in found] == ["b", "notes"]
    await fetched(found[1], tmp_path / "copy")
    assert os.listdir(tmp_path / "copy") == ["SKILL.md"]


async def test_an_archive_that_changed_since_it_was_looked_at_is_refused(tmp_path: Path) -> None:
    source = zipped(tmp_path / "notes.zip", {"SKILL.md": TEXT})
    found = await only(source)
    zipped(source, {"SKILL.md": TEXT + b"More."})
    with pytest.raises(Refused) as caught:
        await fetched(found, tmp_path / "copy")
    assert caught.value.code == "source-changed"
    assert os.listdir(tmp_path / "copy") == []


async def test_what_was_installed_is_found_again_and_exactly_only_if_it_is_the_same(tmp_path: Path) -> None:
    source = make(tmp_path / "notes")
    installed = AvailableVersion(SkillOrigin("folder", str(source)), digest=compute_digest(str(source)).value)
    assert (await LocalSource().renew(installed, exact=True)).name == "notes"
    (source / "more.md").write_text("more")
    with pytest.raises(Refused) as caught:
        await LocalSource().renew(installed, exact=True)
    assert caught.value.code == "source-changed"
    assert (await LocalSource().renew(installed)).name == "notes"
    (source / "SKILL.md").unlink()
    with pytest.raises(NotFound):
        await LocalSource().renew(installed)


@pytest.mark.parametrize("path", ["../notes", "/etc", "a/../../b"])
async def test_a_lock_leads_to_no_other_folder(path: str, tmp_path: Path) -> None:
    make(tmp_path / "notes")
    (tmp_path / "here").mkdir()
    with pytest.raises(Refused):
        await LocalSource().renew(AvailableVersion(SkillOrigin("folder", str(tmp_path / "here"), path=path)))
    with pytest.raises(Refused):
        await LocalSource().renew(AvailableVersion(SkillOrigin("folder", "notes")))


async def test_a_folder_is_not_copied_into_itself(tmp_path: Path) -> None:
    source = make(tmp_path / "notes")
    with pytest.raises(Refused) as caught:
        await fetched(await only(source), source / "skills")
    assert caught.value.code == "source-holds-target"
    (source / ".clawft").mkdir()
    assert await fetched(await only(source), source / ".clawft" / "x"), "nothing is copied from there"


async def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    source = make(tmp_path / "notes")
    (source / "secret").symlink_to("/etc/passwd")
    with pytest.raises(Refused):
        await fetched(await only(source), tmp_path / "copy")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"\x1f\x8b\x08", b"nothing"])
async def test_an_archive_that_is_none_is_told_by_its_own_name(data: bytes, tmp_path: Path) -> None:
    source = tmp_path / "notes.zip"
    source.write_bytes(data)
    with pytest.raises(ClawftError) as caught:
        await LocalSource().resolve(ask(source))
    assert caught.value.diagnostic.path == str(source)


@pytest.mark.parametrize("make_other", [os.mkdir, os.mkfifo])
async def test_what_is_no_archive_any_more_when_it_is_renewed_is_told(
    make_other: Callable[[Path], None], tmp_path: Path
) -> None:
    source = zipped(tmp_path / "notes.zip", {"SKILL.md": TEXT})
    found = await only(source)
    source.unlink()
    make_other(source)
    with pytest.raises(NotFound) as caught:
        await LocalSource().renew(AvailableVersion(found.origin))
    assert caught.value.code == "source-missing"


async def test_an_archive_without_a_skill_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        await LocalSource().resolve(ask(zipped(tmp_path / "x.zip", {"README.md": b"hi"})))
    assert caught.value.code == "source-no-skill"
