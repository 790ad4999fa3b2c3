"""What commands of the daemon share: its settings, its tokens, and daemons that run."""

import ssl
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from msgspec import structs

from clawft.config.serve import ServeSettings, own_serve
from clawft.errors import ClawftError, NotFound
from clawft.workspace import resolve_path

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.client.places import Place

__all__ = ["ask_status", "check_installed", "console_url", "need_place", "own_token", "settings_here", "token_for"]

_NEEDED = ("starlette", "uvicorn", "websockets", "prometheus_client", "mcp", "watchfiles")
_ASK_S = 10.0


def check_installed() -> None:
    """Raises: ClawftError where what serves is not there."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        message = f"Nothing can be served: {', '.join(missing)} {'are' if len(missing) > 1 else 'is'} not installed"
        raise ClawftError("serve-missing", message, hint="Run: pip install 'clawft[serve]'")


def settings_here(app: "App") -> ServeSettings:
    """What the user's own config says of the daemon."""
    settings = own_serve(app.config, app.workspace.user_dir, app.environ)
    place = app.workspace
    cert, key = (one and resolve_path(one, place.user_dir, place.home) for one in (settings.tls_cert, settings.tls_key))
    return structs.replace(settings, public_url=settings.public_url.rstrip("/"), tls_cert=cert, tls_key=key)


def own_token(app: "App", settings: ServeSettings, *, make: bool = False) -> str:
    """The token that may do everything; '' where none was made yet. Raises: ClawftError."""
    from clawft.serve.tokens import load_own

    return load_own(settings, app.workspace.user_dir, app.environ, make=make)


def token_for(app: "App", place: "Place") -> str:
    """The user's own token for a daemon that runs; only where its settings name one are they read.

    Raises: ClawftError.
    """
    return own_token(app, ServeSettings() if place.token_file else settings_here(app))


def console_url(url: str, token: str) -> str:
    """Where a browser is let in: what is after `#` is sent to nobody."""
    return f"{url}/#token={token}"


def need_place(app: "App", port: int | None = None) -> "Place":
    """The daemon that runs, on that port if one is given; of several the one of this project. Raises: ClawftError."""
    check_installed()
    from clawft.client.places import find_places

    places = find_places(app.workspace.user_dir)
    if not places:
        raise NotFound("serve-none", "No daemon of yours runs", hint="Start one: weft serve")
    chosen = [one for one in places if one.port == port] if port is not None else _here(app, places)
    if not chosen:
        raise NotFound("serve-none", f"No daemon of yours listens on port {port}", hint="Run: weft serve status")
    if len(chosen) > 1:
        ports = ", ".join(str(one.port) for one in chosen)
        raise ClawftError(
            "serve-several", f"Several daemons of yours run, on the ports {ports}", hint="Say --port PORT"
        )
    return chosen[0]


def _here(app: "App", places: "Sequence[Place]") -> "Sequence[Place]":
    """Those of this project, if there are any."""
    return [one for one in places if one.project == app.workspace.project] or places


def ask_status(place: "Place", token: str) -> dict[str, Any]:
    """What a daemon says of itself. Raises: ClawftError."""
    import httpx2

    verify = _trust(place.tls_cert) if place.local.startswith("https:") else True
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
        said = found.get("error", {}).get("message", "")
        raise ClawftError("serve-silent", f"The daemon at {place.local} refuses to say how it is: {said}")
    return found


def _is_refused(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ConnectionRefusedError):
        error = error.__cause__ or error.__context__
    return error is not None


def _trust(cert: str) -> ssl.SSLContext:
    """The daemon's own certificate, whoever signed it and whatever name it is for: it is this machine that is asked."""
    try:
        context = ssl.create_default_context(cafile=cert or None)
    except OSError as error:
        raise ClawftError("serve-tls", f"The certificate cannot be read: {error}", path=cert) from error
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = False
    return context
