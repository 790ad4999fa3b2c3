"""The line of the audit log: what one line of it costs, with masks, hashes, the lock and the sealed end."""

import statistics
import time
from pathlib import Path

from clawft.config.redaction import Secrets
from clawft.trust.audit import AuditLog
from clawft.trust.audit.reader import verify_log
from clawft.trust.records import Seal
from report import Line

LIMIT_MS = 0.1
COMMAND = "git log --oneline --since=yesterday -- src/package/module.py"


def measure_audit(folder: Path, lines: int) -> Line:
    """The median over lines about a command, one after the other; `folder` is made."""
    secrets = Secrets([f"a-secret-of-the-config-{number}" for number in range(10)])
    audit = AuditLog(str(folder / "audit.jsonl"), Seal(str(folder / "trust.key")), secrets.mask_value)
    took = [_write(audit) for _ in range(lines)]
    if verify_log(audit).held != lines:
        raise SystemExit("error: the audit log does not hold what was written")
    what = f"a line of the audit log: the median of {lines}"
    return Line("audit", what, f"the limit, {LIMIT_MS} ms", statistics.median(took), LIMIT_MS, "ms", 1)


def _write(audit: AuditLog) -> float:
    start = time.perf_counter()
    audit.write(
        "command",
        COMMAND,
        decision="allowed",
        rule="mode auto-edit",
        skill="release-notes",
        digest="sha256:" + "0" * 64,
        session="20260101-120000-abcd",
        detail={"sandbox": "bubblewrap"},
    )
    return (time.perf_counter() - start) * 1000
