"""Plan a publication: owner, version, and what is sent."""

import os
import re
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct, structs

from clawft.errors import ClawftError, Refused
from clawft.files import read_regular
from clawft.install.archive.pack import SIGNATURE
from clawft.install.publish.parcel import MAX_FILE, Parcel, make_parcel
from clawft.install.publish.preparation import PreparedSkill
from clawft.install.publish.registry import Publication, PublishedVersions, PublishingRegistry
from clawft.install.publish.versions import is_version, version_order
from clawft.trust.signing.publishers import SkillStatement, written_version

Part = Literal["patch", "minor", "major"]
FIRST = "1.0.0"


def raise_version(text: str, part: Part) -> str:
    """The version after this one; a pre-release is followed by what it is a pre-release of. Raises: ClawftError."""
    if not is_version(text):
        hint = "Pass --version X.Y.Z"
        raise ClawftError("version-format", f"{text[:60]!a} is no version to count up from", hint=hint)
    major, minor, patch, released, _ = version_order(text)
    if part == "major":
        return f"{major + (released or bool(minor or patch))}.0.0"
    if part == "minor":
        return f"{major}.{minor + (released or bool(patch))}.0"
    return f"{major}.{minor}.{patch + released}"


def choose_version(written: str, latest: str, asked: str = "", part: Part | None = None) -> str:
    """The version that changed content is published as.

    `written` is what SKILL.md says, `latest` the newest that is published; '' where there is none. What is wanted is
    `asked`, or the next `part`. Raises: ClawftError; Refused where SKILL.md says what is published already.
    """
    for text in (asked, written):
        if text and not is_version(text):
            hint = "Three numbers, as in 1.4.0"
            raise ClawftError("version-format", f"{text[:60]!a} is no semantic version", hint=hint)
    if asked:
        if written and asked != written:
            raise ClawftError("version-differs", f"SKILL.md says {written}, not {asked}", hint="Change it there")
        return asked
    newest = max(filter(None, (latest, written)), key=version_order, default="")
    if part is not None:
        return raise_version(newest, part) if newest else FIRST
    if not written:
        return raise_version(latest, "patch") if latest else FIRST
    if latest and version_order(written) <= version_order(latest):
        message = f"The content changed since {latest}, and SKILL.md still says {written}"
        raise Refused("version-taken", message, hint="Pass --bump patch, minor or major: SKILL.md is changed with it")
    return written


def write_version(text: str, old: str, new: str) -> str:
    """The text of a SKILL.md with another version in its frontmatter. Raises: ClawftError."""
    lines = text.split("\n")
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    pattern = re.compile(rf"""(\s*["']?version["']?\s*:\s*["']?){re.escape(old)}(["']?\s*(?:#.*)?)\Z""")
    found = [at for at in range(1, end) if pattern.match(lines[at])]
    if len(found) != 1:
        raise ClawftError(
            "version-line", f"Where SKILL.md says {old} cannot be told", hint=f"Write {new} there yourself"
        )
    lines[found[0]] = pattern.sub(lambda match: f"{match[1]}{new}{match[2]}", lines[found[0]])
    return "\n".join(lines)


TERMS = "ClawHub gives every skill to everybody under the MIT-0 licence: to use, change and sell, without naming you"
_SLUG = re.compile(r"[a-z0-9](?:(?!--)[a-z0-9-]){1,94}[a-z0-9]")
_OWNER = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,38}[a-z0-9])?")
_TAG = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_PUBLIC = ("clawhub.ai", "clawdhub.com")


class PublicationOptions(Struct, frozen=True):
    """The options that the user chose for a publication; '' leaves the choice to weft."""

    owner: str = ""
    slug: str = ""
    version: str = ""
    part: Part | None = None
    changelog: str = ""
    tags: tuple[str, ...] = ("latest",)
    accept_license: bool = False
    signed: bool = False


class ExistingVersion(Struct, frozen=True):
    """A version that has this content already."""

    version: str
    signed: bool


class PlannedPublication(Struct, frozen=True):
    """A publication that is ready to send. `edited` is the new text of SKILL.md where its version is incremented; else
    ''."""

    publication: Publication
    parcel: Parcel
    published: PublishedVersions
    statement: SkillStatement
    same: ExistingVersion | None = None
    edited: str = ""


def has_terms(url: str) -> bool:
    """Return whether who publishes there agrees to terms."""
    host = (urlsplit(url).hostname or "").lower()
    return any(host == domain or host.endswith(f".{domain}") for domain in _PUBLIC)


async def plan_publication(
    registry: PublishingRegistry, prepared: PreparedSkill, wish: PublicationOptions
) -> PlannedPublication:
    """Plan the publication of a prepared skill; its copy is changed where the version is incremented.

    Raises: ClawftError; Refused.
    """
    owner, slug = await _choose_owner(registry, wish.owner), wish.slug or prepared.name
    _check_names(owner, slug, wish.tags)
    parcel = make_parcel(prepared.folder)
    published = await registry.find(owner, slug, parcel.fingerprint) if owner else PublishedVersions(asked=False)
    written = written_version(prepared.found)
    same = None
    if (
        published.match and wish.part is None and wish.version in ("", published.match)
    ):  # no other version was asked for
        same = await _find_same(registry, owner, slug, published, parcel)
    if same:
        if wish.signed and not same.signed:
            message = f"'{registry.name}' has this content as {same.version}, unsigned, and a version never changes"
            raise Refused("version-taken", message, hint="To publish it signed, as the next version: --bump patch")
        version, edited = same.version, ""
    else:
        version = choose_version(written, published.latest, wish.version, wish.part)
        edited = _edit(prepared, written, version) if written and version != written else ""
        parcel = make_parcel(prepared.folder) if edited else parcel
    skill = prepared.found.skill
    name = (skill.display_name if skill else "") or prepared.name
    publication = Publication(slug, owner, name, version, wish.changelog, wish.tags, wish.accept_license)
    statement = SkillStatement(prepared.name, version, parcel.digest)
    return PlannedPublication(publication, parcel, published, statement, same, edited)


def with_signature(planned: PlannedPublication, signature: bytes) -> PlannedPublication:
    """Return the planned publication with a signature among what is sent. Raises: ClawftError; OSError."""
    path = os.path.join(planned.parcel.folder, SIGNATURE)
    with open(path, "wb") as file:
        file.write(signature)
    return structs.replace(planned, parcel=make_parcel(planned.parcel.folder))


async def _choose_owner(registry: PublishingRegistry, wanted: str) -> str:
    """Choose the owner to publish as: the token's, unless another was named. '' where there is neither."""
    if not registry.has_token:
        return wanted.removeprefix("@").lower()
    own = await registry.whoami()
    return (wanted.removeprefix("@") or own).lower()


async def _find_same(
    registry: PublishingRegistry, owner: str, slug: str, published: PublishedVersions, parcel: Parcel
) -> ExistingVersion | None:
    """The version with this content. Its fingerprint does not cover all files, so they are compared too."""
    there = await registry.list_files(owner, slug, published.match)
    if there is None:
        return ExistingVersion(published.match, signed=False) if parcel.fingerprint else None
    ours = {file.path: file.sha256 for file in parcel.files if file.path != SIGNATURE}
    same = {path: each for path, each in there.items() if path not in (SIGNATURE, "_meta.json")} == ours
    return ExistingVersion(published.match, SIGNATURE in there) if same else None


def _edit(prepared: PreparedSkill, old: str, new: str) -> str:
    """Write another version into the copy; the new text."""
    content, _ = read_regular(prepared.found.file, MAX_FILE)
    text = write_version(content.decode("utf-8"), old, new)
    with open(prepared.found.file, "wb") as file:
        file.write(text.encode())
    return text


def _check_names(owner: str, slug: str, tags: tuple[str, ...]) -> None:
    """Raises: ClawftError."""
    if not _SLUG.fullmatch(slug):
        hint = "Pass --slug: 3 to 96 small letters, digits and single hyphens"
        raise ClawftError("publish-name", f"{slug[:80]!a} cannot be the name of a skill in a registry", hint=hint)
    if owner and not _OWNER.fullmatch(owner):
        raise ClawftError("publish-name", f"{owner[:80]!a} cannot be an owner", hint="Check --owner")
    for tag in tags:
        if not _TAG.fullmatch(tag):
            raise Refused("publish-name", f"{tag[:80]!a} cannot be a tag", hint="Check --tag")
