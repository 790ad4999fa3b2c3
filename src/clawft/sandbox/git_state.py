"""The small files of a repository that may come in from a copy, each with the form that it must have.

What is not in this table stays out: hooks, `info/attributes`, `commondir`, `config.worktree`, alternates, and whatever
a later git thinks of.
"""

import re
from collections.abc import Callable

Check = Callable[[str], bool]
MAX_STATE_BYTES = 1 << 20
_ID = "[0-9a-f]{40}(?:[0-9a-f]{24})?"
_TODO_VERBS = [
    "pick",
    "p",
    "reword",
    "r",
    "edit",
    "e",
    "squash",
    "s",
    "fixup",
    "f",
    "drop",
    "d",
    "label",
    "l",
    "reset",
    "t",
    "merge",
    "m",
    "noop",
    "break",
    "b",
    "update-ref",
    "u",
    "revert",
]


def _matches(pattern: str) -> Check:
    return lambda text: bool(re.fullmatch(pattern, text))


def _is_text(text: str) -> bool:
    return "\0" not in text


def _is_todo(text: str) -> bool:
    """Return whether a list of steps starts no programs."""
    lines = [line.strip() for line in text.split("\n")]
    return all(not line or line.startswith("#") or line.split()[0] in _TODO_VERBS for line in lines)


_is_id = _matches(rf"(?:{_ID}\s?)*")
_is_number = _matches(r"\d{0,9}\n?")
_is_empty = _matches(r"\n?")
_is_branch = _matches(r"(?:refs/heads/[^\x00-\x20\x7f~^:?*\[\\]+|detached HEAD|[^\x00-\x20\x7f~^:?*\[\\]*)\n?")
_is_author = _matches(r"(?:GIT_AUTHOR_(?:NAME|EMAIL|DATE)='(?:[^'\x00]|'\\'')*'\n)*")
_is_fetched = _matches(rf"(?:{_ID}\t(?:not-for-merge)?\t[^\x00\n]*\n)*")
_is_pairs = _matches(rf"(?:{_ID}(?: {_ID})?\n)*")
_is_reflog = re.compile(rf"{_ID} {_ID} [^\x00\n<>]*<[^\x00\n<>]*> \d{{1,12}} [+-]\d{{4}}(?:\t[^\x00\n]*)?").fullmatch

# Files right in a repository, or in the folder of a worktree.
SINGLE: dict[str, Check] = {
    **dict.fromkeys(
        ("ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "AUTO_MERGE"), _is_id
    ),
    **dict.fromkeys(("COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG", "description"), _is_text),
    "FETCH_HEAD": _is_fetched,
    "MERGE_MODE": _matches(r"(?:no-ff)?\n?"),
}
# Folders that come in as a whole or not at all.
_REBASE: dict[str, Check] = {
    **dict.fromkeys(("git-rebase-todo", "git-rebase-todo.backup", "done"), _is_todo),
    **dict.fromkeys(
        ("onto", "orig-head", "stopped-sha", "amend", "autostash", "squash-onto", "refs-to-delete"), _is_id
    ),
    **dict.fromkeys(("msgnum", "end"), _is_number),
    **dict.fromkeys(("interactive", "quiet", "verbose", "rescheduled", "drop_redundant_commits"), _is_empty),
    **dict.fromkeys(("keep_redundant_commits", "no-reschedule-failed-exec", "signoff"), _is_empty),
    **dict.fromkeys(("cdate_is_adate", "ignore_date", "strategy_opts"), _is_empty),
    **dict.fromkeys(("message", "message-squash", "message-fixup", "patch", "current-fixups"), _is_text),
    **dict.fromkeys(("rewritten-list", "rewritten-pending"), _is_pairs),
    "author-script": _is_author,
    "head-name": _is_branch,
    "update-refs": _matches(rf"(?:refs/[^\x00-\x20]+\n{_ID}\n{_ID}\n)*"),
    "allow_rerere_autoupdate": _is_empty,
}
_SEQUENCER: dict[str, Check] = {
    "todo": _is_todo,
    "head": _is_id,
    "abort-safety": _is_id,
    "opts": _is_empty,
}
GROUPS = {"rebase-merge": _REBASE, "sequencer": _SEQUENCER}


def is_sound(check: Check, content: bytes) -> bool:
    """Return whether a file has the form that it must have; texts may be in any encoding."""
    return check(content.decode("latin-1"))


def is_reflog(content: bytes) -> bool:
    lines = content.decode("latin-1").split("\n")
    return not lines.pop() and all(map(_is_reflog, lines))
