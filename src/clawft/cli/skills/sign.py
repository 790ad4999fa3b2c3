"""`weft skills sign DIR|NAME`: say that a skill is yours, as it is now."""

from typing import Any

import click
from msgspec import Struct

from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say
from clawft.cli.skills._signing import choose_signer, make_statement
from clawft.cli.skills._targets import complete_targets, find_targets
from clawft.signing.check import SIGNATURE_NAME
from clawft.signing.sign import sign_skill

__all__ = ["command"]


class _Options(Struct, frozen=True):
    """What was asked for."""

    key: str
    ssh: bool
    version: str
    whole: bool
    dry_run: bool
    yes: bool
    output: str


@click.command("sign")
@click.argument("target", metavar="DIR|NAME", shell_complete=complete_targets)
@click.option("--key", default="", metavar="FILE", help="Sign by this key; of a .pub file the agent has the rest.")
@click.option("--ssh", is_flag=True, help="Let ssh-keygen sign; without --key by your key in ~/.ssh.")
@click.option("--version", default="", metavar="X", help="The version it will be published as, if SKILL.md has none.")
@click.option("--all", "whole", is_flag=True, help="Sign all files that lie there, also those that are not packed.")
@click.option("--dry-run", is_flag=True, help="Show what would be signed, and write nothing.")
@click.option("--yes", "-y", is_flag=True, help="Make a key without being asked, if there is none.")
@format_option
def command(target: str, **given: Any) -> int:
    """Sign a skill: its name, its version, and every file of it.

    The signature is OpenSSH's, in the file .clawft-signature beside SKILL.md, and travels with the skill. Whoever
    trusts your key (`weft publishers trust`) can then see that it is yours and unchanged. After a change, sign again.
    """
    options = _Options(**given)
    app = open_here()
    found = find_targets(app, (target,))
    if len(found) != 1:
        raise click.UsageError(f"'{target}' holds {len(found)} skills: sign them one by one")
    statement = make_statement(found[0], options.version, whole=options.whole)
    if options.dry_run:
        say(one_line(f"Would sign: {statement.name} {statement.version or 'without a version'}"))
        signer = None
    else:
        signer = choose_signer(app, options.key, ssh=options.ssh, yes=options.yes)
        sign_skill(found[0].folder, statement, signer)
        facts = {"key": signer.key.fingerprint, "version": statement.version}
        subject = f"sign {found[0].folder}"
        app.audit.write(
            "publisher", subject, decision="done", skill=statement.name, digest=statement.digest, detail=facts
        )
    if options.output == "json":
        print_json(
            "clawft.skills.sign.v1",
            name=statement.name,
            version=statement.version or None,
            digest=statement.digest,
            path=f"{found[0].folder}/{SIGNATURE_NAME}",
            key=signer.key.fingerprint if signer else None,
            signed=signer is not None,
        )
    elif signer:
        version_text = f" {statement.version}" if statement.version else ""
        click.echo(one_line(f"Signed: {statement.name}{version_text}, by {signer.key.fingerprint}"))
    else:
        click.echo(statement.text.decode(), nl=False)
    return 0
