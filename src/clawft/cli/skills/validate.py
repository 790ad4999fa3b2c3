"""`weft skills validate`: everything odd about skill files, with path:line. Exits 1 when one cannot be used."""

import click
from msgspec import Struct

from clawft.app import App
from clawft.cli.options import dir_option, format_option, open_here
from clawft.cli.output import print_json, say, show_diagnostic
from clawft.cli.skills._targets import find_targets
from clawft.describe.diagnostics import to_json
from clawft.discovery import Found
from clawft.discovery.read import load_bytes
from clawft.errors import Diagnostic
from clawft.format import check_spec, decode_text
from clawft.publishing.scaffold import check_finished

__all__ = ["command"]


class _Checked(Struct, frozen=True):
    found: Found
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        return not any(one.severity == "error" for one in self.diagnostics)


@click.command("validate")
@click.argument("targets", nargs=-1, metavar="[PATH|NAME]...")
@click.option("--strict", is_flag=True, help="The Agent Skills specification to the letter.")
@click.option("--quiet", "-q", is_flag=True, help="Errors and warnings only, no notes.")
@format_option
@dir_option
def command(targets: tuple[str, ...], strict: bool, quiet: bool, output: str, dirs: tuple[str, ...]) -> int:
    """Check skill files. Without PATH or NAME, all that are searched."""
    app = open_here(dirs)
    checked = [_check(app, found, strict) for found in find_targets(app, targets)]
    ok = all(one.ok for one in checked)
    if output == "json":
        files = [
            {
                "path": one.found.file,
                "ok": one.ok,
                "name": one.found.name,
                "diagnostics": [to_json(item) for item in one.diagnostics],
            }
            for one in checked
        ]
        searched = [to_json(one) for one in (() if targets else app.catalog.diagnostics)]
        print_json("clawft.skills.validate.v1", ok=ok, files=files, diagnostics=searched)
        return 0 if ok else 1
    for one in checked:
        for diagnostic in one.diagnostics:
            if not quiet or diagnostic.severity != "note":
                show_diagnostic(diagnostic, err=False, where=app.workspace.shorten(diagnostic.where))
    for diagnostic in () if targets else app.catalog.diagnostics:
        show_diagnostic(diagnostic, where=app.workspace.shorten(diagnostic.where))
    say(_summary(checked, strict))
    return 0 if ok else 1


def _check(app: App, found: Found, strict: bool) -> _Checked:
    """All there is to say about one file, read afresh from disk."""
    said = (*app.diagnose(found), *check_finished(found))
    return _Checked(found, (*said, *_check_strict(found)) if strict and found.skill else said)


def _check_strict(found: Found) -> tuple[Diagnostic, ...]:
    folder, _, file = found.file.rpartition("/")
    if file != "SKILL.md":
        return (Diagnostic("spec-file", "error", f"The spec knows SKILL.md only, not {file}", found.file),)
    data, _ = load_bytes(found.file, found.location.path)
    return check_spec(decode_text(data, found.file).text, folder.rpartition("/")[2], found.file)


def _summary(checked: list[_Checked], strict: bool) -> str:
    if not checked:
        return "No skills found"
    count = {
        level: sum(item.severity == level for one in checked for item in one.diagnostics)
        for level in ("error", "warning", "note")
    }
    fixable = sum(bool(item.fix) for one in checked for item in one.diagnostics)
    files = f"{len(checked)} file{'s' * (len(checked) != 1)}"
    said = (
        ", ".join(f"{number} {level}{'s' * (number != 1)}" for level, number in count.items() if number)
        or "nothing to say"
    )
    hint = f"; {fixable} of these can be mended: weft skills fix" if fixable else ""
    against = " against the Agent Skills spec" if strict else ""
    return f"{files} checked{against}: {said}{hint}"
