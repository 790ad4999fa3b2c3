"""`weft skills fix`: show, and with --write apply, the edits that mend skill files. The original is kept."""

import os
from difflib import unified_diff

import click
from msgspec import Struct

from clawft.cli.options import dir_option, format_option, open_here
from clawft.cli.output import clean, one_line, print_json, say, show_diagnostic
from clawft.cli.skills._targets import find_targets
from clawft.describe.diagnostics import to_json
from clawft.discovery import Found
from clawft.discovery.read import MAX_FILE_BYTES
from clawft.errors import ClawftError, Diagnostic
from clawft.files import read_regular
from clawft.format import fix_skill_md
from clawft.format.fix import Fixed

__all__ = ["command"]

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


class _Mended(Struct, frozen=True):
    path: str
    fixed: Fixed
    backup: str


@click.command("fix")
@click.argument("targets", nargs=-1, metavar="[PATH|NAME]...")
@click.option("--write", is_flag=True, help="Apply the edits; each original is kept as SKILL.md.bak.")
@format_option
@dir_option
def command(targets: tuple[str, ...], write: bool, output: str, dirs: tuple[str, ...]) -> int:
    """Show what would mend skill files, as a diff. Nothing is changed without --write."""
    if write and not (targets or dirs):
        raise click.UsageError("--write needs to be told what to mend: a PATH, a NAME or --dir")
    app = open_here(dirs)
    mended: list[_Mended] = []
    problems: list[Diagnostic] = []
    for found in find_targets(app, targets):
        try:
            fixed = _fix(found)
            if fixed and fixed.applied:
                mended.append(_Mended(found.file, fixed, _write(found.file, fixed.data) if write else ""))
        except ClawftError as error:
            problems.append(error.diagnostic)
    if output == "json":
        files = [_to_json(one) for one in mended]
        print_json("clawft.skills.fix.v1", written=write, files=files, diagnostics=[to_json(one) for one in problems])
        return 1 if problems else 0
    for one in mended:
        _show(app.workspace.shorten(one.path), one.fixed, app.workspace.shorten(one.backup))
    for problem in problems:
        show_diagnostic(problem, where=app.workspace.shorten(problem.where))
    say(_summary(len(mended), write, bool(targets or dirs)))
    return 1 if problems else 0


def _to_json(mended: _Mended) -> dict[str, object]:
    return {
        "path": mended.path,
        "fixed": [to_json(one) for one in mended.fixed.applied],
        "diff": _diff(mended.path, mended.fixed),
        "backup": mended.backup or None,
    }


def _fix(found: Found) -> Fixed | None:
    if found.file.endswith("skill.json") or not found.base_dir:  # a command needs neither name nor frontmatter
        return None
    try:
        data, _ = read_regular(found.file, MAX_FILE_BYTES)
    except FileNotFoundError:
        return None
    return fix_skill_md(data, found.folder.rpartition("/")[2], found.file)


def _write(path: str, data: bytes) -> str:
    """Replace a file in one step, keeping the original beside it under the first free name."""
    number, backup = 0, f"{path}.bak"
    while os.path.lexists(backup):
        number += 1
        backup = f"{path}.bak{number}"
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, os.stat(path).st_mode & 0o7777)
        os.link(path, backup)
        os.replace(temporary, path)
    except OSError as error:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        raise ClawftError("not-written", f"The file was not changed: {error.strerror}", path=path) from error
    return backup


def _diff(path: str, fixed: Fixed) -> str:
    return "".join(unified_diff(_lines(fixed.before), _lines(fixed.after), one_line(path), one_line(path), n=1))


def _lines(text: str) -> list[str]:
    return [line + "\n" for line in text.removesuffix("\n").split("\n")]


def _show(path: str, fixed: Fixed, backup: str) -> None:
    for applied in sorted(fixed.applied, key=lambda one: one.line):
        show_diagnostic(applied, where=f"{path}:{applied.line}")
    for line in _diff(path, fixed).splitlines():
        click.echo(click.style(clean(line), fg=_COLOURS.get(line[:1])))
    if backup:
        say(f"written; the original is {one_line(backup)}")


def _summary(count: int, written: bool, named: bool) -> str:
    if not count:
        return "Nothing to mend"
    files = f"{count} file{'s' * (count != 1)}"
    if written:
        return f"{files} mended"
    return f"{files} can be mended; apply with --write" + ("" if named else " and the PATH or NAME of what to mend")
