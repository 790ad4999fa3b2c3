"""Backups of a hub, and hubs out of backups."""

import hashlib
import io
import os
import tarfile
import threading
from pathlib import Path

import msgspec
import pytest
from hub_drafts import keep, publish

from clawft.errors import ClawftError, Refused
from clawft.server.hub.backup import check_backup, restore_folder, restore_shared, write_backup
from clawft.server.hub.model import CheckedDraft, PublicationDraft
from clawft.server.hub.store import HubStore
from clawft.server.hub.tokens import HubTokens
from postgres import Postgres


def _fill(store: HubStore) -> str:
    for number in range(3):
        publish(store, f"ann/skill-{number}")
    skill = publish(store, "ann/skill-0", "1.1.0", "newer").skill
    store.yank(skill, "1.0.0", "old")
    store.count_download(skill)
    return HubTokens(store).create("ann", ["publish"])[0]


def _look(store: HubStore) -> object:
    """All that can be seen of a store."""
    page = store.list_skills("name", 200)
    versions = [store.versions(one.skill.id) for one in page.items]
    whole = [store.get_version(one.skill.id) for one in page.items]
    blobs = [store.blobs.get(one.download) for one in whole]
    return page, versions, whole, blobs, HubTokens(store).list(), store.search("skill").items, store.usage("ann")


def test_a_hub_comes_back_from_its_backup_into_a_new_folder(store: HubStore, tmp_path: Path) -> None:
    secret = _fill(store)
    store.blobs.put(b"nobody's")
    manifest = write_backup(store, str(tmp_path / "hub.tar"))
    assert (manifest.skills, manifest.versions) == (3, 4)
    assert os.stat(tmp_path / "hub.tar").st_mode & 0o077 == 0
    before = _look(store)
    restore_folder(str(tmp_path / "hub.tar"), str(tmp_path / "new"))
    restored = HubStore.open_folder(str(tmp_path / "new"))
    try:
        found = _look(restored)
        assert _but_scores(found) == _but_scores(before)
        assert HubTokens(restored).check(secret)
        publish(restored, "ann/skill-9")
        assert restored.find("skill-9")[0].id > 3
        assert len([path for path in (tmp_path / "new" / "blobs").rglob("*") if path.is_file()]) > 0
        assert restored.sweep(-5) == 0
    finally:
        restored.close()


def _but_scores(seen: object) -> object:
    """The databases rank by formulas of their own."""
    assert isinstance(seen, tuple)
    page, versions, whole, blobs, tokens, found, usage = seen
    return page, versions, whole, blobs, tokens, sorted(one.skill.slug for one in found), usage


def test_a_backup_of_a_folder_moves_into_a_postgres(postgres: Postgres, tmp_path: Path) -> None:
    local = HubStore.open_folder(str(tmp_path / "hub"))
    _fill(local)
    write_backup(local, str(tmp_path / "hub.tar"))
    shared = HubStore.open_shared(postgres.url())
    try:
        restore_shared(str(tmp_path / "hub.tar"), shared)
        assert _but_scores(_look(shared)) == _but_scores(_look(local))
        publish(shared, "bob/after")  # its numbers go on where they were
        with pytest.raises(Refused) as refused:
            restore_shared(str(tmp_path / "hub.tar"), shared)
        assert refused.value.code == "hub-not-empty"
        restore_shared(str(tmp_path / "hub.tar"), shared, force=True)
        assert _but_scores(_look(shared)) == _but_scores(_look(local))
        assert shared.find("after") == ()
    finally:
        shared.close()
        local.close()


def test_a_backup_that_is_made_while_others_publish_holds_whole_versions(store: HubStore, tmp_path: Path) -> None:
    publish(store, "ann/skill-0")
    stop, failed = threading.Event(), list[BaseException]()

    def go_on() -> None:
        try:
            for number in range(1, 10_000):
                publish(store, f"ann/skill-{number % 7}", f"1.0.{number}", f"text {number}")
                if stop.is_set():
                    return
        except BaseException as error:
            failed.append(error)

    writer = threading.Thread(target=go_on)
    writer.start()
    try:
        for number in range(3):
            path = str(tmp_path / f"{number}.tar")
            manifest = write_backup(store, path)
            assert check_backup(path) == manifest
    finally:
        stop.set()
        writer.join(60)
    assert not failed
    restore_folder(path, str(tmp_path / "new"))
    restored = HubStore.open_folder(str(tmp_path / "new"))
    assert sum(restored.usage(owner).versions for owner in restored.owners()) == manifest.versions > 0
    restored.close()


def test_a_hub_that_is_there_is_replaced_only_on_request_and_not_while_it_is_used(tmp_path: Path) -> None:
    folder, backup = str(tmp_path / "hub"), str(tmp_path / "hub.tar")
    store = HubStore.open_folder(folder)
    publish(store, "ann/first")
    write_backup(store, backup)
    publish(store, "ann/second")
    for force, code in ((False, "hub-not-empty"), (True, "hub-running")):
        with pytest.raises(Refused) as refused:
            restore_folder(backup, folder, force=force)
        assert refused.value.code == code
    assert store.find("second")
    store.close()
    restore_folder(backup, folder, force=True)
    store = HubStore.open_folder(folder)
    assert (len(store.find("first")), len(store.find("second"))) == (1, 0)
    store.close()
    assert sorted(os.listdir(tmp_path)) == ["hub", "hub.tar"]


def test_a_version_of_many_files_comes_back_with_all_of_them(tmp_path: Path) -> None:
    store = HubStore.open_folder(str(tmp_path / "hub"))
    kept = keep(store, {"SKILL.md": b"text", **{f"{number}.txt": str(number).encode() for number in range(230)}})
    checked = CheckedDraft(digest="sha256:d", fingerprint="f", verdict="clean", summary="Many files")
    version = store.publish(PublicationDraft("ann", "many", "Many", "1.0.0", "", kept), checked, "ann")
    write_backup(store, str(tmp_path / "hub.tar"))
    store.close()
    restore_folder(str(tmp_path / "hub.tar"), str(tmp_path / "new"))
    restored = HubStore.open_folder(str(tmp_path / "new"))
    assert restored.get_version(version.skill) == version
    assert restored.sweep(-5) == 0
    assert [restored.blobs.get(file.sha256) for file in version.files] == [
        b"text",
        *(str(number).encode() for number in range(230)),
    ]
    restored.close()


def test_a_folder_that_is_no_hub_is_never_replaced(tmp_path: Path) -> None:
    store = HubStore.open_folder(str(tmp_path / "hub"))
    write_backup(store, str(tmp_path / "hub.tar"))
    store.close()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letters.txt").write_text("dear")
    with pytest.raises(Refused, match="it is no hub"):
        restore_folder(str(tmp_path / "hub.tar"), str(tmp_path / "home"), force=True)
    assert os.listdir(tmp_path / "home") == ["letters.txt"]


def test_a_backup_is_not_written_over_another_unasked(tmp_path: Path) -> None:
    store = HubStore.open_folder(str(tmp_path / "hub"))
    write_backup(store, str(tmp_path / "hub.tar"))
    with pytest.raises(Refused):
        write_backup(store, str(tmp_path / "hub.tar"))
    write_backup(store, str(tmp_path / "hub.tar"), force=True)
    with pytest.raises(ClawftError, match="cannot be written"):
        write_backup(store, str(tmp_path / "nowhere" / "hub.tar"))
    store.close()


def test_bytes_that_were_damaged_on_the_disk_are_told_and_not_backed_up(tmp_path: Path) -> None:
    store = HubStore.open_folder(str(tmp_path / "hub"))
    version = publish(store, "ann/notes")
    Path(store.blobs.path(version.archive)).write_bytes(b"rotten")
    with pytest.raises(ClawftError) as error:
        write_backup(store, str(tmp_path / "hub.tar"))
    assert error.value.code == "hub-damaged"
    assert os.listdir(tmp_path) == ["hub"]
    store.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A backup that is as it should be."""
    folder = tmp_path_factory.mktemp("whole")
    store = HubStore.open_folder(str(folder / "hub"))
    publish(store, "ann/notes")
    write_backup(store, str(folder / "hub.tar"))
    store.close()
    return (folder / "hub.tar").read_bytes()


def _repack(whole: bytes, change: str) -> bytes:
    """The same backup with one thing wrong."""
    written = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(whole)) as source, tarfile.TarFile(fileobj=written, mode="w") as target:
        for member in source:
            file = source.extractfile(member)
            assert file is not None
            content = file.read()
            if change == "drop" and member.name.startswith("blobs/"):
                continue
            if change == "manifest" and member.name == "manifest.json":
                continue
            if change == "row" and member.name.startswith("tables/hub_skill"):
                content = content.replace(b'"ann"', b'"eve"')
            if change == "blob" and member.name.startswith("blobs/"):
                content = content[:-1] + b"?"
            member.size = len(content)
            target.addfile(member, io.BytesIO(content))
            if change == "twice" and member.name.startswith("tables/hub_skill"):
                target.addfile(member, io.BytesIO(content))
        if change in ("extra", "link", "out"):
            extra = tarfile.TarInfo(
                {"out": "../x", "link": "blobs/a"}.get(change, f"blobs/{hashlib.sha256().hexdigest()}")
            )
            extra.type, extra.linkname = (tarfile.SYMTYPE, "/etc/passwd") if change == "link" else (extra.type, "")
            target.addfile(extra)
    return written.getvalue()


@pytest.mark.parametrize("change", ["drop", "manifest", "row", "blob", "twice", "extra", "link", "out"])
def test_a_backup_with_one_thing_wrong_is_refused_and_leaves_nothing(whole: bytes, change: str, tmp_path: Path) -> None:
    (tmp_path / "bad.tar").write_bytes(_repack(whole, change))
    with pytest.raises(Refused) as refused:
        restore_folder(str(tmp_path / "bad.tar"), str(tmp_path / "hub"))
    assert refused.value.code == "hub-backup-damaged"
    assert os.listdir(tmp_path) == ["bad.tar"]


@pytest.mark.parametrize(
    ("table", "was", "becomes"),
    [
        ("hub_skill", b'"ann"', b'"../ann"'),
        ("hub_skill", b'"notes"', b'"<script>"'),
        ("hub_skill", b"[1,", b'["1",'),
        ("hub_version", b'"clean"', b'"fine"'),
        ("hub_version", b'"[]"', b'"no list"'),
        ("hub_version", b'"{}"', b'"[]"'),
        ("hub_version", b"[1,", b"[9223372036854775808,"),
        ("hub_use", b"[1,", b"[-1,"),
    ],
)
def test_rows_that_no_hub_writes_are_refused_though_the_list_names_them(
    whole: bytes, table: str, was: bytes, becomes: bytes, tmp_path: Path
) -> None:
    written = io.BytesIO()
    kept: dict[str, dict[str, object]] = {}
    with tarfile.open(fileobj=io.BytesIO(whole)) as source, tarfile.TarFile(fileobj=written, mode="w") as target:
        for member in source:
            file = source.extractfile(member)
            assert file is not None
            content = file.read()
            if member.name.startswith(f"tables/{table}"):
                assert was in content
                content = content.replace(was, becomes)
            if member.name == "manifest.json":
                content = msgspec.json.encode({**msgspec.json.decode(content), "files": kept})
            kept[member.name] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
            member.size = len(content)
            target.addfile(member, io.BytesIO(content))
    (tmp_path / "bad.tar").write_bytes(written.getvalue())
    with pytest.raises(Refused) as refused:
        check_backup(str(tmp_path / "bad.tar"))
    assert refused.value.code == "hub-backup-damaged"


def test_a_backup_that_was_cut_off_anywhere_is_refused(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.tar"
    content_ends = len(whole.rstrip(b"\0"))
    for at in range(0, content_ends - 1, 97):
        path.write_bytes(whole[:at])
        with pytest.raises(ClawftError):
            check_backup(str(path))
    path.write_bytes(whole)
    check_backup(str(path))


def test_what_is_no_backup_is_told(tmp_path: Path) -> None:
    for name, content in (("text", b"hello"), ("empty", b""), ("zeros", bytes(2048))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(Refused) as refused:
            check_backup(str(tmp_path / name))
        assert refused.value.code == "hub-backup-damaged"
    with pytest.raises(ClawftError, match="no such backup"):
        check_backup(str(tmp_path / "nothing"))
