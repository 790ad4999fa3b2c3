"""Overrides: one rule, one content, for a while; and what blocks a skill."""

import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from clawft.errors import ClawftError
from clawft.scanner.screening import Objection, Screening
from clawft.skills.discovery import DiscoveredSkill, Location
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.parse.model import Skill
from clawft.trust.overrides import NEVER, Override, Overrides, ScreenedSkills, check_screening
from clawft.trust.records import Seal

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
CRITICAL = Objection("secret-file-sent", "critical", "A key is read and sent", "run.sh", 3, 1, "mark")
OTHER = Objection("decoded-run", "critical", "Something is decoded and run", "SKILL.md", 9, 2, "other")
HIGH = Objection("odd-port", "high", "An odd port", "run.sh", 1, 1, "high")


def _open(path: Path) -> Overrides:
    return Overrides(str(path), Seal(str(path.parent / "trust.key")))


@pytest.fixture
def found(tmp_path: Path) -> DiscoveredSkill:
    folder = tmp_path / "skill"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: a\ndescription: b\n---\n")
    return DiscoveredSkill(
        Location("user", "skills", str(tmp_path)), str(folder), f"{folder}/SKILL.md", Skill(name="a")
    )


def _override(found: DiscoveredSkill, objection: Objection = CRITICAL, **changed: Any) -> Override:
    given: dict[str, Any] = {
        "rule": objection.rule,
        "name": "a",
        "path": found.folder,
        "digest": compute_digest(found.folder).value,
        "mark": objection.mark,
        "because": "I wrote it",
        "by": "me",
        "at": "2026-01-01T00:00:00+00:00",
        "expires": (NOW + timedelta(days=1)).isoformat(),
    }
    return Override(**{**given, **changed})


def _check(
    found: DiscoveredSkill, screening: Screening, *overrides: Override, block: bool = True
) -> tuple[bool, list[tuple[str, str]]]:
    scanned = ScreenedSkills((), overrides, block, None, lambda: NOW)
    blocked, said = check_screening(found, screening, scanned)
    return blocked, [(one.code, one.severity) for one in said]


def test_a_critical_objection_blocks_and_says_where_and_what_to_do(found: DiscoveredSkill) -> None:
    blocked, (said,) = check_screening(found, Screening("malicious", (CRITICAL,)), ScreenedSkills())
    assert blocked
    assert (said.code, said.severity, said.where) == ("scan-blocked", "error", f"{found.folder}/run.sh:3")
    assert said.message == "secret-file-sent: A key is read and sent"
    assert "weft skills show a" in said.hint
    assert 'weft skills allow a --rule secret-file-sent --because "…"' in said.hint


def test_a_high_objection_and_unread_parts_are_said_and_block_nothing(found: DiscoveredSkill) -> None:
    screening = Screening("suspicious", (HIGH,), ("a.zip: it asks for a password",))
    assert _check(found, screening) == (False, [("scan-suspicious", "warning"), ("scan-incomplete", "note")])


def test_a_failure_blocks_whatever_is_allowed(found: DiscoveredSkill) -> None:
    screening = Screening("malicious", (CRITICAL,), failure="It died")
    assert _check(found, screening, _override(found)) == (True, [("scan-blocked", "error"), ("scan-failed", "error")])


def test_without_blocking_all_is_said_as_a_warning(found: DiscoveredSkill) -> None:
    assert _check(found, Screening("malicious", (CRITICAL,)), block=False) == (False, [("scan-critical", "warning")])
    assert _check(found, Screening("suspicious", failure="x"), block=False) == (False, [("scan-failed", "warning")])


def test_an_override_lifts_the_block_and_the_reason_stays(found: DiscoveredSkill) -> None:
    assert _check(found, Screening("malicious", (CRITICAL,)), _override(found)) == (
        False,
        [("scan-allowed", "warning")],
    )


def test_every_critical_rule_needs_an_override(found: DiscoveredSkill) -> None:
    screening = Screening("malicious", (CRITICAL, OTHER))
    one = _override(found)
    assert _check(found, screening, one) == (True, [("scan-blocked", "error"), ("scan-allowed", "warning")])
    both = (one, _override(found, OTHER))
    assert _check(found, screening, *both) == (False, [("scan-allowed", "warning")] * 2)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"digest": "sha256:0"}, "the skill changed since"),
        ({"mark": "0"}, "the rule finds something else now"),
        ({"expires": NOW.isoformat()}, "it ended on 2026-01-31"),
    ],
)
def test_an_override_that_is_void_blocks_and_that_is_said(
    found: DiscoveredSkill, changed: dict[str, Any], why: str
) -> None:
    scanned = ScreenedSkills((), (_override(found, **changed),), now=lambda: NOW)
    blocked, (said,) = check_screening(found, Screening("malicious", (CRITICAL,)), scanned)
    assert blocked
    assert said.message.endswith(f"It was allowed on 2026-01-01, but {why}")


@pytest.mark.parametrize("changed", [{"path": "/elsewhere"}, {"rule": "another"}])
def test_an_override_of_something_else_counts_for_nothing(found: DiscoveredSkill, changed: dict[str, Any]) -> None:
    assert _check(found, Screening("malicious", (CRITICAL,)), _override(found, **changed))[0]


@pytest.mark.parametrize("expires", ["", "soon", "2030-01-31", "2030-01-31T12:00:00", "NEVER"])
def test_an_override_whose_end_makes_no_sense_blocks(found: DiscoveredSkill, expires: str) -> None:
    blocked, (said,) = check_screening(
        found,
        Screening("malicious", (CRITICAL,)),
        ScreenedSkills((), (_override(found, expires=expires),), now=lambda: NOW),
    )
    assert blocked
    assert "when it ends cannot be told" in said.message


def test_what_cannot_be_written_is_refused_and_the_file_stays(found: DiscoveredSkill, tmp_path: Path) -> None:
    overrides = _open(tmp_path / "overrides.json")
    overrides.add([_override(found)])
    with pytest.raises(ClawftError) as caught:
        overrides.add([_override(found, OTHER, path="/home/\udcff")])
    assert caught.value.code == "overrides-damaged"
    assert overrides.load() == (_override(found),)


def test_what_the_rules_found_is_said_though_the_scanner_failed_elsewhere(found: DiscoveredSkill) -> None:
    screening = Screening("malicious", (CRITICAL, HIGH), failure="big.py: the time was over")
    blocked, said = check_screening(found, screening, ScreenedSkills())
    assert (blocked, [one.code for one in said]) == (True, ["scan-blocked", "scan-failed", "scan-suspicious"])
    assert "skills allow" not in said[0].hint  # since that is refused


def test_an_override_may_never_end(found: DiscoveredSkill) -> None:
    assert not _check(found, Screening("malicious", (CRITICAL,)), _override(found, expires=NEVER))[0]


def test_overrides_are_kept_for_the_user_alone_and_the_newest_counts(found: DiscoveredSkill, tmp_path: Path) -> None:
    overrides = _open(tmp_path / "new" / "overrides.json")
    overrides.add([_override(found), _override(found, OTHER)])
    overrides.add([_override(found, because="Another reason")])
    assert [(one.rule, one.because) for one in overrides.load()] == [
        ("secret-file-sent", "Another reason"),
        ("decoded-run", "I wrote it"),
    ]
    assert stat.S_IMODE((tmp_path / "new" / "overrides.json").stat().st_mode) == 0o600


def test_overrides_are_taken_back_by_rule_or_all(found: DiscoveredSkill, tmp_path: Path) -> None:
    overrides = _open(tmp_path / "overrides.json")
    both = [_override(found), _override(found, OTHER)]
    overrides.add(both)
    assert [one.rule for one in overrides.remove(found.folder, "decoded-run")] == ["decoded-run"]
    assert [one.rule for one in overrides.load()] == ["secret-file-sent"]
    overrides.add(both)
    assert len(overrides.remove(found.folder)) == 2
    assert overrides.load() == ()


def test_processes_that_allow_at_once_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from clawft.trust.overrides import Override, Overrides; from clawft.trust.records import Seal\n"
        "for n in range(10):\n"
        "    kept = Overrides(sys.argv[1], Seal(sys.argv[1] + '.key'))\n"
        "    kept.add([Override(f'{sys.argv[2]}-{n}', *'abcdefgh')])"
    )
    path = str(tmp_path / "overrides.json")
    running = [subprocess.Popen([sys.executable, "-c", code, path, name]) for name in ("a", "b")]
    assert [one.wait(timeout=60) for one in running] == [0, 0]
    assert len(Overrides(path, Seal(f"{path}.key")).load()) == 20


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1]", b'{"seal": "", "records": [{"rule": "a"}]}', b"\xff", b"[" * 100_000]
)
def test_a_damaged_file_allows_nothing_and_is_not_overwritten(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "overrides.json"
    path.write_bytes(content)
    with pytest.raises(ClawftError) as caught:
        _open(path).load()
    assert caught.value.code == "overrides-damaged"
    with pytest.raises(ClawftError):
        _open(path).remove("/a")
    assert path.read_bytes() == content


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_may_write_allows_nothing(found: DiscoveredSkill, tmp_path: Path, mode: int) -> None:
    overrides = _open(tmp_path / "overrides.json")
    overrides.add([_override(found)])
    (tmp_path / "overrides.json").chmod(mode)
    with pytest.raises(ClawftError) as caught:
        overrides.load()
    assert caught.value.code == "overrides-unsafe"
