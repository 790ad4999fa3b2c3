"""`weft registries token NAME`: the token of a registry is stored as a key, or forgotten."""

import click
from msgspec import UNSET

from clawft.app import App
from clawft.cli._complete import complete_registries
from clawft.cli._supply import check_source
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json
from clawft.cli.registries.add import read_token
from clawft.config.edit import Change
from clawft.config.keystore import open_keystore
from clawft.config.registries import own_registries
from clawft.errors import NotFound, Refused, find_close
from clawft.trust.urls import is_loopback, read_url

__all__ = ["command"]


@click.command("token")
@click.argument("name", shell_complete=complete_registries)
@click.argument("source", required=False, metavar="[-]")
@click.option("--forget", is_flag=True, help="Forget the token that is stored.")
@format_option
def command(name: str, source: str | None, forget: bool, output: str) -> int:
    """Store the token of a registry, to publish there: it is asked for without being shown; - reads standard input.

    It is kept as a key of yours, and sent to the registry's own address and to nothing else. Nothing is sent now.
    """
    check_source(source)
    app = open_here()
    url = _get_url(app, name)
    key = f"registry.{name}.token"
    if forget:
        gone = open_keystore(app.environ).delete(key)
        app.edit_config("user", [Change(("registries", name, "token"), UNSET)])
        app.audit.tell("secret", key, decision="revoked", rule="weft registries token")
        stored = False
        text = f"The token of {name} is forgotten" if gone else f"There was no token of {name} in your keys"
    else:
        if read_url(url).scheme == "http" and not is_loopback(read_url(url).host):
            raise Refused("source-token", f"The token of '{name}' would be sent unencrypted", hint="Use https://")
        token = read_token(name, from_input=source == "-")
        app.secrets.add([token])
        app.audit.write("secret", key, decision="granted", rule="weft registries token", detail={"url": url})
        open_keystore(app.environ).store(key, token)
        app.edit_config(
            "user",
            [Change(("registries", name, "url"), url), Change(("registries", name, "token"), {"keystore": key})],
        )
        stored = True
        text = f"The token of {name} is stored; it is sent to {url} only"
    if output == "json":
        print_json("clawft.registries.token.v1", name=name, url=url, stored=stored)
    else:
        click.echo(one_line(text))
    return 0


def _get_url(app: App, name: str) -> str:
    """Where a registry is. Raises: NotFound."""
    known = own_registries(app.config, app.workspace.user_dir, app.environ)
    if name not in known:
        close = find_close(name, known)
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft registries list"
        raise NotFound("registry-not-found", f"There is no registry '{name[:80]}'", hint=hint)
    return known[name].url
