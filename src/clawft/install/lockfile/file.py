"""Our lock on disk: read with suspicion, written the same for the same state.

`skills.lock` has a `version` and a `[skill.NAME]` block for each skill, in the order of their bytes, with one file per
line: sha256, size, `x` if it is executable, path. A field that this version does not know is refused: it may matter.
"""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import structs

from clawft.errors import ClawftError
from clawft.files import check_version, read_optional, replace_file
from clawft.format.toml import read_toml
from clawft.locks.check import compute_locked, is_digest, is_plain_name, is_plain_path, why_bad_origin
from clawft.locks.layout import FIELDS, read_quickly, render_value
from clawft.locks.model import LockedFile, LockedSkill, Origin
from clawft.locks.names import HEAD, LOCK_NAME, MAX_LOCK_BYTES, VERSION

__all__ = [
    "LOCK_NAME",
    "MAX_LOCK_BYTES",
    "check_block",
    "load_lock",
    "parse_lock",
    "read_block",
    "render_lock",
    "split_lock",
    "write_lock",
]

MAX_SKILLS = 20_000
_MARKER = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?: |\r?$)", re.MULTILINE)
_FILE = re.compile(r"([0-9a-f]{64}) ([0-9]{1,12}) ([x-]) (.+)", re.DOTALL)
_ORIGIN = frozenset(Origin.__struct_fields__)
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
    """The same from its bytes; `path` is for what is said."""
    found = {name: read_block(name, block, path) for name, block in split_lock(data, path).items()}
    for skill in found.values():
        if not found.keys() >= set(skill.dependencies):
            missing = ", ".join(sorted(set(skill.dependencies) - found.keys()))
            raise _invalid(path, f"'{skill.name}' depends on what it does not name: {missing}")
    return found


def split_lock(data: bytes, path: str) -> dict[str, Mapping[str, Any]]:
    """What stands in each block, by the name of the skill, not looked at yet. Raises: ClawftError."""
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
    files = [_render_file(*one) for one in sorted(skill.files.items(), key=lambda one: one[0].encode())]
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
        match = _FILE.fullmatch(line) if isinstance(line, str) else None
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
    if not is_digest(skill.digest):
        return "its digest is none"
    if not all(map(is_plain_name, (*skill.to, *skill.dependencies))):
        return "'to' and 'dependencies' are lists of names"
    return why_bad_origin(skill.origin, skill.commit)


def _invalid(path: str, message: str) -> ClawftError:
    hint = "Restore it from version control or a backup; or move it away, and install the skills again"
    return ClawftError("lock-invalid", f"The lock is not followed. {message}", path=path, hint=hint)
