"""`weft publishers remove NAME`: trust a publisher no more."""

import click

from clawft.cli._confirm import confirm
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say
from clawft.cli.publishers._given import complete_publishers, load
from clawft.signing.publishers import change_publishers
from clawft.signing.trusting import get_publisher, remove_publisher

__all__ = ["command"]


@click.command("remove")
@click.argument("name", shell_complete=complete_publishers)
@click.option("--dry-run", is_flag=True, help="Show it, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def command(name: str, dry_run: bool, yes: bool, output: str) -> int:
    """Trust a publisher no more. What was revoked stays revoked; what is installed stays where it is."""
    app = open_here()
    keys = [one.public.fingerprint for one in get_publisher(load(app), name).key]
    done = not dry_run
    if done and not yes and not confirm(f"Trust {name} no more?", "To remove a publisher", lines=keys):
        say("Nobody was removed")
        return 1
    if done:
        app.audit.write("publisher", f"remove {name}", decision="revoked", detail={"keys": keys})
        change_publishers(app.workspace.user_dir, lambda known: remove_publisher(known, name))
    if output == "json":
        print_json("clawft.publishers.remove.v1", name=name, keys=keys, changed=done)
    else:
        click.echo(one_line(f"{'Removed' if done else 'Would be removed'}: {name}"))
    return 0
