"""All sessions of a user: one folder, one file each."""

import math
import os
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice

from clawft.agent.sessions.keys import (
    SUFFIX,
    check_header,
    decode_key,
    encode_key,
    is_fork_key,
    load_header,
    migrate_names,
)
from clawft.agent.sessions.log import TORN, open_log, open_regular, read_range
from clawft.agent.sessions.record import VERSION, SessionHeader, TurnRecord, decode_line, encode_lines, format_time
from clawft.agent.sessions.session import Session, SessionDraft, load_past
from clawft.agent.sessions.summary import SessionHit, SessionSummary, load_summary, search_files
from clawft.agent.sessions.transcript import Transcript, parse_transcript
from clawft.errors import ClawftError, Diagnostic, NotFound, find_close
from clawft.files import check_version, create_file, get_hint, sync_folder


class SessionStore:
    """The sessions in a folder, which is made when the first one is. Names of older programs are changed once.

    `diagnostics` grows with what was noticed on the way: files renamed, files that cannot be read.
    """

    def __init__(self, folder: str, clock: Callable[[], float] = time.time) -> None:
        self.folder = folder
        self.diagnostics: tuple[Diagnostic, ...] = ()
        self._clock = clock
        self._migrated = False

    def __contains__(self, key: str) -> bool:
        return any(known == key for known, _ in self._files())

    def keys(self) -> tuple[str, ...]:
        """Every key, that of the newest session first."""
        return tuple(key for key, _ in self._files())

    def open(self, key: str, *, cwd: str = "") -> Session:
        """Go on with a session, or start it. Raises: ClawftError, with code `session-busy` while another writes it."""
        return self._start(self._path(key), self._new_header(key, cwd))

    def open_draft(self, key: str, *, cwd: str = "", base: int | None = None) -> SessionDraft:
        """Go on from a session as it was when its file had `base` bytes, or as it is now, without writing to it yet.

        Raises: ClawftError, with code `session-not-here` when there is no such file on this machine.
        """
        path = self._path(key)
        past = load_past(path, base, self._new_header(key, cwd))
        return SessionDraft(past, path, self._clock, partial(self._start, path))

    def read(self, key: str) -> Transcript:
        """All of a session, whether or not another process is writing it. Raises: ClawftError."""
        path = self._path(key)
        return parse_transcript(self._load(key, path), key, path)

    def read_bytes(self, key: str) -> bytes:
        """The lines of a session as they are on disk. Raises: ClawftError."""
        return self._load(key, self._path(key))

    def list(self, limit: int | None = None, *, forks: bool = False) -> tuple[SessionSummary, ...]:
        """The newest sessions, newest first; those of forks only if they are asked for."""
        summaries = (self._summarise(key, path) for key, path in self._files() if forks or not is_fork_key(key))
        return tuple(islice((summary for summary in summaries if summary), limit))

    def page(self, limit: int, cursor: str = "", *, forks: bool = False) -> tuple[tuple[SessionSummary, ...], str]:
        """Return the newest sessions after a cursor, and the cursor of the next page, '' at the end.

        Raises: ClawftError for an invalid cursor.
        """
        last = _parse_cursor(cursor)
        wanted = [entry for entry in self._dated() if entry[:2] > last and (forks or not is_fork_key(entry[1]))]
        found = [self._summarise(key, path) for _, key, path in wanted[:limit]]
        more = f"{-wanted[limit - 1][0]}:{wanted[limit - 1][1]}" if len(wanted) > limit else ""
        return tuple(summary for summary in found if summary), more

    def search(self, query: str, limit: int = 20) -> tuple[SessionHit, ...]:
        """Messages that hold a text in any case, those of the newest sessions first."""
        hits, diagnostics = search_files(self._files(), query, limit)
        self._say(*diagnostics)
        return hits

    def resolve(self, text: str) -> str:
        """The key that is meant: itself, or the one key that starts so. Raises: NotFound."""
        keys = self.keys()
        if text in keys:
            return text
        starting = [key for key in keys if text and key.startswith(text)]
        if len(starting) == 1:
            return starting[0]
        if starting:
            some = ", ".join(sorted(starting)[:5]) + ("…" if len(starting) > 5 else "")
            raise NotFound(
                "session-ambiguous", f"{len(starting)} sessions start with '{text}'", hint=f"Say which: {some}"
            )
        raise self._not_found(text)

    def get(self, key: str) -> SessionSummary:
        """Return the summary of one session. Raises: ClawftError."""
        try:
            return load_summary(key, self._path(key))
        except FileNotFoundError as error:
            raise self._not_found(key) from error

    def find(self, key: str) -> SessionSummary | None:
        """The same; None for one that is not there, or cannot be read: `diagnostics` tells. Raises: ClawftError."""
        return self._summarise(key, self._path(key))

    def remove(self, key: str) -> None:
        """Remove a session and what was set aside for it. Raises: ClawftError, also while another writes it."""
        path = self._path(key)
        try:
            log = open_log(path, create=False)
        except FileNotFoundError as error:
            raise self._not_found(key) from error
        try:
            os.unlink(path)
            if os.path.lexists(path + TORN):
                os.unlink(path + TORN)
        except OSError as error:
            message = f"The session was not removed: {error.strerror}"
            raise ClawftError("session-write", message, path=path, hint=get_hint(error, path)) from error
        finally:
            log.close()

    def fork(self, key: str, new_key: str, turns: int | None = None) -> None:
        """Copy a session, or its first turns, under a new key. Raises: ClawftError when that is taken."""
        path, new_path = self._path(key), self._path(new_key)
        lines = self._load(key, path).split(b"\n")[:-1]
        first = decode_line(lines[0]) if lines else None
        cwd = first.cwd if isinstance(first, SessionHeader) else ""
        check_version(first.version if isinstance(first, SessionHeader) else 0, VERSION, path)
        header = self._new_header(new_key, cwd, forked_from=key)
        copied = _first_turns(lines[1:] if isinstance(first, SessionHeader) else lines, turns)
        self._make_folder()
        _write_new(new_path, encode_lines((header,)) + b"".join(line + b"\n" for line in copied), new_key)

    def _start(self, path: str, header: SessionHeader) -> Session:
        """Open a file to write to it; a header is for one that is new."""
        self._make_folder()
        log = open_log(path, create=True)
        try:
            if log.size:
                known = check_header(load_header(log.descriptor, path), header.key, path)
                return Session(known, log, self._clock, fresh=False)
            log.append(encode_lines((header,)))
            return Session(header, log, self._clock, fresh=True)
        except BaseException:
            log.close()
            raise

    def _new_header(self, key: str, cwd: str, forked_from: str = "") -> SessionHeader:
        created = format_time(self._clock())
        return SessionHeader(version=VERSION, key=key, created=created, cwd=cwd, forked_from=forked_from)

    def _summarise(self, key: str, path: str) -> SessionSummary | None:
        try:
            return load_summary(key, path)
        except FileNotFoundError:
            return None  # removed meanwhile
        except ClawftError as error:
            self._say(error.diagnostic)
            return None

    def _path(self, key: str) -> str:
        path = os.path.join(self.folder, encode_key(key) + SUFFIX)
        self._migrate()
        return path

    def _files(self) -> tuple[tuple[str, str], ...]:
        """Key and path of every session, newest first."""
        return tuple((key, path) for _, key, path in self._dated())

    def _dated(self) -> Sequence[tuple[int, str, str]]:
        """List keys and paths of the sessions, each with its age first."""
        self._migrate()
        try:
            with os.scandir(self.folder) as entries:
                return sorted(filter(None, map(self._date, entries)))
        except FileNotFoundError:
            return ()

    def _date(self, entry: os.DirEntry[str]) -> tuple[int, str, str] | None:
        """Return the sort key for newest first: age, key and path; None for what is no session or was removed
        meanwhile."""
        key = decode_key(entry.name.removesuffix(SUFFIX)) if entry.name.endswith(SUFFIX) else None
        try:
            if key is None or not entry.is_file(follow_symlinks=False):
                if key is not None:
                    os.close(open_regular(entry.path))
                return None
            return -entry.stat(follow_symlinks=False).st_mtime_ns, key, entry.path
        except ClawftError as error:
            self._say(error.diagnostic)
        except OSError:
            pass
        return None

    def _migrate(self) -> None:
        if not self._migrated:
            self._say(*migrate_names(self.folder))
            self._migrated = True

    def _make_folder(self) -> None:
        try:
            if not os.path.isdir(self.folder):
                os.makedirs(self.folder, 0o700, exist_ok=True)
                sync_folder(os.path.dirname(self.folder))
            if os.stat(self.folder).st_mode & 0o077:
                os.chmod(self.folder, 0o700)
        except OSError as error:
            message = f"The folder of sessions cannot be made: {error.strerror}"
            raise ClawftError("session-write", message, path=self.folder, hint=get_hint(error, self.folder)) from error

    def _load(self, key: str, path: str) -> bytes:
        try:
            descriptor = open_regular(path)
        except FileNotFoundError as error:
            raise self._not_found(key) from error
        try:
            return read_range(descriptor, 0, os.fstat(descriptor).st_size, path)
        finally:
            os.close(descriptor)

    def _not_found(self, key: str) -> NotFound:
        close = find_close(key, self.keys())
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft sessions list"
        return NotFound("session-not-found", f"No session '{key}'", hint=hint)

    def _say(self, *notes: Diagnostic) -> None:
        self.diagnostics = tuple(dict.fromkeys((*self.diagnostics, *notes)))


def _parse_cursor(text: str) -> tuple[float, str]:
    """Parse a cursor to the age and key of the last session listed. Raises: ClawftError."""
    if not text:
        return -math.inf, ""
    time_ns, _, key = text.partition(":")
    if not re.fullmatch(r"[0-9]{1,20}", time_ns) or not key:
        raise ClawftError("cursor-invalid", "This is no cursor of a list of sessions", hint="Begin the list anew")
    return -int(time_ns), key


def _first_turns(lines: list[bytes], turns: int | None) -> list[bytes]:
    if turns is None:
        return lines
    ends = [at for at, line in enumerate(lines) if isinstance(decode_line(line), TurnRecord)]
    return lines[: ends[turns - 1] + 1] if 0 < turns <= len(ends) else lines if turns > 0 else []


def _write_new(path: str, data: bytes, key: str) -> None:
    """Write a file in one step where there is none."""
    try:
        made = create_file(path, data)
    except OSError as error:
        message = f"The session could not be written: {error.strerror}"
        raise ClawftError("session-write", message, path=path, hint=get_hint(error, path)) from error
    if not made:
        raise ClawftError("session-exists", f"There is a session '{key}' already", path=path, hint="Choose another key")
