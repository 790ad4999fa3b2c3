"""A hub that is killed in the middle of publishing has the old state or the new one."""

import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path

from hub_drafts import publish

from clawft.server.hub.backup import restore_folder, write_backup
from clawft.server.hub.store import HubStore

CHILD = """
import sys
sys.path.insert(0, sys.argv[2])
from clawft.server.hub.backup import write_backup
from clawft.server.hub.store import HubStore
from hub_drafts import publish
from hub_drafts import publish
store = HubStore.open_folder(sys.argv[1])
first = int(sys.argv[3])
print("ready", flush=True)
for number in range(first, first + 10_000):
    publish(store, "ann/notes", f"1.0.{number}", f"text {number}")
    print(number, flush=True)
"""


def test_a_kill_at_any_moment_of_publishing_leaves_whole_versions_alone(tmp_path: Path) -> None:
    folder, random_moment = str(tmp_path / "hub"), random.Random(10)
    told, first = 0, 1
    for _ in range(5):
        words = [sys.executable, "-c", CHILD, folder, os.path.dirname(__file__), str(first)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            try:
                assert child.stdout.readline() == "ready\n"
                for _ in range(random_moment.randint(1, 6)):
                    told = int(child.stdout.readline())
            finally:
                child.kill()
            told = int((child.stdout.read().split() or [str(told)])[-1])
        kept = _check_whole(folder)
        assert kept in (told, told + 1)  # the last may have been kept, and nobody was told any more
        first = kept + 1


RESTORER = """
import sys
from itertools import cycle
from clawft.server.hub.backup import restore_folder
print("ready", flush=True)
for backup in cycle(sys.argv[2:]):
    restore_folder(backup, sys.argv[1], force=True)
    print("restored", flush=True)
"""


def test_a_kill_at_any_moment_of_restoring_leaves_the_old_hub_or_the_new_one(tmp_path: Path) -> None:
    backups = [str(tmp_path / f"{number}.tar") for number in (1, 2)]
    folder, random_moment = str(tmp_path / "hub"), random.Random(11)
    store = HubStore.open_folder(folder)
    for number, backup in enumerate(backups, 1):
        publish(store, "ann/notes", f"1.0.{number}", f"text {number}")
        write_backup(store, backup)
    store.close()
    for _ in range(3):
        words = [sys.executable, "-c", RESTORER, folder, *backups]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            try:
                for _ in range(random_moment.randint(1, 5)):
                    assert child.stdout.readline()
            finally:
                child.kill()
        assert _check_whole(folder) in (1, 2)
    restore_folder(backups[0], folder, force=True)
    assert sorted(os.listdir(tmp_path)) == ["1.tar", "2.tar", "hub"]  # nothing of those that were killed


def test_a_restore_takes_away_what_one_left_that_was_killed_at_its_start_or_end(tmp_path: Path) -> None:
    store = HubStore.open_folder(str(tmp_path / "hub"))
    write_backup(store, str(tmp_path / "1.tar"))
    store.close()
    for number, names in enumerate(([], ["lock"], ["lock", "hub.sqlite"], ["blob"])):
        (tmp_path / f".new-{number:016x}").mkdir()
        for name in names:
            (tmp_path / f".new-{number:016x}" / name).touch()
    (tmp_path / ".new-mine").mkdir()
    restore_folder(str(tmp_path / "1.tar"), str(tmp_path / "hub"), force=True)
    assert sorted(os.listdir(tmp_path)) == [".new-mine", "1.tar", "hub"]


def _check_whole(folder: str) -> int:
    """The last version; each is complete, and nothing is left of one that is not there."""
    store = HubStore.open_folder(folder)
    try:
        (skill,) = store.find("notes")
        versions = [store.get_version(skill.id, one.version) for one in store.versions(skill.id)]
        assert [one.version for one in versions] == [f"1.0.{number}" for number in range(len(versions), 0, -1)]
        assert skill.latest == versions[0].version
        needed = {sha256 for one in versions for sha256 in (one.archive, one.download)}
        needed |= {file.sha256 for one in versions for file in one.files}
        store.sweep(-5)
        there = [path for path in Path(folder, "blobs").rglob("*") if path.is_file()]
        assert {path.name for path in there} == needed
        assert all(hashlib.sha256(path.read_bytes()).hexdigest() == path.name for path in there)
        return len(versions)
    finally:
        store.close()
