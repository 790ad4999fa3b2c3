"""`weft hub serve`: run the registry until it is stopped."""

import signal
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import click
from msgspec import structs

from clawft.cli import restore_gc_thresholds
from clawft.cli.hub import check_hub_installed, folder_option, hub_command, load_hub_settings, open_store
from clawft.cli.options import open_here
from clawft.cli.output import say
from clawft.cli.root import events_option
from clawft.cli.worker import WorkerLog, make_worker_log
from clawft.config.registries import HubSettings
from clawft.errors import ClawftError, Refused
from clawft.server.http.addresses import bracket, is_loopback, listen
from clawft.server.hub.store import render_store_location
from clawft.server.hub.tokens import HubTokens

if TYPE_CHECKING:
    from clawft.server.hub.store import HubStore


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SCHEMA = "clawft.hub.serve.v1"
_PORT = HubSettings().port

Announce = Callable[[str, WorkerLog | None], None]  # of the address, to a program or to a person


@click.command("serve")
@click.option("--host", metavar="ADDRESS", help="Listen there; else hub.host, which is this machine alone.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    help=f"Listen on this port, else on hub.port, which is {_PORT}; 0 takes one that is free.",
)
@folder_option
@click.option("--public-url", metavar="URL", help="What clients reach it under, as behind a proxy.")
@click.option("--plain-http", is_flag=True, help="Listen for other machines without TLS: tokens are read on the way.")
@click.option("--quiet", "-q", is_flag=True, help="Do not log requests.")
@events_option("json: one line of JSON for the address and for each request.")
def command(
    host: str | None,
    port: int | None,
    folder: str | None,
    public_url: str | None,
    plain_http: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Serve skills of your own to weft, to the clawhub and skills commands, and over MCP.

    They are kept in ~/.clawft/hub: SQLite and files, or a PostgreSQL of several instances (hub.database). Everybody who
    reaches it may read, unless hub.public_read is false; to publish needs a token: weft hub token new. What is
    published is scanned first. Ctrl-C, or SIGTERM, ends it when the answers that are being sent are out.
    """
    check_hub_installed()
    app = open_here()
    settings = load_hub_settings(app, folder)
    settings = structs.replace(
        settings,
        host=host or settings.host,
        port=settings.port if port is None else port,
        public_url=_check_url(public_url if public_url is not None else settings.public_url),
    )
    place = render_store_location(settings, app.workspace.user_dir)
    store = open_store(app, settings)
    try:
        token = hub_command("token new OWNER", folder)
        _check_exposed(store, settings, token, plain=plain_http)
        announce = partial(_announce, place=place, token=token)
        return _serve(store, settings, announce, as_json=as_json, quiet=quiet)
    finally:
        store.close()


def _check_url(text: str) -> str:
    parts = urlsplit(text)
    if text and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment):
        raise click.UsageError("--public-url needs an address, as https://skills.example.com")
    return text.rstrip("/")


def _check_exposed(store: "HubStore", settings: HubSettings, token: str, *, plain: bool) -> None:
    """`token` is the command that makes one. Nobody opens a hub to a network by accident. Raises: Refused."""
    if is_loopback(settings.host):
        return
    if not settings.public_url.startswith("https://") and not plain:
        message = f"On {settings.host} other machines reach the hub, and without TLS tokens can be read on the way"
        hint = "Put a proxy with TLS before it and say --public-url https://…; or say --plain-http"
        raise Refused("hub-plain-http", message, hint=hint)

    if not HubTokens(store).list():
        message = f"On {settings.host} other machines reach the hub, and it has no token yet"
        raise Refused("hub-no-token", message, hint=f"Make one first: {token}")


def _serve(store: "HubStore", settings: HubSettings, announce: Announce, *, as_json: bool, quiet: bool) -> int:
    from clawft.server.http.server import WebServer
    from clawft.server.hub.application import make_app

    signals_to_handle = [
        signum for signum in _SIGNALS if signal.getsignal(signum) != signal.SIG_IGN
    ]  # `nohup` wants some ignored
    listening = listen(settings.host, settings.port, name="The hub", code="hub-address")
    try:
        url = settings.public_url or f"http://{bracket(settings.host)}:{listening.getsockname()[1]}"
        hosts = _names(settings) if is_loopback(settings.host) else frozenset[str]()
        tell = make_worker_log(_SCHEMA if as_json else "")
        app = make_app(store, settings, hosts=hosts, log=None if quiet else tell)
        server = WebServer(app, behind_proxy=bool(settings.public_url))

        async def run() -> None:
            async with anyio.create_task_group() as group:
                with anyio.open_signal_receiver(*signals_to_handle) as signals:

                    async def hear() -> None:
                        async for _ in signals:
                            server.stop()

                    group.start_soon(hear)
                    announce(url, tell if as_json else None)
                    await server.serve([listening])
                    group.cancel_scope.cancel()

        restore_gc_thresholds()
        anyio.run(run)
        if not server.started:
            raise ClawftError("hub-start", "The hub could not be started")
        tell("The hub has stopped", {"event": "stopped"})
    finally:
        listening.close()
    return 0


def _names(settings: HubSettings) -> frozenset[str]:
    """Return the host names of a hub that serves this machine only: a page requested under another name is refused."""
    host = bracket(settings.host)
    public = urlsplit(settings.public_url).hostname or ""
    return frozenset({"127.0.0.1", "localhost", "[::1]", host.lower(), public} - {""})


def _announce(url: str, tell: WorkerLog | None, *, place: str, token: str) -> None:
    if tell is not None:
        return tell(f"The hub listens on {url}", {"event": "listening", "url": url, "place": place})
    click.echo(url)
    say(f"The hub listens on {url}, and keeps its skills in {place}")
    for what, words in (
        ("a token", token),
        ("weft", f"weft registries add team {url}   then: weft skills install team:SKILL"),
        ("clawhub", f"clawhub --registry {url} login --token TOKEN   then with CLAWHUB_REGISTRY={url}"),
        ("skills", f"npx skills add {url}/@OWNER/SKILL   and SKILLS_API_URL={url} npx skills find WORD"),
        ("MCP", f"{url}/mcp"),
        ("browser", f"{url}/"),
    ):
        say(f"  {what:<8} {words}")
    say("Ctrl-C ends it")
    return None
