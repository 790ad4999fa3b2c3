"""`weft skills verify`: compare installed skills with their lock files. Imports little, so that it starts fast."""

import os
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clawft.app.app import open_app
from clawft.cli.completion import complete_installed
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, print_table, say, show_diagnostics
from clawft.errors import ClawftError, NotFound, find_close
from clawft.install.transaction.other_installers import verify_others
from clawft.install.transaction.targets import InstallSite, find_site
from clawft.install.transaction.verification import VerificationResult, VerifiedFolder, has_others, verify_site
from clawft.server.protocol.base import diagnostic_json
from clawft.skills.discovery import Location, load_catalog
from clawft.trust.signing.publishers import SkillStatement, load_publishers
from clawft.trust.signing.signatures import check_signature
from clawft.workspace import Workspace, find_workspace

if TYPE_CHECKING:
    from datetime import datetime

    from clawft.install.lockfile.model import LockedSkill
    from clawft.trust.signing.publishers import Publishers
    from clawft.trust.signing.signatures import Signature


_MAX_PROMPT = 1 << 20
F = TypeVar("F", bound=Callable[..., Any])


def installed_scope_option(function: F) -> F:
    choice = click.Choice(["user", "project", "all"])
    text = "Only what was installed for you, or for this project."
    return click.option("--scope", type=choice, default="all", show_default=True, help=text)(function)


def find_sites(workspace: Workspace, scope: str) -> list[InstallSite]:
    """The scopes that are asked for: user, project or all. The home folder alone is no project. Raises: ClawftError."""
    sites = [find_site(workspace, "user")] if scope in ("user", "all") else []
    if scope in ("project", "all"):
        try:
            sites.append(find_site(workspace, "project"))
        except ClawftError:
            if scope == "project":
                raise
    return sites


def make_signature_check(workspace: Workspace) -> "Callable[[str, LockedSkill], Signature | None]":
    """Return a function that finds a signature which is no longer accepted; it returns None for any other.

    A signature that was never accepted is returned only if its key was revoked or it is bad. The signing code is loaded
    only when there is a signature to check.
    """

    @cache
    def load() -> "Publishers":
        return load_publishers(workspace.user_dir)

    def judge(folder: str, skill: "LockedSkill") -> "Signature | None":
        if not skill.signed_by and not os.path.lexists(os.path.join(folder, ".clawft-signature")):
            return None

        catalog = load_catalog([Location("dir", folder, folder)], max_prompt_bytes=_MAX_PROMPT)
        named = [entry.name for entry in catalog.found if entry.folder == folder]
        statement = SkillStatement(named[0] if named else skill.name, skill.version, skill.digest)
        publishers = load()
        found = check_signature(folder, statement, publishers, owner=skill.origin.whose)
        if found.state in ("expired", "revoked"):  # what was approved in time stays so
            at = _approved_at(workspace, folder, skill.digest)
            found = check_signature(folder, statement, publishers, owner=skill.origin.whose, at=at)
        counts = found.state == "good" or (not skill.signed_by and found.state not in ("bad", "revoked"))
        return None if counts else found

    return judge


def _approved_at(workspace: Workspace, folder: str, digest: str) -> "datetime | None":
    """Return when the user approved exactly this content at this place, or None."""
    approval = open_app(os.environ, workspace.cwd).approvals.find("skill", folder)
    return datetime.fromisoformat(approval.at) if approval and approval.digest == digest else None


_SHOWN = 20  # files of one skill


@click.command("verify")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_installed)
@installed_scope_option
@format_option
def command(names: tuple[str, ...], scope: str) -> CommandResult:
    """Check that installed skills are what their locks say, file by file.

    Nothing is fetched. Locks of weft count, and those that the `clawhub` and `skills` commands wrote. It fails when a
    file was changed, is missing or was added.
    """
    workspace = _find_workspace()
    diagnostics = _finish_broken(workspace)
    found = VerificationResult(diagnostics=diagnostics)
    for site in find_sites(workspace, scope):
        found = found.join(verify_site(site, names, make_signature_check(workspace)))
        found = found.join(_verify_others(site, names))
    if names:
        _check_names(names, found, workspace)
    skills = [_as_json(checked) for checked in found.checked]
    diagnostics_json = [diagnostic_json(diagnostic) for diagnostic in found.diagnostics]
    return CommandResult(
        "clawft.skills.verify.v1",
        {"ok": found.ok, "locks": found.locks, "skills": skills, "diagnostics": diagnostics_json},
        lambda: _show(found, workspace, whole=bool(names)),
        0 if found.ok else 1,
    )


def _find_workspace() -> Workspace:
    try:
        return find_workspace(os.environ, os.getcwd())
    except FileNotFoundError as error:
        raise ClawftError("no-folder", "The current folder is gone", hint="Change to one that exists") from error


def _finish_broken(workspace: Workspace) -> tuple[Any, ...]:
    """Finish first what a killed process left of an installation, if one did."""
    if not workspace.has_unfinished_install():
        return ()
    from clawft.app.install import finish_interrupted  # nearly always nothing was broken off

    return finish_interrupted(open_here())


def _verify_others(site: InstallSite, names: tuple[str, ...]) -> VerificationResult:
    if not has_others(site, os.environ):
        return VerificationResult()

    return verify_others(site, os.environ, names)


def _check_names(names: Iterable[str], found: VerificationResult, workspace: Workspace) -> None:
    """Raises: NotFound for a name that no lock has."""
    known = {checked.name for checked in found.checked}
    for name in names:
        if name not in known and not found.diagnostics:
            everything = [checked for site in find_sites(workspace, "all") for checked in verify_site(site).checked]
            close = find_close(name, {checked.name for checked in everything})
            hint = f"did you mean '{close}'? Run: weft skills verify" if close else "Run: weft skills verify"
            raise NotFound("not-locked", f"No lock names a skill '{name}'", hint=hint)


def _as_json(checked: VerifiedFolder) -> dict[str, Any]:
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


def _show(found: VerificationResult, workspace: Workspace, *, whole: bool) -> None:
    show_diagnostics(found.diagnostics, workspace.shorten)
    shown = [checked for checked in found.checked if whole or checked.state != "same"]
    if shown:
        rows = [
            (checked.name, checked.version, checked.scope, checked.state, workspace.shorten(checked.folder))
            for checked in shown
        ]
        print_table(("NAME", "VERSION", "SCOPE", "STATE", "FOLDER"), rows, wide=4, after=list(map(_tell, shown)))
    if not found.locks:
        return say("There is no lock here: nothing was installed that could be checked. See: weft skills install")
    different = _names(checked for checked in found.checked if checked.state in ("changed", "missing"))
    untrusted = _names(checked for checked in found.checked if checked.state == "untrusted") - different
    unknown = _names(checked for checked in found.checked if checked.state == "unknown") - different
    same = _names(found.checked) - different - untrusted - unknown
    parts = [f"{'1 skill is' if len(same) == 1 else f'{len(same)} skills are'} as installed"]
    parts += [f"{len(different)} {'differs' if len(different) == 1 else 'differ'}"] if different else []
    parts += [f"{len(untrusted)} must not be used"] if untrusted else []
    parts += [f"{len(unknown)} cannot be told"] if unknown else []
    folders = len({checked.folder for checked in found.checked})
    say(", ".join(parts) + (f" ({folders} folders)" if folders > len(_names(found.checked)) else ""))
    if any(checked.difference.any for checked in found.checked if checked.ours):
        say("To have them as the lock says: weft skills sync")
    return None


def _names(checked: Iterable[VerifiedFolder]) -> set[tuple[str, str]]:
    """Return the scope and name of each skill: one may be in the folders of several clients and in several locks."""
    return {(folder.scope, folder.name) for folder in checked}


def _tell(checked: VerifiedFolder) -> str:
    """Render what differs, file by file."""
    difference = checked.difference
    listed = [("changed", path) for path in difference.changed] + [("extra", path) for path in difference.extra]
    listed += [] if difference.is_absent else [("missing", path) for path in difference.missing]
    lines = [f"{kind}: {path}" for kind, path in listed[:_SHOWN]]
    lines += [f"and {len(listed) - _SHOWN} more"] if len(listed) > _SHOWN else []
    return "; ".join(([checked.why] if checked.why else []) + lines)
