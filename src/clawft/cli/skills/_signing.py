"""What `sign` and `publish` share: the key that signs, and what it states of a skill."""

import os

import click

from clawft.app import App
from clawft.cli._confirm import confirm
from clawft.cli.output import say, show_diagnostic
from clawft.discovery import Found
from clawft.discovery.digest import compute_digest
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.packing.ignore import choose_files
from clawft.publishing.parcel import packed_digest
from clawft.signing.keys import Signer, find_ssh_key, open_signer, own_key_path
from clawft.signing.statements import Statement, written_version
from clawft.workspace import resolve_path

__all__ = ["choose_signer", "make_statement"]


def choose_signer(app: App, key: str, *, ssh: bool, yes: bool) -> Signer:
    """The key that was named, the one of ssh, or the user's own, which is made if they agree. Raises: ClawftError."""
    from clawft.cli.publishers.key import make_key

    home, own = app.workspace.home, own_key_path(app.workspace.user_dir)
    if key or ssh:
        return open_signer(resolve_path(key, os.getcwd(), home) if key else find_ssh_key(home), app.launcher, ssh=ssh)
    if not os.path.lexists(own):
        hint = "Run: weft publishers key --make; or sign by a key of ssh: --ssh"
        if not yes and not confirm("You have no signing key. Make one?", "To make a key", hint):
            raise Refused("key-not-found", "There is no key to sign by", hint=hint)
        made = make_key(app)
        say(f"Made a signing key: {made.fingerprint}")
    return open_signer(own, app.launcher)


def make_statement(found: Found, version: str, *, whole: bool = False) -> Statement:
    """What is signed of a skill: its name, its version and the files that others get; or all that lie there.

    Raises: ClawftError.
    """
    if found.skill is None or not os.path.isdir(found.folder):
        raise ClawftError("skill-broken", "Only a folder with a readable SKILL.md can be signed", path=found.file)
    written = written_version(found)
    if version and written and version != written:
        raise click.UsageError(f"--version {version[:40]}: SKILL.md says {written}")
    if whole:
        return Statement(found.name, version or written, _digest_all(found.folder))
    chosen = choose_files(found.folder)
    document = os.path.basename(found.file)
    if all(one.path != document for one in chosen.files):
        hint = "Take it back in there; or sign all that lies here: --all"
        raise ClawftError("pack-left-out", f"An ignore file leaves out {document}", path=found.file, hint=hint)
    digest = packed_digest(chosen)
    if digest != compute_digest(found.folder).value:
        names = ", ".join(one.path for one in chosen.left_out[:5])
        more = f" and {len(chosen.left_out) - 5} more" if len(chosen.left_out) > 5 else ""
        message = f"Signed is what is packed and published: without {names}{more}"
        hint = "To sign all that lies there, as for a repository: --all"
        show_diagnostic(Diagnostic("sign-left-out", "note", message, hint=hint), where="")
    return Statement(found.name, version or written, digest)


def _digest_all(folder: str) -> str:
    digest = compute_digest(folder)
    if not digest.value or digest.diagnostics:
        said = digest.diagnostics[0].message if digest.diagnostics else "a file cannot be read"
        raise ClawftError("no-digest", f"No digest covers all of the skill: {said}", path=folder)
    return digest.value
