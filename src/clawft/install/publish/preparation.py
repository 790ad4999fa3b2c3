"""Prepare a skill for publication: pack it, unpack it again, and check it for errors and secrets."""

import itertools
import math
import os
import re
import shlex
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from msgspec import Struct, structs

from clawft.config.redaction import MASK, Secrets
from clawft.errors import ClawftError, Diagnostic, NotFound, Refused
from clawft.files import read_regular
from clawft.install.archive.pack import SIGNATURE, ChosenFiles, ExcludedFile, PackedArchive, choose_files, write_skill
from clawft.install.archive.target import SKILL
from clawft.install.archive.unpack import unpack
from clawft.install.publish.scaffold import check_finished
from clawft.scanner.batch import ScannedPath, scan_target
from clawft.scanner.findings import Report
from clawft.scanner.intake.formats import MAX_DEPTH, EmbeddedFile, EmbeddedText, UnpackBudget, find_form, find_opener
from clawft.scanner.screening import screen_report
from clawft.scanner.vocabulary.secrets import find_secret_path, is_secret_env
from clawft.skills.discovery import DiscoveredSkill, Location, load_catalog
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.walk import load_bytes
from clawft.skills.parse.text import decode_text
from clawft.skills.parse.validation import check_spec
from clawft.trust.overrides import Override
from clawft.trust.signing.publishers import Publishers, SkillStatement

OWN_SECRET = "secret-own"
_MAX_REPORTED = 20  # of one file
_FORMS: tuple[tuple[str, tuple[str, ...], str], ...] = (  # what it is, what it cannot be without, and its form
    ("a token of GitHub", ("gh", "github_pat_"), r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{50,255}"),
    ("a token of GitLab", ("glpat-",), r"glpat-[\w-]{20,255}"),
    ("a key of AWS", ("AKIA", "ASIA"), r"(?:AKIA|ASIA)[0-9A-Z]{16}"),
    ("a key of Google", ("AIza",), r"AIza[\w-]{35}"),
    ("a key of Anthropic", ("sk-ant-",), r"sk-ant-[\w-]{24,255}"),
    ("a key of OpenRouter", ("sk-or-v1-",), r"sk-or-v1-[0-9a-f]{32,255}"),
    ("a key of OpenAI", ("sk-",), r"sk-(?!ant-|or-)(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,255}"),
    ("a key of Stripe", ("k_live_",), r"[sr]k_live_[A-Za-z0-9]{20,255}"),
    ("a token of Slack", ("xox",), r"xox[abeoprs]-[\w-]{20,255}"),
    ("a webhook of Slack", ("hooks.slack",), r"hooks\.slack\.com/services/T\w{6,20}/B\w{6,20}/\w{16,64}"),
    ("a webhook of Discord", ("/webhooks/",), r"/api/webhooks/\d{15,25}/[\w-]{40,100}"),
    ("a token of Telegram", (":AA",), r"(?<!\d)\d{8,10}:AA[\w-]{33}"),
    ("a token of Hugging Face", ("hf_",), r"hf_[A-Za-z0-9]{30,255}"),
    ("a token of npm", ("npm_",), r"npm_[A-Za-z0-9]{36}"),
    ("a token of PyPI", ("pypi-",), r"pypi-[\w-]{60,255}"),
    ("a key of SendGrid", ("SG.",), r"SG\.[\w-]{20,64}\.[\w-]{30,64}"),
    ("a token of a hub of skills", ("clh_",), r"clh_[\w-]{20,255}"),
    ("a key of age", ("AGE-SECRET-KEY-",), r"(?<=AGE-SECRET-KEY-)1[0-9A-Z]{50,64}"),
    ("a signed token", (".eyJ",), r"eyJ[\w-]{16,2000}\.eyJ[\w-]{16,4000}\.[\w-]{20,1000}"),
    ("a password in an address", ("://",), r"://[^\s/?#@:'\"<>{}$]{0,100}:[^\s/?#@'\"<>{}$]{6,100}(?=@[\w.-])"),
)
_ASSIGNED = re.compile(r"[:=]>?\s{0,3}[\"']([\w+/=.~!@#%^&*-]{16,200})[\"']")
_BARE = re.compile(  # without quotes, as files of settings have it; one that is carried in a request
    r"(?:[:=]>?[ \t]{0,3}|(?P<bearer>Bearer ))([\w+/.~!@#%^&*-][\w+/=.~!@#%^&*-]{15,199}+)(?=[\s;,&)\"']|\Z)"
)
_RUN = re.compile(r"[A-Za-z0-9+/]{16,}")
_OPENED = frozenset({"zip", "tar", "gzip", "bzip2", "xz", "lzma", "ar", "zstd"})
_OPENING_S = 20.0
_DIGITS, _SCATTERED = re.compile(r"\d+"), 2  # a name of something has them in one place, as `Ed25519PrivateKey`
_NAME = re.compile(r"([A-Za-z_][\w.-]{1,60})[\"']?\s{0,3}:?\Z")
_MAX_NAME = 70
_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BYTES = re.compile(r"[A-Za-z0-9+/=]{40,}")
_STANDS_FOR_ONE = re.compile(
    r"example|your|my[_-]?|placeholder|change.?me|dummy|fake|sample|redacted|secret.?(here|key)|insert|replace|todo|test"
    r"|x{4,}|\*{3,}|\.{3,}|0{6,}|1234567|abcdefg|deadbeef|[<>${}]|(.)\1{5,}|user:pass|:password$|:pass(wd)?$",
    re.IGNORECASE,
)
_SURE, _LIKELY = 3.0, 3.5  # bits for each character: of a form that is known, and of one that is not


def check_secrets(path: str, data: bytes, own: Secrets | None = None) -> list[Diagnostic]:
    """Check one file of a skill for secrets, which are errors; `own` are the user's, which no skill may hold.

    Archives are searched too, with the archives in them, as deep as the scanner opens them.
    """
    inside = _open(path, data, UnpackBudget(time.monotonic() + _OPENING_S))
    found = itertools.chain(_check(path, data, own), *(_check(name, part, own) for name, part in inside))
    return list(itertools.islice(found, _MAX_REPORTED))


def _open(path: str, data: bytes, room: UnpackBudget, depth: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield the parts of an archive, each with its path."""
    form = find_form(data)
    if form not in _OPENED or depth == MAX_DEPTH:
        return
    for part in find_opener(form)(data, room):
        if isinstance(part, EmbeddedFile):
            inner = f"{path}/{part.name}"
            yield inner, part.data
            yield from _open(inner, part.data, room, depth + 1)
        elif isinstance(part, EmbeddedText):
            yield f"{path}/{part.name}", part.text.encode("utf-8", "replace")


def _check(path: str, data: bytes, own: Secrets | None) -> list[Diagnostic]:
    diagnostics: list[Diagnostic] = []
    if what := find_secret_path(path):
        hint = f"Leave it out: write '{path}' into .clawftignore"
        diagnostics.append(Diagnostic("secret-file", "error", f"By its name this is {what}", path, hint=hint))
    if own and own.find(path, 0):
        diagnostics.append(
            _say(OWN_SECRET, "One of the secrets of your own config stands in its name", own.mask(path), 0)
        )
    for text in _read(data):
        if own and (match := own.find(text, 0)):
            line = text.count("\n", 0, match.start()) + 1
            diagnostics.append(_say(OWN_SECRET, "One of the secrets of your own config stands here", path, line))
        ways = itertools.chain(_find_keys(text), _find_forms(text), _find_assigned(text), _find_bare(text))
        found = list(itertools.islice(ways, _MAX_REPORTED))
        kinds_by_line = {
            text.count("\n", 0, at) + 1: kind for at, kind in reversed(found)
        }  # of one line the first is enough
        diagnostics += [
            _say("secret-in-file", f"This looks like {kind}", path, line)
            for line, kind in sorted(kinds_by_line.items())
        ]
    return list(dict.fromkeys(diagnostics))[:_MAX_REPORTED]


def _read(data: bytes) -> Iterator[str]:
    """The text of a file; and where it may be one of two or four bytes for each character, that text."""
    yield data.decode("utf-8", "replace")
    if b"\0" in data:
        yield data.replace(b"\0", b"").decode("utf-8", "replace")


def _find_keys(text: str) -> Iterator[tuple[int, str]]:
    for match in _BEGIN.finditer(text):
        if _KEY_BYTES.search(text, match.end(), match.end() + 400):
            yield match.start(), "a private key"


def _find_forms(text: str) -> Iterator[tuple[int, str]]:
    for kind, parts, form in _FORMS:
        if any(part in text for part in parts):
            for match in re.finditer(form, text):
                before = text[match.start() - 1 : match.start()]
                inside = match[0][0].isalnum() and (before.isalnum() or before in ("+", "_"))  # of base64, or of a word
                if not inside and not _STANDS_FOR_ONE.search(match[0]) and _weigh(match[0]) >= _SURE:
                    yield match.start(), f"{kind}: {_shorten(match[0].removeprefix('://'))}"


def _find_assigned(text: str) -> Iterator[tuple[int, str]]:
    """Random texts that are given to something whose name says that it is secret."""
    for match in _ASSIGNED.finditer(text):
        value = match[1]
        if not (any(map(str.isdigit, value)) and any(map(str.isalpha, value))) or value[0] == "/":
            continue
        name = _NAME.search(text, max(0, match.start() - _MAX_NAME), match.start())
        if name is None or not is_secret_env(name[1].replace(".", "_").replace("-", "_")):
            continue
        if not _STANDS_FOR_ONE.search(value) and _weigh(value) >= _LIKELY:
            yield match.start(), f"the value of '{name[1]}': {_shorten(value)}"


def _find_bare(text: str) -> Iterator[tuple[int, str]]:
    """The same without quotes, where code and words look much alike: it must have a long piece that is no word."""
    for match in _BARE.finditer(text):
        value, run = match[2], max(_RUN.findall(match[2]), key=len, default="")
        if len(_DIGITS.findall(run)) < _SCATTERED or _weigh(run) < _LIKELY or _STANDS_FOR_ONE.search(value):
            continue
        if match["bearer"]:
            yield match.start(), f"a token: {_shorten(value)}"
            continue
        name = _NAME.search(text, max(0, match.start() - _MAX_NAME), match.start())
        if name and value[0] != "/" and is_secret_env(name[1].replace(".", "_").replace("-", "_")):
            yield match.start(), f"the value of '{name[1]}': {_shorten(value)}"


def _weigh(text: str) -> float:
    """Compute the entropy of a text in bits per character: words have little, keys much."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def _shorten(secret: str) -> str:
    """Enough of a secret to find it by."""
    return f"{secret[:6]}{MASK}"


def _say(code: str, message: str, path: str, line: int) -> Diagnostic:
    return Diagnostic(code, "error", message, path, line, hint="Take it out, and make a new one: this one was on disk")


_REQUIRED = ("spec-name", "spec-description", "spec-frontmatter", "spec-yaml", "spec-file")


class PreparedSkill(Struct, frozen=True):
    """A skill as others will get it: the archive, the folder it unpacks to, and all there is to say about it.

    Both are gone when `prepare` is left. The paths of diagnostics are those in the skill.
    """

    name: str
    version: str
    source: str  # where it was packed from
    found: DiscoveredSkill
    folder: str
    archive: str
    chosen: ChosenFiles
    packed: PackedArchive
    digest: str
    problems: tuple[Diagnostic, ...]
    report: Report
    objections: tuple[str, ...] = ()  # rules of the scanner that keep it from being given to anybody


def find_skill_at(folder: str, max_prompt_bytes: int) -> DiscoveredSkill:
    """The skill whose folder this is. Raises: ClawftError for a folder that is none, or one that is broken."""
    if not os.path.isdir(folder):
        raise NotFound(
            "no-skill-here", "There is no such folder", path=folder, hint="A skill is a folder with a SKILL.md"
        )
    catalog = load_catalog([Location("dir", folder, folder)], max_prompt_bytes=max_prompt_bytes)
    found = next((skill for skill in catalog.found if skill.folder == folder), None)
    if found is None:
        inner = [os.path.relpath(skill.folder, folder) for skill in catalog.found]
        hint = f"One at a time: {', '.join(sorted(inner)[:10])}" if inner else "A skill is a folder with a SKILL.md"
        raise NotFound("no-skill-here", "There is no SKILL.md in this folder", path=folder, hint=hint)
    if found.skill is None:
        why = found.problem or Diagnostic("skill-broken", "error", "It cannot be read")
        raise ClawftError("skill-broken", f"The skill is broken: {why.message}", path=why.path, line=why.line)
    return found


@contextmanager
def prepare(
    folder: str, max_prompt_bytes: int, own: Secrets | None = None, overrides: Sequence[Override] = ()
) -> Iterator[PreparedSkill]:
    """Pack a skill into a place of its own and look at what comes out there.

    `own` are secrets of the user, `overrides` the exceptions that they made for rules of the scanner.

    Raises: ClawftError where there is no skill; Refused for links and the like; OSError.
    """
    found = find_skill_at(folder, max_prompt_bytes)
    chosen = choose_files(folder)
    document = os.path.basename(found.file)
    if all(file.path != document for file in chosen.files):
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
        remaining = _without_signature(target, chosen, SkillStatement(name, stated, digest))
        if remaining is not chosen:
            copied = (structs.replace(file, place=os.path.join(target, file.path)) for file in remaining.files)
            packed = write_skill(archive, name, copied)  # the folder itself may be another one by now
            os.unlink(os.path.join(target, SIGNATURE))
        report = scan_target(ScannedPath(target))
        diagnostics = (
            *_check_format(there),
            *_check_left_out(there, remaining),
            *_check_contents(remaining, target, own),
        )
        made = [override for override in overrides if override.path == folder]
        rules = _find_objections(report, made, (compute_digest(folder).value, digest))
        yield PreparedSkill(
            name,
            version,
            folder,
            there,
            target,
            archive,
            remaining,
            packed,
            digest,
            tuple(structs.replace(problem, path=problem.path.removeprefix(f"{target}/")) for problem in diagnostics),
            report,
            rules,
        )


def check_ready(prepared: PreparedSkill, *, allow_findings: bool = False) -> None:
    """Raises: Refused when nobody should get it. What may be a mistake of ours can be allowed, the rest cannot."""
    errors = [diagnostic for diagnostic in prepared.problems if diagnostic.severity == "error"]
    broken = [error for error in errors if not error.code.startswith("secret-")]
    secrets = [error for error in errors if error.code.startswith("secret-")]
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
    if any(secret.code == OWN_SECRET for secret in secrets):
        raise Refused("skill-secrets", "It holds a secret of yours", hint="Take it out of the skill")
    if secrets and not allow_findings:
        hint = "Take them out; if they are none: --allow-findings"
        raise Refused("skill-secrets", f"It holds what looks like {_count(secrets, 'secret')}", hint=hint)


def check_text(what: str, text: str, own: Secrets | None, *, allow_findings: bool = False) -> None:
    """Raises: Refused for a text that goes out with a skill and holds a secret."""
    found = check_secrets(what, text.encode("utf-8", "replace"), own)
    if any(diagnostic.code == OWN_SECRET for diagnostic in found) or (found and not allow_findings):
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
        finding.rule: any(
            made.rule == finding.rule and made.digest in digests and not made.why_void(finding, made.digest, now)
            for made in overrides
        )
        for finding in screening.critical
    }
    return tuple(sorted(rule for rule, allowed in held.items() if not allowed)) if held else ("malicious",)


def _without_signature(folder: str, chosen: ChosenFiles, statement: SkillStatement) -> ChosenFiles:
    """A signature of something else, as of the skill before its last change, is not given to anybody."""
    if all(file.path != SIGNATURE for file in chosen.files):
        return chosen
    from clawft.trust.signing.signatures import check_signature

    if check_signature(folder, statement, Publishers()).state != "bad":
        return chosen
    files = tuple(file for file in chosen.files if file.path != SIGNATURE)
    return ChosenFiles(files, (ExcludedFile(SIGNATURE, "not of these files; sign again"), *chosen.left_out))


def _check_format(found: DiscoveredSkill) -> Iterator[Diagnostic]:
    """Check the format of the skill's file; what keeps other clients from loading it is an error."""
    yield from found.skill.diagnostics if found.skill else ()
    yield from check_finished(found)
    if os.path.basename(found.file) != "SKILL.md":
        yield Diagnostic("spec-file", "error", "The file of a skill is called SKILL.md", found.file)
        return
    data, _ = load_bytes(found.file, found.location.path)
    for diagnostic in check_spec(decode_text(data, found.file).text, os.path.basename(found.folder), found.file):
        eased = diagnostic.severity == "error" and diagnostic.code not in _REQUIRED
        yield structs.replace(diagnostic, severity="warning") if eased else diagnostic


def _check_left_out(found: DiscoveredSkill, chosen: ChosenFiles) -> Iterator[Diagnostic]:
    """Check for files that the skill names but that are left out, so that others will not find them."""
    data, _ = load_bytes(found.file, found.location.path)
    text = data.decode("utf-8", "replace")
    for excluded in chosen.left_out:
        if excluded.reason == "ignored" and excluded.path in text:
            message = f"It names '{excluded.path}', which an ignore file leaves out"
            line = text.count("\n", 0, text.index(excluded.path)) + 1
            yield Diagnostic("pack-left-out", "error", message, found.file, line)


def _check_contents(chosen: ChosenFiles, folder: str, own: Secrets | None) -> Iterator[Diagnostic]:
    for file in chosen.files:
        if file.path != SIGNATURE:
            data, _ = read_regular(os.path.join(folder, file.path), SKILL.max_file_bytes)
            yield from check_secrets(file.path, data, own)
