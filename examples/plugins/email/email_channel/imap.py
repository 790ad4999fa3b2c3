"""A small IMAP client (RFC 3501, IDLE of RFC 2177) over a socket that is already there.

It blocks, so it is used from threads; `interrupt` ends whatever waits. What a server sends is bounded in every way.
"""

import base64
import contextlib
import re
import socket
import ssl
import time
from dataclasses import dataclass, field

from email_channel.responses import Value, parse_values

__all__ = ["Imap", "ImapError", "LoginRefused", "Mailbox"]

_PATIENCE_S = 30.0  # for whatever a server is asked
_MAX_LINE = 1_000_000  # a search may find many
_MAX_RESPONSES = 20_000  # to one command
_CODE = re.compile(rb"\[([A-Z-]+)(?: ([^\]]*))?\]", re.IGNORECASE)
_LITERAL = re.compile(rb"\{([0-9]{1,10})\+?\}$")


class ImapError(Exception):
    """The server refused something, or spoke no IMAP; a new connection may do better."""


class LoginRefused(ImapError):
    """It does not take this name and password."""


@dataclass
class Mailbox:
    """What SELECT tells of a mailbox."""

    uid_validity: int = 0
    uid_next: int = 0
    keywords: bool = False  # whether it keeps flags of our own


@dataclass
class _Answer:
    code: bytes = b""
    untagged: list[list[bytes]] = field(default_factory=list)  # pieces: text, literal, text, …


class Imap:
    """One connection, logged in when `open` is done."""

    def __init__(self, sock: socket.socket, max_literal: int) -> None:
        self._sock = sock
        self._buffer = b""
        self._max_literal = max_literal
        self._tag = 0
        self.capabilities: frozenset[str] = frozenset()
        self.has_news = False  # a mail came since the last search

    # --- The session ---

    def greet(self) -> None:
        """Raises: ImapError if it is no server that lets us log in."""
        line = self._read_line()
        if not line.upper().startswith(b"* OK"):  # also PREAUTH, by which STARTTLS would be skipped
            raise ImapError(f"It greets with {_show(line)}")
        self._ask_capabilities()

    def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Encrypt from here on. Raises: ImapError, OSError."""
        if "STARTTLS" not in self.capabilities:
            raise ImapError("It offers no STARTTLS")
        self._command(b"STARTTLS")
        if self._buffer:  # what came before encryption is not to be taken for what comes after
            raise ImapError("It sent more than an answer to STARTTLS")
        self._sock = context.wrap_socket(self._sock, server_hostname=host)
        self._ask_capabilities()

    def login(self, username: str, password: str) -> None:
        """Raises: LoginRefused, ImapError."""
        if "LOGINDISABLED" in self.capabilities:
            raise ImapError("It takes no passwords on this connection")
        try:
            if "AUTH=PLAIN" in self.capabilities:
                token = base64.b64encode(f"\0{username}\0{password}".encode())
                self._command(b"AUTHENTICATE PLAIN", token)
            else:
                name, word = username.encode(), password.encode()
                self._command(b"LOGIN {%d}" % len(name), name + b" {%d}" % len(word), word)
        except _Refused as error:
            raise LoginRefused(str(error)) from error
        self._ask_capabilities()

    def select(self, name: str) -> Mailbox:
        """Open a mailbox. Raises: ImapError."""
        mailbox = Mailbox()
        answer = self._command(b"SELECT " + _quote(name))
        for pieces in answer.untagged:
            found = _CODE.search(pieces[0])
            if found is None:
                continue
            code, value = found[1].upper(), found[2] or b""
            if code == b"UIDVALIDITY":
                mailbox.uid_validity = int(value)
            elif code == b"UIDNEXT":
                mailbox.uid_next = int(value)
            elif code == b"PERMANENTFLAGS":
                mailbox.keywords = b"\\*" in value
        if not mailbox.uid_validity:
            raise ImapError("It does not say how its mails are numbered")
        if b"READ-ONLY" in answer.code.upper():
            raise ImapError(f"'{name}' may only be read, so nothing can be marked as done")
        return mailbox

    def interrupt(self) -> None:
        """End what waits on this connection, from another thread."""
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._sock.close()

    # --- Mail ---

    def search(self, criteria: str) -> list[int]:
        """The UIDs of what fits, in order. Raises: ImapError."""
        found: set[int] = set()
        self.has_news = False
        for pieces in self._command(b"UID SEARCH " + criteria.encode("ascii")).untagged:
            words = pieces[0].split()
            if words[:1] and words[0].upper() == b"SEARCH":
                found.update(int(word) for word in words[1:] if word.isdigit())
        return sorted(found)

    def fetch(self, uid: int, max_bytes: int) -> tuple[bytes, int] | None:
        """The beginning of a mail, and how large all of it is; None if it is gone. Raises: ImapError."""
        answer = self._command(f"UID FETCH {uid} (UID RFC822.SIZE BODY.PEEK[]<0.{max_bytes}>)".encode())
        for pieces in answer.untagged:
            fields = _read_fetch(pieces)
            if fields.get("UID") == str(uid).encode() and isinstance(fields.get("BODY[]<0>"), bytes):
                body, size = fields["BODY[]<0>"], fields.get("RFC822.SIZE")
                assert isinstance(body, bytes)
                return body, int(size) if isinstance(size, bytes) and size.isdigit() else len(body)
        return None

    def flag(self, uid: int, *flags: str) -> None:
        """Raises: ImapError."""
        self._command(f"UID STORE {uid} +FLAGS.SILENT ({' '.join(flags)})".encode())

    def wait(self, seconds: float) -> None:
        """Wait until there may be news, at most so long. Raises: ImapError, OSError."""
        if self.has_news:  # it is told once, and may have been told already
            return
        tag = self._send(b"IDLE")
        ends = time.monotonic() + seconds
        waiting = False
        while not (waiting and self.has_news) and (left := ends - time.monotonic()) > 0:
            try:
                line = self._read_line(left if waiting else None)
            except TimeoutError:
                if not waiting:
                    raise
                break
            waiting |= line.startswith(b"+")
            self.has_news |= _tells_news(line)
            if line.startswith(tag) or line.upper().startswith(b"* BYE"):
                raise ImapError(f"It does not wait: {_show(line)}")
        self._sock.sendall(b"DONE\r\n")
        self._read_answer(tag)

    def look(self) -> None:
        """Have the server tell what is new. Raises: ImapError."""
        self._command(b"NOOP")

    # --- Lines ---

    def _ask_capabilities(self) -> None:
        words: set[str] = set()
        for pieces in self._command(b"CAPABILITY").untagged:
            if pieces[0].upper().startswith(b"CAPABILITY"):
                words.update(pieces[0].decode("ascii", "replace").upper().split()[1:])
        self.capabilities = frozenset(words)

    def _command(self, command: bytes, *continued: bytes) -> _Answer:
        """Send a command, with what follows each time that the server asks for more. Raises: ImapError."""
        return self._read_answer(self._send(command), list(continued))

    def _send(self, command: bytes) -> bytes:
        self._tag += 1
        tag = b"c%d" % self._tag
        self._sock.sendall(tag + b" " + command + b"\r\n")
        return tag + b" "

    def _read_answer(self, tag: bytes, pending: list[bytes] | None = None) -> _Answer:
        answer = _Answer()
        room = self._max_literal + _MAX_LINE * 4
        for _ in range(_MAX_RESPONSES):
            pieces = self._read_response()
            line = pieces[0]
            room -= sum(map(len, pieces))
            if room < 0:
                break
            if line.startswith(b"+"):
                if not pending:
                    raise ImapError("It asks for more than there is")
                self._sock.sendall(pending.pop(0) + b"\r\n")
            elif line.startswith(b"* "):
                answer.untagged.append([line[2:], *pieces[1:]])
                self.has_news |= _tells_news(line)
            elif line.startswith(tag):
                status, _, answer.code = line[len(tag) :].partition(b" ")
                if status.upper() != b"OK":
                    raise _Refused(f"It says {_show(line[len(tag) :])}")
                return answer
            else:
                raise ImapError(f"It says {_show(line)}, which is no IMAP")
        raise ImapError("It does not come to an end")

    def _read_response(self) -> list[bytes]:
        """One response: its text, then each literal with the text behind it."""
        pieces = [self._read_line()]
        total = 0
        while literal := _LITERAL.search(pieces[-1]):
            size = int(literal[1])
            total += size
            if total > self._max_literal:
                raise ImapError(f"It sends {total} bytes, which is more than was asked for")
            pieces[-1] = pieces[-1][: literal.start()]
            pieces += [self._read_bytes(size), self._read_line()]
        return pieces

    def _read_line(self, timeout_s: float | None = None) -> bytes:
        while (end := self._buffer.find(b"\r\n")) < 0:
            if len(self._buffer) > _MAX_LINE:
                raise ImapError("It sends a line without end")
            self._receive(timeout_s)
        line, self._buffer = self._buffer[:end], self._buffer[end + 2 :]
        return line

    def _read_bytes(self, size: int) -> bytes:
        chunks = [self._buffer]
        have = len(self._buffer)
        self._buffer = b""
        while have < size:
            self._receive(None)
            chunks.append(self._buffer)
            have += len(self._buffer)
            self._buffer = b""
        data = b"".join(chunks)
        self._buffer = data[size:]
        return data[:size]

    def _receive(self, timeout_s: float | None) -> None:
        self._sock.settimeout(_PATIENCE_S if timeout_s is None else timeout_s)
        try:
            chunk = self._sock.recv(65536)
        finally:
            with contextlib.suppress(OSError):
                self._sock.settimeout(_PATIENCE_S)
        if not chunk:
            raise ImapError("It hung up")
        self._buffer += chunk


class _Refused(ImapError):
    """NO or BAD."""


def _read_fetch(pieces: list[bytes]) -> dict[str, Value]:
    """The fields of a FETCH response; none if it is another one."""
    head = pieces[0].split(b" ", 2)
    if len(head) != 3 or head[1].upper() != b"FETCH":
        return {}
    values = parse_values([head[2], *pieces[1:]])
    if len(values) != 1 or not isinstance(values[0], list):
        return {}
    names, rest = values[0][::2], values[0][1::2]
    pairs = zip(names, rest, strict=False)
    return {name.decode("ascii", "replace").upper(): value for name, value in pairs if isinstance(name, bytes)}


def _tells_news(line: bytes) -> bool:
    return line.startswith(b"* ") and line.upper().endswith((b" EXISTS", b" RECENT"))


def _quote(text: str) -> bytes:
    return b'"' + text.encode("ascii").replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _show(line: bytes) -> str:
    return ascii(line[:200].decode("ascii", "replace"))
