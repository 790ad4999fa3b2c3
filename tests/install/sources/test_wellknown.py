"""Sites that list their skills: digests of version 0.2.0 are checked, and the older form says that it has none."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from clawft.errors import ClawftError, Refused
from clawft.install.sources.model import ResolvedSkill, SkillReference
from clawft.install.sources.selection import SkillSources
from clawft.install.sources.wellknown import SCHEMA, parse_index
from scripted_site import Reply, ScriptedSite, make_zip

pytestmark = pytest.mark.anyio
SKILL = b"---\nname: demo\ndescription: Shows things\n---\nDo it.\n"
INDEX = "/site/.well-known/agent-skills/index.json"
OLDER = "/.well-known/skills/index.json"


def entry(content: bytes, **more: Any) -> dict[str, Any]:
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return {"name": "demo", "type": "skill-md", "description": "d", "url": "demo/SKILL.md", "digest": digest, **more}


def put(hostile: ScriptedSite, *entries: Any, at: str = INDEX, **more: Any) -> None:
    hostile.answers[at] = Reply({"$schema": SCHEMA, "skills": list(entries), **more})


async def resolve(sources: SkillSources, slug: str = "") -> tuple[ResolvedSkill, ...]:
    reference = SkillReference("", "well-known", registry="listed", slug=slug)
    return await sources.find(reference).resolve(reference)


async def bring(sources: SkillSources, place: Path) -> ResolvedSkill:
    return await sources.registry("listed").download((await resolve(sources))[0], str(place))


async def test_a_single_file_and_an_archive_are_taken_and_their_digests_checked(
    sources: SkillSources, hostile: ScriptedSite, tmp_path: Path
) -> None:
    archive = make_zip({"SKILL.md": SKILL, "a.txt": b"a"})
    put(hostile, entry(SKILL), entry(archive, name="other", type="archive", url="/other.zip", version="2.0.0"))
    hostile.answers["/site/.well-known/agent-skills/demo/SKILL.md"] = Reply(SKILL)
    hostile.answers["/other.zip"] = Reply(archive)

    single, whole = await resolve(sources)
    for one in (single, whole):
        (tmp_path / one.name).mkdir()
        await sources.registry("listed").download(one, str(tmp_path / one.name))

    assert (single.name, whole.version) == ("demo", "2.0.0")
    assert (tmp_path / "demo/SKILL.md").read_bytes() == SKILL
    assert (tmp_path / "other/a.txt").read_bytes() == b"a"


@pytest.mark.parametrize("kind", ["skill-md", "archive"])
async def test_other_bytes_than_the_index_says_are_refused_and_leave_nothing(
    kind: str, sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    put(hostile, entry(SKILL, type=kind, url="/demo"))
    hostile.answers["/demo"] = Reply(make_zip({"SKILL.md": SKILL}))

    with pytest.raises(Refused) as caught:
        await bring(sources, place)

    assert caught.value.code == "source-changed"
    assert list(place.iterdir()) == []


async def test_an_index_of_an_unknown_version_is_not_read(sources: SkillSources, hostile: ScriptedSite) -> None:
    put(hostile, entry(SKILL), **{"$schema": "https://schemas.agentskills.io/discovery/9.0.0/schema.json"})

    with pytest.raises(ClawftError) as caught:
        await resolve(sources)

    assert caught.value.code == "index-schema"


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (entry(SKILL, digest=None), "no digest"),
        (entry(SKILL, digest="md5:00"), "no sha256"),
        (entry(SKILL, digest="sha256:" + "0" * 63), "no sha256"),
        (entry(SKILL, type="bundle"), "not known here"),
        (entry(SKILL, name="../x"), "none that a folder may have"),
        (entry(SKILL, name="a\x1b[2J"), "none that a folder may have"),
        (entry(SKILL, url=7), "no url"),
        (entry(SKILL, url="https://["), "cannot be read"),
        (entry(SKILL, name="good"), "twice"),
        ("text", "no table"),
        ({"name": "old", "files": ["SKILL.md"]}, "no type"),
    ],
)
def test_an_entry_that_cannot_be_used_is_left_out_and_the_others_stay(bad: Any, why: str) -> None:
    index = parse_index({"$schema": SCHEMA, "skills": [entry(SKILL, name="good"), bad]}, "https://a.example/i.json")

    assert [one.name for one in index.entries] == ["good"]
    assert [one.code for one in index.notes] == ["index-entry"]
    assert why in index.notes[0].message
    assert index.notes[0].message.isprintable()


def test_an_index_full_of_what_is_left_out_does_not_fill_the_screen() -> None:
    index = parse_index({"$schema": SCHEMA, "skills": [{"name": "a"}] * 9_000}, "https://site.example/index.json")

    assert len(index.notes) < 10
    assert index.notes[-1].message.startswith("8995 more")


@pytest.mark.parametrize(
    "document", [None, [], {"skills": 1}, {"skills": [{}] * 10_001}, "x"], ids=lambda one: str(one)[:20]
)
def test_what_is_no_index_is_an_error(document: Any) -> None:
    with pytest.raises(ClawftError) as caught:
        parse_index(document, "https://a.example/i.json")

    assert caught.value.code == "index-invalid"


async def test_the_older_form_is_fetched_file_by_file_and_said_to_be_unverified(
    sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    listed = {"name": "demo", "description": "d", "files": ["SKILL.md", "docs/a b.md"]}
    hostile.answers[OLDER] = Reply({"skills": [listed]})
    hostile.answers["/.well-known/skills/demo/SKILL.md"] = Reply(SKILL)
    hostile.answers["/.well-known/skills/demo/docs/a%20b.md"] = Reply(b"a")

    came = await bring(sources, place)

    assert [one.code for one in came.notes] == ["source-unverified"]
    assert (place / "SKILL.md").read_bytes() == SKILL
    assert (place / "docs/a b.md").read_bytes() == b"a"


@pytest.mark.parametrize(
    "files",
    [
        ["SKILL.md", "../../x"],
        ["SKILL.md", "/etc/x"],
        ["SKILL.md", "a//b"],
        ["SKILL.md", "C:\\x"],
        ["SKILL.md", "a?b=1"],
        ["SKILL.md", "%2e%2e/x"],
        ["SKILL.md", "SKILL.md"],
        ["SKILL.md", "a\nb"],
        ["SKILL.md", 7],
        ["README.md"],
        [],
        "SKILL.md",
    ],
    ids=str,
)
def test_paths_of_the_older_form_that_lead_elsewhere_are_left_out(files: Any) -> None:
    index = parse_index({"skills": [{"name": "demo", "files": files}]}, "https://a.example/i.json")

    assert index.entries == ()
    assert [one.code for one in index.notes] == ["index-entry"]


@pytest.mark.parametrize(("more", "code"), [("SKILL.md/x", "archive-collision"), ("skill.MD", "archive-collision")])
async def test_files_of_the_older_form_that_some_systems_take_for_one_are_refused(
    more: str, code: str, sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    hostile.answers[OLDER] = Reply({"skills": [{"name": "demo", "files": ["SKILL.md", more]}]})
    for path in ("SKILL.md", more):
        hostile.answers[f"/.well-known/skills/demo/{path}"] = Reply(SKILL)

    with pytest.raises(ClawftError) as caught:
        await bring(sources, place)

    assert caught.value.code == code
    assert list(place.iterdir()) == []


async def test_an_entry_may_lie_elsewhere_but_not_on_a_private_network(
    sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    put(hostile, entry(SKILL, url="https://192.168.0.1/SKILL.md"))

    with pytest.raises(Refused) as caught:
        await bring(sources, place)

    assert caught.value.code == "url-private-address"


async def test_an_index_that_changes_between_resolving_and_downloading_is_refused(
    sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    put(hostile, entry(SKILL))
    found = (await resolve(sources))[0]
    put(hostile, entry(SKILL + b"more"))
    later = sources.find(SkillReference("", "well-known", url=f"{hostile.url}/site"))

    with pytest.raises(Refused) as caught:
        await later.download(found, str(place))

    assert caught.value.code == "source-changed"


async def test_a_site_that_shows_a_page_at_every_address_is_searched_on(
    sources: SkillSources, hostile: ScriptedSite
) -> None:
    hostile.answers[INDEX] = Reply("<!doctype html>")
    put(hostile, entry(SKILL), at="/.well-known/agent-skills/index.json")

    assert [one.name for one in await resolve(sources)] == ["demo"]


async def test_a_site_that_has_only_pages_lists_nothing(sources: SkillSources, hostile: ScriptedSite) -> None:
    hostile.answers[INDEX] = Reply("<!doctype html>")

    with pytest.raises(ClawftError) as caught:
        await resolve(sources)

    assert caught.value.code == "source-answer"


async def test_a_site_that_lists_nothing_is_told_of(sources: SkillSources) -> None:
    with pytest.raises(ClawftError) as caught:
        await resolve(sources)

    assert caught.value.code == "source-no-index"


async def test_a_name_that_the_site_does_not_list_gets_the_close_one(
    sources: SkillSources, hostile: ScriptedSite
) -> None:
    put(hostile, entry(SKILL))

    with pytest.raises(ClawftError) as caught:
        await resolve(sources, "dmo")

    assert (caught.value.code, caught.value.hint) == ("source-not-found", "did you mean 'demo'?")


async def test_what_is_left_out_of_an_index_is_said_once_and_to_who_asks_for_it(
    sources: SkillSources, hostile: ScriptedSite
) -> None:
    put(hostile, entry(SKILL, name="one"), entry(SKILL, name="two"), entry(SKILL, name="bad", digest="none"))

    assert [[note.code for note in one.notes] for one in await resolve(sources)] == [["index-entry"], []]
    assert [one.notes for one in await resolve(sources, "one")] == [()]
    with pytest.raises(ClawftError) as caught:
        await resolve(sources, "bad")
    assert (caught.value.code, str(caught.value)) == (
        "index-entry",
        "'bad' of the index is left out: its digest is no sha256",
    )


async def test_a_site_is_searched_by_its_index(sources: SkillSources, hostile: ScriptedSite) -> None:
    put(hostile, entry(SKILL), entry(SKILL, name="pdf-tools", description="Reads PDF files"))

    hits = await sources.registry("listed").search("pdf", 10)

    assert [(one.name, one.reference) for one in hits] == [("pdf-tools", "listed:pdf-tools")]
