"""`weft skills verify`: whether what is installed is still what was installed. As few imports as it can do with."""

import os
from collections.abc import Iterable
from typing import Any

import click

from clawft.cli._complete import complete_installed
from clawft.cli.output import print_json, print_table, say, show_diagnostic
from clawft.cli.skills._verifying import find_sites, installed_scope_option, make_judge
from clawft.describe.diagnostics import to_json
from clawft.errors import ClawftError, NotFound, find_close
from clawft.supply.targets import Site
from clawft.supply.verified import Checked, Verified
from clawft.supply.verify import has_others, verify_site
from clawft.supplying import finish_broken, is_broken_off
from clawft.workspace import Workspace, find_workspace

__all__ = ["command"]

_SHOWN = 20  # files of one skill


@click.command("verify")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_installed)
@installed_scope_option
@click.option(
    "--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True, help="How to print."
)
def command(names: tuple[str, ...], scope: str, output: str) -> int:
    """Check that installed skills are what their locks say, file by file.

    Nothing is fetched. Locks of weft count, and those that the `clawhub` and `skills` commands wrote. It fails when a
    file was changed, is missing or was added.
    """
    workspace = _find_workspace()
    said = _finish_broken(workspace)
    found = Verified(diagnostics=said)
    for site in find_sites(workspace, scope):
        found = found.join(verify_site(site, names, make_judge(workspace)))
        found = found.join(_verify_others(site, names))
    if names:
        _check_names(names, found, workspace)
    if output == "json":
        skills = [_as_json(one) for one in found.checked]
        said_json = [to_json(one) for one in found.diagnostics]
        print_json("clawft.skills.verify.v1", ok=found.ok, locks=found.locks, skills=skills, diagnostics=said_json)
    else:
        _show(found, workspace, whole=bool(names))
    return 0 if found.ok else 1


def _find_workspace() -> Workspace:
    try:
        return find_workspace(os.environ, os.getcwd())
    except FileNotFoundError as error:
        raise ClawftError("no-folder", "The current folder is gone", hint="Change to one that exists") from error


def _finish_broken(workspace: Workspace) -> tuple[Any, ...]:
    """Finish first what a killed process left of an installation, if one did."""
    if not is_broken_off(workspace.user_dir):
        return ()
    from clawft.cli.options import open_here

    return finish_broken(open_here())


def _verify_others(site: Site, names: tuple[str, ...]) -> Verified:
    if not has_others(site, os.environ):
        return Verified()
    from clawft.supply.others import verify_others

    return verify_others(site, os.environ, names)


def _check_names(names: Iterable[str], found: Verified, workspace: Workspace) -> None:
    """Raises: NotFound for a name that no lock has."""
    known = {one.name for one in found.checked}
    for name in names:
        if name not in known and not found.diagnostics:
            everything = [one for site in find_sites(workspace, "all") for one in verify_site(site).checked]
            close = find_close(name, {one.name for one in everything})
            hint = f"did you mean '{close}'? Run: weft skills verify" if close else "Run: weft skills verify"
            raise NotFound("not-locked", f"No lock names a skill '{name}'", hint=hint)


def _as_json(checked: Checked) -> dict[str, Any]:
    difference = checked.difference
    return {
        "name": checked.name,
        "scope": checked.scope,
        "client": checked.client,
        "version": checked.version or None,
        "state": checked.state,
        "folder": checked.folder,
        "lock": checked.lock,
        "changed": difference.changed,
        "missing": difference.missing,
        "extra": difference.extra,
        "why": checked.why or None,
        "signature": checked.signature or None,
    }


def _show(found: Verified, workspace: Workspace, *, whole: bool) -> None:
    for diagnostic in found.diagnostics:
        show_diagnostic(diagnostic, where=workspace.shorten(diagnostic.path))
    shown = [one for one in found.checked if whole or one.state != "same"]
    if shown:
        rows = [(one.name, one.version, one.scope, one.state, workspace.shorten(one.folder)) for one in shown]
        print_table(("NAME", "VERSION", "SCOPE", "STATE", "FOLDER"), rows, wide=4, after=list(map(_tell, shown)))
    if not found.locks:
        return say("There is no lock here: nothing was installed that could be checked. See: weft skills install")
    different = _names(one for one in found.checked if one.state in ("changed", "missing"))
    untrusted = _names(one for one in found.checked if one.state == "untrusted") - different
    unknown = _names(one for one in found.checked if one.state == "unknown") - different
    same = _names(found.checked) - different - untrusted - unknown
    said = [f"{'1 skill is' if len(same) == 1 else f'{len(same)} skills are'} as installed"]
    said += [f"{len(different)} {'differs' if len(different) == 1 else 'differ'}"] if different else []
    said += [f"{len(untrusted)} must not be used"] if untrusted else []
    said += [f"{len(unknown)} cannot be told"] if unknown else []
    folders = len({one.folder for one in found.checked})
    say(", ".join(said) + (f" ({folders} folders)" if folders > len(_names(found.checked)) else ""))
    if any(one.difference.any for one in found.checked if one.ours):
        say("To have them as the lock says: weft skills sync")
    return None


def _names(checked: Iterable[Checked]) -> set[tuple[str, str]]:
    """Which skills these are: one may lie in the folders of several clients, and stand in several locks."""
    return {(one.scope, one.name) for one in checked}


def _tell(checked: Checked) -> str:
    """What differs, file by file."""
    difference = checked.difference
    listed = [("changed", one) for one in difference.changed] + [("extra", one) for one in difference.extra]
    listed += [] if difference.gone else [("missing", one) for one in difference.missing]
    lines = [f"{kind}: {path}" for kind, path in listed[:_SHOWN]]
    lines += [f"and {len(listed) - _SHOWN} more"] if len(listed) > _SHOWN else []
    return "; ".join(([checked.why] if checked.why else []) + lines)
