"""OpenTelemetry traces and metrics of what a worker does, sent as OTLP over HTTP. Loaded only where configured."""

from collections.abc import Mapping
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from clawft.errors import ClawftError
from clawft.jobs.observer import RunObserver

if TYPE_CHECKING:
    from clawft.jobs.worker import RunWorker

__all__ = ["open_telemetry"]


def open_telemetry(url: str, worker: "RunWorker", environ: Mapping[str, str]) -> RunObserver:
    """Open the observer that sends a worker's telemetry to a collector. Where that is impossible, the worker warns, and
    continues without."""
    try:
        where = _check(url)
    except ClawftError as error:
        worker.warn(error)
        return RunObserver()
    from clawft.jobs.telemetry.export import TelemetryDelivery, open_exporters
    from clawft.jobs.telemetry.observer import Telemetry

    delivery = TelemetryDelivery(where, worker.warn)
    pipes = open_exporters(url.rstrip("/"), worker.id, delivery, environ, is_local=_is_local(url))
    return Telemetry(pipes, delivery, worker.store, worker.recorded)


def _check(url: str) -> str:
    """The address as it may be shown. Raises: ClawftError."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if not host or parts.scheme not in ("http", "https"):
        message = "runs.telemetry is no address that traces and metrics can be sent to, so none are sent"
        raise ClawftError("telemetry-address", message, hint="Write http://127.0.0.1:4318")
    if not _is_installed():
        message = "runs.telemetry is set, but what sends traces and metrics is not installed, so none are sent"
        raise ClawftError("telemetry-missing", message, hint="Install clawft[telemetry]")
    return f"{parts.scheme}://{host}:{port}" if port else f"{parts.scheme}://{host}"


def _is_installed() -> bool:
    try:
        return all(find_spec(f"opentelemetry.{name}") for name in ("sdk", "exporter.otlp.proto.http"))
    except ModuleNotFoundError:  # not even what these are part of
        return False


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
