"""Skills from git repositories: real ones, on this machine."""

import os
import shutil
import tempfile
from pathlib import Path

import anyio
import pytest
from msgspec import structs

from clawft.config.registries import RegistrySettings
from clawft.config.tools import WebSettings
from clawft.errors import ClawftError, NotFound, Refused
from clawft.install.lockfile.model import SkillOrigin
from clawft.install.sources.git import GitRepository
from clawft.install.sources.local import LocalSource
from clawft.install.sources.model import AvailableVersion, ResolvedSkill, SkillReference
from clawft.install.sources.reference import parse_reference
from clawft.install.sources.selection import SkillSources
from clawft.skills.discovery.digest import compute_digest
from clawft.trust.programs import HostPrograms
from repositories import SKILL, File, Repository, serving

pytestmark = pytest.mark.anyio
REGISTRIES = {"clawhub": RegistrySettings("https://clawhub.ai")}
ENVIRON = {"PATH": os.defpath}
FILES: dict[str, File] = {
    "README.md": b"hi",
    "skills/notes/SKILL.md": SKILL,
    "skills/notes/scripts/run.sh": ("100755", b"#!/bin/sh\n"),
    "skills/other/SKILL.md": SKILL.replace(b"notes", b"other"),
}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repo")


async def resolve(text: str) -> tuple[ResolvedSkill, ...]:
    reference = parse_reference(text, REGISTRIES, "/", "/")
    async with SkillSources(REGISTRIES, WebSettings(), HostPrograms(ENVIRON)) as sources:
        return await sources.find(reference).resolve(reference)


async def install(text: str, folder: Path) -> ResolvedSkill:
    """The one skill that a reference means, put into a folder."""
    reference = parse_reference(text, REGISTRIES, "/", "/")
    folder.mkdir()
    async with SkillSources(REGISTRIES, WebSettings(), HostPrograms(ENVIRON)) as sources:
        source = sources.find(reference)
        (found,) = await source.resolve(reference)
        return await source.download(found, str(folder))


async def renew(installed: AvailableVersion, *, exact: bool = False, own: bool = True) -> ResolvedSkill:
    async with SkillSources(REGISTRIES, WebSettings(), HostPrograms(ENVIRON)) as sources:
        return await sources.find(installed.origin, own=own).renew(installed, exact=exact)


async def test_the_skills_of_the_default_branch_are_resolved_to_its_commit(repository: Repository) -> None:
    commit = repository.commit(FILES)
    found = await resolve(f"git+{repository.url}")
    assert [(one.name, one.origin.path, one.commit) for one in found] == [
        ("notes", "skills/notes", commit),
        ("other", "skills/other", commit),
    ]
    assert found[0].origin == SkillOrigin("git", repository.url, path="skills/notes")
    assert (found[0].version, found[0].description) == ("1.0.0", "Takes notes.")


async def test_what_comes_is_what_the_same_folder_would_be(repository: Repository, tmp_path: Path) -> None:
    repository.commit(FILES)
    await install(f"git+{repository.url}#:skills/notes", tmp_path / "from-git")
    folder = tmp_path / "checked-out"
    folder.mkdir()
    repository.git("--work-tree", str(folder), "checkout", "main", "--", ".")
    reference = SkillReference("x", "folder", url=str(folder), skill="notes")
    (found,) = await LocalSource().resolve(reference)
    (tmp_path / "from-folder").mkdir()
    await LocalSource().download(found, str(tmp_path / "from-folder"))
    digests = {compute_digest(str(tmp_path / name)).value for name in ("from-git", "from-folder")}
    assert len(digests) == 1
    assert os.access(tmp_path / "from-git" / "scripts" / "run.sh", os.X_OK)
    assert not os.access(tmp_path / "from-git" / "SKILL.md", os.X_OK)


async def test_a_skill_that_is_the_whole_repository_is_called_as_it_says(
    repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": b"Do it.\n", "a/b.md": b"b", ".gitattributes": b"* text eol=crlf filter=x ident\n"})
    found = await install(f"git+{repository.url}", tmp_path / "there")
    assert (found.name, found.origin.path) == ("repo", "")
    assert (tmp_path / "there" / "SKILL.md").read_bytes() == b"Do it.\n", "no filter or line end is applied"


async def test_a_branch_a_tag_an_annotated_tag_and_a_commit_are_all_resolved(repository: Repository) -> None:
    first = repository.commit({"SKILL.md": SKILL})
    repository.git("tag", "v1")
    repository.git("tag", "-a", "-m", "x", "v1-noted")
    repository.git("branch", "feature/x", first)
    last = repository.commit({"SKILL.md": SKILL, "more.md": b""})
    source = GitRepository(repository.url, WebSettings(), HostPrograms(ENVIRON), typed=True)
    meant = dict.fromkeys(("v1", "v1-noted", "feature/x", "refs/tags/v1", first), first)
    for ref, commit in {**meant, "": last, "main": last, "refs/heads/main": last}.items():
        (found,) = await source.resolve(SkillReference("x", "git", url=repository.url, ref=ref))
        assert (found.commit, found.origin.ref) == (commit, ref)
    await source.aclose()


async def test_a_repository_with_longer_hashes_is_one_too(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repo", sha256=True)
    commit = repository.commit(FILES)
    found = await install(f"git+{repository.url}#{commit}:skills/notes", tmp_path / "there")
    assert (len(commit), found.commit) == (64, commit)
    assert (await resolve(f"git+{repository.url}"))[0].commit == commit


async def test_a_name_that_is_a_branch_and_a_tag_is_ambiguous(repository: Repository) -> None:
    repository.commit({"SKILL.md": SKILL})
    repository.git("tag", "both")
    repository.commit({"SKILL.md": SKILL + b"x"}, "both")
    with pytest.raises(ClawftError) as caught:
        await resolve(f"git+{repository.url}#both")
    assert caught.value.code == "git-ambiguous"
    assert "refs/heads/both" in caught.value.hint
    assert (await resolve(f"git+{repository.url}#refs/tags/both"))[0].name == "notes"


async def test_the_address_of_a_page_is_divided_where_the_branch_ends(repository: Repository) -> None:
    commit = repository.commit(FILES, "feature/x")
    reference = SkillReference("https://host/tree/…", "git", url=repository.url, ref="feature", path="x/skills/notes")
    source = GitRepository(repository.url, WebSettings(), HostPrograms(ENVIRON), typed=True)
    (found,) = await source.resolve(reference)
    await source.aclose()
    assert (found.origin.ref, found.origin.path, found.commit) == ("feature/x", "skills/notes", commit)


@pytest.mark.parametrize(
    ("ref", "code"), [("nothing", "git-ref"), ("0" * 40, "git-ref"), ("main:none", "source-path"), ("v", "git-ref")]
)
async def test_what_a_repository_does_not_have_is_told(ref: str, code: str, repository: Repository) -> None:
    repository.commit(FILES)
    with pytest.raises(NotFound) as caught:
        await resolve(f"git+{repository.url}#{ref}")
    assert caught.value.code == code


async def test_a_repository_that_is_not_there_or_has_nothing_is_told(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        await resolve(f"git+file://{tmp_path}/none")
    assert caught.value.code == "git-not-found"
    with pytest.raises(NotFound) as caught:
        await resolve(f"git+{repository.url}")
    assert caught.value.code == "git-ref"


async def test_without_git_it_is_said_what_is_missing(repository: Repository, tmp_path: Path) -> None:
    source = GitRepository(repository.url, WebSettings(), HostPrograms({"PATH": str(tmp_path)}), typed=True)
    with pytest.raises(ClawftError) as caught:
        await source.resolve(SkillReference("x", "git", url=repository.url))
    assert caught.value.code == "git-missing"
    assert caught.value.hint


async def test_only_the_files_that_are_meant_are_fetched(repository: Repository, tmp_path: Path) -> None:
    repository.commit({**FILES, "large": os.urandom(1 << 20)})
    with serving(tmp_path) as address:
        source = GitRepository(f"{address}/repo", WebSettings(), HostPrograms(ENVIRON), typed=True)
        (found,) = await source.resolve(SkillReference("x", "git", url=address, skill="notes"))
        (tmp_path / "there").mkdir()
        await source.download(found, str(tmp_path / "there"))
        size = sum(file.stat().st_size for file in Path(source._folder).rglob("*.pack"))
        await source.aclose()
    assert (tmp_path / "there" / "scripts" / "run.sh").exists()
    assert size < 10_000
    assert not Path(source._folder).exists()


async def test_servers_that_give_only_all_of_it_are_asked_for_that(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repo", partial=False)
    first = repository.commit(FILES)
    repository.commit({**FILES, "more": b"x"})
    with serving(tmp_path, old=True) as address:
        for number, ref in enumerate(("main", first)):
            there = tmp_path / f"there-{number}"
            await install(f"git+{address}/repo#{ref}:skills/notes", there)
            assert (there / "SKILL.md").read_bytes() == SKILL


async def test_a_plain_web_server_of_files_gives_a_repository_too(tmp_path: Path) -> None:
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    repository = Repository(tmp_path / "repo")
    repository.commit(FILES)
    repository.git("update-server-info")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        await install(f"git+http://127.0.0.1:{server.server_port}/repo#main:skills/notes", tmp_path / "there")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert (tmp_path / "there" / "SKILL.md").read_bytes() == SKILL


async def test_renewing_gives_the_newest_commit_and_exactly_the_locked_one(
    repository: Repository, tmp_path: Path
) -> None:
    first = repository.commit(FILES)
    found = await install(f"git+{repository.url}#main:skills/notes", tmp_path / "there")
    installed = AvailableVersion(found.origin, commit=first, digest=compute_digest(str(tmp_path / "there")).value)
    last = repository.commit({**FILES, "skills/notes/more.md": b"more"})
    assert (await renew(installed)).commit == last
    assert (await renew(installed, exact=True)).commit == first
    wrong = AvailableVersion(found.origin, commit=last, digest=installed.digest)
    with pytest.raises(Refused) as caught:
        await renew(wrong, exact=True)
    assert caught.value.code == "source-changed"


async def test_skills_of_one_repository_are_renewed_and_downloaded_at_once(
    repository: Repository, tmp_path: Path
) -> None:
    names = [f"s{number}" for number in range(6)]
    files = {f"skills/{name}/SKILL.md": SKILL.replace(b"notes", name.encode()) for name in names}
    first = repository.commit(files)
    last = repository.commit({path: data + b"More.\n" for path, data in files.items()})
    source = GitRepository(repository.url, WebSettings(), HostPrograms(ENVIRON), typed=True)
    came: list[str] = []

    async def renew_one(name: str) -> None:
        (tmp_path / name).mkdir()
        installed = AvailableVersion(SkillOrigin("git", repository.url, path=f"skills/{name}"), commit=first)
        found = await source.renew(installed)
        came.append((await source.download(found, str(tmp_path / name))).commit)

    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(renew_one, name)
    await source.aclose()
    assert came == [last] * 6


async def test_all_skills_of_a_repository_are_fetched_together(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repo")
    named = {f"skills/s{one}/SKILL.md": SKILL.replace(b"notes", b"s%d" % one) for one in range(5)}
    repository.commit({**named, **{f"skills/s{one}/more.md": b"%d" % one for one in range(5)}})
    asked: list[str] = []

    def note(path: str) -> None:
        asked.append(path)

    with serving(tmp_path, note) as address:
        source = GitRepository(f"{address}/repo", WebSettings(), HostPrograms(ENVIRON), typed=True)
        reference = SkillReference("x", "git", url=address)
        (first,) = await source.resolve(structs.replace(reference, skill="s1"))
        before = len(asked)
        assert len(await source.resolve(structs.replace(reference, path="skills/s2"))) == 1
        assert len(asked) == before, "what the branch is, and what tells of skills, is known"
        found = await source.resolve(reference)
        before = len(asked)
        for number, one in enumerate((first, *found)):
            (tmp_path / f"there-{number}").mkdir()
            await source.download(one, str(tmp_path / f"there-{number}"))
        await source.aclose()
    assert len(asked) == before + 2, "one greeting, one request"


async def test_a_commit_that_was_asked_for_stays(repository: Repository) -> None:
    first = repository.commit({"SKILL.md": SKILL})
    repository.commit({"SKILL.md": SKILL + b"more"})
    (found,) = await resolve(f"git+{repository.url}#{first}")
    assert (await renew(AvailableVersion(found.origin, commit=first))).commit == first


async def test_a_commit_that_changed_other_files_is_no_newer_version(repository: Repository) -> None:
    first = repository.commit(FILES)
    (found,) = await resolve(f"git+{repository.url}#main:skills/notes")
    repository.commit({**FILES, "README.md": b"ho"})
    assert (await renew(AvailableVersion(found.origin, commit=first))).commit == first
    last = repository.commit({**FILES, "skills/notes/scripts/run.sh": b"#!/bin/sh\n"})
    assert (await renew(AvailableVersion(found.origin, commit=first))).commit == last, (
        "the mode of a file is a part of it"
    )
    repository.drop()
    gone = AvailableVersion(found.origin, commit="1" * 40)
    new = repository.commit(FILES)
    assert (await renew(gone)).commit == new


async def test_a_skill_that_left_the_repository_is_told_when_it_is_renewed(repository: Repository) -> None:
    first = repository.commit(FILES)
    (found,) = await resolve(f"git+{repository.url}#main:skills/notes")
    repository.commit({"skills/other/SKILL.md": SKILL})
    with pytest.raises(NotFound) as caught:
        await renew(AvailableVersion(found.origin, commit=first))
    assert caught.value.code == "source-path"


async def test_what_a_killed_process_left_is_swept_after_a_day(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"SKILL.md": SKILL})
    there = tmp_path / "temporary"
    (there / "clawft-git-old" / "objects").mkdir(parents=True)
    (there / "clawft-git-new").mkdir()
    (there / "clawft-git-link").symlink_to(repository.folder)
    os.utime(there / "clawft-git-old", (1, 1))
    os.utime(there / "clawft-git-link", (1, 1), follow_symlinks=False)
    monkeypatch.setattr(tempfile, "tempdir", str(there))
    await resolve(f"git+{repository.url}")
    assert sorted(os.listdir(there)) == ["clawft-git-link", "clawft-git-new"]
    assert (repository.folder / "HEAD").exists()


async def test_pointers_to_other_storage_are_told_of(repository: Repository, tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 5\n"
    repository.commit({"SKILL.md": SKILL, "model.bin": pointer})
    found = await install(f"git+{repository.url}", tmp_path / "there")
    assert [(note.code, "model.bin" in note.message) for note in found.notes] == [("git-lfs", True)]


async def test_a_repository_over_http_is_resolved_and_downloaded(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repo")
    commit = repository.commit(FILES)
    with serving(tmp_path) as address:
        found = await install(f"git+{address}/repo#main:skills/notes", tmp_path / "there")
        with pytest.raises(NotFound) as caught:
            await resolve(f"git+{address}/none")
    assert found.commit == commit
    assert caught.value.code == "git-not-found"


@pytest.mark.parametrize("form", ["ssh://git@forge.example:2222{}", "git@forge.example:{}"])
async def test_a_repository_over_ssh_is_had_by_the_user_s_own_ssh_that_asks_nothing(form: str, tmp_path: Path) -> None:
    """The program `ssh` stands in for a host: it writes down its words, and does what the host would."""
    repository = Repository(tmp_path / "repo")
    commit = repository.commit(FILES)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to(shutil.which("git") or "")
    program = tmp_path / "bin" / "ssh"
    program.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/words\nfor last; do :; done\nexec sh -c "$last"\n')
    program.chmod(0o755)
    url = form.format(repository.folder)
    source = GitRepository(url, WebSettings(), HostPrograms({"PATH": f"{tmp_path}/bin"}), typed=True)
    (found,) = await source.resolve(SkillReference("x", "git", url=url, skill="notes"))
    await source.aclose()
    assert (found.commit, found.origin.url) == (commit, url)
    words = (tmp_path / "words").read_text()
    assert "-o BatchMode=yes" in words
    assert "git@forge.example" in words


async def test_a_host_that_does_not_answer_is_told() -> None:
    with pytest.raises(ClawftError) as caught:
        await resolve("git+http://127.0.0.1:1/x")
    assert caught.value.code == "git-unreachable"
