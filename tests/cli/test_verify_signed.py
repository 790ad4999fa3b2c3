"""A signature that the lock has is judged again by `verify` and `audit`, with the keys that are trusted by now."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from clawft.trust.approvals import Approvals
from clawft.trust.records import Seal

Weft = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def signed(weft: Weft, own: Path, tmp_path: Path) -> Path:
    """A skill that is installed with a signature of somebody who is trusted."""
    source = tmp_path / "source" / "tool"
    source.mkdir(parents=True)
    (source / "SKILL.md").write_text("---\nname: tool\ndescription: d\nversion: 1.0.0\n---\nDo it.\n")
    assert weft("skills", "sign", source, "--yes").returncode == 0
    key = weft("publishers", "key").stdout.strip().splitlines()[-1]
    assert weft("publishers", "trust", "jo", key, "--yes").returncode == 0
    done = weft("skills", "install", source, "--yes", "--require-signature")
    assert done.returncode == 0, done.stderr
    return own / "tool"


def codes(weft: Weft, code: int) -> list[str]:
    done = weft("skills", "audit", "--offline", "--format", "json")
    assert done.returncode == code, done.stderr
    return [said["code"] for one in json.loads(done.stdout)["skills"] for said in one["diagnostics"]]


def test_a_good_signature_is_told(weft: Weft, signed: Path) -> None:
    (one,) = json.loads(weft("skills", "verify", "--format", "json").stdout)["skills"]
    assert (one["state"], one["signature"]) == ("same", "good")
    assert codes(weft, 0) == []


def test_a_key_that_was_revoked_counts_no_more(weft: Weft, signed: Path) -> None:
    assert weft("publishers", "revoke", "jo", "--reason", "stolen", "--yes").returncode == 0
    done = weft("skills", "verify")
    assert done.returncode == 1
    assert "stolen" in done.stdout
    assert " untrusted " in done.stdout  # no file of it was changed
    assert "1 must not be used" in done.stderr
    assert "weft skills sync" not in done.stderr  # which would change nothing
    assert codes(weft, 3) == ["audit-signature"]


def test_a_skill_of_a_revoked_key_is_told_to_no_model_and_cannot_be_approved_as_it_is(weft: Weft, signed: Path) -> None:
    assert weft("publishers", "revoke", "jo", "--reason", "stolen", "--yes").returncode == 0
    why = weft("skills", "why", "tool").stdout
    assert "tool is untrusted" in why
    assert "a model is not told of it" in why
    assert "stolen" in why
    assert "weft skills remove tool" in why
    done = weft("skills", "run", "--yes", "tool")
    assert done.returncode == 3
    assert "error[signature-revoked]" in done.stderr
    assert weft("skills", "trust", "tool", "--yes").returncode == 3
    assert "tool is untrusted" in weft("skills", "why", "tool").stdout


def test_a_revoked_key_has_no_say_about_skills_that_it_did_not_sign(weft: Weft, signed: Path, tmp_path: Path) -> None:
    other = tmp_path / "source" / "other"
    other.mkdir()
    (other / "SKILL.md").write_text("---\nname: other\ndescription: d\n---\nDo it.\n")
    assert weft("skills", "install", other, "--yes").returncode == 0
    assert weft("publishers", "revoke", "jo", "--reason", "stolen", "--yes").returncode == 0
    assert "other is ready" in weft("skills", "why", "other").stdout


def test_what_was_approved_before_the_day_of_a_revocation_stays(weft: Weft, signed: Path) -> None:
    user_dir = signed.parent.parent
    approvals = Approvals(str(user_dir / "approvals.json"), Seal(str(user_dir / "trust.key")))
    known = approvals.find("skill", str(signed))
    assert known is not None
    assert weft("publishers", "revoke", "jo", "--reason", "lost", "--since", "2020-01-01", "--yes").returncode == 0
    assert weft("skills", "verify").returncode == 1
    assert "tool is untrusted" in weft("skills", "why", "tool").stdout
    approvals.record([structs.replace(known, at="2019-12-01T00:00:00+00:00")])
    done = weft("skills", "verify")
    assert done.returncode == 0, done.stdout
    assert "tool is ready" in weft("skills", "why", "tool").stdout


def test_a_signature_that_was_taken_away_or_changed_is_missed(weft: Weft, signed: Path) -> None:
    signature = signed / ".clawft-signature"
    text = signature.read_text()
    signature.unlink()
    assert weft("skills", "verify").returncode == 1
    signature.write_text(text.replace("A", "B", 3))
    assert weft("skills", "verify").returncode == 1
    signature.write_text(text)
    assert weft("skills", "verify").returncode == 0


@pytest.mark.parametrize("words", [("sync", "--yes"), ("update", "tool", "--yes"), ("install", "SOURCE", "--yes")])
def test_a_signature_that_is_gone_comes_back(weft: Weft, signed: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    lock = signed.parent.parent / "skills.lock"
    before = lock.read_bytes()
    (signed / ".clawft-signature").unlink()
    source = str(tmp_path / "source" / "tool")
    done = weft("skills", *(source if one == "SOURCE" else one for one in words))
    assert done.returncode == 0, done.stderr
    assert weft("skills", "verify").returncode == 0
    assert lock.read_bytes() == before


def test_a_signature_that_is_bad_by_now_comes_back_as_it_was(weft: Weft, signed: Path) -> None:
    signature = signed / ".clawft-signature"
    text = signature.read_text()
    signature.write_text(text.replace("A", "B", 3))
    done = weft("skills", "verify")
    assert "changed: .clawft-signature" in done.stdout
    assert "weft skills sync" in done.stderr
    assert weft("skills", "sync", "--yes").returncode == 0
    assert signature.read_text() == text


def test_a_signature_that_its_source_has_no_more_is_not_passed_over(weft: Weft, signed: Path, tmp_path: Path) -> None:
    (signed / ".clawft-signature").unlink()
    (tmp_path / "source" / "tool" / ".clawft-signature").unlink()
    done = weft("skills", "sync", "--yes")
    assert done.returncode == 3
    assert "error[lock-mismatch]" in done.stderr
    done = weft("skills", "update", "tool", "--yes")
    assert done.returncode == 3
    assert "error[signature-lost]" in done.stderr
    assert weft("skills", "update", "tool", "--yes", "--force").returncode == 0
    assert weft("skills", "verify").returncode == 0


def test_what_is_signed_after_it_was_installed_is_signed_when_it_is_installed_again(
    weft: Weft, own: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source" / "tool"
    source.mkdir(parents=True)
    (source / "SKILL.md").write_text("---\nname: tool\ndescription: d\n---\nDo it.\n")
    assert weft("skills", "install", source, "--to", "all", "--yes").returncode == 0
    assert weft("skills", "sign", source, "--yes").returncode == 0
    key = weft("publishers", "key").stdout.strip().splitlines()[-1]
    assert weft("publishers", "trust", "jo", key, "--yes").returncode == 0
    done = weft("skills", "install", source, "--yes", "--require-signature")
    assert done.stdout.startswith("Installed: tool")
    assert (own / "tool" / ".clawft-signature").exists()
    assert weft("skills", "verify").returncode == 0
    assert weft("skills", "install", source, "--yes").stdout.startswith("Already installed: tool")
