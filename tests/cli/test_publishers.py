"""`weft skills sign` and `weft publishers`, as a person uses them."""

import json
import subprocess
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from clawft.trust.signing.publishers import SkillStatement, load_publishers
from clawft.trust.signing.signatures import Signature, check_signature

Weft = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def skill(project: Path) -> Path:
    folder = project / "weather"
    folder.mkdir()
    text = "---\nname: weather\ndescription: Tells the weather of a place.\nversion: 1.2.0\n---\n# Weather\n"
    (folder / "SKILL.md").write_text(text)
    return folder


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".clawft"


def _judge(skill: Path, user: Path, signed: dict[str, str]) -> Signature:
    statement = SkillStatement(signed["name"], signed["version"], signed["digest"])
    return check_signature(str(skill), statement, load_publishers(str(user)))


def test_who_is_trusted_for_any_skill_is_told_so_and_how_to_say_less(weft: Weft, user: Path) -> None:
    key = json.loads(weft("publishers", "key", "--make", "--format", "json").stdout)["key"]

    done = weft("publishers", "trust", "ada", key, "--yes")
    assert done.stdout.endswith(", for any skill\n")
    assert done.stderr == "To trust them for less: weft publishers trust ada KEY --for 'ada/*'\n"
    less = weft("publishers", "trust", "ada", key, "--for", "ada/*", "--yes")
    assert (less.stdout.endswith(", for ada/*\n"), less.stderr) == (True, "")


def test_publishers_are_listed_within_a_terminal_of_80_columns_with_whole_fingerprints(weft: Weft, user: Path) -> None:
    key = json.loads(weft("publishers", "key", "--make", "--format", "json").stdout)
    weft("publishers", "trust", "ada-of-the-weather", key["key"], "--for", "ada/*", "--until", "2099-01-31", "--yes")

    shown = weft("publishers", "list", COLUMNS="80").stdout.splitlines()
    assert shown[0].split() == ["PUBLISHER", "STATE", "MAY", "SIGN", "UNTIL"]
    assert shown[1].split() == ["ada-of-the-weather", "good", "ada/*", "2099-01-31"]
    assert shown[2].strip(" └") == key["fingerprint"]
    weft("publishers", "revoke", "ada-of-the-weather", "--reason", "the laptop was stolen in the train", "--yes")
    shown = weft("publishers", "list", COLUMNS="80").stdout.splitlines()
    assert max(map(len, shown)) <= 80
    assert shown[-2].split()[0] == key["fingerprint"]
    assert shown[-1] == "   └ the laptop was stolen in the train"


def test_a_skill_is_signed_trusted_revoked(weft: Weft, skill: Path, user: Path) -> None:
    refused = weft("skills", "sign", "./weather")
    assert refused.returncode == 3
    assert "error[needs-yes]" in refused.stderr
    assert not (skill / ".clawft-signature").exists()

    done = json.loads(weft("skills", "sign", "./weather", "--yes", "--format", "json").stdout)
    assert (done["schema"], done["name"], done["version"]) == ("clawft.skills.sign.v1", "weather", "1.2.0")
    assert _judge(skill, user, done).state == "untrusted"

    key = json.loads(weft("publishers", "key", "--format", "json").stdout)
    assert key["fingerprint"] == done["key"]
    dry = weft("publishers", "trust", "ada", key["key"], "--for", "ada/*", "--dry-run")
    assert "Would be trusted: ada" in dry.stdout
    assert _judge(skill, user, done).state == "untrusted"
    assert weft("publishers", "trust", "ada", key["key"]).returncode == 3
    assert weft("publishers", "trust", "ada", key["key"], "--for", "ada/*", "--yes").returncode == 0
    assert _judge(skill, user, done).publisher == "ada"
    shown = json.loads(weft("skills", "show", "weather", "--dir", "weather", "--format", "json").stdout)
    assert (shown["signature"]["state"], shown["signature"]["publisher"]) == ("good", "ada")
    assert f"Signature: signed by ada ({key['fingerprint']})" in weft("skills", "show", "weather", "--dir", ".").stdout

    assert weft("publishers", "revoke", "ada", "--reason", "stolen", "--yes").returncode == 0
    assert _judge(skill, user, done).state == "revoked"
    listed = json.loads(weft("publishers", "list", "--format", "json").stdout)
    assert listed["publishers"][0]["keys"][0]["state"] == "revoked"
    assert listed["revoked"][0]["reason"] == "stolen"
    assert weft("publishers", "export").stdout == ""
    again = weft("publishers", "trust", "ada", key["key"], "--yes")
    assert (again.returncode, "error[key-revoked]" in again.stderr) == (3, True)

    log = weft("audit", "show").stdout
    for said in ("sign ", "trust ada", "revoke SHA256:"):
        assert said in log


def test_a_changed_skill_is_no_longer_what_was_signed(weft: Weft, skill: Path, user: Path) -> None:
    weft("skills", "sign", "./weather", "--yes")
    before = (skill / ".clawft-signature").read_bytes()
    (skill / "more.md").write_text("new")
    now = json.loads(weft("skills", "sign", "./weather", "--dry-run", "--format", "json").stdout)

    assert now["signed"] is False
    assert (skill / ".clawft-signature").read_bytes() == before
    assert _judge(skill, user, now).state == "bad"
    weft("skills", "sign", "./weather")
    assert _judge(skill, user, now).state == "untrusted"


def test_a_new_key_is_vouched_for_and_taken_over(weft: Weft, skill: Path, user: Path, project: Path) -> None:
    weft("publishers", "key", "--make")
    weft("publishers", "trust", "ada", str(user / "keys" / "signing.pub"), "--yes")
    assert weft("publishers", "rotate", "--new").returncode == 3
    assert weft("publishers", "rotate", "--new", "--yes", "-o", "new.rotation").returncode == 0
    (old,) = [one for one in (user / "keys").glob("signing-*") if one.suffix != ".pub"]
    signed = json.loads(weft("skills", "sign", "./weather", "--format", "json").stdout)
    assert _judge(skill, user, signed).state == "untrusted"

    new = user / "keys" / "signing.pub"
    again = weft("publishers", "rotate", "--to", new, "--key", old)
    assert again.stdout.split("\n")[:3] == (project / "new.rotation").read_text().split("\n")[:3]
    assert "Would be trusted" in weft("publishers", "rotate", "new.rotation", "--dry-run").stdout
    assert _judge(skill, user, signed).state == "untrusted"
    assert weft("publishers", "rotate", "new.rotation").returncode == 3
    assert weft("publishers", "rotate", "new.rotation", "--yes").returncode == 0
    assert _judge(skill, user, signed).state == "good"

    fallen = weft("publishers", "revoke", str(old) + ".pub", "--reason", "stolen", "--yes")
    assert "No longer trusted" in fallen.stderr
    assert _judge(skill, user, signed).state == "untrusted"
    assert weft("publishers", "rotate", "new.rotation", "--yes").returncode == 3


def test_who_is_trusted_no_more_is_removed(weft: Weft, skill: Path, user: Path) -> None:
    key = json.loads(weft("publishers", "key", "--make", "--format", "json").stdout)
    weft("publishers", "trust", "ada", key["key"], "--until", "2099-12-31", "--yes")
    assert 'valid-before="21000101000000Z"' in weft("publishers", "export", "ada").stdout

    wrong = weft("publishers", "remove", "adda", "--yes")
    assert (wrong.returncode, "did you mean 'ada'?" in wrong.stderr) == (1, True)
    assert weft("publishers", "remove", "ada", "--dry-run").returncode == 0
    assert "ada" in weft("publishers", "list").stdout
    assert weft("publishers", "remove", "ada", "--yes").returncode == 0
    assert "You trust no publisher" in weft("publishers", "list").stderr


def test_what_cannot_be_meant_is_said(weft: Weft, skill: Path) -> None:
    key = json.loads(weft("publishers", "key", "--make", "--format", "json").stdout)["key"]
    for args, code in (
        (("publishers", "trust", "Ada Lovelace", key), 2),
        (("publishers", "trust", "ada", key, "--for", "a/b/c"), 2),
        (("publishers", "trust", "ada", key, "--until", "soon"), 2),
        (("publishers", "trust", "ada", "nothing.pub"), 1),
        (("publishers", "trust", "ada", "ssh-ed25519 AAAA"), 1),
        (("publishers", "revoke", "ada", "--reason", "x"), 1),
        (("publishers", "revoke", key, "--reason", " "), 2),
        (("publishers", "revoke", key, "--reason", "x", "--since", "2999-01-01"), 2),
        (("publishers", "rotate"), 2),
        (("publishers", "rotate", "missing"), 1),
        (("skills", "sign", "./weather", "--version", "9.9.9"), 2),
        (("skills", "sign", "./nothing"), 1),
        (("skills", "sign", "./weather", "--key", "missing"), 1),
    ):
        assert weft(*args, *(("--yes",) if "rotate" in args else ())).returncode == code, args


def test_a_skill_that_was_changed_after_it_was_signed_is_not_installed(weft: Weft, skill: Path, user: Path) -> None:
    weft("skills", "sign", "./weather", "--yes")
    (skill / "SKILL.md").write_text((skill / "SKILL.md").read_text() + "And more.\n")

    refused = weft("skills", "install", "./weather", "--yes")

    assert (refused.returncode, "error[signature-bad]" in refused.stderr) == (3, True)
    assert not (user / "skills" / "weather").exists()


def test_what_was_approved_while_the_key_counted_stays_so(weft: Weft, skill: Path, user: Path) -> None:
    key = json.loads(weft("publishers", "key", "--make", "--format", "json").stdout)["key"]
    weft("publishers", "trust", "ada", key, "--yes")
    weft("skills", "sign", "./weather")
    assert weft("skills", "install", "./weather", "--require-signature", "--yes").returncode == 0
    (approval,) = json.loads((user / "approvals.json").read_text())["records"]
    ended = datetime.fromisoformat(approval["at"]) + timedelta(microseconds=1)
    file = user / "publishers.toml"
    before = file.read_text()
    file.write_text(before.replace("[[publisher", f"until = {ended.isoformat()}\n[[publisher"))
    assert weft("publishers", "list").returncode == 1  # of a publisher there is no such setting
    file.write_text(f"{before}until = {ended.isoformat()}\n")

    assert weft("skills", "verify").returncode == 0
    late = weft("skills", "install", "./weather", "--require-signature", "--to", "agents", "--yes")
    assert (late.returncode, "error[signature-expired]" in late.stderr) == (3, True)


def test_a_project_cannot_say_that_signatures_are_not_needed(
    weft: Weft, skill: Path, user: Path, project: Path
) -> None:
    user.mkdir(exist_ok=True)
    (user / "config.toml").write_text("[skills.security]\nrequire_signature = true\n")
    (project / ".clawft").mkdir()
    (project / ".clawft" / "config.toml").write_text("[skills.security]\nrequire_signature = false\n")
    weft("config", "trust", "--yes")

    refused = weft("skills", "install", "./weather", "--yes")

    assert (refused.returncode, "error[signature-missing]" in refused.stderr) == (3, True)
    assert "signatures-ignored" in weft("config", "show").stderr
