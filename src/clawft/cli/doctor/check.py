"""The result of one check: what was found, why it matters, and the command that fixes it."""

import os
import re
import shlex
import textwrap
from typing import Any, Literal

import click
from msgspec import Struct

from clawft.cli.bug_report import make_bug_error
from clawft.cli.output import one_line, terminal_width
from clawft.errors import ClawftError, Diagnostic
from clawft.files import find_existing, get_hint
from clawft.workspace import Workspace

CheckStatus = Literal["ok", "note", "problem"]
_RUN = "Run: "
_AWAY = re.compile(r"\bmove \S+ away\b", re.IGNORECASE)
_SQLITE_SIDE_FILES = (
    "-wal",
    "-shm",
)  # what SQLite has beside a database, and would take for that of another in its place
_INDENT = "    "


class DoctorCheck(Struct, frozen=True):
    """One line of the report. A problem keeps a turn or a skill from working; a note does not."""

    name: str
    status: CheckStatus
    message: str
    hint: str = ""
    why: str = ""
    fix: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "status": self.status,
            "message": self.message,
            "hint": self.hint or None,
            "why": self.why or None,
            "fix": self.fix or None,
        }


def from_error(name: str, error: ClawftError | Diagnostic, workspace: Workspace, **more: Any) -> DoctorCheck:
    """A check that ended with an error. A hint that is a command, to move something away or to look at its permissions,
    becomes the fix, unless `more` has one."""
    one = error.diagnostic if isinstance(error, ClawftError) else error
    where = f" ({workspace.shorten(one.where)})" if one.where else ""
    command = one.hint.removeprefix(_RUN) if one.hint.startswith(_RUN) else ""
    if one.path and _AWAY.search(one.hint):
        command = move_away(one.path)
    elif one.path and one.hint.startswith("Check its permissions"):
        command = quote_chmod("u+rwX", find_existing(one.path))
    values = {"status": "problem", "fix": command, **more}
    hint = "" if values["fix"] and one.hint.endswith(str(values["fix"])) else one.hint  # not the same twice
    return DoctorCheck(name, values.pop("status"), f"{one.message}{where}", hint, **values)


def from_failure(name: str, error: Exception, workspace: Workspace, why: str = "") -> DoctorCheck:
    """A check that failed: what a person can fix, what the system refused, or a bug."""
    if isinstance(error, ClawftError):
        return from_error(name, error, workspace, why=why)
    if isinstance(error, OSError):
        path = str(error.filename or "")
        failed = ClawftError("system", error.strerror or str(error), path=path, hint=get_hint(error, path))
        return from_error(name, failed, workspace, why=why)

    return from_error(name, make_bug_error(error, "CLAWFT_DEBUG"), workspace, why=why)


def move_away(path: str) -> str:
    """The command that puts a damaged file or folder aside, with what belongs to it."""
    path = path if os.path.lexists(path) else os.path.dirname(path)
    names = ("", *(ending for ending in _SQLITE_SIDE_FILES if os.path.lexists(f"{path}{ending}")))
    return " && ".join(f"mv {quote(f'{path}{name}')} {quote(f'{path}.damaged{name}')}" for name in names)


def quote(path: str) -> str:
    return shlex.quote(path)


def quote_chmod(mode: str, path: str) -> str:
    """The command that changes the rights of a file or folder."""
    return f"chmod {'-R ' if os.path.isdir(path) and mode.startswith('u') else ''}{mode} {quote(path)}"


def print_check(check: DoctorCheck) -> None:
    """A mark and what is so; below it why that matters, and what to do. Lines fit the terminal; commands stay whole."""
    mark = {"ok": "✓", "problem": "✗"}.get(check.status, "!" if check.fix else "·")
    _echo(f"{mark} {check.name}: {one_line(check.message)}", "  ")
    if check.why:
        _echo(f"{_INDENT}why: {one_line(check.why)}", _INDENT)
    if check.hint:
        _echo(f"{_INDENT}hint: {one_line(check.hint)}", _INDENT)
    if check.fix:
        click.echo(f"{_INDENT}fix: {one_line(check.fix)}")


def _echo(text: str, indent: str) -> None:
    columns = terminal_width()
    first = len(text) - len(text.lstrip())
    lines = [text]
    if columns is not None:
        lines = textwrap.wrap(text[first:], columns, initial_indent=text[:first], subsequent_indent=indent)
    for line in lines:
        click.echo(line)
