"""Stand-ins for folders that must not be made: held by all runs that use them, and gone with the last."""

import fcntl
import os
import threading
from pathlib import Path

import pytest

from clawft.sandbox.placeholder import Placeholders, is_placeholder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A placeholder that a run left."""
    folder = tmp_path / ".git"
    folder.mkdir()
    folder.chmod(0o1755)
    assert is_placeholder(str(folder))
    return folder


def lock(path: Path, how: int) -> int:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    return descriptor


def test_one_that_another_run_is_taking_away_is_made_anew_and_held(path: Path) -> None:
    theirs = lock(path, fcntl.LOCK_EX)  # as the last of its runs does

    def remove() -> None:
        path.rmdir()
        os.close(theirs)

    removing = threading.Timer(0.005, remove)
    removing.start()
    ours = Placeholders([str(path)])
    removing.join()
    assert is_placeholder(str(path))
    with pytest.raises(BlockingIOError):
        lock(path, fcntl.LOCK_EX)
    ours.release()
    assert not path.exists()


def test_one_that_a_program_locks_for_good_does_not_make_a_run_wait(path: Path) -> None:
    theirs = lock(path, fcntl.LOCK_EX)
    ours = Placeholders([str(path)])
    assert ours.paths == (str(path),)
    os.close(theirs)
    ours.release()
