"""Give session files of older programs their new names, once (R145, D31)."""

import os

from clawft.errors import ClawftError, Diagnostic
from clawft.files import check_version, get_hint
from clawft.sessions.keys import SUFFIX, decode_key, encode_key
from clawft.sessions.log import open_regular, read_range
from clawft.sessions.record import VERSION, Header, decode_line

__all__ = ["HEAD_BYTES", "check_header", "load_header", "migrate_names"]

HEAD_BYTES = 1 << 16  # the first line is never longer


def migrate_names(folder: str) -> tuple[Diagnostic, ...]:
    """Rename every file whose name no key has, and tell of each. What is there already is never overwritten."""
    try:
        with os.scandir(folder) as entries:
            names = [one.name for one in entries if one.name.endswith(SUFFIX) and one.is_file(follow_symlinks=False)]
    except FileNotFoundError:
        return ()
    except OSError as error:
        message = f"The folder of sessions cannot be read: {error.strerror}"
        raise ClawftError("session-unreadable", message, path=folder, hint=get_hint(error, folder)) from error
    stems = sorted(name.removesuffix(SUFFIX) for name in names if not name.startswith("."))
    return tuple(_migrate(folder, stem) for stem in stems if decode_key(stem) is None)


def load_header(descriptor: int, path: str) -> Header | None:
    """The first line of a file, if it tells of the session."""
    line, end, _ = read_range(descriptor, 0, HEAD_BYTES, path).partition(b"\n")
    record = decode_line(line) if end else None
    return record if isinstance(record, Header) else None


def check_header(header: Header | None, key: str, path: str) -> Header:
    """The header of a session that goes on under a key. Raises: ClawftError when it must not be written."""
    header = header or Header(key=key)
    check_version(header.version, VERSION, path)
    if header.key != key and header.key.casefold() == key.casefold():
        # A file system that does not tell "A" from "a" gave the file of another session.
        message = f"The file of session '{key}' holds session '{header.key}'"
        raise ClawftError("session-key", message, path=path, hint=f"Use '{header.key}', or another key")
    return Header(key=key, created=header.created, cwd=header.cwd)


def _migrate(folder: str, stem: str) -> Diagnostic:
    path = os.path.join(folder, stem + SUFFIX)
    if "%" in stem:
        return _not_migrated(path, "its name is neither an old nor a new one")
    try:
        key = _find_key(path) or stem.replace("_", ":", 1)  # D31: only the first "_" stood for a ":"
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
    """Rename without overwriting, whoever else does the same at the same time."""
    try:
        os.link(old, new)
    except FileExistsError:
        if not os.path.samefile(old, new):  # else a rename was cut short here
            raise
    os.unlink(old)


def _not_migrated(path: str, why: str) -> Diagnostic:
    message = f"An old session file was left alone: {why}"
    return Diagnostic("session-not-migrated", "warning", message, path, hint="Rename it, or move it away")
