"""`weft skills publish` to a hub of this machine, and what whoever installs from there gets."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hub_world import ServedHub

Weft = Callable[..., subprocess.CompletedProcess[str]]

TEXT = "---\nname: tides\ndescription: Tells the tides of a harbour. Use it when somebody asks.\n---\n# Tides\n"


@pytest.fixture
def skill(project: Path) -> Path:
    folder = project / "tides"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(TEXT)
    (folder / "scripts" / "look.sh").write_text("#!/bin/sh\ndate\n")
    (folder / "scripts" / "look.sh").chmod(0o755)
    (folder / ".notes").write_text("mine alone")
    return folder


@pytest.fixture
def hub(served_hub: ServedHub, tmp_path: Path) -> ServedHub:
    """A hub that is the default registry, with a token of alice's."""
    user = tmp_path / "home" / ".clawft"
    user.mkdir(parents=True, exist_ok=True)
    (user / "config.toml").write_text(
        f'[registries.home]\nurl = "{served_hub.url}"\ndefault = true\ntoken = {{ env = "HUB_TOKEN" }}\n'
    )
    return served_hub


def test_a_skill_is_published_signed_and_installed_as_it_was(weft: Weft, hub: ServedHub, skill: Path) -> None:
    token = {"HUB_TOKEN": hub.token("alice")}
    dry = json.loads(weft("skills", "publish", "tides", "--dry-run", "--format", "json", **token).stdout)
    assert (dry["version"], dry["published"], dry["owner"]) == ("1.0.0", False, "alice")
    assert [one["path"] for one in dry["files"]] == ["SKILL.md", "scripts/look.sh"]
    assert hub.store.find("tides") == ()
    asked = weft("skills", "publish", "tides", **token)
    assert (asked.returncode, "error[needs-yes]" in asked.stderr) == (3, True)
    assert "SKILL.md" in asked.stderr  # what would be sent was listed
    assert hub.store.find("tides") == ()

    done = weft("skills", "publish", "tides", "--sign", "--yes", **token)
    assert "Published: @alice/tides 1.0.0" in done.stdout, done.stderr
    again = weft("skills", "publish", "tides", "--yes", **token)
    assert (again.returncode, "Unchanged: home has this content as 1.0.0" in again.stderr) == (0, True)

    key = json.loads(weft("publishers", "key", "--format", "json").stdout)
    refused = weft("skills", "install", "tides", "--require-signature", "--yes", **token)
    assert (refused.returncode, "error[signature-untrusted]" in refused.stderr) == (3, True)
    weft("publishers", "trust", "alice", key["key"], "--for", "alice/*", "--yes")
    installed = weft("skills", "install", "tides", "--require-signature", "--yes", **token)
    assert installed.returncode == 0, installed.stderr
    assert weft("skills", "verify").returncode == 0
    weft("publishers", "revoke", "alice", "--reason", "stolen", "--yes")
    assert weft("skills", "verify").returncode == 1


def test_changed_content_becomes_the_next_version(weft: Weft, hub: ServedHub, skill: Path) -> None:
    token = {"HUB_TOKEN": hub.token("alice")}
    hub.put("alice/tides", "1.0.0")

    def publish(*more: str) -> subprocess.CompletedProcess[str]:
        return weft("skills", "publish", "tides", "--yes", *more, **token)

    assert "Published: @alice/tides 1.0.1" in publish().stdout
    (skill / "SKILL.md").write_text(TEXT.replace("---\n# ", "version: 1.0.1\n---\n# "))
    taken = publish()
    assert (taken.returncode, "error[version-taken]" in taken.stderr) == (3, True)
    assert "Published: @alice/tides 1.1.0" in publish("--bump", "minor").stdout
    assert "version: 1.1.0" in (skill / "SKILL.md").read_text()
    assert "Unchanged: home has this content as 1.1.0" in publish("--version", "1.1.0").stderr
    wrong = publish("--version", "7.0.0")
    assert (wrong.returncode, "error[version-differs]: SKILL.md says 1.1.0" in wrong.stderr) == (1, True)
    (found,) = hub.store.find("tides")
    assert found.latest == "1.1.0"


def test_content_without_a_fingerprint_is_compared_with_the_latest_version(
    weft: Weft, hub: ServedHub, skill: Path
) -> None:
    token = {"HUB_TOKEN": hub.token("alice")}
    (skill / "数据.md").write_text("x\n")
    first = json.loads(weft("skills", "publish", "tides", "--yes", "--format", "json", **token).stdout)
    assert (first["published"], first["fingerprint"]) == (True, None)
    assert "Unchanged: home has this content" in weft("skills", "publish", "tides", "--yes", **token).stderr
    (skill / "数据.md").write_text("y\n")
    changed = json.loads(weft("skills", "publish", "tides", "--yes", "--format", "json", **token).stdout)
    assert (changed["published"], changed["unchanged"]) == (True, False)
    assert weft("skills", "install", "tides", "--yes", **token).returncode == 0


def test_what_is_published_unsigned_can_be_published_signed_as_the_next_version(
    weft: Weft, hub: ServedHub, skill: Path
) -> None:
    token = {"HUB_TOKEN": hub.token("alice")}
    (skill / "SKILL.md").write_text(TEXT.replace("---\n# ", "version: 0.2.0\n---\n# "))
    weft("skills", "publish", "tides", "--yes", **token)

    refused = weft("skills", "publish", "tides", "--sign", "--yes", **token)
    assert (
        refused.returncode,
        "error[version-taken]: 'home' has this content as 0.2.0, unsigned" in refused.stderr,
    ) == (
        3,
        True,
    )
    assert "hint: To publish it signed, as the next version: --bump patch" in refused.stderr
    signed = weft("skills", "publish", "tides", "--bump", "patch", "--sign", "--yes", **token)
    assert "Published: @alice/tides 0.2.1" in signed.stdout, signed.stderr
    assert "version: 0.2.1" in (skill / "SKILL.md").read_text()
    again = weft("skills", "publish", "tides", "--sign", "--yes", **token)
    assert (again.returncode, again.stderr.endswith("Unchanged: home has this content as 0.2.1\n")) == (0, True)


def test_a_signature_that_came_after_the_version_is_missed_there(weft: Weft, hub: ServedHub, skill: Path) -> None:
    token = {"HUB_TOKEN": hub.token("alice")}
    weft("skills", "publish", "tides", "--yes", **token)
    weft("skills", "sign", "tides", "--yes")

    done = weft("skills", "publish", "tides", "--yes", **token)

    assert "has this content as 1.0.0, without its signature; to publish that: --bump patch --sign" in done.stderr
    assert (
        "Published: @alice/tides 1.0.1"
        in weft("skills", "publish", "tides", "--bump", "patch", "--sign", "--yes", **token).stdout
    )


def test_what_is_not_taken_leaves_the_skill_as_it_was(weft: Weft, hub: ServedHub, skill: Path) -> None:
    text = TEXT.replace("---\n# ", "version: 0.1.0\n---\n# ")
    (skill / "SKILL.md").write_text(text)

    refused = weft(
        "skills", "publish", "tides", "--bump", "patch", "--sign", "--yes", HUB_TOKEN=hub.token("alice", "read")
    )

    assert (refused.returncode, "error[publish-token]" in refused.stderr) == (3, True)
    assert "says 0.1.1 now" not in refused.stderr
    assert (skill / "SKILL.md").read_text() == text
    assert not (skill / ".clawft-signature").exists()


def test_a_dry_run_without_a_token_says_that_nobody_was_asked(weft: Weft, skill: Path) -> None:
    done = weft("skills", "publish", "tides", "--dry-run")

    assert (done.returncode, done.stdout) == (0, "Could be published: tides 1.0.0\n")
    assert "the first version" not in done.stderr
    assert "warning[publish-token]: There is no token for 'clawhub', so it was not asked what it has" in done.stderr
    assert "hint: Get one there, then: weft registries token clawhub" in done.stderr


def test_a_skill_of_ones_own_is_published_by_its_name(weft: Weft, hub: ServedHub, own: Path) -> None:
    weft("skills", "new", "tides", "--description", "Tells the tides. Use it when somebody asks.")

    done = weft("skills", "publish", "tides", "--bump", "minor", "--yes", HUB_TOKEN=hub.token("alice"))

    assert "Published: @alice/tides 0.2.0" in done.stdout, done.stderr
    assert 'version: "0.2.0"' in (own / "tides" / "SKILL.md").read_text()


def test_an_old_signature_is_not_published(weft: Weft, hub: ServedHub, skill: Path) -> None:
    token = {"HUB_TOKEN": hub.token("alice")}
    weft("skills", "sign", "./tides", "--yes")
    (skill / "SKILL.md").write_text(TEXT + "More.\n")

    refused = weft("skills", "publish", "tides", "--yes", **token)

    assert (refused.returncode, "error[signature-bad]" in refused.stderr) == (3, True)
    assert hub.store.find("tides") == ()


def test_what_is_broken_or_secret_or_not_allowed_is_not_sent(weft: Weft, hub: ServedHub, skill: Path) -> None:
    none = weft("skills", "publish", "tides", "--yes", HUB_TOKEN="")
    assert none.returncode != 0
    wrong = weft("skills", "publish", "tides", "--yes", HUB_TOKEN="clh_nobody")
    assert (wrong.returncode, "error[publish-token]" in wrong.stderr) == (3, True)
    reader = weft("skills", "publish", "tides", "--yes", HUB_TOKEN=hub.token("bob", "read"))
    assert (reader.returncode, "does not take this token: This token may not do that" in reader.stderr) == (3, True)
    other = weft("skills", "publish", "tides", "--yes", "--owner", "alice", HUB_TOKEN=hub.token("bob"))
    assert other.returncode == 3

    token = {"HUB_TOKEN": hub.token("alice")}
    (skill / "config.json").write_text('{"aws_secret_access_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzK4Pq8vTGh"}')
    secret = weft("skills", "publish", "tides", "--yes", **token)
    assert (secret.returncode, "error[skill-secrets]" in secret.stderr) == (3, True)
    (skill / "config.json").unlink()
    (skill / "SKILL.md").write_text("---\nname: tides\n---\n")
    assert weft("skills", "publish", "tides", "--yes", **token).returncode == 3
    assert hub.store.find("tides") == ()


def test_terms_are_agreed_to_by_name_before_anything_is_sent(
    weft: Weft, skill: Path, tmp_path: Path, headless: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = weft("skills", "publish", "tides", "--yes")
    assert (missing.returncode, "error[publish-token]" in missing.stderr) == (3, True)
    with open(tmp_path / "token", "w+") as file:
        file.write("clh_abc\n")
        file.seek(0)
        monkeypatch.setattr("sys.stdin", file)
        stored = json.loads(weft("registries", "token", "clawhub", "-", "--format", "json").stdout)
    assert stored == {
        "schema": "clawft.registries.token.v1",
        "name": "clawhub",
        "url": "https://clawhub.ai",
        "stored": True,
    }

    refused = weft("skills", "publish", "tides", "--yes")

    assert (refused.returncode, "error[publish-terms]" in refused.stderr) == (3, True)
    assert "MIT-0" in refused.stderr
    assert weft("registries", "token", "clawhub", "--forget").returncode == 0
    assert "error[publish-token]" in weft("skills", "publish", "tides", "--yes").stderr
