"""A signature that the lock has is judged again by `verify` and `audit`, with the keys that are trusted by now."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from clawft.trust.approvals import Approvals
from clawft.trust.seal import Seal

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
    assert codes(weft, 3) == ["audit-signature"]


def test_what_was_approved_before_the_day_of_a_revocation_stays(weft: Weft, signed: Path) -> None:
    user_dir = signed.parent.parent
    approvals = Approvals(str(user_dir / "approvals.json"), Seal(str(user_dir / "trust.key")))
    known = approvals.find("skill", str(signed))
    assert known is not None
    assert weft("publishers", "revoke", "jo", "--reason", "lost", "--since", "2020-01-01", "--yes").returncode == 0
    assert weft("skills", "verify").returncode == 1
    approvals.record([structs.replace(known, at="2019-12-01T00:00:00+00:00")])
    done = weft("skills", "verify")
    assert done.returncode == 0, done.stdout


def test_a_signature_that_was_taken_away_or_changed_is_missed(weft: Weft, signed: Path) -> None:
    signature = signed / ".clawft-signature"
    text = signature.read_text()
    signature.unlink()
    assert weft("skills", "verify").returncode == 1
    signature.write_text(text.replace("A", "B", 3))
    assert weft("skills", "verify").returncode == 1
    signature.write_text(text)
    assert weft("skills", "verify").returncode == 0
