"""`weft registries remove NAME`: a registry is taken out of the user's config, and its token forgotten."""

import click

from clawft.cli._complete import complete_registries
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json
from clawft.config.edit import Change
from clawft.config.keystore import open_keystore
from clawft.config.load import own_values
from clawft.config.registries import CLAWHUB
from clawft.errors import NotFound, find_close

__all__ = ["command"]


@click.command("remove")
@click.argument("name", shell_complete=complete_registries)
@format_option
def command(name: str, output: str) -> int:
    """Take a registry out of your config; a token that was stored for it is forgotten. What was installed stays.

    ClawHub itself is not asked any more: `weft registries add clawhub https://clawhub.ai` has it back.
    """
    app = open_here()
    written = own_values(app.config, app.workspace.user_dir, "registries")
    if name not in written and name != CLAWHUB:
        close = find_close(name, written)
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft registries list"
        raise NotFound("registry-not-found", f"Your config has no registry '{name}'", hint=hint)
    changes = [Change(("registries", name))]
    if name == CLAWHUB:
        changes.append(Change(("registries", name, "enabled"), False))
    edited = app.edit_config("user", changes)
    key = f"registry.{name}.token"
    if open_keystore(app.environ).delete(key):
        app.audit.tell("secret", key, decision="revoked", rule="weft registries remove")
    if output == "json":
        print_json("clawft.registries.remove.v1", name=name, path=edited.file, changed=edited.changed)
    else:
        click.echo(one_line(f"{name} is not asked any more"))
    return 0
