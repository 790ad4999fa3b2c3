"""JSON documents of one skill in full: its fields, files, scan report and line in the model's catalog."""

import errno
import os
import stat
from codecs import getincrementaldecoder
from typing import Any

import msgspec

from clawft.app.app import App, entry_of
from clawft.errors import ClawftError, NotFound, Refused, Unreadable
from clawft.server.protocol.base import to_problem
from clawft.server.protocol.skills import FileEntry, SkillDetail, SkillFile, SkillSummary
from clawft.server.views.review import brought_json, is_executable, load_scanned, scanned_json, walk_files
from clawft.server.views.skills import digest_of, view_skill
from clawft.skills.discovery import DiscoveredSkill
from clawft.skills.discovery.hooks import load_skill_hooks
from clawft.skills.parse.model import Skill
from clawft.trust.status import SkillStatus

MAX_BYTES = 256_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


def load_skill_file(skill_status: SkillStatus, path: str, digest: str) -> SkillFile:
    """One of its listed files, as far as it is bounded; with a `digest`, only of the skill that has it.

    Raises: NotFound, Unreadable, Refused where the skill is another by now.
    """
    found = skill_status.found
    folder = found.base_dir or os.path.dirname(found.file)
    if path not in (walk_files(folder) if found.base_dir else [os.path.basename(found.file)]):
        raise NotFound("no-such-path", f"The skill '{skill_status.name}' has no file '{path}'", path=folder)
    content, size = _read(folder, path)
    now = digest_of(skill_status).value  # after it was read: what came in between is seen
    if digest and digest != now:
        raise Refused("skill-changed", "The skill changed since it was looked at", path=folder, hint="Look at it again")
    is_cut = size > len(content)
    return SkillFile(
        name=skill_status.name, path=path, size=size, text=_decode(content, is_cut), cut=is_cut, digest=now
    )


def _read(folder: str, path: str) -> tuple[bytes, int]:
    """Its first bytes and its whole size; a link is followed nowhere on the way. Raises: Unreadable."""
    *between, name = path.split("/")
    try:
        at = os.open(folder, _FOLDER)
        try:
            for name_part in between:
                inner = os.open(name_part, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
                os.close(at)
                at = inner
            descriptor = os.open(name, _FILE, dir_fd=at)
        finally:
            os.close(at)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise Unreadable("not-a-file", "This is not a regular file", path=path)
            content = file.read(MAX_BYTES)
            return content, max(status.st_size, len(content))
    except OSError as error:
        is_link = error.errno == errno.ELOOP
        message = "It is a link, which is not followed" if is_link else f"The file cannot be read: {error.strerror}"
        raise Unreadable("is-a-link" if is_link else "unreadable", message, path=path) from error


def _decode(content: bytes, is_cut: bool) -> str | None:
    """None for what is no text."""
    if b"\0" in content:
        return None
    try:
        return getincrementaldecoder("utf-8")().decode(content, final=not is_cut)
    except UnicodeDecodeError:
        return None


MAX_FILES = 2_000
_BUDGET = 12_000  # what the catalog of a model that is not known may take


def view_skill_detail(app: App, status: SkillStatus) -> SkillDetail:
    """A skill with its text, its files, what the scanner says of it, and its line in the catalog of a model."""
    found, digest = status.found, digest_of(status)
    fields = all_fields(status, view_skill(status, digest))
    fields["brings_hooks"] = brought_json(load_skill_hooks([found]), found.skill, found.file)
    entry = entry_of(app, status)
    return SkillDetail(
        summary=view_skill(status, digest),
        fields=fields,
        body=load_body(app, found),
        model_sees=_line_of(status),
        files=_list_files(found.base_dir),
        scan=scanned_json(load_scanned(app, status)),
        diagnostics=tuple(map(to_problem, (*app.diagnose(found), *digest.diagnostics))),
        requires_approval=app.trust_policy.requires_approval(found),
        enabled=entry.enabled,
        pinned=entry.pinned,
    )


def all_fields(status: SkillStatus, summary: SkillSummary) -> dict[str, Any]:
    """Every field of a skill that its summary does not have."""
    skill = status.found.skill or Skill(name=status.name)
    hidden = {"prompt", "diagnostics", *summary.__struct_fields__}
    others = {name: getattr(skill, name) for name in skill.__struct_fields__ if name not in hidden}
    fields: dict[str, Any] = msgspec.to_builtins(others)
    return fields


def load_body(app: App, found: DiscoveredSkill) -> str:
    """The text of a skill as it stands there; '' for what cannot be read: the diagnostics say why."""
    try:
        return app.load_prompt(found).prompt or ""
    except ClawftError:
        return ""


def _line_of(status: SkillStatus) -> str:
    """Return the line that a model sees of a skill before it loads it; '' for a skill that is not offered to models."""
    from clawft.agent.catalog import render_catalog
    from clawft.agent.prompt import render_offered_skill  # they bring all of a turn, which a command does without

    skill = status.found.skill
    if skill is None or not status.offered:
        return ""
    return render_catalog([(skill.name, render_offered_skill(status))], _BUDGET).text


def _list_files(folder: str) -> tuple[FileEntry, ...]:
    names = walk_files(folder)[:MAX_FILES] if folder else []
    return tuple(
        FileEntry(path=name, size=_size(os.path.join(folder, name)), executable=is_executable(folder, name))
        for name in names
    )


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:  # it went away meanwhile
        return 0
