"""Private keys, token files and tokens in git's config: no confined program reads them, however deep they lie."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.anyio
Box = Any
DEEP = "one/two/three/four/five/six"
PEM = "-----BEGIN {}PRIVATE KEY-----\ns3cret-s3cret\n-----END {}PRIVATE KEY-----\n"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\npublic\n-----END CERTIFICATE-----\n"
KEYS = {
    "server.pem": PEM.format("", ""),
    "server.key": PEM.format("RSA ", "RSA "),
    "bundle.pem": CERTIFICATE + PEM.format("EC ", "EC "),
    "bag.pem": "Bag Attributes\n    localKeyID: 01\n" + PEM.format("ENCRYPTED ", "ENCRYPTED "),
    "id_work": PEM.format("OPENSSH ", "OPENSSH "),
    "deploy_rsa": PEM.format("OPENSSH ", "OPENSSH "),
    "signing-key.txt": "\n" + PEM.format("", ""),
    "PRIVATE.KEY": PEM.format("", ""),
    "putty.ppk": "PuTTY-User-Key-File-3: ssh-ed25519\ns3cret\n",
    "me.asc": "-----BEGIN PGP PRIVATE KEY BLOCK-----\ns3cret\n",
    "age-key.txt": "# created: 2026-01-01\n# public key: age1x\nAGE-SECRET-KEY-1S3CRET-s3cret\n",
    "store.p12": "\x30\x02\x01\x03s3cret",
    "service-account.json": '{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\\ns3cret"}',
    ".vault-token": "s3cret",
    ".git-credentials": "https://me:s3cret@example.com",
    "master.key": "s3cret",
}
PUBLIC = {
    "ca.pem": CERTIFICATE,
    "id_work.pub": "ssh-ed25519 AAAA shown",
    "keyboard.py": 'KEY = """-----BEGIN PRIVATE KEY-----\nshown"""\n',
    "monkey.txt": "shown",
    "test.key": "shown",
    "translations.json": '{"private_key": "Privater Schluessel, shown"}',
}


@pytest.mark.parametrize("folder", [".", DEEP])
async def test_private_keys_and_token_files_are_hidden_at_every_depth(box: Box, folder: str) -> None:
    place = box.project / folder
    place.mkdir(parents=True, exist_ok=True)
    for name, text in (KEYS | PUBLIC).items():
        (place / name).write_text(text, encoding="latin-1")
    (place / ".env").write_text("s3cret")
    said = await box.say(f"cd {folder}; for one in * .[a-z]*; do echo $one; cat $one; done; grep -rh s3cret .")
    assert "s3cret" not in said
    assert said.count("public") == 1
    assert said.count("shown") == len(PUBLIC) - 1


async def test_a_key_that_was_written_into_an_old_file_is_hidden(box: Box) -> None:
    """The folder is the same as when it was looked at before."""
    file = box.project / "new.pem"
    file.write_text("")
    assert await box.say("cat new.pem") == ""
    with open(file, "w", encoding="utf-8") as stream:
        stream.write(PEM.format("", ""))
    assert "s3cret" not in await box.say("cat new.pem")


async def test_a_link_with_the_name_of_a_key_hides_where_it_leads(box: Box) -> None:
    (box.project / "data").write_text(PEM.format("", ""))
    (box.project / "server.key").symlink_to("data")
    assert "s3cret" not in await box.say("cat data server.key")


async def test_what_is_closed_is_found_at_every_depth(box: Box) -> None:
    for name in (".git/hooks/pre-commit", ".claude/settings.json"):
        path = box.project / DEEP / name
        path.parent.mkdir(parents=True)
        path.write_text("old")
    await box.run(f"cd {DEEP}; echo new > .git/hooks/pre-commit; echo new > .claude/settings.json; rm -rf .git")
    assert (box.project / DEEP / ".git/hooks/pre-commit").read_text() == "old"
    assert (box.project / DEEP / ".claude/settings.json").read_text() == "old"


def make_repository(project: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=project, check=True, timeout=60)
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    commit = ["git", *author, "commit", "-q", "--allow-empty", "-m", "first"]
    subprocess.run(commit, cwd=project, check=True, timeout=60)


async def test_a_key_that_git_tracks_as_it_is_stays(wrapped: Box) -> None:
    """Its bytes are in git's objects, and tests need it; once it is another one it is hidden."""
    make_repository(wrapped.project)
    (wrapped.project / "fixture.pem").write_text(PEM.format("", "").replace("s3cret", "fixture"))
    subprocess.run(["git", "add", "."], cwd=wrapped.project, check=True, timeout=60)
    assert "fixture" in await wrapped.say("cat fixture.pem")
    (wrapped.project / "fixture.pem").write_text(PEM.format("", ""))
    assert "s3cret" not in await wrapped.say("cat fixture.pem")


TOKENS = """
[remote "origin"]
\turl = https://me:s3cret-1@example.com/a.git
\tpushurl = https://s3cret-2@example.com/a.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[remote "ssh"]
\turl = ssh://git@example.com/a.git
[http "https://example.com/"]
\textraheader = AUTHORIZATION: basic s3cret-3
[http]
\textraHeader = "X: s3cret-\\
4"
[url "https://x:s3cret-5@example.com/"]
\tinsteadOf = gh:
[sendemail]
\tsmtpPass = s3cret-6
[user]
\tsigningkey = ABCDEF
[alias]
\tx = !curl -H 'Authorization: Bearer s3cret-7s3cret-7'
"""


async def test_tokens_in_the_config_of_git_are_masked(wrapped: Box) -> None:
    make_repository(wrapped.project)
    with open(wrapped.project / ".git" / "config", "a", encoding="utf-8") as file:
        file.write(TOKENS)
    said = await wrapped.say(
        "cat .git/config; git remote -v; git config -l; cp .git/config copy; cat copy; grep -r s3cret .git; git log"
    )
    assert "s3cret" not in said
    for kept in ("ssh://git@example.com/a.git", "signingkey = ABCDEF", "+refs/heads/*", "first", "@example.com/a.git"):
        assert kept in said
    assert "s3cret-1" in (wrapped.project / ".git" / "config").read_text()
    await wrapped.run("echo x >> .git/config; git config a.b c; rm .git/config")
    assert (wrapped.project / ".git" / "config").read_text().endswith("s3cret-7s3cret-7'\n")


@pytest.mark.parametrize("name", ["config.worktree", "modules/deep/sub/config", "worktrees/other/config.worktree"])
async def test_tokens_in_other_configs_of_git_are_masked(wrapped: Box, name: str) -> None:
    make_repository(wrapped.project)
    path = wrapped.project / ".git" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TOKENS)
    assert "s3cret" not in await wrapped.say(f"cat .git/{name}")


async def test_tokens_of_a_repository_elsewhere_and_of_one_inside_are_masked(wrapped: Box) -> None:
    inner, main = wrapped.project / DEEP, wrapped.folder / "main"
    main.mkdir()
    make_repository(main)
    wrapped.project.rmdir()
    words = ["git", "worktree", "add", "-q", str(wrapped.project)]
    subprocess.run(words, cwd=main, check=True, capture_output=True, timeout=60)
    inner.mkdir(parents=True)
    make_repository(inner)
    for place in (inner, main):
        with open(place / ".git" / "config", "a", encoding="utf-8") as file:
            file.write(TOKENS)
    said = await wrapped.say(f"cat {DEEP}/.git/config {main}/.git/config; git remote -v; git log")
    assert "s3cret" not in said
    assert said.count("fetch = +refs/heads/*") == 2
    assert "first" in said


async def test_under_landlock_no_token_is_read_either(landlocked: Box) -> None:
    """Nothing can be mounted there, so git cannot read such a config at all."""
    make_repository(landlocked.project)
    assert "first" in await landlocked.say("git log")
    (landlocked.project / ".git" / "config").write_text(TOKENS)
    assert "s3cret" not in await landlocked.say("cat .git/config; git config -l; git remote -v")


async def test_a_secret_among_ten_thousand_files_is_found(box: Box) -> None:
    for number in range(1_000):
        folder = box.project / f"a{number % 10}" / f"b{number // 10 % 10}" / "c" / f"d{number // 100}" / "e"
        folder.mkdir(parents=True)
        for name in range(10):
            (folder / f"file{name}.txt").touch()
    (folder / ".env").write_text("s3cret")
    assert "s3cret" not in await box.say(f"cat {folder}/.env")
