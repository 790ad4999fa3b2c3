"""A skill before others get it: packed, unpacked again, and that looked at. Broken skills and secrets stop it."""

import os
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from msgspec import Struct, structs

from clawft.config.masking import Secrets
from clawft.discovery import Found, Location, load_catalog
from clawft.discovery.digest import compute_digest
from clawft.discovery.read import load_bytes
from clawft.errors import ClawftError, Diagnostic, NotFound, Refused
from clawft.files import read_regular
from clawft.format import check_spec, decode_text
from clawft.packing.ignore import SIGNATURE, Chosen, LeftOut, choose_files
from clawft.packing.limits import SKILL
from clawft.packing.pack import Packed, write_skill
from clawft.packing.unpack import unpack
from clawft.publishing.scaffold import check_finished
from clawft.publishing.secrets import OWN_SECRET, check_secrets
from clawft.scan.batch import scan_target
from clawft.scan.findings import Report
from clawft.scan.screening import screen_report
from clawft.scan.targets import Target
from clawft.signing.publishers import Publishers
from clawft.signing.statements import Statement
from clawft.trust.overrides import Override

__all__ = ["Prepared", "check_ready", "check_text", "find_skill_at", "prepare"]

_REQUIRED = ("spec-name", "spec-description", "spec-frontmatter", "spec-yaml", "spec-file")


class Prepared(Struct, frozen=True):
    """A skill as others will get it: the archive, the folder it unpacks to, and all there is to say about it.

    Both are gone when `prepare` is left. The paths of diagnostics are those in the skill.
    """

    name: str
    version: str
    source: str  # where it was packed from
    found: Found
    folder: str
    archive: str
    chosen: Chosen
    packed: Packed
    digest: str
    said: tuple[Diagnostic, ...]
    report: Report
    objections: tuple[str, ...] = ()  # rules of the scanner that keep it from being given to anybody


def find_skill_at(folder: str, max_prompt_bytes: int) -> Found:
    """The skill whose folder this is. Raises: ClawftError for a folder that is none, or one that is broken."""
    if not os.path.isdir(folder):
        raise NotFound(
            "no-skill-here", "There is no such folder", path=folder, hint="A skill is a folder with a SKILL.md"
        )
    catalog = load_catalog([Location("dir", folder, folder)], max_prompt_bytes=max_prompt_bytes)
    found = next((one for one in catalog.found if one.folder == folder), None)
    if found is None:
        inner = [os.path.relpath(one.folder, folder) for one in catalog.found]
        hint = f"One at a time: {', '.join(sorted(inner)[:10])}" if inner else "A skill is a folder with a SKILL.md"
        raise NotFound("no-skill-here", "There is no SKILL.md in this folder", path=folder, hint=hint)
    if found.skill is None:
        why = found.problem or Diagnostic("skill-broken", "error", "It cannot be read")
        raise ClawftError("skill-broken", f"The skill is broken: {why.message}", path=why.path, line=why.line)
    return found


@contextmanager
def prepare(
    folder: str, max_prompt_bytes: int, own: Secrets | None = None, overrides: Sequence[Override] = ()
) -> Iterator[Prepared]:
    """Pack a skill into a place of its own and look at what comes out there.

    `own` are secrets of the user, `overrides` the exceptions that they made for rules of the scanner.

    Raises: ClawftError where there is no skill; Refused for links and the like; OSError.
    """
    found = find_skill_at(folder, max_prompt_bytes)
    chosen = choose_files(folder)
    document = os.path.basename(found.file)
    if all(one.path != document for one in chosen.files):
        raise ClawftError("pack-left-out", f"An ignore file leaves out {document}", path=found.file)
    name = found.name
    with tempfile.TemporaryDirectory(prefix="weft-pack-") as place:
        archive = os.path.join(place, f"{name}.skill")
        target = os.path.join(place, name)
        packed = write_skill(archive, name, chosen.files)
        unpack(archive, place, SKILL)
        digest = compute_digest(target).value
        there = find_skill_at(target, max_prompt_bytes)
        data, _ = load_bytes(there.file, there.location.path)
        stated = there.skill.version if there.skill else ""
        version = stated if b"version" in data else ""  # one that says nothing has the version that all begin with
        kept = _without_signature(target, chosen, Statement(name, stated, digest))
        if kept is not chosen:
            copied = (structs.replace(one, place=os.path.join(target, one.path)) for one in kept.files)
            packed = write_skill(archive, name, copied)  # the folder itself may be another one by now
            os.unlink(os.path.join(target, SIGNATURE))
        report = scan_target(Target(target))
        said = (*_check_format(there), *_check_left_out(there, kept), *_check_contents(kept, target, own))
        made = [one for one in overrides if one.path == folder]
        rules = _find_objections(report, made, (compute_digest(folder).value, digest))
        yield Prepared(
            name, version, folder, there, target, archive, kept, packed, digest, _below(said, target), report, rules
        )


def check_ready(prepared: Prepared, *, allow_findings: bool = False) -> None:
    """Raises: Refused when nobody should get it. What may be a mistake of ours can be allowed, the rest cannot."""
    errors = [one for one in prepared.said if one.severity == "error"]
    broken = [one for one in errors if not one.code.startswith("secret-")]
    secrets = [one for one in errors if one.code.startswith("secret-")]
    source = shlex.quote(prepared.source)
    if broken:
        hint = f"Run: weft skills fix {source}"
        raise Refused("skill-not-ready", f"{_count(broken, 'thing')} to mend first", hint=hint)
    scan = f"Run: weft skills scan {source}"
    if prepared.report.failed:
        raise Refused("scan-failed", "It could not be scanned, so nothing is known of it", hint=scan)
    if prepared.objections:
        message = f"The scanner calls it malicious: {', '.join(prepared.objections[:8])}"
        raise Refused("skill-malicious", message, hint=scan)
    if any(one.code == OWN_SECRET for one in secrets):
        raise Refused("skill-secrets", "It holds a secret of yours", hint="Take it out of the skill")
    if secrets and not allow_findings:
        hint = "Take them out; if they are none: --allow-findings"
        raise Refused("skill-secrets", f"It holds what looks like {_count(secrets, 'secret')}", hint=hint)


def check_text(what: str, text: str, own: Secrets | None, *, allow_findings: bool = False) -> None:
    """Raises: Refused for a text that goes out with a skill and holds a secret."""
    found = check_secrets(what, text.encode("utf-8", "replace"), own)
    if any(one.code == OWN_SECRET for one in found) or (found and not allow_findings):
        hint = "Take it out" + ("" if allow_findings else "; if it is none: --allow-findings")
        raise Refused("skill-secrets", f"The {what} holds a secret, or what looks like one", hint=hint)


def _count(items: list[Diagnostic], noun: str) -> str:
    return f"{len(items)} {noun}{'s' * (len(items) != 1)}"


def _find_objections(report: Report, overrides: Sequence[Override], digests: tuple[str, ...]) -> tuple[str, ...]:
    """The rules that call it malicious and that nobody made an exception for, for this very content."""
    screening = screen_report(report)
    if screening is None or screening.verdict != "malicious":
        return ()
    now = datetime.now().astimezone()
    held = {
        one.rule: any(
            made.rule == one.rule and made.digest in digests and not made.why_void(one, made.digest, now)
            for made in overrides
        )
        for one in screening.critical
    }
    return tuple(sorted(rule for rule, allowed in held.items() if not allowed)) if held else ("malicious",)


def _without_signature(folder: str, chosen: Chosen, statement: Statement) -> Chosen:
    """A signature of something else, as of the skill before its last change, is not given to anybody."""
    if all(one.path != SIGNATURE for one in chosen.files):
        return chosen
    from clawft.signing.check import check_signature

    if check_signature(folder, statement, Publishers()).state != "bad":
        return chosen
    files = tuple(one for one in chosen.files if one.path != SIGNATURE)
    return Chosen(files, (LeftOut(SIGNATURE, "not of these files; sign again"), *chosen.left_out))


def _check_format(found: Found) -> Iterator[Diagnostic]:
    """What is odd about the file; what keeps other clients from loading it is an error."""
    yield from found.skill.diagnostics if found.skill else ()
    yield from check_finished(found)
    if os.path.basename(found.file) != "SKILL.md":
        yield Diagnostic("spec-file", "error", "The file of a skill is called SKILL.md", found.file)
        return
    data, _ = load_bytes(found.file, found.location.path)
    for one in check_spec(decode_text(data, found.file).text, os.path.basename(found.folder), found.file):
        eased = one.severity == "error" and one.code not in _REQUIRED
        yield structs.replace(one, severity="warning") if eased else one


def _check_left_out(found: Found, chosen: Chosen) -> Iterator[Diagnostic]:
    """What the skill names, and others will not find."""
    data, _ = load_bytes(found.file, found.location.path)
    text = data.decode("utf-8", "replace")
    for one in chosen.left_out:
        if one.reason == "ignored" and one.path in text:
            message = f"It names '{one.path}', which an ignore file leaves out"
            line = text.count("\n", 0, text.index(one.path)) + 1
            yield Diagnostic("pack-left-out", "error", message, found.file, line)


def _check_contents(chosen: Chosen, folder: str, own: Secrets | None) -> Iterator[Diagnostic]:
    for one in chosen.files:
        if one.path != SIGNATURE:
            data, _ = read_regular(os.path.join(folder, one.path), SKILL.max_file_bytes)
            yield from check_secrets(one.path, data, own)


def _below(said: tuple[Diagnostic, ...], folder: str) -> tuple[Diagnostic, ...]:
    return tuple(structs.replace(one, path=one.path.removeprefix(f"{folder}/")) for one in said)
