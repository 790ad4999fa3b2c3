"""`weft publishers key`: the key that signs your skills."""

import socket

import click

from clawft.app import App
from clawft.cli._confirm import confirm
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say
from clawft.signing.keys import find_own_key, make_own_key, own_key_path
from clawft.signing.sshsig import PublicKey
from clawft.trust.approvals import current_user

__all__ = ["command", "make_key"]


@click.command("key")
@click.option("--make", is_flag=True, help="Make one, if there is none.")
@click.option("--passphrase", is_flag=True, help="Make one that a passphrase protects; ssh-keygen asks for it.")
@click.option("--yes", "-y", is_flag=True, help="Make one without being asked.")
@format_option
def command(make: bool, passphrase: bool, yes: bool, output: str) -> int:
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
    if output == "json":
        print_json("clawft.publishers.key.v1", path=path, key=key.line, fingerprint=key.fingerprint, made=made)
        return 0
    click.echo(key.line)
    say(one_line(f"{'Made: ' if made else ''}{key.fingerprint} in {app.workspace.shorten(path)}"))
    say(f"Who shall trust it runs: weft publishers trust NAME '{key.line}'")
    return 0


def make_key(app: App, *, passphrase: bool = False) -> PublicKey:
    """Make the user's own key, and write that down. Raises: ClawftError."""
    comment = f"{current_user()}@{socket.gethostname()}"
    key = make_own_key(app.workspace.user_dir, app.launcher, comment, passphrase=passphrase)
    app.audit.write("publisher", f"key {key.fingerprint}", decision="done")
    return key
