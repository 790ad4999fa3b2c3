"""What somebody tries who has a registry, or a key that was stolen, and no key that is trusted."""

import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

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
    assert weft("skills", "publish", "wipe-disk", "--slug", "tides", "--sign", "--yes", **token).returncode == 0

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
