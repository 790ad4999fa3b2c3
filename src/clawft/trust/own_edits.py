"""The person's own edits of prose in a trusted folder, which are approved without a question.

Prose is the body of a SKILL.md, a command or an agent, and all of AGENTS.md and CLAUDE.md. An edit is the person's own
only if no turn was under way while the file changed, git has the same commit checked out, and nothing but prose differs
from what was approved. Whatever cannot be known is asked about.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from msgspec import Struct, structs

from clawft.errors import ClawftError
from clawft.files import is_within, read_regular, real_path
from clawft.git import find_head
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.walk import MAX_FILE_BYTES
from clawft.skills.parse.model import find_hidden
from clawft.skills.parse.text import decode_text, split_frontmatter
from clawft.skills.render.prompt import find_dynamic
from clawft.trust.approvals import Approval, Approvals, hash_bytes, make_approval
from clawft.trust.approved_copies import ApprovedCopies
from clawft.trust.audit.log import AuditEntry, AuditLog
from clawft.trust.folders import FolderAnswer, FolderAnswers, find_owner
from clawft.trust.protected_paths import fold_name, is_protected

PROSE_KINDS = ("skill", "agent", "instructions")
MARK_S = 5.0
_POLL_S = 0.01
_WRITABLE_BY_OTHERS = 0o022
_RULE = "your own edit in a trusted folder"


class EditStores(Struct, frozen=True):
    """The stores that decisions about edits are made from and written to."""

    approvals: Approvals
    approved_copies: ApprovedCopies
    audit: AuditLog
    folders: FolderAnswers


class OwnEdits:
    """Judges changes in the trusted folders of one user, as seen from a project. `marks` is the folder with a mark for
    each trusted folder in which a turn is under way or was broken off."""

    def __init__(self, stores: EditStores, project: str, marks: str, is_strict: Callable[[], bool]) -> None:
        """`is_strict` asks whether the user wants to be asked about every change."""
        self._stores = stores
        self._is_strict = is_strict
        self._project = project
        self._marks = marks

    def adopt(self, known: Approval) -> Approval | None:
        """Approve what is at a place now, if it is the person's own edit of what was approved; None to ask."""
        if known.kind not in PROSE_KINDS or known.installed or known.touched or self._is_strict():
            return None
        with suppress(ClawftError, OSError, ValueError):
            owner = find_owner(known.path, self._project)
            if self._is_settled(owner) and self._is_idle(owner) and (content := self._judge(known, owner)) is not None:
                return self._record(known, content)
        return None

    def _is_settled(self, owner: str) -> bool:
        """Return whether the folder is trusted, with the commit checked out that it had then."""
        if is_within(real_path(self._marks), owner):
            return False  # weft itself writes there, such as what servers and installers bring
        answer = self._stores.folders.find(owner)
        trusted = answer is not None and answer.answer == "trusted" and answer.head is not None
        return trusted and answer is not None and find_head(owner) == answer.head

    def _judge(self, known: Approval, owner: str) -> bytes | None:
        """Return the new content of the one file that differs from what was approved, if only in its prose."""
        path = _file_of(known)
        content, status = read_regular(path, MAX_FILE_BYTES)
        foreign = bool(status.st_mode & _WRITABLE_BY_OTHERS) or status.st_uid not in (os.geteuid(), 0)
        # A command in the sandbox may write to what is not protected, also through another name of the file.
        relative = os.path.relpath(path, owner)
        open_to_tools = status.st_nlink != 1 or real_path(path) != path or not is_protected(relative)
        if foreign or open_to_tools or "plugins" in map(fold_name, relative.split("/")):
            return None
        copies = self._stores.approved_copies
        if known.kind == "instructions":
            return content if _is_plain(content, path) else None
        name = os.path.basename(path)
        before = copies.find_within(known.digest, name) if known.kind == "skill" else copies.find_file(known.digest)
        if before is None or not _is_prose_edit(before, content, path):
            return None
        return content if known.kind == "agent" or self._is_rest_same(known, name, content) else None

    def _is_rest_same(self, known: Approval, name: str, content: bytes) -> bool:
        """Return whether a skill is, but for the content of one file, what was approved."""
        expected = self._stores.approved_copies.digest_with(known.digest, name, content)
        return bool(expected) and compute_digest(known.path).value == expected

    def _record(self, known: Approval, content: bytes) -> Approval:
        """Keep the decision, with no more power than was approved before. Raises: ClawftError; OSError."""
        copies, digest = self._stores.approved_copies, hash_bytes(content)
        if known.kind == "skill":
            digest = copies.digest_with(known.digest, os.path.basename(_file_of(known)), content)
            copies.keep(known.path, digest)
        else:
            copies.keep_file(content)
        made = make_approval(known.kind, known.path, digest, known.name, known.power)
        line = AuditEntry("approval", f"{made.kind} {made.path}", "allowed", {"rule": _RULE, "digest": digest})
        with self._stores.audit.last_step([line]) as commit:
            self._stores.approvals.record([made], commit)
        return made

    @contextmanager
    def watch_turn(self, writable: Sequence[str] = ()) -> Iterator[None]:
        """Watch a turn: what changes meanwhile in trusted folders that it may write to is not the person's own edit."""
        roots = [real_path(path) for path in (self._project, *writable)]
        with ExitStack() as turns:
            for answer in self._list_trusted():
                if any(is_within(answer.path, root) or is_within(root, answer.path) for root in roots):
                    turns.enter_context(self._watch(answer))
            yield

    def _list_trusted(self) -> list[FolderAnswer]:
        try:
            known = self._stores.folders.load()
        except ClawftError:  # then no folder is trusted, and no edit is adopted
            return []
        return [answer for answer in known if answer.answer == "trusted" and answer.is_there()]

    @contextmanager
    def _watch(self, answer: FolderAnswer) -> Iterator[None]:
        with suppress(ClawftError, OSError):
            for known in self._find_changed(answer.path):
                self.adopt(known)  # until now it was the person
            self._follow_head(answer)
        descriptor = self._open_mark(answer.path)
        try:
            _lock_shared(descriptor)
            os.pwrite(descriptor, b"1", 0)
            yield
        finally:
            try:
                self._settle(answer.path, descriptor)
            finally:
                os.close(descriptor)

    def note_changes(self, folder: str) -> None:
        """Note that whatever differs from its approval now is not the person's own edit. Raises: ClawftError."""
        changed = [structs.replace(known, touched=True) for known in self._find_changed(folder)]
        self._stores.approvals.record(changed)

    def _settle(self, folder: str, descriptor: int) -> None:
        """Note what changed in a turn, and take its mark away if no other turn is under way. Where that fails, the mark
        stays, and the next look does it."""
        with suppress(ClawftError, OSError):
            self.note_changes(folder)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)

    def _is_idle(self, folder: str) -> bool:
        """Return whether no turn is under way in a folder, and none was broken off; note what one changed that was."""
        descriptor = self._open_mark(folder)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.fstat(descriptor).st_size:
                return True
            self._settle(folder, descriptor)
        except BlockingIOError:
            pass
        finally:
            os.close(descriptor)
        return False

    def _open_mark(self, folder: str) -> int:
        os.makedirs(self._marks, mode=0o700, exist_ok=True)
        name = hashlib.sha256(os.fsencode(folder)).hexdigest()
        return os.open(os.path.join(self._marks, name), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    def _follow_head(self, answer: FolderAnswer) -> None:
        """Take over the commit that is checked out now, if it changed nothing of what is approved."""
        head = find_head(answer.path)
        if head != answer.head and not self._find_changed(answer.path):
            self._stores.folders.record([structs.replace(answer, head=head)])

    def _find_changed(self, folder: str) -> list[Approval]:
        """Find what was approved in a folder, is still there, and is not what was approved. Raises: ClawftError."""
        return [
            known
            for known in self._stores.approvals.load()
            if known.kind in PROSE_KINDS
            and is_within(known.path, folder)
            and find_owner(known.path, folder) == folder
            and os.path.lexists(known.path)
            and _compute_digest(known) != known.digest
        ]


def _file_of(known: Approval) -> str:
    return os.path.join(known.path, "SKILL.md") if os.path.isdir(known.path) else known.path


def _compute_digest(known: Approval) -> str:
    if known.kind == "skill":
        return compute_digest(known.path).value
    try:
        return hash_bytes(read_regular(known.path, MAX_FILE_BYTES, follow=True)[0])
    except (ClawftError, OSError):
        return ""


def _lock_shared(descriptor: int) -> None:
    """Wait a moment for a look that is being taken. Without the lock the turn is taken for one that was broken off."""
    deadline = time.monotonic() + MARK_S
    while time.monotonic() < deadline:
        with suppress(BlockingIOError):
            return fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        time.sleep(_POLL_S)
    return None


def _is_plain(content: bytes, path: str) -> bool:
    """Return whether a person sees all of a text."""
    decoded = decode_text(content, path)
    return not decoded.diagnostics and not find_hidden(decoded.text)


def _is_prose_edit(before: bytes, now: bytes, path: str) -> bool:
    """Return whether two versions of a file differ in prose alone: the frontmatter is the same to the letter, and so is
    all that would run or be read as the text is loaded. Raises: ClawftError for what is no text."""
    if not path.endswith(".md") or not _is_plain(now, path):
        return False
    parts = [_split(version, path) for version in (before, now)]
    return parts[0] == parts[1]


def _split(content: bytes, path: str) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """Return the frontmatter of a file, and what acts in its body."""
    text = decode_text(content, path).text
    front = split_frontmatter(text, path, "file")
    body = text[front.body_start :] if front else text
    head = text[: front.body_start].rstrip() if front else None
    return head, tuple((place.kind, place.command) for place in find_dynamic(body))
