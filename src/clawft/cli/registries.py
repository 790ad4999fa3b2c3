"""`weft registries`: list, add and remove registries, and store their tokens."""

import re
import sys
from typing import Any

import click
import msgspec
from msgspec import UNSET

from clawft.app.app import App
from clawft.cli.completion import complete_registries
from clawft.cli.config_entries import check_source, is_variable
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, one_line, print_table, say
from clawft.cli.prompts import OnboardPrompts
from clawft.config.changes import SettingChange
from clawft.config.keystore import open_keystore
from clawft.config.loader import own_values
from clawft.config.registries import CLAWHUB, list_registries
from clawft.errors import ClawftError, NotFound, Refused, find_close
from clawft.server.views.registries import view_registries
from clawft.trust.network import is_loopback, read_url


@click.command("list")
@format_option
def list_command() -> CommandResult:
    """List the registries that are asked, the default one first. Nothing is sent to them.

    A name without a registry before it, as in `weft skills install NAME`, means the default one.
    """
    app = open_here()
    listed = view_registries(app)

    def show() -> None:
        if not listed:
            return say("No registry is in use. To add one: weft registries add NAME URL")
        rows = [
            (registry.name, registry.url, registry.kind, registry.token or "", "yes" if registry.default else "")
            for registry in listed
        ]
        return print_table(("NAME", "ADDRESS", "KIND", "TOKEN", "DEFAULT"), rows, wide=1)

    return CommandResult("clawft.registries.list.v1", {"registries": msgspec.to_builtins(listed)}, show)


MAX_TOKEN = 10_000  # characters from standard input
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TAKEN = frozenset({"file", "git", "github", "gitlab", "http", "https", "skills-sh", "ssh"})  # these mean other places


@click.command("add")
@click.argument("name", shell_complete=complete_registries)
@click.argument("url")
@click.argument("source", required=False, metavar="[-]")
@click.option("--kind", type=click.Choice(["clawhub", "contract", "well-known"]), help="How it is spoken to [clawhub].")
@click.option("--token", is_flag=True, help="Ask for a token, without showing it; - reads it from standard input.")
@click.option("--token-from", "origin", default="", metavar="VAR", help="Take the token from this variable.")
@click.option("--default", is_flag=True, help="Ask this one for names that no registry stands before.")
@format_option
def add_command(
    name: str, url: str, source: str | None, kind: str | None, token: bool, origin: str, default: bool
) -> CommandResult:
    """Add a registry, or change one. A hub of `weft hub serve` is of the kind clawhub.

    The token is stored as a key of yours; it is sent to this address, and to nothing else. Nothing is sent now.
    """
    check_source(source)
    if origin and (token or source):
        raise click.UsageError("Take the token from one place")
    app = open_here()
    _check(name, url, origin, with_token=bool(token or source or origin))
    changes = [
        SettingChange(("registries", name, "url"), url.rstrip("/")),
        SettingChange(("registries", name, "enabled")),
    ]
    changes += [SettingChange(("registries", name, "kind"), kind)] if kind else []
    if origin:
        changes.append(SettingChange(("registries", name, "token"), {"env": origin}))
    elif token or source:
        key = f"registry.{name}.token"
        secret = read_token(name, from_input=source == "-")
        app.secrets.add([secret])
        app.audit.write("secret", key, decision="granted", rule="weft registries add", detail={"url": url})
        open_keystore(app.environ).store(key, secret)
        changes.append(SettingChange(("registries", name, "token"), {"keystore": key}))
    elif _moves(app, name, url):
        changes.append(SettingChange(("registries", name, "token")))
        say(f"note: {name} is at another address now, so its token is not sent there: weft registries token {name}")

    def plan(values: dict[str, Any]) -> list[SettingChange]:
        return [*changes, *(_make_default(values, name) if default else [])]

    edited = app.edit_config("user", plan)
    prefix = "" if default else f"{name}:"
    return CommandResult(
        "clawft.registries.add.v1",
        {"name": name, "url": url, "path": edited.file, "changed": edited.changed},
        one_line(f"{name} is asked from now on. To install from it: weft skills install {prefix}SKILL"),
    )


def _check(name: str, url: str, origin: str, *, with_token: bool) -> None:
    """Raises: ClawftError for what cannot be meant; Refused for a token that would be sent in the clear."""
    if not _NAME.fullmatch(name) or name in _TAKEN:
        hint = "Use letters, digits, '_' and '-', as in: our-hub"
        raise ClawftError("registry-name", f"{name[:80]!a} cannot be the name of a registry", hint=hint)
    target = read_url(url)
    if target.scheme not in ("http", "https"):
        raise ClawftError("registry-url", f"{url[:80]!a} is no address of a registry", hint="Write https://…")
    if with_token and target.scheme == "http" and not is_loopback(target.host):
        raise Refused("source-token", f"The token of '{target.host}' would be sent unencrypted", hint="Use https://")
    if origin and not is_variable(origin):
        raise ClawftError("variable-name", f"{origin[:80]!a} cannot be the name of a variable")


def _moves(app: App, name: str, url: str) -> bool:
    """Return whether a token that was given for one address would go to another."""
    old = list_registries(app.own_config.registries).get(name)
    return old is not None and old.token is not None and read_url(old.url).origin != read_url(url).origin


def _make_default(values: dict[str, Any], name: str) -> list[SettingChange]:
    """This one is the default, and no other."""
    known = values.get("registries", {})
    others = [other for other, settings in known.items() if settings.get("default") and other != name]
    return [
        *(SettingChange(("registries", other, "default"), UNSET) for other in others),
        *([SettingChange(("registries", name, "default"), True)] if name != CLAWHUB or others else []),
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
        text = OnboardPrompts(yes=False).ask_secret(one_line(f"Token of {name} (it is not shown)"))
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise Refused("key-empty", "That is no token", hint="Nothing was stored")
    return text


@click.command("token")
@click.argument("name", shell_complete=complete_registries)
@click.argument("source", required=False, metavar="[-]")
@click.option("--forget", is_flag=True, help="Forget the token that is stored.")
@format_option
def token_command(name: str, source: str | None, forget: bool) -> CommandResult:
    """Store the token of a registry, to publish there: it is asked for without being shown; - reads standard input.

    It is kept as a key of yours, and sent to the registry's own address and to nothing else. Nothing is sent now.
    """
    check_source(source)
    app = open_here()
    url = _get_url(app, name)
    key = f"registry.{name}.token"
    if forget:
        was_deleted = open_keystore(app.environ).delete(key)
        app.edit_config("user", [SettingChange(("registries", name, "token"), UNSET)])
        app.audit.tell("secret", key, decision="revoked", rule="weft registries token")
        stored = False
        text = f"The token of {name} is forgotten" if was_deleted else f"There was no token of {name} in your keys"
    else:
        if read_url(url).scheme == "http" and not is_loopback(read_url(url).host):
            raise Refused("source-token", f"The token of '{name}' would be sent unencrypted", hint="Use https://")
        token = read_token(name, from_input=source == "-")
        app.secrets.add([token])
        app.audit.write("secret", key, decision="granted", rule="weft registries token", detail={"url": url})
        open_keystore(app.environ).store(key, token)
        app.edit_config(
            "user",
            [
                SettingChange(("registries", name, "url"), url),
                SettingChange(("registries", name, "token"), {"keystore": key}),
            ],
        )
        stored = True
        text = f"The token of {name} is stored; it is sent to {url} only"
    return CommandResult("clawft.registries.token.v1", {"name": name, "url": url, "stored": stored}, one_line(text))


def _get_url(app: App, name: str) -> str:
    """Return the URL of a registry. Raises: NotFound."""
    known = list_registries(app.own_config.registries)
    if name not in known:
        close = find_close(name, known)
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft registries list"
        raise NotFound("registry-not-found", f"There is no registry '{name[:80]}'", hint=hint)
    return known[name].url


@click.command("remove")
@click.argument("name", shell_complete=complete_registries)
@format_option
def remove_command(name: str) -> CommandResult:
    """Take a registry out of your config; a token that was stored for it is forgotten. What was installed stays.

    ClawHub itself is not asked any more: `weft registries add clawhub https://clawhub.ai` has it back.
    """
    app = open_here()
    written = own_values(app.config, app.workspace.user_dir).get("registries", {})
    if name not in written and name != CLAWHUB:
        close = find_close(name, written)
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft registries list"
        raise NotFound("registry-not-found", f"Your config has no registry '{name}'", hint=hint)
    changes = [SettingChange(("registries", name))]
    if name == CLAWHUB:
        changes.append(SettingChange(("registries", name, "enabled"), False))
    edited = app.edit_config("user", changes)
    key = f"registry.{name}.token"
    if open_keystore(app.environ).delete(key):
        app.audit.tell("secret", key, decision="revoked", rule="weft registries remove")
    return CommandResult(
        "clawft.registries.remove.v1",
        {"name": name, "path": edited.file, "changed": edited.changed},
        one_line(f"{name} is not asked any more"),
    )
