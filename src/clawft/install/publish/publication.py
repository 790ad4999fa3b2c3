"""A skill on its way to a registry: what is there already, which version this becomes, and what exactly is sent."""

import os
import re
from urllib.parse import urlsplit

from msgspec import Struct, structs

from clawft.errors import ClawftError, Refused
from clawft.files import read_regular
from clawft.packing.ignore import SIGNATURE
from clawft.publishing.bump import Part, choose_version, write_version
from clawft.publishing.check import Prepared
from clawft.publishing.parcel import MAX_FILE, Parcel, make_parcel
from clawft.publishing.registry import Publication, Registry, Standing
from clawft.signing.statements import Statement, written_version

__all__ = ["TERMS", "Planned", "Same", "Wish", "has_terms", "plan_publication", "with_signature"]

TERMS = "ClawHub gives every skill to everybody under the MIT-0 licence: to use, change and sell, without naming you"
_SLUG = re.compile(r"[a-z0-9](?:(?!--)[a-z0-9-]){1,94}[a-z0-9]")
_OWNER = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,38}[a-z0-9])?")
_TAG = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_PUBLIC = ("clawhub.ai", "clawdhub.com")


class Wish(Struct, frozen=True):
    """What the person asked for; '' leaves it to us."""

    owner: str = ""
    slug: str = ""
    version: str = ""
    part: Part | None = None
    changelog: str = ""
    tags: tuple[str, ...] = ("latest",)
    accept_license: bool = False
    signed: bool = False


class Same(Struct, frozen=True):
    """A version that has this content already."""

    version: str
    signed: bool


class Planned(Struct, frozen=True):
    """What would be sent. `edited` is a new text of SKILL.md, where its version is counted up; else ''."""

    publication: Publication
    parcel: Parcel
    standing: Standing
    statement: Statement
    same: Same | None = None
    edited: str = ""


def has_terms(url: str) -> bool:
    """Whether who publishes there agrees to terms."""
    host = (urlsplit(url).hostname or "").lower()
    return any(host == one or host.endswith(f".{one}") for one in _PUBLIC)


async def plan_publication(registry: Registry, prepared: Prepared, wish: Wish) -> Planned:
    """What comes of a skill that was prepared; its copy is changed where the version is counted up.

    Raises: ClawftError; Refused.
    """
    owner, slug = await _choose_owner(registry, wish.owner), wish.slug or prepared.name
    _check_names(owner, slug, wish.tags)
    parcel = make_parcel(prepared.folder)
    standing = await registry.find(owner, slug, parcel.fingerprint) if owner else Standing(asked=False)
    written = written_version(prepared.found)
    same = await _find_same(registry, owner, slug, standing, parcel) if _may_stay(wish, standing) else None
    if same:
        if wish.signed and not same.signed:
            message = f"'{registry.name}' has this content as {same.version}, unsigned, and a version never changes"
            raise Refused("version-taken", message, hint="To publish it signed, as the next version: --bump patch")
        version, edited = same.version, ""
    else:
        version = choose_version(written, standing.latest, wish.version, wish.part)
        edited = _edit(prepared, written, version) if written and version != written else ""
        parcel = make_parcel(prepared.folder) if edited else parcel
    skill = prepared.found.skill
    name = (skill.display_name if skill else "") or prepared.name
    publication = Publication(slug, owner, name, version, wish.changelog, wish.tags, wish.accept_license)
    statement = Statement(prepared.name, version, parcel.digest)
    return Planned(publication, parcel, standing, statement, same, edited)


def with_signature(planned: Planned, signature: bytes) -> Planned:
    """The same with a signature among what is sent. Raises: ClawftError; OSError."""
    path = os.path.join(planned.parcel.folder, SIGNATURE)
    with open(path, "wb") as file:
        file.write(signature)
    return structs.replace(planned, parcel=make_parcel(planned.parcel.folder))


async def _choose_owner(registry: Registry, wanted: str) -> str:
    """Who publishes: the token's owner, unless another was named. Nobody where there is no token."""
    if not registry.has_token:
        return wanted.removeprefix("@").lower()
    own = await registry.whoami()
    return (wanted.removeprefix("@") or own).lower()


def _may_stay(wish: Wish, standing: Standing) -> bool:
    """Whether nothing needs to be sent where the content is there: not if another version was asked for."""
    return bool(standing.match) and wish.part is None and wish.version in ("", standing.match)


async def _find_same(registry: Registry, owner: str, slug: str, standing: Standing, parcel: Parcel) -> Same | None:
    """The version with this content. Its fingerprint does not cover all files, so they are compared too."""
    there = await registry.list_files(owner, slug, standing.match)
    if there is None:
        return Same(standing.match, signed=False)
    ours = {one.path: one.sha256 for one in parcel.files if one.path != SIGNATURE}
    same = {path: each for path, each in there.items() if path not in (SIGNATURE, "_meta.json")} == ours
    return Same(standing.match, SIGNATURE in there) if same else None


def _edit(prepared: Prepared, old: str, new: str) -> str:
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
