"""`weft registries add NAME URL`: a registry is written into the user's config; its token is stored as a key."""

import re
import sys
from typing import Any

import click
from msgspec import UNSET, Struct

from clawft.app import App
from clawft.cli._complete import complete_registries
from clawft.cli._supply import check_source, is_variable
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, say
from clawft.config.edit import Change
from clawft.config.keystore import open_keystore
from clawft.config.registries import CLAWHUB, own_registries
from clawft.errors import ClawftError, Refused
from clawft.trust.urls import is_loopback, read_url

__all__ = ["command", "read_token"]

MAX_TOKEN = 10_000  # characters from standard input
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TAKEN = frozenset({"file", "git", "github", "gitlab", "http", "https", "skills-sh", "ssh"})  # these mean other places


class _Asked(Struct, frozen=True):
    kind: str | None
    token: bool
    origin: str
    default: bool
    output: str


@click.command("add")
@click.argument("name", shell_complete=complete_registries)
@click.argument("url")
@click.argument("source", required=False, metavar="[-]")
@click.option("--kind", type=click.Choice(["clawhub", "contract", "well-known"]), help="How it is spoken to [clawhub].")
@click.option("--token", is_flag=True, help="Ask for a token, without showing it; - reads it from standard input.")
@click.option("--token-from", "origin", default="", metavar="VAR", help="Take the token from this variable.")
@click.option("--default", is_flag=True, help="Ask this one for names that no registry stands before.")
@format_option
def command(name: str, url: str, source: str | None, **given: Any) -> int:
    """Add a registry, or change one. A hub of `weft hub serve` is of the kind clawhub.

    The token is stored as a key of yours; it is sent to this address, and to nothing else. Nothing is sent now.
    """
    asked = _Asked(**given)
    check_source(source)
    if asked.origin and (asked.token or source):
        raise click.UsageError("Take the token from one place")
    app = open_here()
    _check(name, url, asked, with_token=bool(asked.token or source or asked.origin))
    changes = [Change(("registries", name, "url"), url.rstrip("/")), Change(("registries", name, "enabled"))]
    changes += [Change(("registries", name, "kind"), asked.kind)] if asked.kind else []
    if asked.origin:
        changes.append(Change(("registries", name, "token"), {"env": asked.origin}))
    elif asked.token or source:
        key = f"registry.{name}.token"
        token = read_token(name, from_input=source == "-")
        app.secrets.add([token])
        app.audit.write("secret", key, decision="granted", rule="weft registries add", detail={"url": url})
        open_keystore(app.environ).store(key, token)
        changes.append(Change(("registries", name, "token"), {"keystore": key}))
    elif _moves(app, name, url):
        changes.append(Change(("registries", name, "token")))
        say(f"note: {name} is at another address now, so its token is not sent there: weft registries token {name}")

    def plan(values: dict[str, Any]) -> list[Change]:
        return [*changes, *(_make_default(values, name) if asked.default else [])]

    edited = app.edit_config("user", plan)
    if asked.output == "json":
        print_json("clawft.registries.add.v1", name=name, url=url, path=edited.file, changed=edited.changed)
    else:
        prefix = "" if asked.default else f"{name}:"
        click.echo(one_line(f"{name} is asked from now on. To install from it: weft skills install {prefix}SKILL"))
    return 0


def _check(name: str, url: str, asked: _Asked, *, with_token: bool) -> None:
    """Raises: ClawftError for what cannot be meant; Refused for a token that would be sent in the clear."""
    if not _NAME.fullmatch(name) or name in _TAKEN:
        hint = "Use letters, digits, '_' and '-', as in: our-hub"
        raise ClawftError("registry-name", f"{name[:80]!a} cannot be the name of a registry", hint=hint)
    target = read_url(url)
    if target.scheme not in ("http", "https"):
        raise ClawftError("registry-url", f"{url[:80]!a} is no address of a registry", hint="Write https://…")
    if with_token and target.scheme == "http" and not is_loopback(target.host):
        raise Refused("source-token", f"The token of '{target.host}' would be sent unencrypted", hint="Use https://")
    if asked.origin and not is_variable(asked.origin):
        raise ClawftError("variable-name", f"{asked.origin[:80]!a} cannot be the name of a variable")


def _moves(app: App, name: str, url: str) -> bool:
    """Whether a token that was given for one address would go to another."""
    old = own_registries(app.config, app.workspace.user_dir, app.environ).get(name)
    return old is not None and old.token is not None and read_url(old.url).origin != read_url(url).origin


def _make_default(values: dict[str, Any], name: str) -> list[Change]:
    """This one is the default, and no other."""
    known = values.get("registries", {})
    others = [other for other, settings in known.items() if settings.get("default") and other != name]
    return [
        *(Change(("registries", other, "default"), UNSET) for other in others),
        *([Change(("registries", name, "default"), True)] if name != CLAWHUB or others else []),
    ]


def read_token(name: str, *, from_input: bool) -> str:
    """From a person, or from standard input. Raises: Refused."""
    asked = sys.stdin is not None and sys.stdin.isatty()  # also for -, where a person would wait for nothing
    if from_input and not asked:
        text = sys.stdin.read(MAX_TOKEN).strip()
    elif not asked:
        hint = f"Run: weft registries add {name} URL - < FILE"
        raise Refused("no-terminal", "The token is asked for, and there is no terminal to ask on", hint=hint)
    else:
        from clawft.cli.onboard.ask import Asker

        text = Asker(yes=False).ask_secret(one_line(f"Token of {name} (it is not shown)"))
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise Refused("key-empty", "That is no token", hint="Nothing was stored")
    return text
