"""Session keys as file names, one to one; and the renaming of files that older programs made."""

import os
import re
from typing import Literal

from clawft.agent.sessions.log import open_regular, read_range
from clawft.agent.sessions.record import VERSION, SessionHeader, decode_line
from clawft.errors import ClawftError, Diagnostic
from clawft.files import check_version, get_hint

SUFFIX = ".jsonl"
MAX_ENCODED = 200  # bytes; file systems allow 255, and sidecars add to the name
_ENCODED = re.compile(rb"[^A-Za-z0-9.-]")
_NAME = re.compile(r"(?:[A-Za-z0-9.-]|%[0-9A-F]{2})+")
_FORK = re.compile(r":(?:fork|task)-\w+\Z")
_ESCAPE = re.compile(r"%([0-9A-F]{2})")


def encode_key(key: str) -> str:
    """The file name of a key, without its suffix. Raises: ClawftError for a key that cannot name a file."""
    try:
        raw = key.encode()
    except UnicodeEncodeError as error:
        raise _refuse(key, "it is not valid Unicode") from error
    if not raw:
        raise _refuse(key, "it is empty")
    if raw.startswith(b"."):
        raise _refuse(key, "it starts with a dot")
    # "_" and "%" are encoded too, so that no two keys share a name.
    name = _ENCODED.sub(lambda match: b"%%%02X" % match[0][0], raw).decode()
    if len(name) > MAX_ENCODED:
        raise _refuse(key[:40] + "…", f"its file name would have {len(name)} bytes; {MAX_ENCODED} is the limit")
    return name


def decode_key(name: str) -> str | None:
    """Decode a file name to its session key; None if no key has that name."""
    if not _NAME.fullmatch(name):
        return None
    try:
        key = _decode_bytes(name).decode()
        return key if encode_key(key) == name else None
    except (UnicodeDecodeError, ClawftError):
        return None


def new_fork_key(parent: str, kind: Literal["fork", "task"], mark: str) -> str:
    """A key below another's, for the conversation of a skill or a task that was forked from it."""
    name = f":{kind}-{mark}"
    while len(_ENCODED.sub(b"%XX", f"{parent}{name}".encode())) > MAX_ENCODED:
        parent = parent[: len(parent) * 9 // 10]
    return f"{parent}{name}"


def is_fork_key(key: str) -> bool:
    """Return whether a session is of a fork: nobody but its parent began it."""
    return _FORK.search(key) is not None


def _decode_bytes(name: str) -> bytes:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), name).encode("latin-1")


def _refuse(key: str, why: str) -> ClawftError:
    return ClawftError("session-key", f"'{key}' cannot name a session: {why}", hint="Choose another key")


HEAD_BYTES = 1 << 16  # the first line is never longer


def migrate_names(folder: str) -> tuple[Diagnostic, ...]:
    """Rename every file whose name no key has, and tell of each. What is there already is never overwritten."""
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name for entry in entries if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False)
            ]
    except FileNotFoundError:
        return ()
    except OSError as error:
        message = f"The folder of sessions cannot be read: {error.strerror}"
        raise ClawftError("session-unreadable", message, path=folder, hint=get_hint(error, folder)) from error
    stems = sorted(name.removesuffix(SUFFIX) for name in names if not name.startswith("."))
    return tuple(_migrate(folder, stem) for stem in stems if decode_key(stem) is None)


def load_header(descriptor: int, path: str) -> SessionHeader | None:
    """The first line of a file, if it tells of the session."""
    line, end, _ = read_range(descriptor, 0, HEAD_BYTES, path).partition(b"\n")
    record = decode_line(line) if end else None
    return record if isinstance(record, SessionHeader) else None


def check_header(header: SessionHeader | None, key: str, path: str) -> SessionHeader:
    """The header of a session that goes on under a key. Raises: ClawftError when it must not be written."""
    header = header or SessionHeader(key=key)
    check_version(header.version, VERSION, path)
    if header.key != key and header.key.casefold() == key.casefold():
        # A file system that does not tell "A" from "a" gave the file of another session.
        message = f"The file of session '{key}' holds session '{header.key}'"
        raise ClawftError("session-key", message, path=path, hint=f"Use '{header.key}', or another key")
    return SessionHeader(key=key, created=header.created, cwd=header.cwd)


def _migrate(folder: str, stem: str) -> Diagnostic:
    path = os.path.join(folder, stem + SUFFIX)
    if "%" in stem:
        return _not_migrated(path, "its name is neither an old nor a new one")
    try:
        key = _find_key(path) or stem.replace("_", ":", 1)  # only the first "_" replaced a ":"
        name = encode_key(key) + SUFFIX
        _rename(path, os.path.join(folder, name))
    except FileExistsError:
        return _not_migrated(path, f"there is a session '{key}' already")
    except (ClawftError, OSError) as error:
        return _not_migrated(path, str(error))
    return Diagnostic("session-migrated", "note", f"Renamed to {name}: the session '{key}'", path)


def _find_key(path: str) -> str:
    descriptor = open_regular(path)
    try:
        header = load_header(descriptor, path)
    finally:
        os.close(descriptor)
    return header.key if header else ""


def _rename(old: str, new: str) -> None:
    """Rename without overwriting, even while another process does the same."""
    try:
        os.link(old, new)
    except FileExistsError:
        if not os.path.samefile(old, new):  # else a rename was cut short here
            raise
    os.unlink(old)


def _not_migrated(path: str, why: str) -> Diagnostic:
    message = f"An old session file was left alone: {why}"
    return Diagnostic("session-not-migrated", "warning", message, path, hint="Rename it, or move it away")
