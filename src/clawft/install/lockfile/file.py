"""The lock file: check, load, write and merge it."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct, structs

from clawft.errors import ClawftError
from clawft.files import check_version, read_optional, replace_file
from clawft.install.lockfile.model import HEAD, MAX_LOCK_BYTES, VERSION, LockedFile, LockedSkill, SkillOrigin
from clawft.skills.parse.model import LEFT_OUT
from clawft.skills.parse.text import read_toml

MAX_NAME = 128
MAX_PATH = 400
MAX_URL = 2_000
_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_NAME}}}")  # folders with other names hold no skills
_HASH = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# An empty part, one that leads up or nowhere, one that no digest covers; a letter that splits paths elsewhere.
_ODD = re.compile(
    r"(?:^|/)(?:\.{0,2}|" + "|".join(map(re.escape, sorted(LEFT_OUT))) + r")(?:/|$)|[\\\x00-\x1f\x7f-\x9f\u2028\u2029]"
)
_UNSEEN = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]")
_SHORT = re.compile(r"(?:[A-Za-z0-9_.-]+@)?[A-Za-z0-9.-]+:(?!//)[^\s-]\S*")  # as ssh writes places: git@host:path
_SCHEMES = {
    "clawhub": ("https", "http"),
    "contract": ("https", "http"),
    "well-known": ("https", "http"),
    "git": ("https", "http", "ssh", "git", "file"),
    "archive": ("https", "http"),
}


def is_plain_name(name: str) -> bool:
    """Return whether this is the name of a folder and nothing else."""
    return _NAME.fullmatch(name) is not None


def is_plain_path(path: str) -> bool:
    """Return whether this is a path below a skill's folder that its digest covers."""
    return 0 < len(path) <= MAX_PATH and _ODD.search(path) is None


def compute_locked(files: Mapping[str, LockedFile]) -> str:
    """Compute the digest that a folder with exactly these files has."""
    lines = [
        b"%s\0%s\0%d\0%s\n" % (path, b"x" if file.executable else b"-", file.size, file.sha256.encode())
        for path, file in sorted((path.encode(), file) for path, file in files.items())
    ]
    return "sha256:" + hashlib.sha256(b"".join(lines)).hexdigest()


def why_bad_origin(origin: SkillOrigin, commit: str) -> str:
    """Return why nothing may be fetched from the origin in a lock; '' if it may be."""
    url = origin.url
    if not url or len(url) > MAX_URL or url.startswith("-") or _UNSEEN.search(url.replace(" ", "")):
        return "its 'url' is no address"
    if commit and not _COMMIT.fullmatch(commit):
        return "its 'commit' is no commit"
    if origin.path and not is_plain_path(origin.path):
        return "its 'path' leads elsewhere"
    scheme, found, rest = url.partition("://")
    if not found:
        local = origin.kind in ("folder", "archive") or (origin.kind == "git" and _SHORT.fullmatch(url))
        return "" if local else "its 'url' is no address"
    if scheme not in _SCHEMES.get(origin.kind, ()):
        return f"its 'url' begins with {scheme!r}, which says nothing for a source of kind {origin.kind!r}"
    if scheme in ("https", "http") and "@" in rest.partition("/")[0]:
        return "its 'url' holds a password or a name"
    return ""


_TEXT = r'"([^"\\\x00-\x1f\x7f]*)"'
_LIST = r"\[([^\[\]\\\x00-\x1f\x7f]*)\]"
_TEXTS = "kind url owner slug ref path version commit archive digest verdict engine approved signed_by pinned"
# Each with how it is read: a text, the one truth value that is not the default, or a list of texts.
FIELDS = dict.fromkeys(_TEXTS.split(), _TEXT) | {"requested": "(false)", "to": _LIST, "dependencies": _LIST}
_FILE = r'  "[0-9a-f]{64} [0-9]+ [x-] [^"\\\x00-\x1f\x7f]+",\n'
_BLOCK = re.compile(
    r"\n\[skill\.([A-Za-z0-9_-]+)\]\n"
    + "".join(f"(?:{name} = {value}\n)?" for name, value in FIELDS.items())
    + rf"files = \[\n((?:{_FILE})*)\]\n"
)
_PLAIN = re.compile(r'[^"\\\x00-\x1f\x7f-\x9f]*')  # nothing to escape
_ITEMS = re.compile(r'"([^"]*)"(?:, |$)')
_LISTS = frozenset(name for name, value in FIELDS.items() if value == _LIST)
_NAMES = tuple(FIELDS)


def read_quickly(text: str) -> dict[str, dict[str, Any]] | None:
    """The blocks by name, as `tomllib` would give them; None for a text that is not just in this layout."""
    if not text.startswith(HEAD):
        return None
    found: dict[str, dict[str, Any]] = {}
    at = len(HEAD)
    while match := _BLOCK.match(text, at):
        name, *values, files = match.groups()
        if name in found:
            return None
        fields = {key: value for key, value in zip(_NAMES, values, strict=True) if value is not None}
        for key in _LISTS.intersection(fields):
            items = _ITEMS.findall(fields[key])
            if render_value(items)[1:-1] != fields[key]:
                return None
            fields[key] = items
        if "requested" in fields:
            fields["requested"] = False
        fields["files"] = [line[3:-2] for line in files.splitlines()] if files else []
        found[name] = fields
        at = match.end()
    return found if at == len(text) else None


def render_value(value: str | bool | list[str]) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(render_value, value))}]"
    return f'"{value if _PLAIN.fullmatch(value) else "".join(_escape(value))}"'


def _escape(text: str) -> Iterator[str]:
    for char in text:
        if char in '"\\':
            yield "\\" + char
        elif ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0:
            yield f"\\u{ord(char):04x}"
        else:
            yield char


MAX_SKILLS = 20_000
_MARKER = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?: |\r?$)", re.MULTILINE)
_LOCK_ENTRY = re.compile(r"([0-9a-f]{64}) ([0-9]{1,12}) ([x-]) (.+)", re.DOTALL)
_ORIGIN = frozenset(SkillOrigin.__struct_fields__)
_REST = frozenset(LockedSkill.__struct_fields__) - {"name", "origin", "files"}
_KNOWN = frozenset((*_ORIGIN, *_REST, "files"))


def load_lock(path: str) -> dict[str, LockedSkill]:
    """The skills of a lock by name; none where there is no lock.

    Raises: Unreadable; ClawftError `lock-conflict` for one that git could not merge, `lock-invalid` for any other that
    must not be followed; `format-newer`.
    """
    data = read_optional(path, MAX_LOCK_BYTES)
    return {} if data is None else parse_lock(data, path)


def parse_lock(data: bytes, path: str) -> dict[str, LockedSkill]:
    """Parse the bytes of a lock file; `path` is for messages."""
    found = {name: read_block(name, block, path) for name, block in split_lock(data, path).items()}
    for skill in found.values():
        if not found.keys() >= set(skill.dependencies):
            missing = ", ".join(sorted(set(skill.dependencies) - found.keys()))
            raise _invalid(path, f"'{skill.name}' depends on what it does not name: {missing}")
    return found


def split_lock(data: bytes, path: str) -> dict[str, Mapping[str, Any]]:
    """Split a lock file into its blocks by skill name, without checking their content. Raises: ClawftError."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _invalid(path, "It is not UTF-8") from error
    quick = read_quickly(text)
    blocks = _read_toml(text, path) if quick is None else quick
    if len(blocks) > MAX_SKILLS:
        raise _invalid(path, f"It has more than {MAX_SKILLS} skills")
    if len({name.casefold() for name in blocks}) < len(blocks):
        raise _invalid(path, "Two of its names differ only in capital letters")
    return dict(blocks)


def write_lock(path: str, skills: Iterable[LockedSkill]) -> None:
    """Replace a lock, at once. Raises: ClawftError for what could not be read again; OSError."""
    text = render_lock(skills).encode()
    parse_lock(text, path)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    replace_file(path, text, 0o644)


def render_lock(skills: Iterable[LockedSkill]) -> str:
    """The text of a lock. Raises: ClawftError for a name that no folder of a skill has."""
    ordered = sorted(skills, key=lambda one: one.name.encode())
    return "".join((HEAD, *map(_render_skill, ordered)))


def _render_skill(skill: LockedSkill) -> str:
    if not is_plain_name(skill.name):
        raise _invalid("", f"{skill.name!r} is not the name of a skill's folder")
    fields: dict[str, Any] = msgspec.to_builtins(skill.origin)
    for name in _REST:
        value = getattr(skill, name)
        if value != _DEFAULTS.get(name, ""):
            fields[name] = sorted(value) if isinstance(value, tuple) else value
    ordered = [f"{name} = {render_value(fields[name])}\n" for name in FIELDS if name in fields]
    files = [_render_file(*item) for item in sorted(skill.files.items(), key=lambda one: one[0].encode())]
    return "".join((f"\n[skill.{skill.name}]\n", *ordered, "files = [\n", *files, "]\n"))


def _render_file(path: str, file: LockedFile) -> str:
    flag = "x" if file.executable else "-"
    return f"  {render_value(f'{file.sha256} {file.size} {flag} {path}')},\n"


_DEFAULTS: dict[str, object] = {"to": ("clawft",), "requested": True, "dependencies": ()}


def _read_toml(text: str, path: str) -> dict[str, dict[str, Any]]:
    if _MARKER.search(text):
        message = "Two versions of the lock were merged, and git left both in it"
        raise ClawftError("lock-conflict", message, path=path, hint="Run: weft skills sync")
    try:
        raw = read_toml(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, and a number that is too long to be read
        raise _invalid(path, f"It is not TOML: {error}") from error
    version = raw.pop("version", None)
    if not text.strip():
        raise _invalid(path, "It is empty")
    if type(version) is not int or version != VERSION:
        check_version(version, VERSION, path)
        raise _invalid(path, f"Its version is {version!r}, and {VERSION} is what is known here")
    skills = raw.pop("skill", {})
    if raw:
        raise _invalid(path, f"'{min(raw)}' is nothing that a lock has")
    if not isinstance(skills, dict) or not all(isinstance(block, dict) for block in skills.values()):
        raise _invalid(path, "Its skills are no tables")
    return skills


def read_block(name: str, block: Mapping[str, Any], path: str) -> LockedSkill:
    """The skill of a block. Raises: ClawftError for one that must not be followed."""
    skill = check_block(name, block, path)
    try:
        skill = structs.replace(skill, files=_read_files(block.get("files")))
    except ValueError as error:
        raise _invalid(path, f"'{name}' is not written as it must be: {error}") from error
    if compute_locked(skill.files) != skill.digest:
        raise _invalid(path, f"'{name}' is not followed: its digest is not that of its files")
    return skill


def check_block(name: str, block: Mapping[str, Any], path: str) -> LockedSkill:
    """The skill of a block but for its files, which are not looked at. Raises: ClawftError."""
    if not is_plain_name(name):
        raise _invalid(path, f"{name!r} is not the name of a skill's folder")
    if not block.keys() <= _KNOWN:
        raise _invalid(path, f"'{name}' has the field '{min(block.keys() - _KNOWN)}', which is not known here")
    origin = {key: value for key, value in block.items() if key in _ORIGIN}
    rest = {key: value for key, value in block.items() if key in _REST}
    try:
        skill = msgspec.convert({"name": name, "origin": origin, "files": {}, **rest}, LockedSkill)
    except msgspec.ValidationError as error:
        raise _invalid(path, f"'{name}' is not written as it must be: {error}") from error
    why = _why_refused(skill)
    if why:
        raise _invalid(path, f"'{name}' is not followed: {why}")
    return skill


def _read_files(lines: object) -> dict[str, LockedFile]:
    if not isinstance(lines, list):
        raise ValueError("'files' is missing")
    found: dict[str, LockedFile] = {}
    for line in lines:
        match = _LOCK_ENTRY.fullmatch(line) if isinstance(line, str) else None
        if match is None:
            raise ValueError(f"{str(line)[:200]!r} is no line of 'files'")
        sha256, size, flag, name = match.groups()
        if name in found:
            raise ValueError(f"'files' has {name!r} twice")
        if not is_plain_path(name):
            raise ValueError(f"{name!r} is no path below the skill")
        found[name] = LockedFile(sha256, int(size), flag == "x")
    return found


def _why_refused(skill: LockedSkill) -> str:
    if not (skill.digest.startswith("sha256:") and _HASH.fullmatch(skill.digest, 7)):
        return "its digest is none"
    if not all(map(is_plain_name, (*skill.to, *skill.dependencies))):
        return "'to' and 'dependencies' are lists of names"
    return why_bad_origin(skill.origin, skill.commit)


def _invalid(path: str, message: str) -> ClawftError:
    hint = "Restore it from version control or a backup; or move it away, and install the skills again"
    return ClawftError("lock-invalid", f"The lock is not followed. {message}", path=path, hint=hint)


_BEGIN, _BASE, _MIDDLE, _END = (re.compile(rf"{re.escape(char * 7)}(?: .*)?") for char in "<|=>")


class MergedLock(Struct, frozen=True):
    """The merge of two lock versions: what both agree on or only one has, and the names that the user must decide
    about."""

    skills: dict[str, LockedSkill]
    undecided: tuple[str, ...]
    ours: dict[str, LockedSkill]
    theirs: dict[str, LockedSkill]


def merge_conflicted_lock(data: bytes, path: str) -> MergedLock:
    """Both versions as one. Raises: ClawftError where one of them is no lock by itself."""
    ours, theirs = (parse_lock(side, path) for side in _split(data))
    both = {**theirs, **ours}
    undecided = tuple(sorted(name for name in ours.keys() & theirs.keys() if ours[name] != theirs[name]))
    return MergedLock({name: skill for name, skill in both.items() if name not in undecided}, undecided, ours, theirs)


def _split(data: bytes) -> tuple[bytes, bytes]:
    """The two versions; what was before both, where git shows that, is in neither."""
    sides: tuple[list[str], list[str]] = ([], [])
    within: tuple[int, ...] = (0, 1)
    for line in data.decode(errors="surrogateescape").splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if _BEGIN.fullmatch(bare) and within == (0, 1):
            within = (0,)
        elif _BASE.fullmatch(bare) and within == (0,):
            within = ()
        elif _MIDDLE.fullmatch(bare) and within in ((0,), ()):
            within = (1,)
        elif _END.fullmatch(bare) and within == (1,):
            within = (0, 1)
        else:
            for side in within:
                sides[side].append(line)
    ours, theirs = ("".join(side).encode(errors="surrogateescape") for side in sides)
    return ours, theirs
