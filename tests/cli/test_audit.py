import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from clawft.cli.root import weft as root
from clawft.trust.audit import AuditLog
from clawft.trust.records import Seal

Weft = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def audit(project: Path, child_env: dict[str, str]) -> AuditLog:
    folder = Path(child_env["HOME"]) / ".clawft"
    return AuditLog(str(folder / "audit.jsonl"), Seal(str(folder / "trust.key")))


@pytest.fixture
def run(child_env: dict[str, str]) -> Callable[..., tuple[int, str, str]]:
    """`weft audit ARGS…` without a process of its own."""

    def invoke(*args: str) -> tuple[int, str, str]:
        done = CliRunner(env={"HOME": child_env["HOME"], "CLAWFT_HOME": None}).invoke(
            root, ["audit", *args], standalone_mode=False
        )
        if done.exception:
            raise done.exception
        return done.return_value or 0, done.stdout, done.stderr

    return invoke


Run = Callable[..., tuple[int, str, str]]


def fill(audit: AuditLog) -> None:
    audit.write("command", "git log", decision="allowed", rule="read-only", skill="notes, deploy", session="s1")
    audit.write(
        "command", "rm -rf /", decision="denied", rule="tools.exec.denied_patterns", skill="deploy", session="s1"
    )
    audit.write("url", "https://example.org", decision="allowed", session="s2")
    audit.write("tool", "a \x1b[2J\u202e\n b", decision="denied", session="s2")


def test_verify_says_what_holds_and_what_does_not(run: Run, audit: AuditLog) -> None:
    assert run("verify")[:2] == (0, "The audit log is empty\n")
    fill(audit)
    code, out, _ = run("verify")
    assert code == 0
    assert out.startswith("The audit log is intact: 4 lines since 20")
    path = Path(audit.path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"seq":5,')
    code, out, _ = run("verify")
    assert code == 0
    assert "1 line cut off" in out
    path.write_bytes(whole.replace(b"rm -rf /", b"ls -la ~"))
    code, out, err = run("verify")
    assert code == 1
    assert "audit.jsonl:2: It was changed" in out
    assert "1 line before that hold" in err
    document = json.loads(run("verify", "--format", "json")[1])
    assert document["schema"] == "clawft.audit.verify.v1"
    assert (document["intact"], document["lines"], document["broken"]["line"]) == (False, 1, 2)


@pytest.mark.parametrize(
    ("args", "subjects"),
    [
        ((), ["git log", "rm -rf /", "https://example.org", "a \x1b[2J\u202e\n b"]),
        (("--limit", "2"), ["https://example.org", "a \x1b[2J\u202e\n b"]),
        (("--kind", "url"), ["https://example.org"]),
        (("--skill", "deploy"), ["git log", "rm -rf /"]),
        (("--skill", "note"), []),
        (("--session", "s1", "--decision", "denied"), ["rm -rf /"]),
        (("--since", "2h", "--kind", "url"), ["https://example.org"]),
        (("--since", "2199-01-01"), []),
    ],
)
def test_show_gives_the_lines_that_are_asked_for(
    run: Run, audit: AuditLog, args: tuple[str, ...], subjects: list[str]
) -> None:
    fill(audit)
    document = json.loads(run("show", *args, "--format", "json")[1])
    assert document["schema"] == "clawft.audit.v1"
    assert [line["subject"] for line in document["lines"]] == subjects


def test_show_is_safe_on_a_terminal_and_says_what_it_could_not_read(run: Run, audit: AuditLog) -> None:
    fill(audit)
    Path(audit.path).write_bytes(Path(audit.path).read_bytes() + b"garbage\n")
    code, out, err = run("show")
    assert code == 0
    assert "rm -rf /" in out
    assert "\x1b" not in out + json.dumps(run("show", "--format", "json")[1], ensure_ascii=False)
    assert "\u202e" not in out
    assert "1 lines cannot be read" in err
    assert run("show", "--kind", "none")[1] == ""


def test_show_says_that_there_is_more_or_nothing_at_all(run: Run, audit: AuditLog) -> None:
    assert run("show")[2] == "The audit log is empty\n"
    fill(audit)
    assert "newest 2. For more: weft audit show -n 20" in run("show", "-n", "2")[2]
    assert "newest" not in run("show", "-n", "4")[2]
    assert run("show", "--kind", "none")[2] == "No such line in the audit log\n"


def test_a_time_that_is_none_is_wrong_usage(weft: Weft) -> None:
    done = weft("audit", "show", "--since", "yesterday")
    assert done.returncode == 2
    assert "2h" in done.stderr


def test_doctor_looks_at_the_end_of_the_log(weft: Weft, audit: AuditLog) -> None:
    fill(audit)
    assert "audit: ~/.clawft/audit.jsonl" in weft("doctor").stdout
    Path(audit.path).write_bytes(b"".join(Path(audit.path).read_bytes().splitlines(keepends=True)[:2]))
    done = weft("doctor")
    assert "missing from its end" in done.stdout
    assert "weft audit verify" in done.stdout


def test_approving_a_config_is_a_line_and_without_a_line_nothing_is_approved(
    weft: Weft, run: Run, project: Path, audit: AuditLog
) -> None:
    (project / ".clawft").mkdir()
    (project / ".clawft" / "config.toml").write_text("[skills]\nenabled = true\n")
    folder = Path(audit.path).parent
    folder.mkdir()
    (folder / "audit.jsonl").mkdir()
    refused = weft("config", "trust", "--yes")
    assert refused.returncode == 3
    assert "audit-unwritable" in refused.stderr
    assert not (folder / "approvals.json").exists()
    (folder / "audit.jsonl").rmdir()
    assert weft("config", "trust", "--yes").returncode == 0
    (line,) = json.loads(run("show", "--kind", "approval", "--format", "json")[1])["lines"]
    assert line["subject"] == f"config {project / '.clawft' / 'config.toml'}"
    assert line["decision"] == "allowed"
    assert run("verify")[0] == 0
