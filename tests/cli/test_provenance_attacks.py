"""What somebody tries who has a registry, or a key that was stolen, and no key that is trusted."""

import io
import json
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.install.archive.unpack import unpack
from hub_world import ServedHub

Weft = Callable[..., subprocess.CompletedProcess[str]]

TEXT = (
    "---\nname: {}\ndescription: Tells the tides of a harbour. Use it when somebody asks.\nversion: {}\n---\n# Tides\n"
)


@pytest.fixture
def hub(served_hub: ServedHub, tmp_path: Path) -> ServedHub:
    """A hub that is the default registry."""
    user = tmp_path / "home" / ".clawft"
    user.mkdir(parents=True)
    (user / "config.toml").write_text(
        f'[registries.home]\nurl = "{served_hub.url}"\ndefault = true\ntoken = {{ env = "HUB_TOKEN" }}\n'
    )
    return served_hub


def _make(folder: Path, name: str = "tides", version: str = "1.0.0") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "SKILL.md").write_text(TEXT.format(name, version))
    return folder


def _key(weft: Weft) -> tuple[str, str]:
    known = json.loads(weft("publishers", "key", "--make", "--format", "json").stdout)
    return known["key"], known["fingerprint"]


def test_what_no_signature_covers_does_not_come_with_a_signed_skill(weft: Weft, project: Path) -> None:
    _make(project / "tides")
    weft("skills", "sign", "./tides", "--yes")
    weft("publishers", "trust", "ada", _key(weft)[0], "--yes")
    weft("skills", "pack", "tides")
    added = ["tides/scripts/.DS_Store", "tides/scripts/.clawft-signature", "tides/.DS_Store"]
    with zipfile.ZipFile(project / "tides.skill", "a") as archive:
        for name in added:
            archive.writestr(name, "#!/bin/sh\ndate\n")

    done = weft("skills", "install", "./tides.skill", "--require-signature", "--yes")

    installed = project.parent / "home" / ".clawft" / "skills" / "tides"
    assert done.returncode == 0, done.stderr
    assert sorted(str(one.relative_to(installed)) for one in installed.rglob("*") if one.is_file()) == [
        ".clawft-signature",
        "SKILL.md",
    ]


def test_a_registry_cannot_pass_off_one_signed_skill_as_another(weft: Weft, hub: ServedHub, project: Path) -> None:
    token = {"HUB_TOKEN": hub.token("ada")}
    weft("publishers", "trust", "ada", _key(weft)[0], "--for", "ada/*", "--yes")
    _make(project / "wipe-disk", "wipe-disk")
    published = weft("skills", "publish", "wipe-disk", "--slug", "tides", "--sign", "--yes", **token)
    assert (published.returncode, "it counts as untrusted" in published.stderr) == (0, True), published.stderr

    done = weft("skills", "install", "@ada/tides", "--require-signature", "--yes", **token)

    assert (done.returncode, "wipe-disk" in done.stderr) == (3, True), done.stderr


def test_a_key_that_nobody_trusted_and_that_is_revoked_is_noticed(weft: Weft, project: Path) -> None:
    _make(project / "tides")
    weft("skills", "sign", "./tides", "--yes")
    assert weft("skills", "install", "./tides", "--yes").returncode == 0
    assert weft("skills", "verify").returncode == 0

    weft("publishers", "revoke", _key(weft)[1], "--reason", "stolen", "--yes")

    verified = weft("skills", "verify", "tides")
    assert (verified.returncode, "stolen" in verified.stdout) == (1, True)
    audited = weft("skills", "audit", "--offline")
    assert (audited.returncode, "stolen" in audited.stdout) == (3, True)


def test_an_update_does_not_lose_the_signature_without_a_word(weft: Weft, hub: ServedHub, project: Path) -> None:
    token = {"HUB_TOKEN": hub.token("ada")}
    weft("publishers", "trust", "ada", _key(weft)[0], "--yes")
    tides = _make(project / "tides")
    weft("skills", "publish", "tides", "--sign", "--yes", **token)
    assert weft("skills", "install", "tides", "--yes", **token).returncode == 0
    _make(tides, version="1.0.1")
    (tides / ".clawft-signature").unlink()
    assert weft("skills", "publish", "tides", "--yes", **token).returncode == 0

    done = weft("skills", "update", "tides", "--yes", **token)

    assert (done.returncode, "error[signature-lost]" in done.stderr) == (3, True), done.stderr


def test_what_is_packed_is_what_was_checked_though_somebody_writes_meanwhile(
    weft: Weft, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tides = _make(project / "tides")
    (tides / "notes.txt").write_text("of no account " * 4)
    (tides / ".clawft-signature").write_text("of something else")

    def unpack_and_change(*given: object) -> object:
        done = unpack(*given)  # type: ignore[arg-type]
        (tides / "notes.txt").write_text("x" * len("of no account " * 4))
        return done

    monkeypatch.setattr("clawft.install.publish.preparation.unpack", unpack_and_change)

    assert weft("skills", "pack", "tides").returncode == 0

    with zipfile.ZipFile(project / "tides.skill") as archive:
        assert archive.read("tides/notes.txt").startswith(b"of no account")


def test_a_changelog_with_a_secret_is_not_sent(weft: Weft, hub: ServedHub, project: Path) -> None:
    _make(project / "tides")
    token = {"HUB_TOKEN": hub.token("ada")}

    for text in (f"Uses {token['HUB_TOKEN']}", "API_KEY=Zk3vQ9xT7bLm2Rw8Yc5Np1Hd6Js4Gf0A"):
        done = weft("skills", "publish", "tides", "--changelog", text, "--yes", **token)
        assert (done.returncode, "error[skill-secrets]" in done.stderr) == (3, True), done.stderr
        assert text.split()[-1] not in done.stderr
    assert hub.store.find("tides") == ()


def test_a_key_that_counts_no_more_is_not_exported(weft: Weft, project: Path) -> None:
    first, fingerprint = _key(weft)
    weft("publishers", "trust", "ada", first, "--yes")
    weft("publishers", "rotate", "--new", "--yes", "-o", "ada.rotation")
    weft("publishers", "rotate", "ada.rotation", "--yes")
    assert len(weft("publishers", "export").stdout.splitlines()) == 2

    weft("publishers", "revoke", fingerprint, "--reason", "stolen", "--yes")

    assert weft("publishers", "export").stdout == ""  # the other one was trusted on its word


def test_a_plugin_brings_no_skill_that_would_not_be_installed_by_itself(weft: Weft, project: Path) -> None:
    plugin = project / "harbour"
    (plugin / "skills").mkdir(parents=True)
    manifest = {"id": "org.example.harbour", "name": "Harbour", "version": "1.0.0", "capabilities": ["skill"]}
    (plugin / "clawft.plugin.json").write_text(json.dumps(manifest | {"skill_dirs": ["skills"]}))
    tides = _make(plugin / "skills" / "tides")

    def install() -> tuple[int, str]:
        done = weft("plugins", "install", "harbour", "--yes")
        return done.returncode, done.stderr

    config = project.parent / "home" / ".clawft" / "config.toml"
    weft("skills", "sign", "harbour/skills/tides", "--yes")
    assert install()[0] == 0
    config.write_text("[skills.security]\nrequire_signature = true\n")
    assert "error[signature-untrusted]" in install()[1]
    weft("publishers", "trust", "ada", _key(weft)[0], "--yes")
    assert install()[0] == 0
    config.unlink()
    weft("publishers", "revoke", "ada", "--reason", "stolen", "--yes")
    assert (install()[0], "stolen" in install()[1]) == (3, True)
    (tides / "more.md").write_text("changed")
    assert "error[signature-bad]" in install()[1]


@pytest.mark.parametrize("name", [".env", "notes.txt"])
def test_a_secret_in_an_archive_in_an_archive_is_not_packed(weft: Weft, project: Path, name: str) -> None:
    tides = _make(project / "tides")
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"config/{name}", "API_KEY=Zk3vQ9xT7bLm2Rw8Yc5Np1Hd6Js4Gf0A\n")
    with tarfile.open(tides / "data.tar.gz", "w:gz") as outer:
        member = tarfile.TarInfo("inner.zip")
        member.size = len(inner.getvalue())
        outer.addfile(member, io.BytesIO(inner.getvalue()))

    done = weft("skills", "pack", "tides")

    assert (done.returncode, "error[skill-secrets]" in done.stderr) == (3, True), done.stderr
    assert f"inner.zip/config/{name}" in done.stderr
    assert not (project / "tides.skill").exists()


def test_a_revoked_key_is_refused_whatever_a_lock_says_of_it(weft: Weft, project: Path) -> None:
    (project / ".clawft" / "skills").mkdir(parents=True)
    _make(project / ".clawft" / "skills" / "brought", "brought")  # with the project, and in no lock
    weft("skills", "sign", ".clawft/skills/brought", "--yes")
    _make(project / "tides")
    weft("skills", "sign", "./tides")
    weft("skills", "install", "./tides", "--yes")  # by a key that nobody trusts, so that the lock does not name it
    assert "tides is ready" in weft("skills", "why", "tides").stdout

    lock = project.parent / "home" / ".clawft" / "skills.lock"
    other = 'signed_by = "SHA256:' + "A" * 43 + '"'  # as a project's lock may, which is a stranger's
    lock.write_text(lock.read_text().replace("[skill.tides]\n", f"[skill.tides]\n{other}\n"))
    weft("publishers", "revoke", _key(weft)[1], "--reason", "stolen", "--yes")

    for name in ("tides", "brought"):
        trusted = weft("skills", "trust", name, "--yes")
        assert (trusted.returncode, "stolen" in trusted.stderr) == (3, True), trusted.stderr
        assert f"{name} is untrusted" in weft("skills", "why", name).stdout


def test_nothing_is_not_signed_as_a_skill(weft: Weft, project: Path) -> None:
    tides = _make(project / "tides")
    (tides / ".gitignore").write_text("*.md\n")
    done = weft("skills", "sign", "./tides", "--yes")
    assert (done.returncode, "error[pack-left-out]" in done.stderr) == (1, True), done.stderr
    assert not (tides / ".clawft-signature").exists()
