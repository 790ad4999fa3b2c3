"""Registries of the plain contract: a search, and archives as tar.gz; only what is named exactly is taken."""

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from clawft.errors import ClawftError, Refused
from clawft.install.sources.model import ResolvedSkill, SkillReference
from clawft.install.sources.selection import SkillSources
from scripted_site import Reply, ScriptedSite

pytestmark = pytest.mark.anyio
SKILL = b"---\nname: demo\ndescription: Shows things\n---\nDo it.\n"


def make_tar(files: dict[str, bytes]) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        for name, content in files.items():
            one = tarfile.TarInfo(name)
            one.size = len(content)
            archive.addfile(one, io.BytesIO(content))
    return whole.getvalue()


def offer(hostile: ScriptedSite, listed: Any, archive: bytes = b"") -> None:
    hostile.answers["/plain/skills/search"] = Reply(listed)
    hostile.answers["/plain/skills/demo/download"] = Reply(archive)


async def resolve(sources: SkillSources, slug: str = "demo", version: str = "", owner: str = "") -> ResolvedSkill:
    reference = SkillReference("", "contract", registry="plain", slug=slug, version=version, owner=owner)
    return (await sources.find(reference).resolve(reference))[0]


@pytest.mark.parametrize("wrapped", ["skills", "results", ""])
async def test_what_is_named_is_found_downloaded_and_unpacked(
    wrapped: str, sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    archive = make_tar({"SKILL.md": SKILL})
    listed = [
        {"id": "demo-2", "name": "x"},
        {"id": "demo", "version": "1.0.0", "sha256": hashlib.sha256(archive).hexdigest()},
    ]
    offer(hostile, {wrapped: listed} if wrapped else listed, archive)

    found = await resolve(sources)
    await sources.registry("plain").download(found, str(place))

    assert (found.version, found.notes) == ("1.0.0", ())
    assert (place / "SKILL.md").read_bytes() == SKILL
    assert hostile.requests[0].query == {"q": "demo", "limit": "50"}


async def test_a_registry_without_digests_is_said_to_have_none(
    sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    offer(hostile, [{"id": "demo"}], make_tar({"demo/SKILL.md": SKILL}))

    found = await resolve(sources)
    came = await sources.registry("plain").download(found, str(place))

    assert [one.code for one in found.notes] == ["source-unverified"]
    assert came.archive
    assert (place / "SKILL.md").read_bytes() == SKILL


async def test_other_bytes_than_the_listing_says_are_refused(
    sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    offer(hostile, [{"id": "demo", "digest": "sha256:" + "0" * 64}], make_tar({"SKILL.md": SKILL}))

    with pytest.raises(Refused) as caught:
        await sources.registry("plain").download(await resolve(sources), str(place))

    assert caught.value.code == "source-changed"
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("listed", "asked", "code"),
    [
        ([{"id": "demo-pro"}], {}, "source-not-found"),
        ([], {}, "source-not-found"),
        ([{"id": "ann/demo"}, {"id": "bob/demo"}], {}, "source-ambiguous"),
        ([{"id": "demo", "version": "1.0.0"}], {"version": "2.0.0"}, "source-not-found"),
        ({"other": 1}, {}, "source-answer"),
        ("text", {}, "source-answer"),
        ([{"id": ["demo"]}, {"id": "../demo"}], {}, "source-not-found"),
        ([], {"slug": "../x"}, "reference-invalid"),
    ],
    ids=str,
)
async def test_what_is_not_there_exactly_is_not_taken(
    listed: Any, asked: dict[str, str], code: str, sources: SkillSources, hostile: ScriptedSite
) -> None:
    offer(hostile, listed)

    with pytest.raises(ClawftError) as caught:
        await resolve(sources, **asked)

    assert caught.value.code == code


async def test_an_id_may_be_any_word_of_the_registry_where_name_and_owner_are_told(
    sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    offer(hostile, [{"id": "ann~demo", "name": "demo", "author": "ann"}, {"id": "bob~demo", "name": "demo"}])
    hostile.answers["/plain/skills/bob~demo/download"] = Reply(make_tar({"SKILL.md": SKILL}))

    found = await resolve(sources, owner="bob")
    await sources.registry("plain").download(found, str(place))

    assert found.origin.owner == "bob"
    assert (place / "SKILL.md").read_bytes() == SKILL


async def test_a_search_gives_what_can_be_typed(sources: SkillSources, hostile: ScriptedSite) -> None:
    listed = [
        {"id": "ann/demo", "description": "Does\x1b[31m it", "version": "1.0.0"},
        {"id": "x/../y"},
        {"id": "$(id)"},
        {"name": "plain-one"},
    ]
    offer(hostile, listed)

    hits = await sources.registry("plain").search("demo", 10)

    assert [(one.reference, one.summary) for one in hits] == [
        ("plain:@ann/demo", "Does [31m it"),
        ("plain:plain-one", ""),
    ]
