"""`weft audit verify`: whether the log is as it was written."""

import os
from typing import Any

import click
import msgspec

from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say
from clawft.describe.audit import describe_verdict
from clawft.trust.audit.log import unreadable
from clawft.trust.audit.verify import Verdict, verify_log

__all__ = ["command"]


@click.command("verify")
@format_option
def command(output: str) -> int:
    """Check that no line of the audit log was changed, removed, moved or added, and that none is missing at its end.

    Exit code 1 means that one was. A line that was cut off because its process was killed is told, and is no fault.
    """
    app = open_here()
    try:
        verdict = verify_log(app.audit)
    except OSError as error:
        raise unreadable(error, app.audit) from error
    broken = verdict.broken
    if output == "json":
        print_json("clawft.audit.verify.v1", **_fields(verdict))
        return int(broken is not None)
    if broken is None:
        click.echo(_intact(verdict))
        return 0
    where = app.workspace.shorten(broken.path) + (f":{broken.line}" if broken.line else "")
    click.echo(one_line(f"The audit log is broken at {where}: {broken.reason}"))
    say(f"{_count(verdict.held)} before that hold")
    folder = app.workspace.shorten(os.path.dirname(broken.path))
    say(one_line(f"hint: Keep the files. Once you know why, move {folder}/audit* elsewhere to begin anew"))
    return 1


def _fields(verdict: Verdict) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(describe_verdict(verdict))
    return {name: value for name, value in fields.items() if name not in ("type", "id")}


def _intact(verdict: Verdict) -> str:
    if not verdict.files:
        return "The audit log is empty"
    over = f" in {verdict.files} files" if verdict.files > 1 else ""
    torn = f"; {_count(verdict.torn)} cut off when a process was killed" if verdict.torn else ""
    return (
        f"The audit log is intact: {_count(verdict.held)}{over} since {verdict.since[:19].replace('T', ' ')} UTC{torn}"
    )


def _count(lines: int) -> str:
    return f"{lines} line{'s' * (lines != 1)}"
