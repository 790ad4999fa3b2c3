"""The default memory: two Markdown files that people and processes share, and nothing in them is ever lost."""

import fcntl
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from clawft.agent.memory import MemoryBackend, MemoryFiles, disk, open_memory
from clawft.config.agents import MemorySettings
from clawft.errors import ClawftError
from clawft.workspace import Workspace

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "user" / "memory"


@pytest.fixture
def memory(folder: Path) -> Iterator[MemoryFiles]:
    with closing(MemoryFiles(str(folder))) as opened:
        yield opened


def write(folder: Path, text: str | bytes, name: str = "MEMORY.md") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def test_value_is_stored_replaced_appended_to_and_deleted(memory: MemoryFiles) -> None:
    backend: MemoryBackend = memory
    backend.store("editor", "vim", {"source": "chat"})
    backend.store("project/deploy", "make release")
    backend.append("editor", "with no plugins")

    assert backend.name == "files"
    assert backend.retrieve("editor") == "vim\n\nwith no plugins"
    assert memory.load_entries()[0].metadata == {"source": "chat"}
    assert list(backend.list_keys()) == ["editor", "project/deploy"]
    assert list(backend.list_keys("project/")) == ["project/deploy"]
    backend.store("editor", "emacs")
    assert backend.retrieve("editor") == "emacs"
    assert backend.delete("editor")
    assert not backend.delete("editor")
    assert backend.retrieve("editor") is None


def test_file_reads_well_and_only_its_owner_may(memory: MemoryFiles, folder: Path) -> None:
    memory.store("editor", "vim")
    memory.append_history("Said hello.", "main", AT)
    memory.search("vim")

    assert (folder / "MEMORY.md").read_text() == (
        "# Memory\n\n<!-- A line `## key` begins a fact. Edit freely: what you write is kept. -->\n\n## editor\n\nvim\n"
    )
    assert (folder / "HISTORY.md").read_text() == "- 2026-03-01T09:30:00Z [main] Said hello.\n"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


def test_reading_makes_nothing(memory: MemoryFiles, folder: Path) -> None:
    assert memory.is_empty
    assert memory.retrieve("editor") is None
    assert memory.list_keys() == ()
    assert memory.read_memory() == ""
    assert memory.search("editor") == ()
    assert memory.check_index() == ()
    assert memory.reindex().entries == 0
    assert not memory.delete("editor")
    assert not folder.parent.exists()


def test_bytes_that_are_no_text_survive_a_write(memory: MemoryFiles, folder: Path) -> None:
    write(folder, b"caf\xe9 \x00\n\n## a\n\nl\xe4\n")

    memory.store("b", "new")
    memory.append("a", "more")

    content = (folder / "MEMORY.md").read_bytes()
    assert content == b"caf\xe9 \x00\n\n## a\n\nl\xe4\n\nmore\n\n## b\n\nnew\n"
    assert memory.retrieve("a") == "l\ufffd\n\nmore"


@pytest.mark.parametrize("key", ["", "  ", "two\nlines", "tab\tkey", "\x1b[31m", "k" * 201, "\udcff", "HISTORY.md:3"])
def test_key_that_cannot_be_one_is_refused(memory: MemoryFiles, folder: Path, key: str) -> None:
    for write_it in (memory.store, memory.append):
        with pytest.raises(ClawftError) as raised:
            write_it(key, "value")
        assert raised.value.code == "memory-key"
        assert raised.value.hint
    assert not folder.exists()


@pytest.mark.parametrize("text", ["\x1b[31mred", "nul\x00", "lone\rreturn", "half \ud83d"])
def test_text_that_is_no_text_is_refused(memory: MemoryFiles, text: str) -> None:
    with pytest.raises(ClawftError) as raised:
        memory.store("key", text)
    assert raised.value.code == "memory-text"


def test_history_is_told_whatever_characters_it_has(memory: MemoryFiles) -> None:
    memory.append_history("\x1b[31mred\r\nnext \ud83d", "s\n]", AT)

    assert memory.retrieve("HISTORY.md:1") == "\ufffd[31mred\nnext \ufffd"


def test_hostile_values_come_back_as_they_went_in(memory: MemoryFiles) -> None:
    hostile = "## other\n\n# title\n\n<!-- clawft: {} -->\n```\n# open fence\n\\## x"
    memory.store("other", "kept")
    memory.store("hostile", hostile)
    memory.store("# key `with` [marks] -->", "x")

    assert memory.retrieve("hostile") == hostile
    assert memory.retrieve("other") == "kept"
    assert memory.list_keys() == ("other", "hostile", "# key `with` [marks] -->")


def test_what_is_too_large_is_refused_and_nothing_changes(memory: MemoryFiles, folder: Path) -> None:
    memory.store("a", "x" * (64 << 10))
    before = (folder / "MEMORY.md").read_bytes()

    for change in (
        partial(memory.store, "b", "ü" * (33 << 10)),
        partial(memory.append, "a", "y"),
        partial(memory.store, "c", "v", {"text": "x" * (64 << 10)}),
        partial(memory.append_history, "x" * (65 << 10), "s", AT),
    ):
        with pytest.raises(ClawftError) as raised:
            change()
        assert raised.value.code == "memory-too-large"
    assert (folder / "MEMORY.md").read_bytes() == before


def test_file_that_would_grow_too_large_is_left_as_it_is(memory: MemoryFiles, folder: Path) -> None:
    full = b"x" * (8 << 20)
    write(folder, full)

    with pytest.raises(ClawftError) as raised:
        memory.store("b", "v")

    assert raised.value.code == "memory-too-large"
    assert (folder / "MEMORY.md").read_bytes() == full


def test_full_history_is_set_aside_and_another_begun(memory: MemoryFiles, folder: Path) -> None:
    full = b"x" * (8 << 20)
    for _ in range(2):
        write(folder, full, "HISTORY.md")
        memory.append_history("v", "s", AT)

    assert (folder / "HISTORY.md").read_text() == "- 2026-03-01T09:30:00Z [s] v\n"
    assert (folder / "HISTORY-1.md").read_bytes() == (folder / "HISTORY-2.md").read_bytes() == full


def test_metadata_that_is_no_json_is_refused(memory: MemoryFiles) -> None:
    with pytest.raises(ClawftError) as raised:
        memory.store("a", "v", {"x": object()})
    assert raised.value.code == "memory-text"


def test_history_begins_a_new_line_after_one_left_open(memory: MemoryFiles, folder: Path) -> None:
    write(folder, "mine, without an end", "HISTORY.md")
    memory.append_history("Said hello.", "main", AT)
    assert (folder / "HISTORY.md").read_text() == "mine, without an end\n- 2026-03-01T09:30:00Z [main] Said hello.\n"


def test_links_and_pipes_are_refused_without_waiting(memory: MemoryFiles, folder: Path, tmp_path: Path) -> None:
    write(folder, "")
    (folder / "MEMORY.md").unlink()
    (tmp_path / "elsewhere").write_text("not ours")
    (folder / "MEMORY.md").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(folder / "HISTORY.md")

    with pytest.raises(ClawftError) as raised:
        memory.store("a", "v")
    assert raised.value.code == "is-a-link"
    with pytest.raises(ClawftError) as raised:
        memory.append_history("v", "s", AT)
    assert raised.value.code == "memory-unwritable"
    assert (tmp_path / "elsewhere").read_text() == "not ours"


def test_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "user").write_text("a file")
    with pytest.raises(ClawftError) as raised:
        MemoryFiles(str(tmp_path / "user" / "memory")).store("a", "v")
    assert raised.value.code == "memory-unwritable"


def test_write_waits_for_another_only_so_long(
    memory: MemoryFiles, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.store("a", "v")
    monkeypatch.setattr(disk, "LOCK_WAIT_S", 0.05)
    with open(folder / ".lock") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ClawftError) as raised:
            memory.store("a", "new")
    assert raised.value.code == "memory-busy"
    assert memory.retrieve("a") == "v"
    memory.store("a", "new")
    assert memory.retrieve("a") == "new"


def test_processes_that_write_at_once_lose_nothing(memory: MemoryFiles, folder: Path) -> None:
    code = (
        "import sys\nfrom datetime import datetime\nfrom clawft.agent.memory import MemoryFiles\n"
        "memory, me = MemoryFiles(sys.argv[1]), sys.argv[2]\n"
        "for number in range(15):\n"
        "    memory.append('shared', f'{me}-{number}')\n"
        "    memory.store(f'own/{me}/{number}', 'kept')\n"
        "    memory.append_history(f'{me}-{number}', me, datetime.now())\n"
        "    assert any(one.key == f'own/{me}/{number}' for one in memory.search(f'own {me} {number} kept', 100))\n"
        "memory.close()\n"
    )
    write(folder, "# Mine\n\nBy hand.\n")
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(folder), f"p{one}"], stderr=subprocess.PIPE, text=True)
        for one in range(4)
    ]
    for process in started:
        _, said = process.communicate(timeout=100)
        assert (process.returncode, said) == (0, "")

    expected = {f"p{one}-{number}" for one in range(4) for number in range(15)}
    assert set((memory.retrieve("shared") or "").split()) == expected
    assert len(memory.list_keys("own/")) == 60
    assert memory.read_memory().startswith("# Mine\n\nBy hand.\n")
    history = (folder / "HISTORY.md").read_text().splitlines()
    assert {line.rpartition(" ")[2] for line in history} == expected
    assert len(history) == 60


def test_memory_of_the_user_stands_in_the_user_folder(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path), str(tmp_path / ".clawft"), str(tmp_path), str(tmp_path))
    with closing(open_memory(workspace, MemorySettings())) as memory:
        assert memory.folder == str(tmp_path / ".clawft" / "memory")
