"""`weft skills sign`: the key that signs, and the statement that it signs of a skill."""

import os

import click

from clawft.app.app import App
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, one_line, say, show_diagnostic
from clawft.cli.prompts import confirm
from clawft.cli.publisher_keys import make_key
from clawft.cli.skills.targets import complete_targets, find_targets
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.install.archive.pack import choose_files
from clawft.install.publish.parcel import packed_digest
from clawft.skills.discovery import DiscoveredSkill
from clawft.skills.discovery.digest import compute_digest
from clawft.trust.signing.keys import Signer, find_ssh_key, open_signer, own_key_path, sign_skill
from clawft.trust.signing.publishers import SkillStatement, written_version
from clawft.trust.signing.signatures import SIGNATURE_NAME
from clawft.workspace import resolve_path


def choose_signer(app: App, key: str, *, ssh: bool, yes: bool) -> Signer:
    """The key that was named, the one of ssh, or the user's own, which is made if they agree. Raises: ClawftError."""
    home, own = app.workspace.home, own_key_path(app.workspace.user_dir)
    if key or ssh:
        return open_signer(
            resolve_path(key, os.getcwd(), home) if key else find_ssh_key(home), app.host_programs, ssh=ssh
        )
    if not os.path.lexists(own):
        hint = "Run: weft publishers key --make; or sign by a key of ssh: --ssh"
        if not yes and not confirm("You have no signing key. Make one?", "To make a key", hint):
            raise Refused("key-not-found", "There is no key to sign by", hint=hint)
        made = make_key(app)
        say(f"Made a signing key: {made.fingerprint}")
    return open_signer(own, app.host_programs)


def make_statement(found: DiscoveredSkill, version: str, *, whole: bool = False) -> SkillStatement:
    """Return the statement to sign: the skill's name, version and published files; with `whole` all files in its
    folder.

    Raises: ClawftError.
    """
    if found.skill is None or not os.path.isdir(found.folder):
        raise ClawftError("skill-broken", "Only a folder with a readable SKILL.md can be signed", path=found.file)
    written = written_version(found)
    if version and written and version != written:
        raise click.UsageError(f"--version {version[:40]}: SKILL.md says {written}")
    if whole:
        return SkillStatement(found.name, version or written, _digest_all(found.folder))
    chosen = choose_files(found.folder)
    document = os.path.basename(found.file)
    if all(file.path != document for file in chosen.files):
        hint = "Take it back in there; or sign all that lies here: --all"
        raise ClawftError("pack-left-out", f"An ignore file leaves out {document}", path=found.file, hint=hint)
    digest = packed_digest(chosen)
    if digest != compute_digest(found.folder).value:
        names = ", ".join(file.path for file in chosen.left_out[:5])
        more = f" and {len(chosen.left_out) - 5} more" if len(chosen.left_out) > 5 else ""
        message = f"Signed is what is packed and published: without {names}{more}"
        hint = "To sign all that lies there, as for a repository: --all"
        show_diagnostic(Diagnostic("sign-left-out", "note", message, hint=hint), where="")
    return SkillStatement(found.name, version or written, digest)


def _digest_all(folder: str) -> str:
    digest = compute_digest(folder)
    if not digest.value or digest.diagnostics:
        reason = digest.diagnostics[0].message if digest.diagnostics else "a file cannot be read"
        raise ClawftError("no-digest", f"No digest covers all of the skill: {reason}", path=folder)
    return digest.value


@click.command("sign")
@click.argument("target", metavar="DIR|NAME", shell_complete=complete_targets)
@click.option("--key", default="", metavar="FILE", help="Sign by this key; of a .pub file the agent has the rest.")
@click.option("--ssh", is_flag=True, help="Let ssh-keygen sign; without --key by your key in ~/.ssh.")
@click.option("--version", default="", metavar="X", help="The version it will be published as, if SKILL.md has none.")
@click.option("--all", "whole", is_flag=True, help="Sign all files that lie there, also those that are not packed.")
@click.option("--dry-run", is_flag=True, help="Show what would be signed, and write nothing.")
@click.option("--yes", "-y", is_flag=True, help="Make a key without being asked, if there is none.")
@format_option
def command(target: str, key: str, ssh: bool, version: str, whole: bool, dry_run: bool, yes: bool) -> CommandResult:
    """Sign a skill: its name, its version, and every file of it.

    The signature is OpenSSH's, in the file .clawft-signature next to SKILL.md, and travels with the skill. Anyone who
    trusts your key (`weft publishers trust`) can then see that it is yours and unchanged. After a change, sign again.
    """
    app = open_here()
    found = find_targets(app, (target,))
    if len(found) != 1:
        raise click.UsageError(f"'{target}' holds {len(found)} skills: sign them one by one")
    statement = make_statement(found[0], version, whole=whole)
    if dry_run:
        say(one_line(f"Would sign: {statement.name} {statement.version or 'without a version'}"))
        signer = None
    else:
        signer = choose_signer(app, key, ssh=ssh, yes=yes)
        sign_skill(found[0].folder, statement, signer)
        facts = {"key": signer.key.fingerprint, "version": statement.version}
        subject = f"sign {found[0].folder}"
        app.audit.write(
            "publisher", subject, decision="done", skill=statement.name, digest=statement.digest, detail=facts
        )

    def show() -> None:
        if signer:
            version_text = f" {statement.version}" if statement.version else ""
            click.echo(one_line(f"Signed: {statement.name}{version_text}, by {signer.key.fingerprint}"))
        else:
            click.echo(statement.text.decode(), nl=False)

    document = {
        "name": statement.name,
        "version": statement.version or None,
        "digest": statement.digest,
        "path": f"{found[0].folder}/{SIGNATURE_NAME}",
        "key": signer.key.fingerprint if signer else None,
        "signed": signer is not None,
    }
    return CommandResult("clawft.skills.sign.v1", document, show)
