"""Which source answers: registries are the user's own, and a lock leads nowhere that they did not name."""

from pathlib import Path

import anyio
import pytest

from clawft.config.registries import RegistrySettings
from clawft.config.secret import SecretRef
from clawft.config.tools import WebSettings
from clawft.errors import ClawftError, Refused
from clawft.install.lockfile.model import SkillOrigin
from clawft.install.sources.model import AvailableVersion, SkillReference
from clawft.install.sources.selection import SkillSources, search_registries
from clawft.trust.programs import HostPrograms
from scripted_site import Reply, ScriptedRegistry, ScriptedSite, make_zip

pytestmark = pytest.mark.anyio
SKILL = b"---\nname: demo\ndescription: Shows things\n---\nDo it.\n"


async def test_a_registry_is_found_again_by_where_something_came_from(
    sources: SkillSources, hostile: ScriptedSite
) -> None:
    by_name = sources.find(SkillReference("", "clawhub", registry="hub", slug="demo"))

    assert sources.find(SkillOrigin("clawhub", hostile.url + "/", "ann", "demo")) is by_name


async def test_a_lock_that_names_a_registry_which_is_not_ours_is_refused(sources: SkillSources) -> None:
    with pytest.raises(Refused) as caught:
        sources.find(SkillOrigin("clawhub", "https://evil.example", "ann", "demo"))

    assert caught.value.code == "registry-unknown"


@pytest.mark.parametrize("kind", ["well-known", "archive"])
async def test_a_projects_lock_cannot_have_a_private_address_asked(
    kind: str, sources: SkillSources, hostile: ScriptedSite
) -> None:
    origin = SkillOrigin(kind, f"{hostile.url}/x.zip", slug="demo")  # type: ignore[arg-type]

    with pytest.raises(Refused) as caught:
        sources.find(origin)

    assert caught.value.code == "url-private-address"
    assert sources.find(origin, own=True) is not None


async def test_an_archive_by_address_is_fetched_once_and_is_what_is_installed(
    sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    replies = [Reply(make_zip({"demo/SKILL.md": SKILL})), Reply(make_zip({"demo/SKILL.md": SKILL + b"other"}))]
    hostile.answers["/demo.skill"] = lambda _: replies.pop(0)
    reference = SkillReference("", "archive", url=f"{hostile.url}/demo.skill")
    source = sources.find(reference)

    found = (await source.resolve(reference))[0]
    await source.download(found, str(place))

    assert (found.name, found.origin) == ("demo", SkillOrigin("archive", f"{hostile.url}/demo.skill"))
    assert [one.code for one in found.notes] == ["source-unverified"]
    assert (place / "SKILL.md").read_bytes() == SKILL
    assert hostile.asked() == ["/demo.skill"]


async def test_an_archive_that_is_another_one_by_now_is_refused(
    sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    hostile.answers["/demo.zip"] = Reply(make_zip({"SKILL.md": SKILL}))
    reference = SkillReference("", "archive", url=f"{hostile.url}/demo.zip")
    found = (await sources.find(reference).resolve(reference))[0]
    hostile.answers["/demo.zip"] = Reply(make_zip({"SKILL.md": SKILL + b"other"}))

    async with SkillSources({}, WebSettings(), HostPrograms({})) as later:
        with pytest.raises(Refused) as caught:
            await later.find(reference).download(found, str(place))

    assert caught.value.code == "source-changed"
    assert list(place.iterdir()) == []


async def test_a_single_skill_md_by_address_is_a_skill(
    sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    hostile.answers["/skills/my-demo/SKILL.md"] = Reply(SKILL)
    reference = SkillReference("", "archive", url=f"{hostile.url}/skills/my-demo/SKILL.md")
    source = sources.find(reference)

    found = (await source.resolve(reference))[0]
    await source.download(found, str(place))

    assert (place / "SKILL.md").read_bytes() == SKILL
    assert found.name == "demo"


async def test_one_of_several_skills_in_an_archive_is_taken_by_name(
    sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    files = {f"pack/skills/{name}/SKILL.md": SKILL.replace(b"demo", name.encode()) for name in ("one", "two")}
    hostile.answers["/pack.zip"] = Reply(make_zip(files))
    reference = SkillReference("", "archive", url=f"{hostile.url}/pack.zip")
    source = sources.find(reference)

    both = await source.resolve(reference)
    await source.download(both[1], str(place))

    assert [one.name for one in both] == ["one", "two"]
    assert b"name: two" in (place / "SKILL.md").read_bytes()


async def test_skills_of_one_archive_are_renewed_at_the_same_time_from_one_download(
    sources: SkillSources, hostile: ScriptedSite
) -> None:
    files = {f"pack/skills/{name}/SKILL.md": SKILL.replace(b"demo", name.encode()) for name in ("one", "two")}
    hostile.answers["/pack.zip"] = Reply(make_zip(files))
    found: list[str] = []

    async def renew(name: str) -> None:
        origin = SkillOrigin("archive", f"{hostile.url}/pack.zip", path=f"skills/{name}")
        found.append((await sources.find(origin, own=True).renew(AvailableVersion(origin))).name)

    async with anyio.create_task_group() as group:
        for name in ("one", "two"):
            group.start_soon(renew, name)

    assert sorted(found) == ["one", "two"]
    assert hostile.asked() == ["/pack.zip"]


async def test_what_cannot_be_unpacked_is_told_by_its_address_and_leaves_nothing(
    sources: SkillSources, hostile: ScriptedSite
) -> None:
    hostile.answers["/demo.zip"] = Reply(make_zip({"../SKILL.md": SKILL}))
    reference = SkillReference("", "archive", url=f"{hostile.url}/demo.zip")

    with pytest.raises(Refused) as caught:
        await sources.find(reference).resolve(reference)

    assert (caught.value.code, caught.value.diagnostic.path) == ("archive-path", f"{hostile.url}/demo.zip")


async def test_a_token_that_is_not_set_is_said_before_anything_is_asked(hostile: ScriptedSite) -> None:
    known = {"hub": RegistrySettings(hostile.url, token=SecretRef(env="HUB_TOKEN"))}

    async with SkillSources(known, WebSettings(), HostPrograms({})) as sources:
        with pytest.raises(ClawftError) as caught:
            sources.registry("hub")

    assert caught.value.code == "source-token"
    assert hostile.requests == []


async def test_registries_are_searched_side_by_side_and_one_that_fails_hides_no_other(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    registry.results = [
        {"slug": "first", "ownerHandle": "ann", "score": 9, "version": "1.0.0", "summary": "a\u202eb"},
        {"slug": "../../x", "score": 8},
        {"slug": "x; rm -rf /", "score": 8},
        {"score": "none"},
        {"slug": "demo", "ownerHandle": "bob", "score": 1, "version": "2.0.0"},
        {"slug": 7, "score": 2},
        {"source": "skills-sh", "install": {"reference": "skills-sh:a/b/c"}, "score": 0.5},
    ]  # fmt: skip
    registry.verdicts["first"] = "suspicious"
    hostile.answers["/plain/skills/search"] = Reply("down", 500)
    hostile.answers["/site/.well-known/agent-skills/index.json"] = Reply({"skills": []})

    searched = await search_registries(sources, ("hub", "plain", "listed"), "demo", 10)

    assert [one.reference for one in searched.hits] == ["@bob/demo", "@ann/first", "skills-sh:a/b/c"]
    assert [one.verdict.status if one.verdict else None for one in searched.hits] == ["clean", "suspicious", None]
    assert searched.hits[1].summary == "a b"
    assert {name: one.code for name, one in searched.failed.items()} == {"plain": "source-failed"}
