"""`weft publishers key` and `rotate`: the user's own signing key, and the rotation of a publisher's key."""

import os
import socket
from datetime import UTC, datetime

import click

from clawft.app.app import App
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, one_line, say
from clawft.cli.prompts import confirm
from clawft.cli.publishers import day_text, load_key, load_trusted_publishers
from clawft.errors import ClawftError, Refused
from clawft.files import read_optional, replace_file
from clawft.trust.approvals import current_user
from clawft.trust.signing.keys import (
    find_own_key,
    find_ssh_key,
    make_own_key,
    open_signer,
    own_key_path,
    replace_own_key,
)
from clawft.trust.signing.publishers import ROTATION_SPACE, KeyRotation, change_publishers
from clawft.trust.signing.signatures import accept_rotation, render_rotation
from clawft.trust.signing.sshsig import PublicKey
from clawft.workspace import resolve_path


@click.command("key")
@click.option("--make", is_flag=True, help="Make one, if there is none.")
@click.option("--passphrase", is_flag=True, help="Make one that a passphrase protects; ssh-keygen asks for it.")
@click.option("--yes", "-y", is_flag=True, help="Make one without being asked.")
@format_option
def key_command(make: bool, passphrase: bool, yes: bool) -> CommandResult | int:
    """Show the public half of your signing key; make one if you have none.

    It is an Ed25519 key of OpenSSH's format in ~/.clawft/keys. Who wants to use a key of their own needs none of this:
    `weft skills sign --ssh`, or `--key FILE`.
    """
    app = open_here()
    key = find_own_key(app.workspace.user_dir)
    made = key is None
    if key is None:
        asked = make or passphrase or yes
        if not asked and not confirm("You have no signing key. Make one?", "To make a key", "Pass --make"):
            say("No key was made")
            return 1
        key = make_key(app, passphrase=passphrase)
    path = own_key_path(app.workspace.user_dir)

    def show() -> None:
        click.echo(key.line)
        say(one_line(f"{'Made: ' if made else ''}{key.fingerprint} in {app.workspace.shorten(path)}"))
        say(f"Who shall trust it runs: weft publishers trust NAME '{key.line}'")

    return CommandResult(
        "clawft.publishers.key.v1", {"path": path, "key": key.line, "fingerprint": key.fingerprint, "made": made}, show
    )


def make_key(app: App, *, passphrase: bool = False) -> PublicKey:
    """Make the user's own key, and write that down. Raises: ClawftError."""
    comment = f"{current_user()}@{socket.gethostname()}"
    key = make_own_key(app.workspace.user_dir, app.host_programs, comment, passphrase=passphrase)
    app.audit.write("publisher", f"key {key.fingerprint}", decision="done")
    return key


MAX_BYTES = 64 << 10


@click.command("rotate")
@click.argument("file", required=False, type=click.Path())
@click.option("--to", default="", metavar="KEY", help="Your new key: vouch for it, instead of reading FILE.")
@click.option("--new", is_flag=True, help="Make a new key of your own, for which the one you have vouches.")
@click.option("--passphrase", is_flag=True, help="With --new: a passphrase protects it; ssh-keygen asks for it.")
@click.option("--key", default="", metavar="FILE", help="Your old key, which vouches. Default: ~/.clawft/keys/signing.")
@click.option("--ssh", is_flag=True, help="Let ssh-keygen sign; without --key by your key in ~/.ssh.")
@click.option("--output", "-o", "to_file", default="", metavar="FILE", help="Where to write it; else to stdout.")
@click.option("--dry-run", is_flag=True, help="Check FILE, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def rotate_command(  # noqa: PLR0913  (one for each option)
    file: str | None,
    to: str,
    new: bool,
    passphrase: bool,
    key: str,
    ssh: bool,
    to_file: str,
    dry_run: bool,
    yes: bool,
) -> CommandResult | int:
    """Take over a publisher's new key from FILE, which their old one signed; or write such a file with --to.

    The old key must be one that you trust and did not revoke. It keeps counting until you revoke it; what it vouched
    for is then trusted no more either, unless you revoke it --since a later day.
    """
    if sum(map(bool, (file, to, new))) != 1:
        raise click.UsageError("Say FILE, which a publisher gave you; or --to KEY or --new, to write one for others")
    if new and (key or ssh or dry_run):
        raise click.UsageError("--new is about the key in ~/.clawft/keys, and is done at once")
    app = open_here()
    if file:
        return _accept(app, file, dry_run=dry_run, yes=yes)
    if new:
        key, to = _renew(app, passphrase=passphrase, yes=yes)
    return _vouch(app, to, key, to_file, ssh=ssh)


def _renew(app: App, *, passphrase: bool, yes: bool) -> tuple[str, str]:
    """Make the new key; return the files of the old one, which is to vouch for it, and of the new one."""
    user_dir = app.workspace.user_dir
    if not yes and not confirm("Sign by a new key from now on?", "To replace your key"):
        raise Refused("key-kept", "Your key was not replaced")
    comment = f"{current_user()}@{socket.gethostname()}"
    old = replace_own_key(user_dir, app.host_programs, comment, passphrase=passphrase)
    say(one_line(f"The old key is kept as {app.workspace.shorten(old)}; it vouches for the new one"))
    return old, own_key_path(user_dir) + ".pub"


def _vouch(app: App, to: str, key: str, to_file: str, *, ssh: bool) -> CommandResult:
    new = load_key(app, to)
    home = app.workspace.home
    key_path = resolve_path(key, os.getcwd(), home) if key else find_ssh_key(home) if ssh else ""
    signer = open_signer(key_path or own_key_path(app.workspace.user_dir), app.host_programs, ssh=ssh)
    if signer.key == new:
        raise click.UsageError("The old key and the new one are the same")
    rotation = KeyRotation(signer.key.fingerprint, new, datetime.now(UTC).date().isoformat())
    text = render_rotation(rotation, signer.sign(ROTATION_SPACE, rotation.text))
    app.audit.write("publisher", f"vouch {new.fingerprint}", decision="done", detail={"old": rotation.old})
    if to_file:
        path = resolve_path(to_file, os.getcwd(), home)
        try:
            replace_file(path, text.encode(), 0o644)
        except OSError as error:
            raise ClawftError("not-written", f"The file was not written: {error.strerror}", path=path) from error

    def show() -> None:
        if to_file:
            click.echo(one_line(f"Written: {to_file}. Others take it over: weft publishers rotate FILE"))
        else:
            click.echo(text, nl=False)

    facts = {"old": rotation.old, "new": new.fingerprint, "path": to_file or None, "statement": text}
    return CommandResult("clawft.publishers.rotate.v1", {**facts, "changed": False}, show)


def _accept(app: App, file: str, *, dry_run: bool, yes: bool) -> CommandResult | int:
    path = resolve_path(file, os.getcwd(), app.workspace.home)
    content = read_optional(path, MAX_BYTES, follow=True)
    if content is None:
        raise ClawftError("rotation-format", "There is no such file", path=path)
    text, now = content.decode("ascii", errors="replace"), datetime.now(UTC).replace(microsecond=0)
    publishers = load_trusted_publishers(app)
    _, name, rotation = accept_rotation(publishers, text, now)
    new = rotation.new.fingerprint
    done = not dry_run
    lines = [f"{name} goes on under {rotation.new.kind} {new}, says {rotation.old} ({rotation.since})"]
    old = publishers.find_key(rotation.old)
    if old and old[1].until:
        lines.append(
            f"That one counts until {day_text(old[1].until, end=True)}; the new one would count without an end"
        )
    if done and not yes and not confirm("Trust the new key?", "To take over a key", lines=lines):
        say("Nothing was changed")
        return 1
    if done:
        facts = {"old": rotation.old, "stated": rotation.since}
        app.audit.write("publisher", f"rotate {name} {new}", decision="granted", detail=facts)
        change_publishers(app.workspace.user_dir, lambda known: accept_rotation(known, text, now)[0])

    def show() -> None:
        verb = "Trusted" if done else "Would be trusted"
        click.echo(one_line(f"{verb}: {name}, {new}, vouched for by {rotation.old}"))

    document = {"name": name, "old": rotation.old, "new": new, "changed": done}
    return CommandResult("clawft.publishers.rotate.v1", document, show)
