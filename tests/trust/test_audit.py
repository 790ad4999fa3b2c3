import hashlib
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from clawft.config.redaction import Secrets
from clawft.errors import Refused
from clawft.trust.audit import AuditLog
from clawft.trust.audit.lines import encode_line, read_head, write_head
from clawft.trust.audit.reader import AuditQuery, check_end, select_lines, verify_log
from clawft.trust.records import Seal

WRITER = """
import sys
from clawft.trust.audit import AuditLog
from clawft.trust.records import Seal
folder, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
audit = AuditLog(folder + "/audit.jsonl", Seal(folder + "/trust.key"), max_bytes=20_000)
for number in range(count):
    audit.write("command", f"{name}-{number}", decision="allowed")
"""


def open_audit(folder: Path, mask: Callable[[Any], Any] = lambda value: value, max_bytes: int = 1 << 20) -> AuditLog:
    return AuditLog(str(folder / "audit.jsonl"), Seal(str(folder / "trust.key")), mask, max_bytes=max_bytes)


def write(audit: AuditLog, count: int, start: int = 1) -> None:
    for number in range(start, start + count):
        audit.write("command", f"run {number}", decision="allowed")


def read_log(folder: Path) -> list[bytes]:
    return (folder / "audit.jsonl").read_bytes().splitlines(keepends=True)


def test_a_line_holds_everything_and_hangs_on_the_one_before(tmp_path: Path) -> None:
    audit = open_audit(tmp_path)
    audit.write(
        "command",
        "git push",
        decision="denied",
        rule="tools.exec.denied_patterns",
        skill="deploy",
        digest="sha256:ab",
        session="s1",
        detail={"exit": None},
    )
    write(audit, 1)
    first, second = map(json.loads, read_log(tmp_path))
    at, digest = first.pop("at"), first.pop("hash")
    assert first == {
        "seq": 1,
        "kind": "command",
        "subject": "git push",
        "decision": "denied",
        "rule": "tools.exec.denied_patterns",
        "skill": "deploy",
        "digest": "sha256:ab",
        "session": "s1",
        "detail": {"exit": None},
        "prev": "0" * 64,
    }
    assert at.endswith("Z")
    assert len(at) == len("2026-01-01T00:00:00.000Z")
    assert second["prev"] == digest
    assert stat.S_IMODE((tmp_path / "audit.jsonl").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "audit.head").stat().st_mode) == 0o600
    assert verify_log(audit).broken is None


def test_a_log_that_was_never_written_is_intact(tmp_path: Path) -> None:
    audit = open_audit(tmp_path)
    assert verify_log(audit).held == 0
    assert verify_log(audit).broken is None
    assert check_end(audit) == ""
    assert os.listdir(tmp_path) == []


def test_eight_processes_and_their_threads_write_one_chain(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    children = [subprocess.Popen([*command, f"p{number}", "40"]) for number in range(8)]
    audit = open_audit(tmp_path, max_bytes=20_000)
    threads = [threading.Thread(target=write, args=(audit, 20)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [child.wait(timeout=60) for child in children] == [0] * 8
    verdict = verify_log(audit)
    assert verdict.broken is None
    assert verdict.held == 8 * 40 + 4 * 20
    assert verdict.files > 3, "they turned the file over meanwhile"
    subjects = [line.subject for line in select_lines(audit, 1000, AuditQuery()).lines]
    assert sorted(one for one in subjects if one.startswith("p3")) == sorted(f"p3-{number}" for number in range(40))


def test_a_changed_line_is_found_and_what_comes_before_it_holds(tmp_path: Path) -> None:
    audit = open_audit(tmp_path)
    write(audit, 5)
    path = tmp_path / "audit.jsonl"
    path.write_bytes(path.read_bytes().replace(b"run 3", b"rum 3"))
    verdict = verify_log(audit)
    assert verdict.broken is not None
    assert (verdict.held, verdict.broken.line) == (2, 3)
    assert "changed" in verdict.broken.reason


def test_a_changed_line_with_a_new_hash_breaks_the_next_one(tmp_path: Path) -> None:
    other = open_audit(tmp_path / "other")
    audit = open_audit(tmp_path)
    for one in (audit, other):
        write(one, 1)
    audit.write("command", "run X", decision="denied")
    other.write("command", "run Y", decision="denied")
    write(audit, 1)
    lines = read_log(tmp_path)
    forged = json.loads(read_log(tmp_path / "other")[1])
    forged["prev"] = json.loads(lines[0])["hash"]
    lines[1] = forge(forged)
    (tmp_path / "audit.jsonl").write_bytes(b"".join(lines))
    verdict = verify_log(audit)
    assert verdict.broken is not None
    assert (verdict.held, verdict.broken.line) == (2, 3)


def forge(fields: dict[str, object]) -> bytes:
    """A line that fits in itself, as anyone can make one."""
    return encode_line({key: value for key, value in fields.items() if key != "hash"})[0]


@pytest.mark.parametrize(
    ("order", "line", "held", "said"),
    [
        ([0, 1, 3, 4], 3, 2, "1 line before it is not there"),
        ([0, 3, 4], 2, 1, "2 lines before it are not there"),
        ([0, 2, 1, 3, 4], 2, 1, "not there"),
        ([0, 1, 1, 2, 3, 4], 3, 2, "wrong place"),
        ([1, 2, 3, 4], 1, 0, "1 line before it is not there"),
        ([0, 1, 2], 0, 3, "2 lines at its end are missing"),
        ([], 0, 0, "5 lines at its end are missing"),
    ],
)
def test_lines_that_are_removed_moved_or_doubled_are_found(
    tmp_path: Path, order: list[int], line: int, held: int, said: str
) -> None:
    audit = open_audit(tmp_path)
    write(audit, 5)
    lines = read_log(tmp_path)
    (tmp_path / "audit.jsonl").write_bytes(b"".join(lines[index] for index in order))
    verdict = verify_log(audit)
    assert verdict.broken is not None
    assert (verdict.broken.line, verdict.held) == (line, held)
    assert said in verdict.broken.reason
    if line == 0:
        assert check_end(audit) != ""


def test_a_cut_end_is_remembered_when_the_log_goes_on(tmp_path: Path) -> None:
    audit = open_audit(tmp_path)
    write(audit, 5)
    (tmp_path / "audit.jsonl").write_bytes(b"".join(read_log(tmp_path)[:3]))
    write(audit, 4, start=6)
    verdict = verify_log(audit)
    assert verdict.broken is not None
    assert (verdict.broken.line, verdict.held) == (4, 3)
    assert "found seq 3" in verdict.broken.reason
    assert "sealed seq 5" in verdict.broken.reason


def test_a_removed_log_is_found(tmp_path: Path) -> None:
    audit = open_audit(tmp_path)
    write(audit, 3)
    (tmp_path / "audit.jsonl").unlink()
    assert verify_log(audit).broken is not None
    assert check_end(audit) != ""
    write(audit, 1)
    assert verify_log(audit).broken is not None


@pytest.mark.parametrize("name", ["audit.head", "trust.key"])
def test_a_removed_seal_is_found_and_stays_found(tmp_path: Path, name: str) -> None:
    write(open_audit(tmp_path), 3)
    (tmp_path / name).unlink()
    audit = open_audit(tmp_path)
    verdict = verify_log(audit)
    assert verdict.held == 3
    assert verdict.broken is not None
    assert "seal" in verdict.broken.reason
    assert "seal" in check_end(audit)
    write(audit, 1)
    again = verify_log(audit)
    assert again.broken is not None
    assert (again.broken.line, again.held) == (4, 3)


def test_an_older_seal_does_not_hide_the_newer_lines_that_were_cut(tmp_path: Path) -> None:
    audit = open_audit(tmp_path)
    write(audit, 3)
    forged = (tmp_path / "audit.head").read_bytes().replace(b"[3,", b"[2,")
    (tmp_path / "audit.jsonl").write_bytes(b"".join(read_log(tmp_path)[:2]))
    (tmp_path / "audit.head").write_bytes(forged)
    assert verify_log(audit).broken is not None


def test_a_torn_line_is_kept_and_marked_and_the_chain_goes_on(tmp_path: Path) -> None:
    audit = open_audit(tmp_path)
    write(audit, 2)
    with (tmp_path / "audit.jsonl").open("ab") as file:
        file.write(b'{"seq":3,"at":"2026-')
    verdict = verify_log(audit)
    assert (verdict.broken, verdict.held, verdict.torn) == (None, 2, 1)
    assert check_end(audit) == ""
    write(audit, 2, start=3)
    verdict = verify_log(audit)
    assert (verdict.broken, verdict.held, verdict.torn) == (None, 5, 1), "two, the mark, and two"
    lines = read_log(tmp_path)
    assert lines[2] == b'{"seq":3,"at":"2026-\n'
    assert json.loads(lines[3])["decision"] == "torn"
    lines[2] = b'{"seq":3,"at":"2027-\n'
    (tmp_path / "audit.jsonl").write_bytes(b"".join(lines))
    changed = verify_log(audit)
    assert changed.broken is not None, "even what is torn cannot be changed later"
    assert changed.broken.line == 3


def test_a_line_whose_writer_was_killed_before_the_seal_counts(tmp_path: Path) -> None:
    audit = open_audit(tmp_path)
    write(audit, 2)
    last = json.loads(read_log(tmp_path)[-1])
    line = forge({**last, "seq": 3, "prev": last["hash"], "subject": "last words"})
    with open(audit.head_path, "r+b") as head:
        sealed = read_head(head.fileno(), audit.seal, audit.path)
        assert sealed is not None
        write_head(head.fileno(), structs.replace(sealed, next=json.loads(line)["hash"]), audit.seal)
    assert verify_log(audit).broken is None, "killed before the line"
    with open(audit.path, "ab") as file:
        file.write(line)
    assert len(read_log(tmp_path)) == 3
    verdict = verify_log(audit)
    assert (verdict.broken, verdict.held, verdict.torn) == (None, 3, 0)
    assert check_end(audit) == ""
    write(audit, 1)
    verdict = verify_log(audit)
    assert (verdict.broken, verdict.held, verdict.torn) == (None, 4, 0)


def test_writers_that_are_killed_leave_an_intact_log(tmp_path: Path) -> None:
    endless = WRITER.replace("range(count)", "iter(int, 1)").replace('="allowed")', '="allowed"); print(flush=True)')
    audit = open_audit(tmp_path, max_bytes=20_000)
    for round_number in range(6):
        command = [sys.executable, "-c", endless, str(tmp_path), f"r{round_number}", "0"]
        children = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
        for child in children:
            assert child.stdout is not None
            for _ in range(5 + 7 * round_number):
                child.stdout.readline()
        for child in children:
            child.kill()
        for child in children:
            child.communicate(timeout=60)
        write(audit, 1)
        assert verify_log(audit).broken is None
        assert check_end(audit) == ""


def test_a_line_that_another_hand_adds_is_found(tmp_path: Path) -> None:
    audit = open_audit(tmp_path)
    write(audit, 2)
    last = json.loads(read_log(tmp_path)[-1])
    forged = forge({**last, "seq": 3, "prev": last["hash"], "subject": "approved by nobody"})
    with (tmp_path / "audit.jsonl").open("ab") as file:
        file.write(forged)
    for _ in range(2):
        verdict = verify_log(audit)
        assert verdict.broken is not None
        assert check_end(audit) != "" or verdict.broken.line
        write(audit, 1)


def test_the_chain_goes_on_over_full_files_and_none_may_be_missing(tmp_path: Path) -> None:
    audit = open_audit(tmp_path, max_bytes=1000)
    write(audit, 12)
    verdict = verify_log(audit)
    assert (verdict.broken, verdict.held) == (None, 12)
    assert verdict.files == 1 + len(list(tmp_path.glob("audit-*.jsonl"))) == 3
    assert select_lines(audit, 9, AuditQuery()).lines[0].subject == "run 4"
    (tmp_path / "audit-000002.jsonl").unlink()
    missing = verify_log(audit)
    assert missing.broken is not None
    assert missing.broken.path.endswith("audit-000002.jsonl")


def test_a_writer_killed_while_it_puts_a_full_file_aside_breaks_nothing(tmp_path: Path) -> None:
    audit = open_audit(tmp_path)
    write(audit, 3)
    os.rename(tmp_path / "audit.jsonl", tmp_path / "audit-000001.jsonl")
    assert verify_log(audit).broken is None
    write(audit, 2, start=4)
    verdict = verify_log(audit)
    assert (verdict.broken, verdict.held, verdict.files) == (None, 5, 2)


def test_nothing_secret_and_nothing_endless_is_written(tmp_path: Path) -> None:
    mask = Secrets(["correct-horse-battery"]).mask_value
    audit = open_audit(tmp_path, mask)
    long = "x" * 1990 + "correct-horse-battery" + "y" * 100_000
    audit.write(
        "command", long, decision="allowed", rule="correct-horse-battery", detail={"a": ["correct-horse-battery"]}
    )
    audit.write("command", "\x1b[2J\n\udcff", decision="allowed", detail={"all": "z" * 5000, "more": ["z" * 2000] * 9})
    text = (tmp_path / "audit.jsonl").read_text()
    assert "correct" not in text
    assert max(map(len, text.splitlines())) < 8000
    first, second = map(json.loads, text.splitlines())
    assert "<secret>" in first["subject"]
    assert "[cut: " in first["subject"]
    assert second["subject"] == "\x1b[2J\n\\udcff"
    assert list(second["detail"]) == ["cut"]
    assert "\x1b" not in text, "control characters are escaped"
    assert verify_log(audit).broken is None


def test_a_full_disk_refuses_and_leaves_whole_lines(tmp_path: Path) -> None:
    write(open_audit(tmp_path), 3)
    size = (tmp_path / "audit.jsonl").stat().st_size
    limited = f"""
import resource, signal
from clawft.errors import Refused
from clawft.trust.audit import AuditLog
from clawft.trust.records import Seal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({size + 100}, {size + 100}))
audit = AuditLog({str(tmp_path / "audit.jsonl")!r}, Seal({str(tmp_path / "trust.key")!r}))
try:
    audit.write("approval", "power", decision="allowed")
except Refused as error:
    print(error.code)
print(audit.tell("denial", "no power", decision="denied"))
"""
    done = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.split() == ["audit-unwritable", "False"], done.stderr
    assert (tmp_path / "audit.jsonl").stat().st_size == size
    assert verify_log(open_audit(tmp_path)).broken is None


def test_denials_that_could_not_be_written_are_counted_when_it_works_again(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.write_text("a file where the folder should be")
    audit = open_audit(folder)
    with pytest.raises(Refused) as raised:
        audit.write("approval", "a skill", decision="allowed")
    assert raised.value.code == "audit-unwritable"
    assert not audit.tell("denial", "one", decision="denied")
    assert not audit.tell("denial", "two", decision="denied")
    folder.unlink()
    assert audit.tell("denial", "three", decision="denied")
    lost, third = map(json.loads, read_log(folder))
    assert (lost["decision"], lost["detail"]) == ("lost", {"lines": 2})
    assert third["subject"] == "three"


def test_an_exposed_key_and_a_link_in_place_of_the_log_refuse(tmp_path: Path) -> None:
    write(open_audit(tmp_path), 1)
    (tmp_path / "trust.key").chmod(0o644)
    with pytest.raises(Refused) as exposed:
        write(open_audit(tmp_path), 1)
    assert exposed.value.code == "audit-unwritable"
    (tmp_path / "trust.key").chmod(0o600)
    (tmp_path / "audit.jsonl").unlink()
    (tmp_path / "target").write_text("precious")
    (tmp_path / "audit.jsonl").symlink_to(tmp_path / "target")
    with pytest.raises(Refused):
        write(open_audit(tmp_path), 1)
    assert (tmp_path / "target").read_text() == "precious"


def test_lines_are_selected_newest_first_and_unreadable_ones_counted(tmp_path: Path) -> None:
    audit = open_audit(tmp_path)
    write(audit, 4)
    with (tmp_path / "audit.jsonl").open("ab") as file:
        file.write(b"garbage\n")
    write(audit, 1, start=5)
    found = select_lines(audit, 2, AuditQuery(kind="command"))
    assert [line.subject for line in found.lines] == ["run 4", "run 5"]
    assert found.unreadable == 1


def test_a_subject_that_is_cut_has_the_digest_of_the_whole(tmp_path: Path) -> None:
    audit = open_audit(tmp_path)
    long = "x" * 2000 + "; rm -rf build"
    audit.write("command", long, decision="allowed", detail={"sandbox": "none"})
    audit.write("command", long[:2000], decision="allowed")
    audit.write("command", long, decision="allowed", detail={"big": ["y" * 1500] * 10})
    cut, whole, big = map(json.loads, read_log(tmp_path))
    digest = hashlib.sha256(long.encode()).hexdigest()
    assert cut["subject"] == f"{'x' * 2000}… [cut: 14 characters]"
    assert cut["detail"] == {"sandbox": "none", "subject_sha256": digest}
    assert whole["detail"] == {}
    assert big["detail"]["subject_sha256"] == digest
    assert verify_log(audit).broken is None


def test_the_digest_of_a_subject_is_that_of_its_text_without_secrets(tmp_path: Path) -> None:
    audit = AuditLog(
        str(tmp_path / "audit.jsonl"), Seal(str(tmp_path / "trust.key")), Secrets(["hunter2-hunter2"]).mask_value
    )
    audit.write("command", "curl -u hunter2-hunter2 " + "x" * 2000, decision="allowed")
    (line,) = map(json.loads, read_log(tmp_path))
    masked = "curl -u <secret> " + "x" * 2000
    assert line["detail"]["subject_sha256"] == hashlib.sha256(masked.encode()).hexdigest()
