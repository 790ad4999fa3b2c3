"""Checks on a skill before the hub stores it: names, paths, sizes, its manifest and the scanner's verdict."""

import os
import re
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from clawft import __version__
from clawft.config.registries import HubSettings
from clawft.errors import ClawftError, Refused
from clawft.files import remove_folder
from clawft.install.archive.hashes import clawhub_fingerprint, counts_for_clawhub
from clawft.install.archive.unpack import unpack
from clawft.install.publish.versions import is_version
from clawft.scanner.processes import ScanProcess, ScanRequest
from clawft.server.hub.model import CheckedDraft, HubVersion, PublicationDraft
from clawft.server.hub.queries import check_quota, check_sizes
from clawft.server.hub.store import META, HubStore, VersionExists, make_archive
from clawft.server.tokens import is_name
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.skill_files import parse_file
from clawft.skills.discovery.walk import load_file
from clawft.skills.parse.diagnostics import DiagnosticCollector
from clawft.skills.parse.fields import json_safe
from clawft.skills.parse.model import LEFT_OUT, Skill
from clawft.skills.parse.text import decode_text, split_frontmatter
from clawft.skills.parse.yaml import load_yaml

SCAN_S = 60.0
MAX_NAME = 120
MAX_CHANGELOG = 20_000
MAX_PATH = 400
MAX_TAGS = 20  # of one version
MAX_SUMMARY = 1_024  # as much as a description should have; lists show it, and all of it is in SKILL.md
TAGS = f"Tags are small letters, digits, '.', '_' and '-', at most {MAX_TAGS} of them"
_MAX_FRONT = 16_384
_LAID_OUT = "weft-hub-"
_LEFT_S = 3_600.0  # longer than anybody needs to publish
_SLUG = re.compile(r"[a-z0-9](?:(?!--)[a-z0-9-])*[a-z0-9]")
_TAG = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_UNSAFE = re.compile(r'[\x00-\x1f\x7f-\x9f\\:*?"<>|\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]')


def is_slug(name: str) -> bool:
    """Return whether a skill may be called so, which is what ClawHub allows."""
    return 3 <= len(name) <= 96 and _SLUG.fullmatch(name) is not None


def is_tag(name: str) -> bool:
    """Return whether a version may be tagged so."""
    return _TAG.fullmatch(name) is not None


class SkillPublisher:
    """The way into a store. Threads may use it; it has one process that scans, begun when it is needed."""

    def __init__(self, store: HubStore, settings: HubSettings, *, scan_s: float = SCAN_S) -> None:
        self._store = store
        self._settings = settings
        self._scanner = ScanProcess(scan_s)

    def take(
        self, draft: PublicationDraft, publisher: str, is_awaited: Callable[[str], bool] = lambda _sha256: False
    ) -> HubVersion:
        """Check and store a version. A refused one leaves nothing, apart from bytes that another upload sent too.

        Raises: Refused, VersionExists, ClawftError.
        """
        try:
            return self._take(draft, publisher)
        except (Refused, VersionExists):
            self._store.discard([file.sha256 for file in draft.files if not is_awaited(file.sha256)])
            raise

    def sweep(self, older_s: float = _LEFT_S) -> None:
        """Take away what was laid out by one who was killed meanwhile."""
        before = time.time() - older_s
        with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
            for entry in entries:
                if entry.name.startswith(_LAID_OUT) and _is_ours(entry.stat(follow_symlinks=False), before):
                    with suppress(OSError):
                        remove_folder(entry.path)

    def close(self) -> None:
        self._scanner.close()

    def _take(self, draft: PublicationDraft, publisher: str) -> HubVersion:
        quota = self._settings.quota
        _check_names(draft)
        _check_paths(draft)
        check_sizes(draft, quota)
        checked = self._check(draft)
        if checked.verdict == "malicious" or (checked.verdict == "suspicious" and self._settings.refuse_suspicious):
            rules = ", ".join(checked.reasons[:8]) or "see weft skills scan"
            message = f"The scanner calls it {checked.verdict}: {rules}"
            raise Refused(f"hub-{checked.verdict}", message, hint="Nothing was kept. Run: weft skills scan DIR")
        return self._store.publish(draft, checked, publisher, quota)

    def _check(self, draft: PublicationDraft) -> CheckedDraft:
        contents = [(file, self._store.blobs.get(file.sha256)) for file in draft.files]
        for file, content in contents:
            if len(content) != file.size:
                raise Refused("hub-path", f"'{file.path[:200]}' has {len(content)} bytes, not {file.size}")
        check_quota(self._store.database.read, draft, self._settings.quota)
        with tempfile.TemporaryDirectory(prefix=_LAID_OUT) as place:
            archive, folder = os.path.join(place, "files.zip"), os.path.join(place, draft.slug)
            with open(archive, "wb") as target:
                target.write(make_archive(contents))
            os.mkdir(folder, 0o700)
            unpack(archive, folder)  # so that it is refused here for all that a client would refuse
            skill, front = _read_skill(folder)
            digest = compute_digest(folder)
            if not digest.value:
                raise Refused("hub-skill", "No digest can be taken of it", hint=str(digest.diagnostics[:1]))
            report = self._scanner.scan(ScanRequest(folder))
        _check_report(report, digest.value)
        counted = [
            (file.path, file.sha256)
            for file, content in contents
            if counts_for_clawhub(file.path, content) and file.path != "skill-card.md"
        ]
        serious_rules = [
            finding["rule"] for finding in report["findings"] if finding["severity"] not in ("low", "info")
        ]
        return CheckedDraft(
            digest=digest.value,
            fingerprint=clawhub_fingerprint(counted) or "",
            verdict=report["verdict"],
            summary=_shorten(skill.description),
            reasons=tuple(dict.fromkeys(serious_rules)) if report["verdict"] != "clean" else (),
            engine=__version__,
            front=front,
            dependencies=tuple(dict.fromkeys((*skill.dependencies, *skill.requires.skills))),
        )


def _is_ours(found: os.stat_result, before: float) -> bool:
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and found.st_mtime < before


def _check_report(report: dict[str, Any], digest: str) -> None:
    """Nothing is taken of which nothing is known. Raises: Refused."""
    failed = [gap["reason"] for gap in report["coverage"]["gaps"] if gap["failed"]]
    if failed or report["digest"] != digest:
        reason = failed[0] if failed else "it is not what was sent"
        raise Refused("hub-scan", f"It could not be scanned: {reason}", hint="Nothing was kept")


def _check_names(draft: PublicationDraft) -> None:
    """Raises: ClawftError."""
    if not is_name(draft.owner):
        raise _bad("hub-owner", f"'{draft.owner[:60]}' cannot be the name of an owner")
    if not is_slug(draft.slug):
        hint = "3 to 96 small letters, digits and single hyphens"
        raise _bad("hub-slug", f"'{draft.slug[:100]}' cannot be the name of a skill", hint)
    if not is_version(draft.version):
        raise _bad("hub-version", f"'{draft.version[:80]}' is no version", "Write it as 1.2.3")
    name = draft.display_name
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise _bad("hub-name", f"The name to show has to be one line of up to {MAX_NAME} characters")
    if len(draft.changelog) > MAX_CHANGELOG or _CONTROL.search(draft.changelog):
        message = f"The changelog has to be a text of up to {MAX_CHANGELOG} characters, none of them for a terminal"
        raise _bad("hub-name", message)
    if len(draft.tags) > MAX_TAGS or not all(map(is_tag, draft.tags)):
        raise _bad("hub-tag", TAGS)


def _check_paths(draft: PublicationDraft) -> None:
    """Paths that mean the same file everywhere, inside the skill, which nobody leaves out. Raises: Refused."""
    for file in draft.files:
        parts = file.path.split("/")
        unsafe = _UNSAFE.search(file.path) or any(part in ("", ".", "..") or part[-1] in " ." for part in parts)
        if unsafe or len(file.path) > MAX_PATH or not LEFT_OUT.isdisjoint(parts):
            raise Refused("hub-path", f"{file.path[:200]!a} cannot be the path of a file", hint="Nothing was kept")
        if file.path == META:
            raise Refused("hub-path", f"'{META}' is what the hub adds by itself", hint="Leave it out")
    paths = {file.path for file in draft.files}
    if len(paths) < len(draft.files):
        raise Refused("hub-path", "A file is there twice", hint="Nothing was kept")
    if "SKILL.md" not in paths:
        raise Refused("hub-skill", "There is no SKILL.md", hint="A skill has one at its root")


def _read_skill(folder: str) -> tuple[Skill, str]:
    """The skill of a folder, and its frontmatter as JSON. Raises: ClawftError when it is broken."""
    file = load_file(folder, "SKILL.md", folder)
    try:
        skill = parse_file(file, folder, 1 << 20)
        text = decode_text(file.data, file.name).text
        front = split_frontmatter(text, file.name, "skill")
    except ClawftError as error:
        message = f"SKILL.md cannot be used: {error}"
        raise Refused("hub-skill", message, hint=error.hint or "Run: weft skills validate DIR") from error
    if not skill.description.strip():
        raise Refused("hub-skill", "SKILL.md has no description", hint="Say in it what the skill is for, and when")
    written = load_yaml(front.yaml, DiagnosticCollector(file.name))[0] if front else None
    safe = json_safe(written) if isinstance(written, dict) else {}
    encoded = msgspec.json.encode(safe) if safe == written else b"{}"  # as it is written, or not at all
    return skill, encoded.decode() if len(encoded) <= _MAX_FRONT else "{}"


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_SUMMARY else f"{text[: MAX_SUMMARY - 1]}…"


def _bad(code: str, message: str, hint: str = "Nothing was kept") -> ClawftError:
    return ClawftError(code, message, hint=hint)
