"""`weft skills new`, `validate` and `fix`: create, check and repair skill files."""

import os
from difflib import unified_diff

import click
from msgspec import Struct

from clawft.app.app import App
from clawft.cli.completion import complete_folders
from clawft.cli.options import dir_option, format_option, open_here
from clawft.cli.output import CommandResult, clean, one_line, say, show_diagnostic, show_diagnostics
from clawft.cli.skills.targets import find_targets
from clawft.errors import ClawftError, Diagnostic
from clawft.files import read_regular
from clawft.install.publish.scaffold import SCRIPTS, check_finished, make_skill
from clawft.install.transaction.targets import find_site
from clawft.server.protocol.base import diagnostic_json
from clawft.skills.discovery import DiscoveredSkill
from clawft.skills.discovery.walk import MAX_FILE_BYTES, load_bytes
from clawft.skills.parse.text import decode_text
from clawft.skills.parse.validation import FixedText, check_spec, fix_skill_md
from clawft.workspace import resolve_path


@click.command("new")
@click.argument("name")
@click.option("--scope", type=click.Choice(["user", "project"]), help="Where it is made: for you, or for this project.")
@click.option(
    "--dir", "parent", default="", metavar="PATH", help="In this folder instead.", shell_complete=complete_folders
)
@click.option("--description", default="", metavar="TEXT", help="What it does, and when to use it.")
@click.option("--with-script", "script", type=click.Choice(SCRIPTS), help="With a script that works, to begin from.")
@format_option
def new_command(name: str, scope: str | None, parent: str, description: str, script: str | None) -> CommandResult:
    """Begin a skill: a folder NAME with a SKILL.md as the Agent Skills specification has it. Nothing is overwritten.

    It is made in ~/.clawft/skills, where it is yours in every project; then `weft skills pack NAME`, `sign NAME` and
    `publish NAME` find it too.
    """
    if scope and parent:
        raise click.UsageError("--dir says where; --scope too: choose one")
    app = open_here()
    workspace = app.workspace
    if parent:
        place = resolve_path(parent, workspace.cwd, workspace.home)
    else:
        place = find_site(workspace, "project" if scope == "project" else "user").roots["clawft"]
    taken = [skill.found.file for skill in app.skills if skill.name == name]
    folder = os.path.join(place, name)
    chosen = next((script_name for script_name in SCRIPTS if script_name == script), None)
    files = make_skill(name, folder, description, chosen)

    def show() -> None:
        for path in files:
            click.echo(one_line(workspace.shorten(path)))
        for path in taken[:1]:
            say(one_line(f"There is another skill of this name: {workspace.shorten(path)}"))
        shown = one_line(workspace.shorten(folder))
        target = shown if parent else name
        say(f"Next: write {shown}/SKILL.md, then: weft skills validate --strict {target}")
        if not parent:
            say(f"To try it: weft skills run {name}")
        say(f"For others: weft skills pack {target}, or: weft skills publish {target} --dry-run")

    return CommandResult("clawft.skills.new.v1", {"name": name, "path": folder, "files": files}, show)


class _Checked(Struct, frozen=True):
    found: DiscoveredSkill
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        return not any(diagnostic.severity == "error" for diagnostic in self.diagnostics)


@click.command("validate")
@click.argument("targets", nargs=-1, metavar="[PATH|NAME]...")
@click.option("--strict", is_flag=True, help="The Agent Skills specification to the letter.")
@click.option("--quiet", "-q", is_flag=True, help="Errors and warnings only, no notes.")
@format_option
@dir_option
def validate_command(targets: tuple[str, ...], strict: bool, quiet: bool, dirs: tuple[str, ...]) -> CommandResult:
    """Check skill files. Without PATH or NAME, all that are searched."""
    app = open_here(dirs)
    checked = [_check(app, found, strict) for found in find_targets(app, targets)]
    ok = all(result.ok for result in checked)
    files = [
        {
            "path": result.found.file,
            "ok": result.ok,
            "name": result.found.name,
            "diagnostics": [diagnostic_json(item) for item in result.diagnostics],
        }
        for result in checked
    ]
    searched = [diagnostic_json(diagnostic) for diagnostic in (() if targets else app.catalog.diagnostics)]

    def show() -> None:
        for result in checked:
            for diagnostic in result.diagnostics:
                if not quiet or diagnostic.severity != "note":
                    show_diagnostic(diagnostic, err=False, where=app.workspace.shorten(diagnostic.where))
        show_diagnostics(() if targets else app.catalog.diagnostics, app.workspace.shorten)
        say(_summary_validate(checked, strict))

    return CommandResult(
        "clawft.skills.validate.v1", {"ok": ok, "files": files, "diagnostics": searched}, show, 0 if ok else 1
    )


def _check(app: App, found: DiscoveredSkill, strict: bool) -> _Checked:
    """All there is to say about one file, read afresh from disk."""
    diagnostics = (*app.diagnose(found), *check_finished(found))
    return _Checked(found, (*diagnostics, *_check_strict(found)) if strict and found.skill else diagnostics)


def _check_strict(found: DiscoveredSkill) -> tuple[Diagnostic, ...]:
    folder, _, file = found.file.rpartition("/")
    if file != "SKILL.md":
        return (Diagnostic("spec-file", "error", f"The spec knows SKILL.md only, not {file}", found.file),)
    data, _ = load_bytes(found.file, found.location.path)
    return check_spec(decode_text(data, found.file).text, folder.rpartition("/")[2], found.file)


def _summary_validate(checked: list[_Checked], strict: bool) -> str:
    if not checked:
        return "No skills found"
    count = {
        level: sum(item.severity == level for result in checked for item in result.diagnostics)
        for level in ("error", "warning", "note")
    }
    fixable = sum(bool(item.fix) for result in checked for item in result.diagnostics)
    files = f"{len(checked)} file{'s' * (len(checked) != 1)}"
    counted = (
        ", ".join(f"{number} {level}{'s' * (number != 1)}" for level, number in count.items() if number)
        or "nothing to say"
    )
    hint = f"; {fixable} of these can be mended: weft skills fix" if fixable else ""
    against = " against the Agent Skills spec" if strict else ""
    return f"{files} checked{against}: {counted}{hint}"


_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


class _FixedFile(Struct, frozen=True):
    path: str
    fixed: FixedText
    backup: str


@click.command("fix")
@click.argument("targets", nargs=-1, metavar="[PATH|NAME]...")
@click.option("--write", is_flag=True, help="Apply the edits; each original is kept as SKILL.md.bak.")
@format_option
@dir_option
def fix_command(targets: tuple[str, ...], write: bool, dirs: tuple[str, ...]) -> CommandResult:
    """Show fixes for skill files as a diff. Nothing is changed without --write."""
    if write and not (targets or dirs):
        raise click.UsageError("--write needs to be told what to mend: a PATH, a NAME or --dir")
    app = open_here(dirs)
    fixed_files: list[_FixedFile] = []
    problems: list[Diagnostic] = []
    for found in find_targets(app, targets):
        try:
            fixed = _fix(found)
            if fixed and fixed.applied:
                fixed_files.append(_FixedFile(found.file, fixed, _write(found.file, fixed.data) if write else ""))
        except ClawftError as error:
            problems.append(error.diagnostic)
    files = [_to_json(fixed_file) for fixed_file in fixed_files]

    def show() -> None:
        for fixed_file in fixed_files:
            _show(app.workspace.shorten(fixed_file.path), fixed_file.fixed, app.workspace.shorten(fixed_file.backup))
        show_diagnostics(problems, app.workspace.shorten)
        say(_summary_fix(len(fixed_files), write, bool(targets or dirs)))

    return CommandResult(
        "clawft.skills.fix.v1",
        {"written": write, "files": files, "diagnostics": [diagnostic_json(problem) for problem in problems]},
        show,
        1 if problems else 0,
    )


def _to_json(fixed_file: _FixedFile) -> dict[str, object]:
    return {
        "path": fixed_file.path,
        "fixed": [diagnostic_json(diagnostic) for diagnostic in fixed_file.fixed.applied],
        "diff": _diff(fixed_file.path, fixed_file.fixed),
        "backup": fixed_file.backup or None,
    }


def _fix(found: DiscoveredSkill) -> FixedText | None:
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


def _diff(path: str, fixed: FixedText) -> str:
    return "".join(unified_diff(_lines(fixed.before), _lines(fixed.after), one_line(path), one_line(path), n=1))


def _lines(text: str) -> list[str]:
    return [line + "\n" for line in text.removesuffix("\n").split("\n")]


def _show(path: str, fixed: FixedText, backup: str) -> None:
    for applied in sorted(fixed.applied, key=lambda one: one.line):
        show_diagnostic(applied, where=f"{path}:{applied.line}")
    for line in _diff(path, fixed).splitlines():
        click.echo(click.style(clean(line), fg=_COLOURS.get(line[:1])))
    if backup:
        say(f"written; the original is {one_line(backup)}")


def _summary_fix(count: int, written: bool, named: bool) -> str:
    if not count:
        return "Nothing to mend"
    files = f"{count} file{'s' * (count != 1)}"
    if written:
        return f"{files} mended"
    return f"{files} can be mended; apply with --write" + ("" if named else " and the PATH or NAME of what to mend")
