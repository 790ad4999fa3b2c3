"""The user's approvals, by digest: a changed file asks again. They are in one small sealed file that only the user may
read."""

import hashlib
import os
import pwd
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic
from clawft.scanner.findings import Power
from clawft.trust.records import RecordErrorCodes, Seal, SealedRecords


class Approval(Struct, frozen=True, omit_defaults=True):
    """One decision: this content, at this place, may be used as what it is.

    `kind` is skill, agent, hook, config, instructions, `tool` for a lasting yes to a question, or `run` for a skill
    that one process trusts. A skill that became another where it comes from is `former`: nothing is approved by that,
    and what changed since can be shown. `path` is the file or folder; of a tool, `project#tool#question`.
    """

    kind: str
    path: str
    digest: str
    at: str
    name: str = ""
    by: str = ""
    power: Power = Power()  # of a skill, as the user saw it
    installed: bool = False  # weft put it there when it was approved
    touched: bool = False  # it changed since while a turn was under way: no change is taken for the person's own edit


class Approvals:
    """The approvals of one user, read when they are asked for."""

    def __init__(self, path: str, seal: Seal, adopt: "Callable[[Approval], Approval | None]" = lambda _: None) -> None:
        """`adopt` approves what is at a place now, if that is the person's own edit of what was approved."""
        self.path = path
        self._adopt = adopt
        codes = RecordErrorCodes("approvals-damaged", "approvals-unsafe", "approvals-busy", "approvals-tampered")
        self._records = SealedRecords(path, Approval, "approvals", codes, seal)

    def load(self) -> tuple[Approval, ...]:
        """All of them. Raises: ClawftError for a file that cannot be understood: nothing is approved by accident."""
        return self._records.load()

    def find(self, kind: str, path: str) -> Approval | None:
        """The decision about a place, whatever is there now. Raises: ClawftError."""
        return next((approval for approval in self.load() if (approval.kind, approval.path) == (kind, path)), None)

    def find_for(self, kind: str, path: str, digest: str) -> Approval | None:
        """The decision about a place, made anew where what is there now, with this digest, is the person's own edit.
        Raises: ClawftError."""
        known = self.find(kind, path)
        if known is None or known.digest == digest:
            return known
        adopted = self._adopt(known)
        return adopted if adopted is not None and adopted.digest == digest else known

    def has(self, kind: str, path: str, content: bytes) -> bool:
        """Return whether this content was approved, at this place. Raises: ClawftError."""
        digest = hash_bytes(content)
        known = self.find_for(kind, path, digest)
        return known is not None and known.digest == digest

    def add(
        self, kind: str, contents: Mapping[str, bytes], name: str = "", commit: Callable[[], object] | None = None
    ) -> None:
        """Approve files by path. `commit` as for `SealedRecords.change`. Raises: ClawftError."""
        made = [make_approval(kind, path, hash_bytes(content), name) for path, content in contents.items()]
        self.record(made, commit)

    def record(self, made: Iterable[Approval], commit: Callable[[], object] | None = None) -> None:
        """Keep decisions; the newest about a place takes the place of older ones. `commit` as for
        `SealedRecords.change`.

        Raises: ClawftError.
        """
        new = tuple(made)
        if new:
            self._records.change(
                lambda known: tuple({(approval.kind, approval.path): approval for approval in (*known, *new)}.values()),
                commit,
            )

    def replace(
        self, folders: Collection[str], made: Iterable[Approval], commit: Callable[[], object] | None = None
    ) -> None:
        """Let these be all decisions about skills in some folders. `commit` as for `SealedRecords.change`.

        Raises: ClawftError.
        """
        new = tuple(made)
        self._records.change(
            lambda known: (*(approval for approval in known if not is_about(approval, folders)), *new), commit
        )

    def remove(
        self, meant: Callable[[Approval], bool], commit: Callable[[Sequence[Approval]], object] | None = None
    ) -> tuple[Approval, ...]:
        """Take decisions back; those that were there, which `commit` is given before they go. Raises: ClawftError."""
        taken: list[Approval] = []

        def keep(known: tuple[Approval, ...]) -> list[Approval]:
            taken[:] = [approval for approval in known if meant(approval)]
            return [approval for approval in known if approval not in taken]

        self._records.change(keep, None if commit is None else lambda: commit(taken))
        return tuple(taken)


def is_about(approval: Approval, folders: Collection[str]) -> bool:
    """Return whether a decision is about a skill in one of these folders."""
    return approval.kind in ("skill", "former") and approval.path in folders


def make_approval(kind: str, path: str, digest: str, name: str = "", power: Power = Power()) -> Approval:  # noqa: B008
    """A decision that is made now, by the user this process runs as."""
    at = datetime.now().astimezone().isoformat(timespec="seconds")
    return Approval(kind, path, digest, at, name, current_user(), power)


def current_user() -> str:
    """Return the user who makes decisions: the one this process runs as, whatever the environment says."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def hash_bytes(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def check_approval(
    find: Callable[[], Approval | None],
    digest: Callable[[], str],
    file: str,
    hint: str,
    missing: str,
    changed: str = "",
) -> tuple[Approval | None, Diagnostic | None]:
    """The approval by which something may be used as it is now, or why there is none: it cannot be read, was never
    given (`missing`), or was given to something else (`changed`, with the day)."""
    try:
        known = find()
    except ClawftError as error:
        return None, Diagnostic("untrusted", "warning", str(error), file, 0, error.hint)
    now = digest() if known else ""
    if known and now and now == known.digest:
        return known, None
    message = (changed or "It changed since it was approved on {}").format(known.at[:10]) if known else missing
    return None, Diagnostic("untrusted", "warning", message, file, 0, hint)
