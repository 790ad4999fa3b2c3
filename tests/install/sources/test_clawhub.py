"""ClawHub's interface: an exact version with all its digests, or nothing; a registry on loopback that may lie."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from clawft.config.tools import WebSettings
from clawft.errors import ClawftError, NotFound, Refused
from clawft.install.archive.hashes import github_content_hash
from clawft.install.lockfile.model import SkillOrigin
from clawft.install.sources.clawhub import ClawHub
from clawft.install.sources.git import GitRepository
from clawft.install.sources.http import SourceConnection
from clawft.install.sources.model import AvailableVersion, ResolvedSkill, SkillReference
from clawft.install.sources.selection import SkillSources
from clawft.trust.programs import HostPrograms
from repositories import Repository
from scripted_site import Reply, Request, ScriptedRegistry, ScriptedSite, make_zip

pytestmark = pytest.mark.anyio
SKILL = b"---\nname: demo\ndescription: Shows things\n---\nDo it.\n"
FILES = {"SKILL.md": SKILL, "scripts/run.sh": b"echo hi\n"}
COMMIT = "a" * 40


async def resolve(sources: SkillSources, slug: str = "demo", owner: str = "", version: str = "") -> ResolvedSkill:
    reference = SkillReference("", "clawhub", registry="hub", slug=slug, owner=owner, version=version)
    return (await sources.find(reference).resolve(reference))[0]


async def fails(sources: SkillSources, **asked: str) -> ClawftError:
    with pytest.raises(ClawftError) as caught:
        await resolve(sources, **asked)
    return caught.value


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


async def test_a_version_is_resolved_with_owner_files_verdict_and_the_digest_of_its_archive(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    archive = registry.publish("ann", "demo", "1.2.0", FILES)

    found = await resolve(sources)

    assert found.origin == SkillOrigin("clawhub", hostile.url, "ann", "demo")
    assert (found.version, found.archive) == ("1.2.0", hashlib.sha256(archive).hexdigest())
    assert found.verdict is not None
    assert found.verdict.status == "clean"
    assert {one.path for one in found.files or ()} == set(FILES)
    assert found.notes == ()


async def test_what_is_downloaded_is_what_was_published_without_what_the_registry_adds(
    registry: ScriptedRegistry, sources: SkillSources, place: Path
) -> None:
    registry.publish("ann", "demo", "1.2.0", FILES)
    found = await resolve(sources)

    came = await sources.registry("hub").download(found, str(place))

    assert files_in(place) == set(FILES)
    assert (place / "SKILL.md").read_bytes() == SKILL
    assert came.archive == found.archive


async def test_an_older_version_is_downloaded_by_its_own_address_and_checked_file_by_file(
    registry: ScriptedRegistry, sources: SkillSources, place: Path
) -> None:
    registry.publish("ann", "demo", "1.0.0", {"SKILL.md": SKILL + b"old"})
    registry.publish("ann", "demo", "1.1.0", FILES)

    found = await resolve(sources, version="1.0.0")
    await sources.registry("hub").download(found, str(place))

    assert (found.version, found.archive) == ("1.0.0", "")
    assert (place / "SKILL.md").read_bytes() == SKILL + b"old"


async def test_renewing_gives_the_newest_and_exactly_what_a_lock_has(
    registry: ScriptedRegistry, sources: SkillSources
) -> None:
    registry.publish("ann", "demo", "1.0.0", FILES)
    old = await resolve(sources)
    registry.publish("ann", "demo", "2.0.0", FILES)
    installed = AvailableVersion(old.origin, old.version)
    source = sources.find(old.origin)

    assert (await source.renew(installed)).version == "2.0.0"
    assert (await source.renew(installed, exact=True)).version == "1.0.0"


async def test_what_is_new_is_asked_for_where_the_answer_for_all_does_not_say_it(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    registry.publish("ann", "demo", "1.0.0", FILES)
    old = await resolve(sources)
    registry.publish("ann", "demo", "2.0.0", FILES)
    said = {"version": {"version": "2.0.0", "changelog": "Does\x1b[31m more"}}
    hostile.answers["/api/v1/skills/demo/versions/2.0.0"] = Reply(said)

    assert (
        await sources.find(old.origin).renew(AvailableVersion(old.origin, old.version))
    ).changelog == "Does [31m more"


async def test_versions_come_in_pages_and_a_registry_that_never_ends_is_left(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    registry.publish("ann", "demo", "1.0.0", FILES)
    items = [{"version": "1.0.0", "createdAt": 1e300, "changelog": None}, {"version": None}]
    hostile.answers["/api/v1/skills/demo/versions"] = Reply({"items": items, "nextCursor": "more"})
    source = sources.registry("hub")
    assert isinstance(source, ClawHub)

    shown = await source.show(SkillReference("", "clawhub", registry="hub", owner="ann", slug="demo"))

    assert (shown.latest, {one.version for one in shown.releases}, len(shown.releases)) == ("1.0.0", {"1.0.0"}, 10)


async def test_a_registry_without_an_answer_for_all_is_asked_in_several(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    registry.publish("ann", "demo", "1.0.0", FILES)
    del hostile.answers["/api/v1/skills/demo/verify"]

    found = await resolve(sources)
    await sources.registry("hub").download(found, str(place))

    assert (found.origin.owner, found.version, found.description) == ("ann", "1.0.0", "A skill")
    assert files_in(place) == set(FILES)


async def test_a_registry_that_gives_no_digests_is_said_to(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    registry.publish("ann", "demo", "1.0.0", FILES)
    del hostile.answers["/api/v1/skills/demo/verify"]
    del hostile.answers["/api/v1/agent-skills/ann/demo/index.json"]
    hostile.answers["/api/v1/skills/demo/versions/1.0.0"] = Reply({"version": {"version": "1.0.0"}})

    found = await resolve(sources)
    await sources.registry("hub").download(found, str(place))

    assert [one.code for one in found.notes] == ["source-unverified"]
    assert files_in(place) == set(FILES)


async def test_a_name_that_several_have_is_an_error_that_lists_their_owners(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    matches = [{"ownerHandle": "ann", "slug": "demo"}, {"owner": {"handle": "bob"}}, {"ownerHandle": "\x1b[31m\n"}]
    body = {"code": "AMBIGUOUS_SKILL_SLUG", "message": "no", "slug": "demo", "matches": matches}
    hostile.answers["/api/v1/skills/demo/verify"] = Reply(body, 409)

    error = await fails(sources)

    assert error.code == "source-ambiguous"
    assert "@ann/demo, @bob/demo" in error.hint
    assert error.hint.isprintable()


async def test_owners_are_found_where_the_answer_does_not_list_them(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    hostile.answers["/api/v1/skills/demo/verify"] = Reply("Ambiguous skill slug", 409)
    registry.results = [
        {"slug": "demo", "ownerHandle": "bob", "score": 1},
        {"slug": "demo", "owner": {"handle": "ann"}, "score": 1},
        {"slug": "demo-2", "ownerHandle": "eve", "score": 1},
    ]

    error = await fails(sources)

    assert (error.code, error.hint) == ("source-ambiguous", "Name one of them: @ann/demo, @bob/demo")
    assert hostile.requests[-1].query["mode"] == "exact"


async def test_nothing_that_only_resembles_the_name_is_taken(registry: ScriptedRegistry, sources: SkillSources) -> None:
    registry.publish("ann", "demo", "1.0.0", FILES)
    registry.results = [{"slug": "demo", "ownerHandle": "ann", "score": 1}]

    error = await fails(sources, slug="demoo")

    assert isinstance(error, NotFound)
    assert error.code == "source-not-found"


@pytest.mark.parametrize(
    "asked",
    [
        {"slug": "../../etc/passwd"},
        {"slug": "a/b"},
        {"slug": "Demo"},
        {"slug": "demo?x=1"},
        {"slug": "demo", "owner": "../x"},
        {"slug": "demo", "version": "1/../../x"},
        {"slug": ""},
        {"slug": "skills-sh:a/../b"},
    ],
)
async def test_a_name_that_is_a_path_is_asked_of_nobody(
    asked: dict[str, str], registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    assert (await fails(sources, **asked)).code == "reference-invalid"
    assert hostile.requests == []


@pytest.mark.parametrize(
    "answer",
    [
        {"slug": "demo", "publisherHandle": "../../x", "version": "1.0.0"},
        {"slug": "demo", "publisherHandle": "ann", "version": "../1"},
    ],
)
async def test_an_owner_or_a_version_that_is_a_path_is_no_answer(
    answer: dict[str, Any], registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    hostile.answers["/api/v1/skills/demo/verify"] = Reply(answer)

    assert (await fails(sources)).code == "reference-invalid"


async def test_the_answer_for_another_skill_is_not_taken(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    registry.publish("ann", "other", "1.0.0", FILES)
    hostile.answers["/api/v1/skills/demo/verify"] = hostile.answers["/api/v1/skills/other/verify"]
    hostile.answers["/api/v1/skills/demo"] = hostile.answers["/api/v1/skills/other"]

    assert (await fails(sources)).code == "source-answer"


async def test_a_skill_of_somebody_else_is_not_taken_for_the_one_that_is_meant(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    registry.publish("ann", "demo", "1.0.0", FILES)
    honest = hostile.answers["/api/v1/skills/demo/verify"]
    assert callable(honest)
    said = honest(Request("GET", "/", {}, b""))
    hostile.answers["/api/v1/skills/demo/verify"] = said

    assert (await fails(sources, owner="bob")).code == "source-answer"
    del hostile.answers["/api/v1/skills/demo/verify"]
    assert (await fails(sources, owner="bob")).code == "source-answer"


async def test_a_site_that_shows_a_page_where_it_could_say_something_is_asked_where_it_is(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    registry.publish("ann", "demo", "1.0.0", FILES)
    hostile.answers["/.well-known/clawhub.json"] = Reply("<!doctype html>")

    assert (await resolve(sources)).version == "1.0.0"


async def test_an_address_that_nobody_can_read_is_refused(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    registry.publish("ann", "demo", "1.0.0", FILES)
    honest = hostile.answers["/api/v1/skills/demo/verify"]
    assert callable(honest)
    said = json.loads(honest(Request("GET", "/", {}, b"")).body)
    said["artifact"]["archive"] = {"url": "https://[", "digest": "sha256:" + "0" * 64}
    hostile.answers["/api/v1/skills/demo/verify"] = Reply(said)

    assert (await fails(sources)).code == "url-invalid"


async def test_a_search_is_not_lost_where_the_registry_has_no_verdicts(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    registry.results = [{"slug": "demo", "ownerHandle": "ann", "version": "1.0.0", "score": 1}]
    hostile.answers["/api/v1/skills/-/security-verdicts"] = Reply("no", 404)

    hits = await sources.registry("hub").search("demo", 10)

    assert [one.verdict.status if one.verdict else None for one in hits] == ["unknown"]


async def _refused(sources: SkillSources, found: ResolvedSkill, place: Path) -> Refused:
    with pytest.raises(Refused) as caught:
        await sources.registry("hub").download(found, str(place))
    return caught.value


async def test_other_bytes_than_the_digest_says_are_refused(
    registry: ScriptedRegistry, sources: SkillSources, place: Path
) -> None:
    registry.publish("ann", "demo", "1.0.0", FILES)
    found = await resolve(sources)
    registry.archives["demo@1.0.0"] = make_zip({**FILES, "SKILL.md": SKILL + b"changed"})

    assert (await _refused(sources, found, place)).code == "source-changed"
    assert files_in(place) == set()


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({**FILES, "more.sh": b"rm"}, "does not list it"),
        ({"SKILL.md": SKILL}, "did not come"),
        ({**FILES, "scripts/run.sh": b"echo no\n"}, "not what the source says"),
        ({**FILES, "scripts/run.sh": b"echo hi\n\n"}, "not what the source says"),
    ],
)
async def test_an_archive_that_is_not_the_files_that_were_listed_is_refused(
    sent: dict[str, bytes], why: str, registry: ScriptedRegistry, sources: SkillSources, place: Path
) -> None:
    registry.publish("ann", "demo", "1.0.0", FILES)
    registry.archives["demo@1.0.0"] = make_zip(sent)
    found = structs.replace(await resolve(sources), archive="")

    error = await _refused(sources, found, place)

    assert error.code == "source-changed"
    assert why in str(error)


@pytest.mark.parametrize(
    ("status", "code"), [(403, "source-denied"), (410, "source-gone"), (423, "source-pending"), (429, "source-busy")]
)
async def test_what_the_registry_does_not_hand_out_is_told_as_such(
    status: int, code: str, registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    registry.publish("ann", "demo", "1.0.0", FILES)
    found = await resolve(sources)
    hostile.answers["/api/v1/agent-skills/ann/demo/archive"] = Reply("no", status, {"Retry-After": "9999"})

    with pytest.raises(ClawftError) as caught:
        await sources.registry("hub").download(found, str(place))

    assert caught.value.code == code


@pytest.mark.parametrize(
    ("security", "reasons", "status"),
    [
        ({"status": "suspicious"}, [], "suspicious"),
        ({"status": "clean"}, ["moderation.malware_blocked"], "malicious"),
        ({"status": "pending"}, ["security.pending"], "pending"),
        ({"status": "something new"}, [], "unknown"),
    ],
)
async def test_the_registrys_verdict_is_read_for_the_worst(
    security: dict[str, str],
    reasons: list[str],
    status: str,
    registry: ScriptedRegistry,
    sources: SkillSources,
    hostile: ScriptedSite,
) -> None:
    registry.publish("ann", "demo", "1.0.0", FILES)
    honest = hostile.answers["/api/v1/skills/demo/verify"]
    assert callable(honest)
    said = json.loads(honest(Request("GET", "/", {}, b"")).body)
    hostile.answers["/api/v1/skills/demo/verify"] = Reply({**said, "security": security, "reasons": reasons})

    found = await resolve(sources)

    assert found.verdict is not None
    assert found.verdict.status == status


async def test_the_site_may_say_that_its_interface_is_elsewhere_but_not_where_it_is_private(
    hostile: ScriptedSite, sources: SkillSources
) -> None:
    hostile.answers["/.well-known/clawhub.json"] = Reply({"apiBase": "https://10.0.0.7/"})

    assert (await fails(sources)).code == "url-private-address"


async def test_verdicts_of_many_are_asked_for_in_batches(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    registry.verdicts["skill-7"] = "malicious"
    installed = [
        AvailableVersion(SkillOrigin("clawhub", hostile.url, "ann", f"skill-{n}"), "1.0.0") for n in range(150)
    ]
    installed.append(AvailableVersion(SkillOrigin("clawhub", hostile.url, "ann", "../x"), "1.0.0"))

    said = await sources.registry("hub").check(installed)

    assert [one.status if one else None for one in (said[6], said[7], said[-1])] == ["clean", "malicious", None]
    assert hostile.asked().count("/api/v1/skills/-/security-verdicts") == 2


def _hand_off(hostile: ScriptedSite, commit: str, files: dict[str, bytes]) -> None:
    listed = [(path, len(content), hashlib.sha256(content).hexdigest()) for path, content in files.items()]
    github = {
        "repo": "ann/tools", "path": "skills/demo", "commit": commit, "contentHash": github_content_hash(listed),
        "sourceUrl": "https://github.com/ann/tools",
    }  # fmt: skip
    answer = {"ok": True, "slug": "demo", "installKind": "github", "github": github}
    hostile.answers["/api/v1/skills-sh/ann/tools/demo/install"] = Reply(answer)


async def _from_github(hostile: ScriptedSite, repository: Repository, place: Path) -> ResolvedSkill:
    """Resolve and download; what would be asked of GitHub is asked of a repository of this machine."""
    asked: list[str] = []

    def open_repository(url: str) -> GitRepository:
        asked.append(url)
        return GitRepository(repository.url, WebSettings(), HostPrograms(dict(os.environ)), typed=True)

    hub = ClawHub("hub", hostile.url, SourceConnection(hostile.url, WebSettings()), open_repository)
    try:
        found = (await hub.resolve(SkillReference("", "clawhub", slug="skills-sh:ann/tools/demo")))[0]
        came = await hub.download(found, str(place))
    finally:
        await hub.aclose()
    assert asked == ["https://github.com/ann/tools.git"]
    return came


async def test_what_lies_on_github_is_taken_from_its_commit_and_checked_by_the_hash_of_its_files(
    registry: ScriptedRegistry, hostile: ScriptedSite, place: Path, tmp_path: Path
) -> None:
    repository = Repository(tmp_path / "tools")
    inside = {f"skills/demo/{path}": content for path, content in FILES.items()}
    commit = repository.commit({**inside, "README.md": b"no", "link": ("120000", b"/etc/passwd")})
    repository.commit({"README.md": b"later"})
    _hand_off(hostile, commit, FILES)

    came = await _from_github(hostile, repository, place)

    assert files_in(place) == set(FILES)
    assert (came.commit, came.name) == (commit, "demo")
    assert came.origin == SkillOrigin("clawhub", hostile.url, slug="skills-sh:ann/tools/demo", path="skills/demo")


async def test_a_hash_over_names_whose_order_is_not_known_is_said_to_be_unverified(
    registry: ScriptedRegistry, hostile: ScriptedSite, place: Path, tmp_path: Path
) -> None:
    repository = Repository(tmp_path / "tools")
    commit = repository.commit({"skills/demo/SKILL.md": SKILL, "skills/demo/结构.md": b"x"})
    _hand_off(hostile, commit, {"SKILL.md": SKILL})

    came = await _from_github(hostile, repository, place)

    assert files_in(place) == {"SKILL.md", "结构.md"}
    assert [note.code for note in came.notes] == ["source-unverified"]


async def test_other_files_of_a_commit_than_the_registry_hashed_are_refused_and_leave_nothing(
    registry: ScriptedRegistry, hostile: ScriptedSite, place: Path, tmp_path: Path
) -> None:
    repository = Repository(tmp_path / "tools")
    commit = repository.commit({"skills/demo/SKILL.md": SKILL, "skills/demo/more": b"x"})
    _hand_off(hostile, commit, {"SKILL.md": SKILL})

    with pytest.raises(Refused) as caught:
        await _from_github(hostile, repository, place)

    assert caught.value.code == "source-changed"
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [{"repo": "../x"}, {"commit": "main"}, {"contentHash": ""}, {"path": "../.."}, {"path": "/etc"}],
    ids=str,
)
async def test_a_handoff_to_what_is_no_commit_is_refused(
    change: dict[str, str], registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    github = {"repo": "ann/tools", "path": "a", "commit": COMMIT, "contentHash": "0" * 64, **change}
    answer = {"ok": True, "slug": "demo", "installKind": "github", "github": github}
    hostile.answers["/api/v1/skills-sh/ann/tools/demo/install"] = Reply(answer)

    assert (await fails(sources, slug="skills-sh:ann/tools/demo")).code in ("source-answer", "reference-unsafe")


async def test_a_skill_that_waits_for_its_check_is_not_handed_out(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    said = {"ok": False, "slug": "demo", "reason": "github_verification_pending", "message": "wait", "status": 423}
    hostile.answers["/api/v1/skills-sh/ann/tools/demo/install"] = Reply(said)

    error = await fails(sources, slug="skills-sh:ann/tools/demo")

    assert (error.code, error.exit_code) == ("source-unavailable", 3)


async def test_a_bit_that_makes_a_file_a_program_is_kept(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite, place: Path
) -> None:
    registry.publish("ann", "demo", "1.0.0", FILES)
    archive = make_zip(FILES, executable=["scripts/run.sh"])
    registry.archives["demo@1.0.0"] = archive
    found = structs.replace(await resolve(sources), archive=hashlib.sha256(archive).hexdigest())

    await sources.registry("hub").download(found, str(place))

    assert os.access(place / "scripts/run.sh", os.X_OK)
    assert not os.access(place / "SKILL.md", os.X_OK)


@pytest.mark.parametrize(
    "items",
    [
        [],
        [{"error": {"code": "NOT_FOUND"}}],
        ["nonsense"],
        [{"requestedSlug": "other", "slug": "other", "version": "6.6.6", "artifact": {"files": []}}],
    ],
)
async def test_an_answer_for_many_that_is_none_for_this_one_is_not_taken_for_it(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite, items: list[Any]
) -> None:
    registry.publish("ann", "demo", "1.2.0", FILES)
    hostile.answers["/.well-known/clawhub.json"] = Reply({"apiBase": hostile.url, "verifyBatch": 100})
    hostile.answers["/api/v1/skills/-/verify"] = Reply({"items": items})

    found = await resolve(sources, owner="ann")

    assert (found.origin.owner, found.version, bool(found.archive)) == ("ann", "1.2.0", True)
    assert "/api/v1/skills/-/verify" in hostile.asked()


async def test_an_answer_for_many_with_a_skill_of_somebody_else_is_refused(
    registry: ScriptedRegistry, sources: SkillSources, hostile: ScriptedSite
) -> None:
    registry.publish("ann", "demo", "1.2.0", FILES)
    hostile.answers["/.well-known/clawhub.json"] = Reply({"apiBase": hostile.url, "verifyBatch": 100})
    other = {"requestedSlug": "demo", "slug": "demo", "publisherHandle": "eve", "version": "1.2.0", "artifact": {}}
    hostile.answers["/api/v1/skills/-/verify"] = Reply({"items": [other]})

    error = await fails(sources, owner="ann")

    assert (error.code, "eve" in str(error)) == ("source-answer", True)
