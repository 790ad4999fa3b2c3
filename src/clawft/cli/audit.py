"""`weft audit`: show the audit log, and verify that it is intact."""

import os
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click
import msgspec

from clawft.cli.completion import complete_sessions, complete_skills
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, one_line, print_table, say
from clawft.errors import ClawftError
from clawft.server.views.records import view_audit_line, view_audit_verdict
from clawft.trust.audit.lines import AuditLogLine
from clawft.trust.audit.log import make_unreadable_error
from clawft.trust.audit.reader import AuditLogVerdict, AuditQuery, check_end, select_lines, verify_log

_UNITS = {"m": 1 / 60, "h": 1, "d": 24, "w": 24 * 7}
_HEADS = ("TIME", "KIND", "DECISION", "SKILL", "SESSION", "SUBJECT")


@click.command("show")
@click.option(
    "--limit", "-n", default=50, show_default=True, type=click.IntRange(1, 1_000_000), help="How many to show."
)
@click.option("--kind", default="", metavar="KIND", help="Only approval, denial, command, tool, setting, …")
@click.option(
    "--skill", default="", metavar="NAME", help="Only while this skill was active.", shell_complete=complete_skills
)
@click.option("--session", default="", metavar="KEY", help="Only of this session.", shell_complete=complete_sessions)
@click.option("--decision", default="", metavar="WORD", help="Only allowed, denied, asked, finished, …")
@click.option("--since", default="", metavar="WHEN", help="Only since then: 30m, 2h, 3d, 1w, or a date.")
@format_option
def show_command(limit: int, **values: Any) -> CommandResult:
    """Show the newest lines of the audit log, the newest last."""
    wanted = AuditQuery(**values | {"since": _parse_since(values["since"])})
    app = open_here()
    try:
        found = select_lines(app.audit, limit + 1, wanted)
    except OSError as error:
        raise make_unreadable_error(error, app.audit) from error
    lines = [msgspec.to_builtins(view_audit_line(line)) for line in found.lines[-limit:]]

    def show() -> None:
        if found.lines:
            shown = found.lines[-limit:]
            print_table(_HEADS, map(_row, shown), wide=5, after=[line.rule for line in shown])
            if len(found.lines) > limit:
                say(f"These are the newest {limit}. For more: weft audit show -n {limit * 10}")
        elif any(values.values()):
            say("No such line in the audit log")
        elif reason := check_end(app.audit):
            message = f"No line of the audit log can be shown: {reason}"
            raise ClawftError("audit-unreadable", message, path=app.audit.path, hint="Run: weft audit verify")
        else:
            say("The audit log is empty")
        if found.unreadable:
            say(f"{found.unreadable} lines cannot be read. Run: weft audit verify")

    return CommandResult("clawft.audit.v1", {"lines": lines, "unreadable": found.unreadable}, show)


def _parse_since(text: str) -> datetime | None:
    """The moment from which lines are wanted. Raises: UsageError."""
    if not text:
        return None
    length = re.fullmatch(r"(\d{1,5})([mhdw])", text)
    try:
        if length:
            return datetime.now(UTC) - timedelta(hours=int(length[1]) * _UNITS[length[2]])
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise click.UsageError(f"--since {text}: say 30m, 2h, 3d, 1w, or a date such as 2030-01-31") from error


def _row(line: AuditLogLine) -> tuple[str, ...]:
    when = line.time.astimezone().strftime("%Y-%m-%d %H:%M:%S") if line.time else line.at
    return when, line.kind, line.decision, line.skill, line.session, line.subject


@click.command("verify")
@format_option
def verify_command() -> CommandResult:
    """Check that no line of the audit log was changed, removed, moved or added, and that none is missing at its end.

    Exit code 1 means that one was. A line that was cut off because its process was killed is reported and is no fault.
    """
    app = open_here()
    try:
        verdict = verify_log(app.audit)
    except OSError as error:
        raise make_unreadable_error(error, app.audit) from error
    broken = verdict.broken

    def show() -> None:
        if broken is None:
            return click.echo(_intact(verdict))
        where = app.workspace.shorten(broken.path) + (f":{broken.line}" if broken.line else "")
        click.echo(one_line(f"The audit log is broken at {where}: {broken.reason}"))
        say(f"{_count(verdict.held)} before that hold")
        folder = app.workspace.shorten(os.path.dirname(broken.path))
        return say(one_line(f"hint: Keep the files. Once you know why, move {folder}/audit* elsewhere to begin anew"))

    fields: dict[str, Any] = msgspec.to_builtins(view_audit_verdict(verdict))
    document = {name: value for name, value in fields.items() if name not in ("type", "id")}
    return CommandResult("clawft.audit.verify.v1", document, show, int(broken is not None))


def _intact(verdict: AuditLogVerdict) -> str:
    if not verdict.files:
        return "The audit log is empty"
    over = f" in {verdict.files} files" if verdict.files > 1 else ""
    torn = f"; {_count(verdict.torn)} cut off when a process was killed" if verdict.torn else ""
    return (
        f"The audit log is intact: {_count(verdict.held)}{over} since {verdict.since[:19].replace('T', ' ')} UTC{torn}"
    )


def _count(lines: int) -> str:
    return f"{lines} line{'s' * (lines != 1)}"
