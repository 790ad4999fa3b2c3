"""`weft audit show`: what was decided and done."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click
import msgspec

from clawft.cli._complete import complete_sessions, complete_skills
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, print_table, say
from clawft.describe.audit import describe_line
from clawft.errors import ClawftError
from clawft.trust.audit.line import Line
from clawft.trust.audit.log import unreadable
from clawft.trust.audit.select import Wanted, select_lines
from clawft.trust.audit.verify import check_end

__all__ = ["command"]

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
def command(limit: int, output: str, **given: Any) -> None:
    """Show the newest lines of the audit log, the newest last."""
    wanted = Wanted(**given | {"since": _parse_since(given["since"])})
    app = open_here()
    try:
        found = select_lines(app.audit, limit + 1, wanted)
    except OSError as error:
        raise unreadable(error, app.audit) from error
    if output == "json":
        lines = [msgspec.to_builtins(describe_line(line)) for line in found.lines[-limit:]]
        return print_json("clawft.audit.v1", lines=lines, unreadable=found.unreadable)
    if found.lines:
        shown = found.lines[-limit:]
        print_table(_HEADS, map(_row, shown), wide=5, after=[line.rule for line in shown])
        if len(found.lines) > limit:
            say(f"These are the newest {limit}. For more: weft audit show -n {limit * 10}")
    elif any(given.values()):
        say("No such line in the audit log")
    elif reason := check_end(app.audit):
        message = f"No line of the audit log can be shown: {reason}"
        raise ClawftError("audit-unreadable", message, path=app.audit.path, hint="Run: weft audit verify")
    else:
        say("The audit log is empty")
    if found.unreadable:
        say(f"{found.unreadable} lines cannot be read. Run: weft audit verify")
    return None


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


def _row(line: Line) -> tuple[str, ...]:
    when = line.time.astimezone().strftime("%Y-%m-%d %H:%M:%S") if line.time else line.at
    return when, line.kind, line.decision, line.skill, line.session, line.subject
