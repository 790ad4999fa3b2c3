"""The daemon of `weft serve`: listens, announces its address, and shuts down in order."""

import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import click
from msgspec import Struct, structs

from clawft.cli import restore_gc_thresholds
from clawft.cli.options import open_here
from clawft.cli.output import say
from clawft.cli.serve.status import check_serve_installed, console_url, load_own_token, load_serve_settings
from clawft.cli.worker import WorkerLog, make_worker_log
from clawft.config.serve import ServeSettings, own_token_file
from clawft.errors import ClawftError, Refused
from clawft.files import replace_file
from clawft.server.daemon import open_daemon, run_in_background
from clawft.server.http.addresses import WILD, bracket, is_loopback, listen
from clawft.server.tokens import ServeTokens
from clawft.trust.programs import start_detached, use_own_python

if TYPE_CHECKING:
    import socket

    from clawft.app.app import App
    from clawft.server.application import DaemonApplication
    from clawft.server.client.daemons import RunningDaemon
    from clawft.server.http.server import WebServer
    from clawft.server.tokens import ServeTokens
    from clawft.trust.programs import HostPrograms


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SCHEMA = "clawft.serve.v1"
_LAST_S = 1.0  # for threads to end by themselves


class DaemonOptions(Struct, frozen=True, kw_only=True):
    """Command-line options of the daemon."""

    host: str | None
    port: int | None
    as_json: bool
    plain_http: bool
    open_page: bool
    quiet: bool


def run_daemon(wanted: DaemonOptions) -> int:
    """Serve until it is stopped. Raises: ClawftError."""
    check_serve_installed()
    from clawft.server.client.daemons import register_daemon

    app = open_here()
    settings = _settle(load_serve_settings(app), wanted)
    if wanted.open_page and not settings.console:
        raise click.UsageError("--open has nothing to open: serve.console is false")

    token = load_own_token(app, settings, make=True)
    listening = _listen(app, settings)
    tell = make_worker_log(_SCHEMA if wanted.as_json else "")
    try:
        place = _describe(app, settings, listening.getsockname()[1])
        with register_daemon(app.workspace.user_dir, place), _page(app, place, token, wanted) as page:
            tokens = ServeTokens(app.workspace.user_dir, token)
            serving = _DaemonRun(_DaemonLog(tell, place, token, wanted, settings, page, app.host_programs))
            serving.run(app, settings, listening, tokens)
    finally:
        listening.close()
    tell("The daemon has stopped", {"event": "stopped"})
    if serving.ended_early:  # what reads skills on a thread cannot be ended, and nobody is to wait for it
        signal.signal(serving.ended_early, signal.SIG_DFL)
        signal.raise_signal(serving.ended_early)
    code = 0 if serving.has_started else 1
    _end_threads(code)
    return code


def _end_threads(code: int) -> None:
    """A scan or a download that goes on in a thread cannot be ended, and is not to hold the process up for minutes."""
    for thread in threading.enumerate():
        if thread.name.startswith("AnyIO"):
            thread.join(_LAST_S)
            if thread.is_alive():
                for stream in (sys.stdout, sys.stderr):
                    with suppress(OSError, ValueError):
                        stream.flush()
                os._exit(code)


def _settle(settings: ServeSettings, wanted: DaemonOptions) -> ServeSettings:
    """The settings, with what the command line says. Nobody opens a daemon to a network by accident.

    Raises: ClawftError.
    """
    from clawft.server.http.server import Tls, check_tls

    public = urlsplit(settings.public_url)
    if settings.public_url and (public.scheme not in ("http", "https") or not public.hostname):
        message = f"serve.public_url is no address: '{settings.public_url[:100]}'"
        raise ClawftError("serve-address", message, hint="As in https://skills.example.com")
    host = wanted.host or settings.host
    port = settings.port if wanted.port is None else wanted.port
    if bool(settings.tls_cert) != bool(settings.tls_key):
        raise ClawftError("serve-tls", "TLS needs both a certificate and its key: serve.tls_cert and serve.tls_key")
    if settings.tls_cert:
        check_tls(Tls(settings.tls_cert, settings.tls_key), "serve-tls")
    elif not (is_loopback(host) or public.scheme == "https" or wanted.plain_http):
        message = f"On {host} other machines reach the daemon, and without TLS tokens can be read on the way"
        hint = "Set serve.tls_cert and serve.tls_key, or serve.public_url behind a proxy with TLS; or say --plain-http"
        raise Refused("serve-plain-http", message, hint=hint)
    return structs.replace(settings, host=host, port=port)


def _listen(app: "App", settings: ServeSettings) -> "socket.socket":
    from clawft.server.client.daemons import find_daemons

    try:
        return listen(settings.host, settings.port, name="The daemon", code="serve-address")
    except ClawftError as error:
        there = next((daemon for daemon in find_daemons(app.workspace.user_dir) if daemon.port == settings.port), None)
        if there is None:
            raise
        message = f"A daemon of yours listens there already: {there.url}, process {there.pid}"
        hint = "Use that one: weft serve url; or choose another port: --port 0 takes one that is free"
        raise ClawftError("serve-running", message, hint=hint) from error


def _describe(app: "App", settings: ServeSettings, port: int) -> "RunningDaemon":
    from clawft.server.client.daemons import RunningDaemon

    scheme = "https" if settings.tls_cert else "http"
    local = f"{scheme}://{'127.0.0.1' if settings.host in WILD else bracket(settings.host)}:{port}"
    return RunningDaemon(
        port=port,
        pid=os.getpid(),
        url=settings.public_url or local,
        local=local,
        project=app.workspace.project,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        token_file="" if settings.token else own_token_file(app.workspace.user_dir),
        tls_cert=settings.tls_cert,
    )


class _DaemonLog(Struct, frozen=True):
    """Tells what happens, to a person or to a program."""

    tell: WorkerLog
    place: "RunningDaemon"
    token: str
    wanted: DaemonOptions
    settings: ServeSettings
    page: str
    host_programs: "HostPrograms"

    def announce(self) -> None:
        place = self.place
        if self.wanted.as_json:
            about = {"event": "listening", "url": place.url, "local": place.local, "token_file": place.token_file}
            self.tell(f"The daemon listens on {place.local}", {**about, "pid": place.pid})
        else:
            # The token is shown to a person, and to no log.
            is_seen = sys.stdout.isatty()
            click.echo(console_url(place.url, self.token) if is_seen else place.url)
            is_wild = self.settings.host in WILD
            say(f"The daemon listens on {place.local}{', and on every other address of this machine' * is_wild}")
            if place.url != place.local:
                say(f"Others reach it under {place.url}: whatever is there has to pass requests on to that address")
            for is_there, what, words in (
                (
                    self.settings.console,
                    "console",
                    f"{'the address above' if is_seen else 'weft serve url'}, for you alone",
                ),
                (True, "HTTP", f"{place.url}/api/v1/   described in {place.url}/api/v1/openapi.json"),
                (True, "WebSocket", f"{place.url.replace('http', 'ws', 1)}/ws"),
                (self.settings.mcp, "MCP", f"{place.url}/mcp"),
                (True, "tokens", f"yours: {place.token_file or 'serve.token'}   for others: weft serve token new NAME"),
            ):
                if is_there:
                    say(f"  {what:<10} {words}")
            say("Ctrl-C ends it")
        if self.page:
            _browse(self.host_programs, Path(self.page).as_uri())


def _browse(host_programs: "HostPrograms", url: str) -> None:
    """Open a page in a process of its own: a browser is looked for by its name, and may hold up who starts it."""
    env = {**host_programs.environ, "PATH": host_programs.limit_path(host_programs.environ.get("PATH", os.defpath))}
    with suppress(OSError):
        start_detached(use_own_python(("-I", "-m", "webbrowser", "-t", url), env, host_programs.folder))


@contextmanager
def _page(app: "App", place: "RunningDaemon", token: str, wanted: DaemonOptions) -> Iterator[str]:
    """A page of the user's own that leads to the console: on a browser's command line all could read the token."""
    if not wanted.open_page:
        yield ""
        return
    path = os.path.join(app.workspace.user_dir, "serve", f"{place.port}.html")
    target = console_url(place.url, token)
    replace_file(path, f'<!doctype html><meta http-equiv="refresh" content="0;url={target}">\n'.encode())
    try:
        yield path
    finally:
        with suppress(OSError):
            os.unlink(path)


class _DaemonRun:
    """The daemon from its start to its end. `ended_early` is the signal that came before it was ready."""

    def __init__(self, voice: _DaemonLog) -> None:
        self._voice = voice
        self._served: tuple[DaemonApplication, WebServer] | None = None
        self.has_started = False
        self.ended_early: signal.Signals | None = None

    def run(self, app: "App", settings: ServeSettings, listening: "socket.socket", tokens: "ServeTokens") -> None:
        """Raises: ClawftError."""
        # What clients do wrong is answered, not logged; a bug is.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        handled = [
            signum for signum in _SIGNALS if signal.getsignal(signum) != signal.SIG_IGN
        ]  # `nohup` wants some ignored

        async def run() -> None:
            with anyio.open_signal_receiver(*handled) as signals, anyio.CancelScope() as scope:
                async with run_in_background(partial(self._hear, signals, scope.cancel)):
                    await self._serve(app, settings, listening, tokens)

        restore_gc_thresholds()
        anyio.run(run)

    async def _serve(
        self, app: "App", settings: ServeSettings, listening: "socket.socket", tokens: "ServeTokens"
    ) -> None:
        from clawft.server.application import make_application, make_server

        async with open_daemon(app, settings) as daemon:
            front = make_application(daemon, tokens, None if self._voice.wanted.quiet else self._voice.tell)
            server = make_server(front)
            self._served = front, server
            self._voice.announce()
            await server.serve([listening])
            self.has_started = server.started

    async def _hear(self, signals: AsyncIterator[signal.Signals], give_up: Callable[[], None]) -> None:
        """The first signal lets work come to its end, the second cuts it short; before it is ready, one ends it."""
        async with anyio.create_task_group() as group:
            is_first = True
            async for signum in signals:
                if self._served is None:
                    self.ended_early = signum
                    give_up()
                    return
                front, server = self._served
                if is_first:
                    words = "stopping: what is being done comes to its end; once more cuts it short"
                    self._voice.tell(words, {"event": "stopping"})
                    group.start_soon(front.drain, server)
                else:
                    await front.stop_now(server)
                is_first = False
