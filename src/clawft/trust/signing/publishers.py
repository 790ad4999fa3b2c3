"""The trust file `publishers.toml`, and the statements that publishers sign."""

import os
import re
import shlex
import stat
import tomllib
from collections.abc import Callable, Collection
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from typing import Any

import msgspec
from msgspec import Struct, field

from clawft.errors import ClawftError, Refused
from clawft.files import check_version, get_hint, hold_folder, read_regular, replace_file, why_damaged
from clawft.skills.discovery import DiscoveredSkill
from clawft.skills.discovery.walk import load_bytes
from clawft.trust.signing.sshsig import PublicKey, parse_public_key

SKILL_SPACE = "clawft-skill"
ROTATION_SPACE = "clawft-rotation"
MAX_PART = 1_000
_ROTATION = "clawft-rotation-v1"
_VERSION = re.compile(r"""^\s*["']?version["']?\s*:""", re.MULTILINE)


class SkillStatement(Struct, frozen=True):
    """A statement that this content is this version of this skill; `version` is '' for a statement about the content
    alone."""

    name: str
    version: str
    digest: str

    @property
    def text(self) -> bytes:
        """The signed text. Raises: ClawftError with code `signature-statement`."""
        return _join("clawft-skill-v1", self.name, self.version, self.digest)


def written_version(found: DiscoveredSkill) -> str:
    """The version that SKILL.md says; '' where it says none, and the skill has the one that all begin with."""
    if found.skill is None or not found.file.endswith(".md"):
        return ""
    head = load_bytes(found.file, found.location.path)[0].decode("utf-8", "replace").split("\n---", 1)[0]
    return found.skill.version if _VERSION.search(head) else ""


class KeyRotation(Struct, frozen=True):
    """A publisher goes on under another key, from a day (`2026-11-16`) on."""

    old: str  # the fingerprint of the key that says so
    new: PublicKey
    since: str

    @property
    def text(self) -> bytes:
        """The text that the old key signs. Raises: ClawftError with code `signature-statement`."""
        return _join(_ROTATION, self.old, self.new.line, self.since)


def parse_rotation(text: str) -> KeyRotation:
    """The rotation that a text states. Raises: ClawftError with code `rotation-format`."""
    lines = text.split("\n")
    if len(lines) != 5 or lines[0] != _ROTATION or lines[4]:
        hint = "Get it again from its publisher: weft publishers rotate --to KEY writes one"
        raise ClawftError("rotation-format", "This is no statement that a key is replaced", hint=hint)
    rotation = KeyRotation(lines[1], parse_public_key(lines[2]), lines[3])
    if rotation.text != text.encode():
        raise ClawftError("rotation-format", "The statement is not written in the one way that counts")
    return rotation


def _join(*parts: str) -> bytes:
    if not all(part.isprintable() and len(part) <= MAX_PART for part in parts):
        message = "A name, a version or a key has characters that cannot be signed"
        raise ClawftError("signature-statement", message, hint="Use printable text without line breaks")
    return "".join(f"{part}\n" for part in parts).encode()


PUBLISHERS_NAME = "publishers.toml"
ANY = "*"
MAX_BYTES = 4 << 20
VERSION = 1
LOCK_S = 10.0
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?\Z")
_PATTERN = re.compile(r"[A-Za-z0-9._*?-]{1,100}(?:/[A-Za-z0-9._*?-]{1,100})?\Z")
_PRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}\Z")
_HEAD = "# Who may sign skills, and by which keys. `weft publishers` writes this file; comments are not kept.\n"


class PublisherKey(Struct, frozen=True, forbid_unknown_fields=True):
    """A key of a publisher, and when what it signs counts."""

    key: str  # as in a .pub file
    since: datetime | None = field(default=None, name="from")
    until: datetime | None = None
    vouched_by: str = ""  # the fingerprint of the key whose word it is taken on
    vouched_at: datetime | None = None

    @property
    def public(self) -> PublicKey:
        return parse_public_key(self.key)


class Publisher(Struct, frozen=True, forbid_unknown_fields=True):
    """A publisher whose signatures count, for the skills that a pattern `owner/name` or `name` fits."""

    skills: tuple[str, ...] = (ANY,)
    key: tuple[PublisherKey, ...] = ()

    def may_sign(self, owner: str, name: str) -> bool:
        """Return whether a skill is theirs to sign. Where no registry says whose it is, only its name is looked at."""
        for pattern in self.skills:
            first, slash, last = pattern.rpartition("/")
            if fnmatchcase(name, last) and (not slash or not owner or fnmatchcase(owner.lower(), first.lower())):
                return True
        return False


class RevokedKey(Struct, frozen=True, forbid_unknown_fields=True):
    """A revoked key: from `since` on, or for all time."""

    at: datetime
    reason: str
    since: datetime | None = None


class Publishers(Struct, frozen=True):
    """The trust file."""

    publisher: dict[str, Publisher] = {}
    revoked: dict[str, RevokedKey] = {}  # by fingerprint

    def find_key(self, fingerprint: str) -> tuple[str, PublisherKey] | None:
        """Find a key by its fingerprint, with the name of its publisher; None if it is not known."""
        for name, publisher in self.publisher.items():
            for key in publisher.key:
                if key.public.fingerprint == fingerprint:
                    return name, key
        return None

    def find_revoked(self, fingerprint: str, at: datetime) -> RevokedKey | None:
        """The revocation of a key, if it counts at a time."""
        revoked = self.revoked.get(fingerprint)
        return revoked if revoked and (revoked.since is None or at >= revoked.since) else None


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    version: int = VERSION
    publisher: dict[str, Publisher] = {}
    revoked: dict[str, RevokedKey] = {}


def is_publisher(name: str) -> bool:
    """Return whether a text can be the name of a publisher."""
    return bool(_NAME.match(name))


def is_pattern(text: str) -> bool:
    """Return whether a text is `name` or `owner/name`, where `*` and `?` are wildcards."""
    return bool(_PATTERN.match(text))


def load_publishers(user_dir: str) -> Publishers:
    """Load the publishers that the user trusts; none where there is no file.

    Raises: Refused for one that others may write; ClawftError for one that makes no sense.
    """
    path = os.path.join(user_dir, PUBLISHERS_NAME)
    try:
        content, status = read_regular(path, MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return Publishers()
    message = "Others may write the file of publishers that you trust, so nobody is trusted"
    if status.st_uid not in (os.geteuid(), 0) or stat.S_IMODE(status.st_mode) & 0o022:
        raise Refused("publishers-unsafe", message, path=path, hint=f"Look at it, then: chmod 600 {shlex.quote(path)}")
    folder = os.stat(user_dir)
    if folder.st_uid not in (os.geteuid(), 0) or stat.S_IMODE(folder.st_mode) & 0o1002 == 0o002:
        hint = f"Look at it, then: chmod 700 {shlex.quote(user_dir)}"
        raise Refused("publishers-unsafe", message, path=path, hint=hint)
    file = _parse(content, path)
    return Publishers(file.publisher, file.revoked)


def change_publishers(user_dir: str, change: Callable[[Publishers], Publishers]) -> None:
    """Put what `change` makes of the trust file in its place. Raises: ClawftError."""
    path = os.path.join(user_dir, PUBLISHERS_NAME)
    busy = ClawftError("publishers-busy", "Another program keeps the user's folder locked", path=path)
    try:
        os.makedirs(user_dir, mode=0o700, exist_ok=True)
        with hold_folder(user_dir, LOCK_S, busy):
            text = render_publishers(change(load_publishers(user_dir)))
            _parse(text.encode(), path)  # what is written can be read
            replace_file(path, text.encode(), 0o600)
    except OSError as error:
        message = f"The publishers were not written: {error.strerror}"
        raise ClawftError("not-written", message, path=path, hint=get_hint(error, path)) from error


def render_publishers(publishers: Publishers) -> str:
    """The text of a trust file: the same for the same publishers."""
    blocks = [f"{_HEAD}version = {VERSION}"]
    for name, publisher in sorted(publishers.publisher.items()):
        blocks.append(f"[publisher.{_quote(name)}]\nskills = [{', '.join(_quote(each) for each in publisher.skills)}]")
        for key in sorted(publisher.key, key=lambda key: key.key):
            blocks.append(f"[[publisher.{_quote(name)}.key]]\n" + _settings(key))
    for print_, revoked in sorted(publishers.revoked.items()):
        blocks.append(f"[revoked.{_quote(print_)}]\n" + _settings(revoked))
    return "\n\n".join(blocks) + "\n"


def render_signers(publishers: Publishers, names: Collection[str] = ()) -> str:
    """The keys of publishers, or of those that are named, as OpenSSH's file of allowed signers has them."""
    lines = []
    for name, publisher in sorted(publishers.publisher.items()):
        for key in sorted(publisher.key, key=lambda key: key.key):
            if (names and name not in names) or key.public.fingerprint in publishers.revoked:
                continue
            options = [f'namespaces="{SKILL_SPACE}"']
            options += [f'valid-after="{_stamp(key.since)}"'] * bool(key.since)
            options += [f'valid-before="{_stamp(key.until)}"'] * bool(key.until)
            lines.append(f"{name} {','.join(options)} {key.public.line}\n")
    return "".join(lines)


def _stamp(time: datetime | None) -> str:
    return time.astimezone(UTC).strftime("%Y%m%d%H%M%SZ") if time else ""


def _settings(value: Struct) -> str:
    lines = []
    for key, to_builtin in msgspec.to_builtins(value, builtin_types=(datetime,)).items():
        if isinstance(to_builtin, datetime):
            lines.append(f"{key} = {to_builtin.astimezone(UTC).isoformat(timespec='seconds').replace('+00:00', 'Z')}")
        elif to_builtin:
            lines.append(f"{key} = {_quote(to_builtin)}")
    return "\n".join(lines)


def _quote(text: str) -> str:
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")  # a text of JSON is one of TOML


def _parse(content: bytes, path: str) -> _File:
    try:
        if not content.strip():
            raise ValueError("it is empty")
        raw = tomllib.loads(content.decode())
        check_version(raw.get("version"), VERSION, path)
        file = msgspec.convert(_with_times(raw), _File)
        _check(file)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError, ValueError, RecursionError) as error:
        why = f"publishers.toml is damaged ({why_damaged(content, error)})"
        message = f"{why}: whom you trust is lost, and which keys you revoked"
        hint = "Restore it from a backup; or move it away, and say again whom you trust: weft publishers trust"
        raise ClawftError("publishers-damaged", message, path=path, hint=hint) from error
    return file


def _check(file: _File) -> None:
    """Check what the types cannot express. Raises: ValueError."""
    if file.version != VERSION:
        raise ValueError(f"its version is {file.version}, and only {VERSION} is known")
    seen: dict[str, str] = {}
    for name, publisher in file.publisher.items():
        if not is_publisher(name) or not all(map(is_pattern, publisher.skills)):
            raise ValueError(f"publisher {name!a}: the name or a pattern in `skills` is malformed")
        for key in publisher.key:
            try:
                known = key.public.fingerprint
            except ClawftError as error:
                raise ValueError(f"publisher {name}: {error}") from error
            if known in seen:
                raise ValueError(f"{known} is a key of {seen[known]} and of {name}, and must be of one alone")
            seen[known] = name
    for fingerprint in (
        *file.revoked,
        *(key.vouched_by for publisher in file.publisher.values() for key in publisher.key),
    ):
        if fingerprint and not _PRINT.match(fingerprint):
            raise ValueError(f"{fingerprint[:100]!a} is no fingerprint: SHA256:… is")


def _with_times(value: Any) -> Any:
    """Days, and times without a zone, as times of UTC."""
    if isinstance(value, dict):
        return {key: _with_times(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_times(inner) for inner in value]
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return datetime(value.year, value.month, value.day, tzinfo=UTC) if isinstance(value, date) else value
