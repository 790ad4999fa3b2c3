"""`weft serve status` and `url`: running daemons, their settings and tokens."""

import ssl
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click
import httpx2
from msgspec import structs

from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, one_line, say, show_error
from clawft.config.serve import ServeSettings
from clawft.errors import ClawftError, NotFound
from clawft.server.tokens import load_own
from clawft.workspace import resolve_path

if TYPE_CHECKING:
    from clawft.app.app import App
    from clawft.server.client.daemons import RunningDaemon


_NEEDED = ("starlette", "uvicorn", "websockets", "prometheus_client", "mcp", "watchfiles")
_ASK_S = 10.0


def check_serve_installed() -> None:
    """Raises: ClawftError where what serves is not there."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        message = f"Nothing can be served: {', '.join(missing)} {'are' if len(missing) > 1 else 'is'} not installed"
        raise ClawftError("serve-missing", message, hint="Run: pip install 'clawft[serve]'")


def load_serve_settings(app: "App") -> ServeSettings:
    """Return the daemon settings of the user's own config."""
    settings = app.own_config.serve
    place = app.workspace
    cert, key = (
        path and resolve_path(path, place.user_dir, place.home) for path in (settings.tls_cert, settings.tls_key)
    )
    return structs.replace(settings, public_url=settings.public_url.rstrip("/"), tls_cert=cert, tls_key=key)


def load_own_token(app: "App", settings: ServeSettings, *, make: bool = False) -> str:
    """The token that may do everything; '' where none was made yet. Raises: ClawftError."""
    return load_own(settings, app.workspace.user_dir, app.environ, make=make)


def load_token_for(app: "App", place: "RunningDaemon") -> str:
    """The user's own token for a daemon that runs; only where its settings name one are they read.

    Raises: ClawftError.
    """
    return load_own_token(app, ServeSettings() if place.token_file else load_serve_settings(app))


def console_url(url: str, token: str) -> str:
    """Return the URL that signs a browser in. The token follows the `#`, which a browser does not send."""
    return f"{url}/#token={token}"


def get_daemon(app: "App", port: int | None = None) -> "RunningDaemon":
    """The daemon that runs, on that port if one is given; of several the one of this project. Raises: ClawftError."""
    check_serve_installed()
    from clawft.server.client.daemons import find_daemons

    places = find_daemons(app.workspace.user_dir)
    if not places:
        raise NotFound("serve-none", "No daemon of yours runs", hint="Start one: weft serve")
    chosen = [place for place in places if place.port == port] if port is not None else _here(app, places)
    if not chosen:
        raise NotFound("serve-none", f"No daemon of yours listens on port {port}", hint="Run: weft serve status")
    if len(chosen) > 1:
        ports = ", ".join(str(daemon.port) for daemon in chosen)
        raise ClawftError(
            "serve-several", f"Several daemons of yours run, on the ports {ports}", hint="Say --port PORT"
        )
    return chosen[0]


def _here(app: "App", places: "Sequence[RunningDaemon]") -> "Sequence[RunningDaemon]":
    """Those of this project, if there are any."""
    return [place for place in places if place.project == app.workspace.project] or places


def fetch_status(place: "RunningDaemon", token: str) -> dict[str, Any]:
    """Fetch a daemon's own status. Raises: ClawftError."""
    verify = _trust(place.tls_cert) if place.local.startswith("https:") else False  # plain HTTP has no certificates
    try:
        with httpx2.Client(trust_env=False, timeout=_ASK_S, verify=verify) as client:
            answer = client.get(f"{place.local}/api/v1/status", headers={"Authorization": f"Bearer {token}"})
            found: dict[str, Any] = answer.json()
    except (httpx2.HTTPError, ValueError) as error:
        if _is_refused(error):  # it listened before it said that it runs
            message = f"The daemon at {place.local} is about to end: nobody is let in, what goes on comes to its end"
            raise ClawftError("serve-stopping", message, hint=f"It is process {place.pid}") from error
        message = f"The daemon at {place.local} does not answer: {str(error) or type(error).__name__}"
        raise ClawftError("serve-silent", message, hint=f"It is process {place.pid}") from error
    if answer.status_code != 200:
        refusal = found.get("error", {}).get("message", "")
        raise ClawftError("serve-silent", f"The daemon at {place.local} refuses to say how it is: {refusal}")
    return found


def _is_refused(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ConnectionRefusedError):
        error = error.__cause__ or error.__context__
    return error is not None


def _trust(cert: str) -> ssl.SSLContext:
    """Return a TLS context that accepts the daemon's own certificate, with any issuer and any name.

    That is safe here: the daemon runs on this machine.
    """
    try:
        context = ssl.create_default_context(cafile=cert or None)
    except OSError as error:
        raise ClawftError("serve-tls", f"The certificate cannot be read: {error}", path=cert) from error
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = False
    return context


@click.command("status")
@format_option
def status_command() -> CommandResult:
    """Say which daemons of yours run, where and since when, what they serve, and what is wrong with them."""
    check_serve_installed()
    from clawft.server.client.daemons import find_daemons

    app = open_here()
    places = find_daemons(app.workspace.user_dir)
    described: list[dict[str, Any]] = []
    failed = False
    for place in places:
        status: dict[str, Any] | None = None
        try:
            status = fetch_status(place, load_token_for(app, place))
        except ClawftError as error:
            failed = True
            show_error(error)
        failed = failed or bool(status and any(subsystem["problem"] for subsystem in status["subsystems"]))
        described.append({**structs.asdict(place), "status": status})

    def show() -> None:
        if not places:
            say("No daemon of yours runs. Start one: weft serve")
        else:
            for daemon in described:
                _show(daemon)

    return CommandResult(
        "clawft.serve.status.v1",
        {"running": bool(places), "daemons": described},
        show,
        1 if failed or not places else 0,
    )


def _show(daemon: dict[str, Any]) -> None:
    click.echo(f"{daemon['url']}  process {daemon['pid']}, since {daemon['started']}")
    if daemon["local"] != daemon["url"]:
        click.echo(f"  listens on  {daemon['local']}")
    status = daemon["status"]
    if status is None:
        return
    click.echo(f"  project     {one_line(daemon['project'])}")
    click.echo(f"  skills      {status['skills']}, generation {status['generation']}")
    click.echo(f"  changes     {_SEEN.get(status['watching'], status['watching'])}")
    click.echo(f"  work        {status['executions']} going on, {status['waiting']} waiting")
    click.echo(f"  questions   {status['questions']} waiting for an answer")
    for part in status["subsystems"]:
        if part["problem"]:
            click.echo(f"  {part['name']:<10}  {one_line(part['problem']['message'])}")


_SEEN = {
    "watchfiles": "seen at once",
    "stat": "looked for now and then: no watcher works here",
    "off": "not looked for yet: it has just started",
}


@click.command("url")
@click.option("--port", type=click.IntRange(1, 65_535), help="Of the daemon on this port, where several run.")
@format_option
def url_command(port: int | None) -> CommandResult:
    """Print where the console of the daemon that runs is, with your token in it: for your own browser alone.

    Of several it is the one that serves this project.
    """
    app = open_here()
    place = get_daemon(app, port)
    url = console_url(place.url, load_token_for(app, place))
    return CommandResult("clawft.serve.url.v1", {"url": url, "local": place.local, "pid": place.pid}, url)
