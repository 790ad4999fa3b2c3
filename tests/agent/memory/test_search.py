"""Search: words and vectors over an index that follows the files, and that may be lost, damaged or in use."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clawft.agent.memory import MemoryFiles, index
from clawft.config.agents import MemorySettings
from clawft.errors import ClawftError

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryFiles]:
    with closing(MemoryFiles(str(tmp_path))) as opened:
        opened.store("deploy", "The project is deployed by `make release` from the branch main.", {"from": "chat"})
        opened.store("editor", "Vim, with no plugins.")
        opened.store("pets", "A cat called Tom.")
        yield opened


def keys(memory: MemoryFiles, query: str) -> list[str]:
    return [result.key for result in memory.search(query)]


def reopen(memory: MemoryFiles) -> MemoryFiles:
    memory.close()
    return MemoryFiles(memory.folder)


def execute(tmp_path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(tmp_path / "index.sqlite", isolation_level=None)) as database:
        return database.execute(statement).fetchall()


def test_best_comes_first_with_scores_from_0_to_1(memory: MemoryFiles) -> None:
    memory.store("branches", "The branch main is protected.")

    results = memory.search("from which branch do we deploy?")

    assert [result.key for result in results] == ["deploy", "branches"]
    assert results[0].metadata == {"from": "chat"}
    assert results[0].value.startswith("The project is deployed")
    assert 1 >= results[0].score > results[1].score > 0


def test_query_that_nothing_fits_finds_nothing(memory: MemoryFiles) -> None:
    for query in ("zebra", "", "   ", "?!", '"', "\x00", "\udcff", "NEAR(x b) OR *", "x" * 100_000):
        assert keys(memory, query) == []


def test_only_as_many_as_wanted_are_found(memory: MemoryFiles) -> None:
    for number in range(250):
        memory.store(f"tea {number}", "Tea is drunk in the morning.")

    assert len(memory.search("tea", 3)) == 3
    assert len(memory.search("tea", 200)) == 200
    assert memory.search("tea", 0) == ()


def test_words_are_found_in_other_forms_and_keys_count_more(memory: MemoryFiles) -> None:
    memory.store("release", "Nothing yet.")
    assert keys(memory, "deploying")[0] == "deploy"
    assert keys(memory, "release")[0] == "release"


def test_chinese_is_found_by_its_characters(memory: MemoryFiles) -> None:
    memory.store("流程", "生产环境部署前先运行测试")
    assert keys(memory, "部署") == ["流程"]


def test_notes_by_hand_and_history_are_found_by_their_place(memory: MemoryFiles, tmp_path: Path) -> None:
    with open(tmp_path / "MEMORY.md", "a") as file:
        file.write("\n# Mine\n\n- I drink green tea\n")
    memory.append_history("Asked about oolong tea.", "main", AT)

    found = {result.key: result for result in memory.search("tea")}

    line = len((tmp_path / "MEMORY.md").read_text().splitlines())
    assert set(found) == {f"MEMORY.md:{line}", "HISTORY.md:1"}
    assert found["HISTORY.md:1"].metadata == {"date": "2026-03-01T09:30:00Z", "session": "main"}
    for key, result in found.items():
        assert memory.retrieve(key) == result.value
    assert memory.retrieve("HISTORY.md:9") is None


def test_edits_by_hand_are_found_at_once(memory: MemoryFiles, tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    assert keys(memory, "cat") == ["pets"]

    before = file.stat()
    file.write_text(file.read_text().replace("cat", "dog"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert keys(memory, "cat") == []
    assert keys(memory, "dog") == ["pets"]
    file.unlink()
    assert keys(memory, "dog") == []


def test_only_what_changed_is_indexed_anew(memory: MemoryFiles, tmp_path: Path) -> None:
    memory.search("cat")
    before = set(execute(tmp_path, "SELECT id, digest FROM item"))

    memory.store("pets", "A dog called Rex.")
    memory.search("dog")

    after = set(execute(tmp_path, "SELECT id, digest FROM item"))
    assert len(before & after) == 2
    assert len(after - before) == 1


def test_two_memories_of_one_folder_see_each_other(memory: MemoryFiles) -> None:
    with closing(MemoryFiles(memory.folder)) as other:
        assert keys(other, "cat") == keys(memory, "cat") == ["pets"]
        other.store("bike", "A red bicycle.")
        assert keys(other, "bicycle") == keys(memory, "bicycle") == ["bike"]
        other.delete("pets")
        assert keys(memory, "cat") == []


def test_threads_may_search_at_once(memory: MemoryFiles) -> None:
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(keys(memory, "cat"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [["pets"]] * 8


def _garbage(file: Path) -> None:
    file.write_bytes(b"this is no database" * 500)


def _truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def _overwrite(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    file.write_bytes(content)


@pytest.mark.parametrize("damage", [_garbage, _truncate, _overwrite])
def test_damaged_index_is_made_anew(memory: MemoryFiles, tmp_path: Path, damage: object) -> None:
    memory.search("cat")
    memory.close()
    assert callable(damage)
    damage(tmp_path / "index.sqlite")

    with closing(reopen(memory)) as again:
        assert keys(again, "cat") == ["pets"]
        assert again.retrieve("pets") == "A cat called Tom."
    assert execute(tmp_path, "SELECT count(*) FROM item") == [(3,)]


@pytest.mark.parametrize(
    "statement",
    [
        "PRAGMA user_version=99",
        "DROP TABLE words",
        "DELETE FROM words",
        "UPDATE item SET metadata = 'no json'",
        "UPDATE signature SET bits = 'text'",
        "DELETE FROM vector",
    ],
)
def test_index_that_another_program_changed_is_made_anew(memory: MemoryFiles, tmp_path: Path, statement: str) -> None:
    memory.search("cat")
    memory.close()
    execute(tmp_path, statement)

    with closing(reopen(memory)) as again:
        assert keys(again, "cat") == ["pets"]


def test_index_that_is_in_use_does_not_keep_from_searching(
    memory: MemoryFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "BUSY_S", 0.05)
    memory.search("cat")
    with closing(sqlite3.connect(tmp_path / "index.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        memory.close()
        memory.store("bike", "A red bicycle.")
        assert keys(memory, "bicycle") == ["bike"]
        with pytest.raises(ClawftError) as raised:
            memory.reindex()
        assert raised.value.code == "memory-busy"
        assert keys(memory, "bicycle") == ["bike"]
    assert memory.reindex().entries == 4


def test_index_that_cannot_be_written_does_not_keep_from_searching(tmp_path: Path) -> None:
    (tmp_path / "index.sqlite").mkdir()
    with closing(MemoryFiles(str(tmp_path))) as memory:
        memory.store("pets", "A cat called Tom.")
        assert keys(memory, "cat") == ["pets"]
        memory.store("bike", "A red bicycle.")
        assert keys(memory, "bicycle") == ["bike"]


def test_vectors_of_version_1_give_a_warning_until_they_are_made_anew(memory: MemoryFiles, tmp_path: Path) -> None:
    memory.search("cat")
    assert memory.check_index() == ()
    memory.close()
    execute(tmp_path, "UPDATE meta SET value = 1 WHERE name = 'embedding'")

    with closing(reopen(memory)) as old:
        (warning,) = old.check_index()
        assert (warning.code, warning.severity) == ("memory-embedding-old", "warning")
        assert warning.hint == "Run: weft memory reindex"
        old.store("bike", "A red bicycle.")
        assert keys(old, "bicycle") == ["bike"]  # words are still found
        assert old.reindex().embedding == 3
        assert old.check_index() == ()
        assert keys(old, "cat") == ["pets"]


def test_new_index_has_the_configured_embedding_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    def marker() -> list[tuple[object, ...]]:
        return execute(tmp_path, "SELECT value FROM meta WHERE name = 'embedding'")

    with closing(MemoryFiles(str(tmp_path), MemorySettings(embedding=2))) as two:
        two.store("pets", "A cat called Tom.")
        assert keys(two, "cat") == ["pets"]
    assert marker() == [(2,)]
    with closing(MemoryFiles(str(tmp_path))) as three:
        three.store("bike", "A red bicycle.")
        assert keys(three, "bicycle") == ["bike"]
        assert marker() == [(2,)]
        assert three.reindex().entries == 2
        assert keys(three, "cat") == ["pets"]
    assert marker() == [(3,)]


def test_damaged_index_can_be_reindexed(memory: MemoryFiles, tmp_path: Path) -> None:
    _garbage(tmp_path / "index.sqlite")
    done = memory.reindex()
    assert (done.entries, done.embedding) == (3, 3)
