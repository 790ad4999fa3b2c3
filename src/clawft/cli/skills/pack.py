"""`weft skills pack DIR|NAME`: a skill as one file, the same bytes from the same files everywhere."""

import os
import shutil
import sys
from typing import Any

import click

from clawft.app.app import App
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, is_json_asked, one_line, say, say_lines, show_diagnostic, show_error
from clawft.cli.review import finding_lines
from clawft.cli.skills.targets import complete_targets, find_folder
from clawft.errors import NotFound, Refused
from clawft.install.publish.preparation import PreparedSkill, check_ready, prepare
from clawft.server.protocol.base import diagnostic_json
from clawft.workspace import resolve_path

_SHOWN = 20
_OTHERS = (".7z", ".bz2", ".gz", ".rar", ".tar", ".tgz", ".txz", ".xz", ".zst")  # archives that ours is not


_SCHEMA = "clawft.skills.pack.v1"


@click.command("pack")
@click.argument("skill", metavar="[DIR|NAME]", default=".", shell_complete=complete_targets)
@click.option(
    "-o", "--output", "target", default="", metavar="FILE", help="Where to; else NAME.skill here; - is stdout."
)
@click.option("--dry-run", is_flag=True, help="Check it and show what would be packed, and write nothing.")
@click.option("--allow-findings", is_flag=True, help="Pack it though something looks like a secret, if it is none.")
@format_option
def command(skill: str, target: str, dry_run: bool, allow_findings: bool) -> CommandResult:
    """Pack a skill into one file, which `weft skills install` and other clients take.

    It is checked first: what is broken, a link, a secret, or what the scanner calls malicious is not packed, unless you
    made an exception for a rule (weft skills allow). Left out are hidden files, what tools made, and what .gitignore,
    .clawhubignore and .clawftignore in it name. The same files give the same bytes, on every machine and at any time.
    """
    app = open_here()
    if target == "-" and is_json_asked():
        raise click.UsageError("-o - prints the archive, --format json a document: choose one")
    if target.lower().endswith(_OTHERS):
        raise click.UsageError("-o FILE: a skill is packed as a zip, so name it NAME.skill or NAME.zip")
    place = find_folder(app, skill)
    limit = app.config.skills.max_skill_prompt_bytes
    with prepare(place, limit, app.secrets, app.overrides.load()) as prepared:
        file = "-" if target == "-" else _choose_file(app, target, prepared.name)
        if not is_json_asked():
            show_prepared(prepared)
        try:
            check_ready(prepared, allow_findings=allow_findings)
        except Refused as refused:
            if not is_json_asked():
                raise
            show_error(refused)  # a program gets it with all that it rests on
            problem = diagnostic_json(refused.diagnostic)
            document = {**_document(prepared), "written": False, "path": None, "refused": problem}
            return CommandResult(_SCHEMA, document, "", refused.exit_code)
        if file != "-":
            _check_free(file)
        if not dry_run:
            _place(prepared.archive, file)
        return _tell(app, prepared, file, written=not dry_run)


def show_prepared(prepared: PreparedSkill) -> None:
    """Print what would be published, what is left out, and the problems found."""
    count = len(prepared.chosen.files)
    title = f"{prepared.name} {prepared.version}".rstrip()
    say(one_line(f"{title}: {count} file{'s' * (count != 1)}, {prepared.chosen.bytes} bytes"))
    for file in prepared.chosen.left_out[:_SHOWN]:
        say(f"  {one_line(f'left out: {file.path} ({file.reason})')}")
    if len(prepared.chosen.left_out) > _SHOWN:
        say(f"  left out: {len(prepared.chosen.left_out) - _SHOWN} more")
    for problem in prepared.problems:
        if problem.severity != "note":
            show_diagnostic(problem, where=problem.where)
    if prepared.report.verdict != "clean":
        say(f"Verdict: {prepared.report.verdict}")
        say_lines(finding_lines(prepared.report))


def _choose_file(app: App, target: str, name: str) -> str:
    path = resolve_path(target or f"{name}.skill", app.workspace.cwd, app.workspace.home)
    return os.path.join(path, f"{name}.skill") if os.path.isdir(path) else path


def _check_free(path: str) -> None:
    """An archive may be replaced, anything else not. Raises: NotFound; Refused."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise NotFound("no-folder", "There is no such folder", path=folder, hint="Make it first")
    if os.path.islink(path):
        raise Refused("pack-exists", "This is a link", path=path, hint="Give another file: -o FILE")
    if not os.path.lexists(path):
        return
    with open(path, "rb") as file:
        start = file.read(4)
    if start not in (b"", b"PK\x03\x04"):
        raise Refused("pack-exists", "There is a file that is no archive", path=path, hint="Give another: -o FILE")


def _place(archive: str, path: str) -> None:
    """Raises: OSError."""
    if path == "-":
        with open(archive, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    hidden = os.path.join(os.path.dirname(path), f".{os.path.basename(path)[:100]}-{os.urandom(6).hex()}")
    try:
        shutil.copyfile(archive, hidden)
        os.replace(hidden, path)
    finally:
        if os.path.lexists(hidden):
            os.unlink(hidden)


def _tell(app: App, prepared: PreparedSkill, file: str, *, written: bool) -> CommandResult:

    def show() -> None:
        if file != "-":
            done = "Packed" if written else "Would be packed"
            shown = app.workspace.shorten(file)
            click.echo(one_line(f"{done}: {shown} ({prepared.packed.size} bytes, sha256:{prepared.packed.sha256})"))

    document = {**_document(prepared), "written": written, "path": file, "refused": None}
    return CommandResult(_SCHEMA, document, show)


def _document(prepared: PreparedSkill) -> dict[str, Any]:
    files = [
        {
            "path": file.path,
            "size": file.size,
            "executable": file.executable,
            "sha256": prepared.packed.contents[file.path],
        }
        for file in prepared.chosen.files
    ]
    return {
        "name": prepared.name,
        "version": prepared.version,
        "digest": prepared.digest,
        "size": prepared.packed.size,
        "sha256": prepared.packed.sha256,
        "files": files,
        "left_out": [{"path": file.path, "reason": file.reason} for file in prepared.chosen.left_out],
        "verdict": prepared.report.verdict,
        "diagnostics": [diagnostic_json(diagnostic) for diagnostic in prepared.problems],
    }
