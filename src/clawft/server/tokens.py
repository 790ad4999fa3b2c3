"""Tokens of the daemon: who may do what. The user's own lies in a file of theirs; of others only a hash is kept.

How a token is made, named and compared is the same for the hub, which keeps its own in its database.
"""

import hashlib
import hmac
import os
import re
import secrets
import shlex
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from clawft.config.serve import ServeSettings, own_token_file
from clawft.errors import ClawftError, NotFound, Unreadable, find_close
from clawft.files import check_json_version, create_file, lock_file, read_regular, replace_file, why_damaged
from clawft.server.callers import ALL_SCOPES, DaemonCaller
from clawft.server.protocol.base import TokenScope

OWN = "owner"  # the caller's name for the user's own token
SCOPES: tuple[TokenScope, ...] = ("read", "run", "approve", "admin")
PREFIX = "wft_"
VERSION = 1  # of the file
MAX_TOKENS = 1_000
_MAX_FILE = 1 << 20
MAX_LABEL = 100
_FEWEST = 16  # characters of a token that a person chose
_LOCK_S = 5.0
_YOUNG_NS = 2_000_000_000
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,38}[a-z0-9])?")
_SECRET = re.compile(r"[\x21-\x7e]{1,500}")


def make_secret(prefix: str) -> str:
    return prefix + secrets.token_urlsafe(32)


def hash_secret(secret: str) -> str:
    """A token has 256 bits of chance in it: nobody finds it by trying, so a plain hash will do.

    Tokens are looked up by it: how long that takes tells nothing of a token, as it would with the token itself.
    """
    return hashlib.sha256(secret.encode("ascii", "replace")).hexdigest()


def check_name(name: str, code: str, message: str) -> None:
    """Raises: ClawftError for what is no name of a token or an owner."""
    if not is_name(name):
        hint = "Up to 40 small letters, digits, '.', '_' and '-', with a letter or digit at both ends"
        raise ClawftError(code, message, hint=hint)


def is_name(name: str) -> bool:
    """Return whether a token or an owner may be called so, which is what ClawHub allows."""
    return _NAME.fullmatch(name) is not None


def clean_label(label: str) -> str:
    return "".join(character for character in label if character.isprintable())[:MAX_LABEL]


class ServeToken(Struct, frozen=True, kw_only=True):
    """The stored form of a token. Times are in ISO format; without `expires` it is valid for ever."""

    name: str
    hash: str
    scopes: tuple[TokenScope, ...]
    label: str = ""
    created: str = ""
    expires: str = ""

    @property
    def is_over(self) -> bool:
        """Return whether its time is over, or nobody can say when that is."""
        if not self.expires:
            return False
        try:
            return datetime.fromisoformat(self.expires).astimezone(UTC) <= datetime.now(UTC)
        except (ValueError, OverflowError):
            return True


class _TokenFile(Struct, frozen=True, kw_only=True):
    version: int = VERSION
    tokens: tuple[ServeToken, ...] = ()


def load_own(settings: ServeSettings, user_dir: str, environ: Mapping[str, str], *, make: bool = False) -> str:
    """The user's own token: of the settings, else of the file, which is made where it is asked for; '' for none.

    Raises: ClawftError.
    """
    if settings.token is not None:
        return _check_chosen(settings.token.resolve(environ))
    path = own_token_file(user_dir)
    token = (_read_private(path, 4_096, 0o077) or b"").decode("ascii", "replace").strip()
    if token:
        return _check_chosen(token, path)
    if not make:
        return ""
    os.makedirs(user_dir, mode=0o700, exist_ok=True)
    create_file(path, f"{make_secret(PREFIX)}\n".encode())
    return load_own(settings, user_dir, environ)


def _check_chosen(secret: str, path: str = "") -> str:
    if not _SECRET.fullmatch(secret) or len(secret) < _FEWEST:
        message = f"The token of the daemon needs at least {_FEWEST} characters, without spaces"
        raise ClawftError("serve-token", message, path=path, hint="Move it away, and one is made: weft serve")
    return secret


class ServeTokens:
    """The tokens of a user folder. A file that others change is read again, so that a token that went is gone."""

    def __init__(self, user_dir: str, own: str = "") -> None:
        self._path = os.path.join(user_dir, "serve-tokens.json")
        self._own = hash_secret(own) if own else ""
        self._seen: tuple[int, ...] | None = None
        self._tokens: dict[str, ServeToken] = {}

    def check(self, secret: str) -> DaemonCaller | None:
        """Return the caller of a valid token; None for any other. Raises: Unreadable."""
        if not _SECRET.fullmatch(secret):
            return None
        wanted = hash_secret(secret)
        if self._own and hmac.compare_digest(wanted, self._own):
            return DaemonCaller(OWN, ALL_SCOPES)
        found = self._load().get(wanted)
        if found is None or found.is_over:
            return None
        return DaemonCaller(found.name, frozenset(found.scopes))

    def all(self) -> tuple[ServeToken, ...]:
        """All, oldest first. Raises: Unreadable."""
        return tuple(self._load().values())

    def create(self, name: str, scopes: Sequence[str], label: str = "", *, days: int = 0) -> tuple[str, ServeToken]:
        """A new token, which nobody can be shown again, and what is kept of it. Raises: ClawftError."""
        check_name(name if name != OWN else "", "serve-token-name", f"A token cannot be called '{name[:60]}'")
        now = time.time()
        secret = make_secret(PREFIX)
        token = ServeToken(
            name=name,
            hash=hash_secret(secret),
            scopes=tuple(scope for scope in SCOPES if scope in scopes),
            label=clean_label(label),
            created=_moment(now),
            expires=_moment(now + days * 86_400) if days else "",
        )
        with self._changing() as tokens:
            if any(existing.name == name for existing in tokens):
                raise ClawftError(
                    "serve-token-name",
                    f"There is a token '{name}' already",
                    hint=f"Run: weft serve token remove {name}",
                )
            if len(tokens) >= MAX_TOKENS:
                raise ClawftError("serve-token-name", f"There are {MAX_TOKENS} tokens already")
            tokens.append(token)
        return secret, token

    def get(self, name: str) -> ServeToken:
        """Raises: NotFound."""
        return _get(self.all(), name)

    def remove(self, name: str) -> None:
        """Revoke a token, at once. Raises: NotFound."""
        with self._changing() as tokens:
            tokens.remove(_get(tokens, name))

    def _load(self) -> dict[str, ServeToken]:
        now_ns = time.time_ns()
        try:
            status = os.stat(self._path)
            seen = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        except OSError:
            seen = None
        if seen != self._seen:
            self._tokens = {token.hash: token for token in self._read()}
            # Written just now, it may be written again with the same times and size: then it is read again next time.
            self._seen = seen if seen is None or abs(now_ns - seen[1]) > _YOUNG_NS else ()
        return self._tokens

    def _read(self) -> tuple[ServeToken, ...]:
        text = _read_private(self._path, _MAX_FILE, 0o022)
        if text is None:
            return ()
        check_json_version(text, VERSION, self._path)
        try:
            return msgspec.json.decode(text, type=_TokenFile).tokens
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            message = f"serve-tokens.json is damaged ({why_damaged(text, error)}): the tokens in it are lost"
            hint = "Restore it from a backup; or move it away, and make new tokens: weft serve token new"
            raise Unreadable("serve-tokens", message, path=self._path, hint=hint) from error

    @contextmanager
    def _changing(self) -> Iterator[list[ServeToken]]:
        """The tokens, to be changed; one process at a time does."""
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        descriptor = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not lock_file(descriptor, _LOCK_S):
                raise ClawftError("serve-tokens", "Another process is changing the tokens", path=self._path)
            tokens = [*self._read()]
            yield tokens
            replace_file(self._path, msgspec.json.encode(_TokenFile(tokens=tuple(tokens))) + b"\n")
        finally:
            os.close(descriptor)


def _read_private(path: str, most: int, rights: int) -> bytes | None:
    """A file of the user's on which others have none of these rights. Raises: Unreadable."""
    try:
        content, status = read_regular(path, most)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_IMODE(status.st_mode) & rights or status.st_uid not in (os.geteuid(), 0):
        message = f"Others may {'read or ' if rights & 0o044 else ''}change the tokens of the daemon"
        hint = f"If nobody did: chmod 600 {shlex.quote(path)}; else remove the file, and begin anew: weft serve"
        raise Unreadable("serve-token-exposed", message, path=path, hint=hint)
    return content


def _get(tokens: Sequence[ServeToken], name: str) -> ServeToken:
    found = next((token for token in tokens if token.name == name), None)
    if found is None:
        close = find_close(name, [token.name for token in tokens])
        hint = f"Did you mean '{close}'?" if close else "Run: weft serve token list"
        raise NotFound("serve-token-none", f"There is no token '{name[:60]}'", hint=hint)
    return found


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
