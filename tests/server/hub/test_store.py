"""The store of a hub, in a folder and in a PostgreSQL."""

import base64
import io
import os
import sqlite3
import threading
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from hub_drafts import keep, publish

from clawft.config.registries import QuotaSettings
from clawft.errors import ClawftError, NotFound, Refused
from clawft.install.archive.hashes import fingerprint_folder
from clawft.install.publish.versions import is_version, version_order
from clawft.server.hub.model import CheckedDraft, PublicationDraft
from clawft.server.hub.store import HubStore, VersionExists
from postgres import Postgres

CLEAN = CheckedDraft(digest="sha256:d", fingerprint="f", verdict="clean", summary="A skill")


def test_a_version_comes_back_as_it_was_published(store: HubStore) -> None:
    made = publish(store, "ann/notes")
    (skill,) = store.find("notes")
    assert (skill.owner, skill.slug, skill.latest, skill.deleted) == ("ann", "notes", "1.0.0", False)
    assert store.get_version(skill.id) == store.get_version(skill.id, "1.0.0") == made
    assert made.tags == ("latest",)
    assert [store.blobs.get(file.sha256) for file in made.files] == [b"Do it.", b"echo hello\n"]


def test_a_version_never_changes_but_may_be_sent_again(store: HubStore) -> None:
    first = publish(store, "ann/notes", text="one")
    assert publish(store, "ann/notes", text="one") == first
    with pytest.raises(VersionExists) as refused:
        publish(store, "ann/notes", text="two")
    assert refused.value.code == "hub-version-exists"
    assert store.get_version(first.skill, "1.0.0") == first
    assert store.sweep(-5) == 1  # of the second there is the one file that was sent


def test_both_zips_have_the_files_at_their_root_and_the_hash_that_is_told(store: HubStore) -> None:
    version = publish(store, "ann/notes")
    plain, download = store.blobs.get(version.archive), store.blobs.get(version.download)
    assert (len(plain), len(download)) == (version.archive_size, version.download_size)
    assert zipfile.ZipFile(io.BytesIO(plain)).namelist() == ["SKILL.md", "run.sh"]
    with zipfile.ZipFile(io.BytesIO(download)) as opened:
        assert opened.namelist() == ["SKILL.md", "_meta.json", "run.sh"]
        meta = msgspec.json.decode(opened.read("_meta.json"))
    assert meta == {"ownerId": "ann", "slug": "notes", "version": "1.0.0", "publishedAt": version.created}
    assert store.blobs.put(plain) == version.archive


def test_the_same_name_of_two_owners_is_found_twice(store: HubStore) -> None:
    publish(store, "bob/notes")
    publish(store, "ann/notes")
    assert [one.owner for one in store.find("notes")] == ["ann", "bob"]
    assert [one.owner for one in store.find("notes", "bob")] == ["bob"]
    assert store.find("note") == ()


def test_the_latest_is_the_newest_that_is_meant_to_be_and_is_not_yanked(store: HubStore) -> None:
    skill = publish(store, "ann/notes", "1.10.0", "ten").skill
    publish(store, "ann/notes", "1.9.0", "nine")
    publish(store, "ann/notes", "2.0.0-beta.1", "beta", tags=("beta",))
    assert store.get_skill(skill).latest == "1.10.0"
    assert store.tags(skill) == {"beta": "2.0.0-beta.1", "latest": "1.10.0"}
    assert [one.version for one in store.versions(skill)] == ["2.0.0-beta.1", "1.10.0", "1.9.0"]
    store.yank(skill, "1.10.0", "It loses notes")
    assert store.get_skill(skill).latest == "1.9.0"
    assert store.get_version(skill, "1.10.0").yanked == "It loses notes"
    store.unyank(skill, "1.10.0")
    assert store.get_version(skill).version == "1.10.0"


def test_a_skill_whose_versions_are_all_yanked_is_listed_nowhere_and_has_no_latest(store: HubStore) -> None:
    skill = publish(store, "ann/notes").skill
    store.yank(skill, "1.0.0", "")
    assert store.find_version(skill) is None
    assert store.list_skills().items == store.search("notes").items == ()
    with pytest.raises(NotFound):
        store.yank(skill, "3.0.0", "there is none")


def test_a_deleted_skill_is_told_as_such_and_comes_back(store: HubStore) -> None:
    skill = publish(store, "ann/notes").skill
    store.delete(skill)
    assert [one.deleted for one in store.find("notes")] == [True]
    assert store.list_skills().items == store.search("notes").items == ()
    with pytest.raises(Refused, match="was deleted"):
        publish(store, "ann/notes", "1.0.1", "new")
    store.undelete(skill)
    assert [one.skill.slug for one in store.search("notes").items] == ["notes"]


def test_pages_hold_every_skill_once_in_order(store: HubStore) -> None:
    for number in range(7):
        skill = publish(store, f"ann/skill-{number}").skill
        for _ in range(number % 3):
            store.count_download(skill)
    store.flush()
    for sort in ("updated", "created", "downloads", "name"):
        seen, cursor = list[str](), ""
        while True:
            page = store.list_skills(sort, 3, cursor)
            assert len(page.items) <= 3
            seen += [one.skill.slug for one in page.items]
            cursor = page.cursor
            if not cursor:
                break
        assert seen == [one.skill.slug for one in store.list_skills(sort, 200).items]
        assert sorted(seen) == [f"skill-{number}" for number in range(7)]
        assert sort != "name" or seen == sorted(seen)
        assert sort != "downloads" or [store.find(one)[0].downloads for one in seen] == [2, 2, 1, 1, 0, 0, 0]


def test_a_cursor_that_is_none_or_of_another_list_is_an_error(store: HubStore) -> None:
    for number in range(3):
        publish(store, f"ann/skill-{number}")
    cursor = store.list_skills("name", 1).cursor
    far = base64.urlsafe_b64encode(b'["updated",%d,1]' % (1 << 63)).decode()
    wrong = (("updated", cursor), ("name", "nonsense"), ("name", "é"), ("name", cursor[:-2]), ("updated", far))
    for sort, given in wrong:
        with pytest.raises(ClawftError) as error:
            store.list_skills(sort, 1, given)
        assert error.value.code == "hub-cursor"


def test_lists_can_be_of_one_owner_or_one_beginning(store: HubStore) -> None:
    for name in ("ann/notes", "ann/notebook", "bob/nothing", "bob/zebra"):
        publish(store, name)
    assert [one.skill.slug for one in store.list_skills("name", owner="bob").items] == ["nothing", "zebra"]
    assert [one.skill.slug for one in store.list_skills("name", prefix="note").items] == ["notebook", "notes"]


def test_a_search_finds_words_and_their_beginnings_with_names_first(store: HubStore) -> None:
    publish(store, "ann/weather-report", text="Says whether it will rain")
    publish(store, "ann/umbrella", text="What to take along when the weather is bad")
    publish(store, "ann/zebra", text="Stripes")
    assert [one.skill.slug for one in store.search("weather").items] == ["weather-report", "umbrella"]
    assert [one.skill.slug for one in store.search("umbr").items] == ["umbrella"]
    assert [one.skill.slug for one in store.search("raining").items] == ["weather-report"]
    assert store.search("").items == store.search('" OR * )').items == store.search("'; DROP TABLE hub_skill").items


def test_a_name_that_no_skill_can_have_finds_none(store: HubStore) -> None:
    publish(store, "ann/notes")
    for name in ("", "notes ", "NOTES", "%", "n_tes", "notes' OR 1=1 --"):
        assert store.find(name) == ()
    assert store.quick or _code(lambda: store.find("no\0tes")) == "hub-text"


def _code(function: Callable[[], object]) -> str:
    with pytest.raises(ClawftError) as error:
        function()
    return error.value.code


def test_content_is_found_by_its_fingerprint(store: HubStore) -> None:
    first = publish(store, "ann/notes", "1.0.0", "same")
    publish(store, "ann/notes", "1.0.1", "same")
    assert store.resolve(first.skill, first.fingerprint) == "1.0.1"
    assert store.resolve(first.skill, "0" * 64) == ""


def test_what_the_clawhub_command_installed_is_found_by_its_fingerprint(store: HubStore, tmp_path: Path) -> None:
    publish(store, "ann/notes", "1.0.1", "other")
    version = publish(store, "ann/notes")
    with zipfile.ZipFile(io.BytesIO(store.blobs.get(version.download))) as opened:
        opened.extractall(tmp_path / "notes")
    assert store.resolve(version.skill, fingerprint_folder(str(tmp_path / "notes")) or "") == "1.0.0"


def test_bytes_that_no_version_uses_are_swept_and_others_stay(store: HubStore) -> None:
    version = publish(store, "ann/notes")
    orphan = store.blobs.put(b"nobody's")
    assert store.sweep() == 0  # somebody may be about to publish it
    assert store.sweep(-5) == 1
    with pytest.raises(NotFound):
        store.blobs.get(orphan)
    assert store.blobs.get(version.archive)
    assert store.discard([version.archive, store.blobs.put(b"bad")]) == 1


def test_a_draft_whose_bytes_are_gone_is_not_kept(store: HubStore) -> None:
    files = keep(store, {"SKILL.md": b"text"})
    store.discard([files[0].sha256])
    with pytest.raises(NotFound):
        store.publish(PublicationDraft("ann", "notes", "Notes", "1.0.0", "", files), CLEAN, "ann")
    assert store.find("notes") == ()


def test_an_owner_keeps_no_more_than_the_quota(store: HubStore) -> None:
    quota = QuotaSettings(skills=2, versions=2, owner_mb=1)

    def send(slug: str, version: str, size: int = 10) -> None:
        files = keep(store, {"SKILL.md": f"{slug} {version}".ljust(size).encode()})
        checked = msgspec.structs.replace(CLEAN, digest=files[0].sha256)
        store.publish(PublicationDraft("ann", slug, slug, version, "", files), checked, "ann", quota)

    send("one", "1.0.0")
    send("two", "1.0.0")
    send("two", "1.0.1")
    for slug, version, size, reason in (
        ("three", "1.0.0", 10, "has 2 skills"),
        ("two", "1.0.2", 10, "has 2 versions"),
        ("one", "1.0.1", (1 << 20) - 5, "may keep 1 MB"),
    ):
        with pytest.raises(Refused, match=reason) as refused:
            send(slug, version, size)
        assert refused.value.code == "hub-quota"
    assert store.find("three") == ()
    assert (store.usage("ann").skills, store.usage("ann").versions) == (2, 3)


def test_many_who_publish_the_same_version_at_once_leave_one(store: HubStore) -> None:
    barrier = threading.Barrier(8)

    def send(number: int) -> str:
        barrier.wait(60)
        try:
            return publish(store, "ann/notes", text=f"number {number}").fingerprint
        except VersionExists:
            return ""

    with ThreadPoolExecutor(8) as pool:
        kept = [one for one in pool.map(send, range(8)) if one]
    assert len(kept) == 1
    assert store.get_version(store.find("notes")[0].id).fingerprint == kept[0]


def test_two_instances_on_one_postgres_see_each_other(postgres: Postgres) -> None:
    url = postgres.url()
    first, second = HubStore.open_shared(url), HubStore.open_shared(url)
    try:
        version = publish(first, "ann/notes")
        assert second.blobs.get(version.archive) == first.blobs.get(version.archive)
        second.yank(version.skill, "1.0.0", "bad")
        assert first.get_skill(version.skill).latest == ""
    finally:
        first.close()
        second.close()


def test_a_store_goes_on_after_its_postgres_was_restarted(postgres: Postgres) -> None:
    store = HubStore.open_shared(postgres.url())
    try:
        publish(store, "ann/notes")
        postgres.restart("fast")
        assert [one.slug for one in store.find("notes")] == ["notes"]
    finally:
        store.close()


def test_an_address_that_is_none_and_a_server_that_is_away_are_told_without_the_password() -> None:
    for address, code in (("nonsense of words", "hub-database"), ("postgresql://a:hidden@127.0.0.1:1/x", "hub-busy")):
        with pytest.raises(ClawftError) as error:
            HubStore.open_shared(address)
        assert error.value.code == code
        assert "hidden" not in f"{error.value} {error.value.diagnostic}"


def test_threads_that_come_and_go_leave_no_connections_behind(tmp_path: Path) -> None:
    store = HubStore.open_folder(str(tmp_path))
    publish(store, "ann/notes")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        thread = threading.Thread(target=store.find, args=("notes",))
        thread.start()
        thread.join(60)
    assert len(os.listdir("/proc/self/fd")) <= before + 3
    store.close()


def test_a_database_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    HubStore.open_folder(str(tmp_path)).close()
    with sqlite3.connect(tmp_path / "hub.sqlite") as connection:
        connection.execute("UPDATE hub_meta SET value = '99' WHERE key = 'schema'")
    connection.close()
    with pytest.raises(ClawftError) as error:
        HubStore.open_folder(str(tmp_path))
    assert error.value.code == "format-newer"


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "hub.sqlite").write_bytes(b"not a database at all, but long enough to be read as one" * 40)
    with pytest.raises(ClawftError) as error:
        HubStore.open_folder(str(tmp_path))
    assert error.value.code == "hub-database"
    assert "restore" in error.value.hint


def test_a_place_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert _code(lambda: HubStore.open_folder(str(tmp_path / "file"))) == "hub-database"
    store = HubStore.open_folder(str(tmp_path / "hub"))
    (tmp_path / "hub" / "blobs").write_text("in the way")
    assert _code(lambda: store.blobs.put(b"bytes")) == "hub-blobs"
    store.close()


def test_a_tag_stands_for_a_version_until_it_is_taken_away(store: HubStore) -> None:
    skill = publish(store, "ann/notes").skill
    store.set_tag(skill, "stable", "1.0.0")
    assert store.get_version(skill).tags == ("latest", "stable")
    assert _code(lambda: store.set_tag(skill, "stable", "9.9.9")) == "hub-not-found"
    store.set_tag(skill, "stable", "")
    assert store.tags(skill) == {"latest": "1.0.0"}


def test_what_a_store_writes_is_for_nobody_else(tmp_path: Path) -> None:
    store = HubStore.open_folder(str(tmp_path / "hub"))
    publish(store, "ann/notes")
    store.close()
    for folder, folders, files in os.walk(tmp_path / "hub"):
        for name in (*folders, *files):
            assert not os.stat(os.path.join(folder, name)).st_mode & 0o077, name


def test_versions_are_ordered_as_semantic_versioning_says() -> None:
    words = "1.10.0 1.0.0 1.0.0-alpha.beta 1.0.0-alpha.1 1.2.0 1.0.0-beta.11 1.0.0-beta.2 1.0.0-alpha"
    expected = "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0 1.2.0 1.10.0"
    assert " ".join(sorted(words.split(), key=version_order)) == expected
    for text in ("1.0", "01.0.0", "1.0.0-", "1.0.0-01", "v1.0.0", "1.0.0\n", "latest", f"1.0.{'9' * 80}", "\u0661.0.0"):
        assert not is_version(text)
