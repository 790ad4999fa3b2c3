"""Answers about folders: whether what a folder brings is trusted, reviewed one by one, or not used.

An answer approves nothing by itself: what it covered is in the approvals, each bound to a digest.
"""

import os
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Literal

from msgspec import Struct

from clawft.files import is_within, real_path
from clawft.trust.approvals import current_user
from clawft.trust.records import RecordErrorCodes, Seal, SealedRecords

Answer = Literal["trusted", "reviewed", "unused"]


class FolderAnswer(Struct, frozen=True, omit_defaults=True):
    """One answer. It is about the very folder that had this device and inode, and not about another one put there.

    `head` is what git had checked out then; `left` names what was left without an approval, so that nobody is asked
    about the same twice.
    """

    path: str
    device: int
    inode: int
    answer: Answer
    at: str
    by: str
    head: str | None = ""
    left: str = ""

    def is_there(self) -> bool:
        """Return whether the folder of this answer still is at its path, and no link leads there."""
        try:
            status = os.stat(self.path)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == (self.device, self.inode) and real_path(self.path) == self.path


def make_answer(path: str, answer: Answer, head: str | None, left: str, status: os.stat_result) -> FolderAnswer:
    """An answer that is given now, about a folder that had this status when the person looked at it."""
    at = datetime.now().astimezone().isoformat(timespec="seconds")
    return FolderAnswer(path, status.st_dev, status.st_ino, answer, at, current_user(), head, left)


class FolderAnswers:
    """The answers of one user, read when they are asked for."""

    def __init__(self, path: str, seal: Seal) -> None:
        self.path = path
        codes = RecordErrorCodes("folders-damaged", "folders-unsafe", "folders-busy", "folders-tampered")
        self._records = SealedRecords(path, FolderAnswer, "trusted folders", codes, seal)

    def load(self) -> tuple[FolderAnswer, ...]:
        """All of them. Raises: ClawftError for a file that cannot be understood."""
        return self._records.load()

    def find(self, folder: str) -> FolderAnswer | None:
        """The answer about the folder that is at a path now. Raises: ClawftError."""
        return next((known for known in self.load() if known.path == folder and known.is_there()), None)

    def record(self, made: Iterable[FolderAnswer]) -> None:
        """Keep answers in the place of older ones about the same paths. Raises: ClawftError."""
        new = {answer.path: answer for answer in made}
        self._records.change(lambda known: (*(answer for answer in known if answer.path not in new), *new.values()))

    def remove(self, folder: str, commit: Callable[[], object] | None = None) -> None:
        """Forget the answer about a path. `commit` as for `SealedRecords.change`. Raises: ClawftError."""
        self._records.change(lambda known: tuple(answer for answer in known if answer.path != folder), commit)


def find_owner(path: str, project: str) -> str:
    """Find the folder whose answer covers a path: the nearest repository at or above it, no further up than the
    project. A clone inside of another project thus has an answer of its own."""
    real, root = real_path(path), real_path(project)
    inside = is_within(real, root)
    folder = real if os.path.isdir(real) else os.path.dirname(real)
    nearest = folder
    while folder != root or not inside:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return nearest  # outside of the project, and of any repository
        folder = parent
    return root
